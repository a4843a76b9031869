#!/usr/bin/env python3
"""Makes docs/report.png and docs/whatif.png of the HTML report of a real run, made on a quiet machine:

    cp samples/imagefolder/*.py SCRATCH; cd SCRATCH           # so that the command and its paths read well
    stallcast profile -o loader-profile -- python3 train.py photos --workers 1 --epochs 200 --width 4
    tests/reports/readme_pictures.py SCRATCH/loader-profile/report.html docs
"""
import base64
import pathlib
import sys
import tempfile

from browser import Browser, find_browser

WIDTH = 1120


def clip(browser, path, top, height):
    area = {"x": 0, "y": top, "width": WIDTH, "height": height, "scale": 1}
    data = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)["data"]
    path.write_bytes(base64.b64decode(data))


def main():
    page, folder = pathlib.Path(sys.argv[1]).resolve().as_uri(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        browser = Browser(find_browser() or sys.exit("no Chromium on PATH"), scratch)
        browser.look(WIDTH)
        browser.open(page)
        bottom = browser.run("document.querySelector('.two.lead').getBoundingClientRect().bottom + scrollY")
        clip(browser, folder / "report.png", 0, int(bottom) + 12)
        browser.run("""['workers', 'cpus'].forEach((key) => { const knob = document.getElementById('knob-' + key);
            knob.value = Number(knob.value) + 1; knob.dispatchEvent(new Event('input', {bubbles: true})); })""")
        top, height = browser.run("""(() => { const area = document.getElementById('whatif-section').getBoundingClientRect();
            return [area.top + scrollY, area.height]; })()""")
        clip(browser, folder / "whatif.png", int(top) - 12, int(height) + 24)
        browser.close()


if __name__ == "__main__":
    main()
