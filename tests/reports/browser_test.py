#!/usr/bin/env python3
"""The HTML report in a real browser: nothing fails, nothing is loaded, sliders say what `whatif` answers, and people can
read it. Run as `browser_test.py SCREENSHOT_FOLDER`; the pictures are for people, not compared. With axe-core, a checker of
accessibility (`pip install axe-playwright-python`, or its axe.min.js in $STALLCAST_AXE), that looks at every page, too."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_browser

CLI = os.environ.get("STALLCAST_CLI") or sys.exit("STALLCAST_CLI names no stallcast")
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
NAMES = ("compute-bound", "prep-bound", "fetch-bound", "multi-rank", "absent-heavy", "hostile")
CATALOG = GOLDEN.parent.parent / "samples" / "catalog" / "example.json"
PLANS = ("plan", "plan-missed", "plan-hostile")
PICTURES = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None

# Text whose contrast against the nearest opaque background is below WCAG's AA (4.5; 3 for large text).
CONTRAST = """(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const over = (top, under) => { const a = top.length > 3 ? top[3] : 1; return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)); };
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgb(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility() || element.matches("script, style, .unseen, .skip, option")) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const style = getComputedStyle(element), under = background(element);
    const [a, b] = [light(over(rgb(style.color), under)), light(under)].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if ((a + .05) / (b + .05) < (large ? 3 : 4.5)) bad.push(element.tagName + "." + element.className + " " + element.textContent.trim().slice(0, 40));
  }
  return bad;
})()"""

# Controls without a name, pictures without a description, ids used twice, headings that skip a level.
LABELS = """(() => {
  const bad = [];
  for (const e of document.querySelectorAll("input, button, a, summary"))
    if (!(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label")) bad.push("no name: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("canvas, [role=region]")) if (!e.getAttribute("aria-label")) bad.push("no label: " + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("[aria-labelledby]")) if (!document.getElementById(e.getAttribute("aria-labelledby"))) bad.push("label of nothing: " + e.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => bad.push("id twice: " + id));
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3")) { const now = Number(e.tagName[1]); if (now > level + 1) bad.push("heading skips: " + e.textContent); level = now; }
  return bad;
})()"""

DRAWN = """[...document.querySelectorAll("canvas")].map((canvas) => canvas.width > 0 &&
  new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size > 3)"""


def find_axe():
    """The source of axe-core, or None."""
    places = [os.environ.get("STALLCAST_AXE", "")]
    package = importlib.util.find_spec("axe_playwright_python")
    if package is not None:
        places += [str(path) for path in pathlib.Path(package.submodule_search_locations[0]).rglob("axe.min.js")]
    return next((pathlib.Path(place).read_text() for place in places if place and os.path.isfile(place)), None)


def report(source, target):
    subprocess.run([CLI, "report", str(source), "-f", "html", "--price", "32USD/h", "-o", str(target)], check=True)


def plan(source, target, *words, catalog=CATALOG):
    subprocess.run([CLI, "plan", str(source), "--catalog", str(catalog), *words, "-f", "html", "-o", str(target)], check=True)


def hostile_catalog(path):
    """The example with names that attack."""
    catalog = json.loads(CATALOG.read_text())
    catalog["currency"] = "\"><img src=x onerror=alert(1)>"
    for machine, name in zip(catalog["machines"], ("</script><script>alert(1)</script>", "' onmouseover='alert(1) \u202egpj.exe", "x" * 500)):
        machine["name"] = name
    path.write_text(json.dumps(catalog))
    return path


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = find_browser()
        if program is None:
            print("skipped: no Chromium on PATH (Debian: apt install chromium)")
            sys.exit(77)
        cls.scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.folder = pathlib.Path(cls.scratch.name)
        for name in NAMES:
            report(GOLDEN / f"{name}.json", cls.folder / f"{name}.html")
        subprocess.run([CLI, "diff", str(GOLDEN / "prep-bound.json"), str(GOLDEN / "hostile.json"), "--fail-on",
                        "as_is_wait_frac>5%", "-f", "html", "-o", str(cls.folder / "diff.html")], check=False)
        plan(GOLDEN / "prep-bound.json", cls.folder / "plan.html", "--epochs", "90", "--target-time", "30min")
        plan(GOLDEN / "fetch-bound.json", cls.folder / "plan-missed.html", "--target-cost", "0.001")
        plan(GOLDEN / "multi-rank.json", cls.folder / "plan-hostile.html", "--target-throughput", "1000/s",
             catalog=hostile_catalog(cls.folder / "hostile-catalog.json"))
        cls.browser = Browser(program, cls.folder / "browser")
        cls.pictures = PICTURES or cls.folder
        cls.pictures.mkdir(parents=True, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.scratch.cleanup()

    def url(self, name, fragment=""):
        return (self.folder / f"{name}.html").as_uri() + fragment

    def open(self, name, width=1280, fragment="", **how):
        self.browser.look(width, **how)
        self.browser.open(self.url(name, fragment))

    def text(self, element):
        return self.browser.run(f"document.getElementById({json.dumps(element)}).textContent")

    def slide(self, key, place):
        self.browser.run(f"(() => {{ const knob = document.getElementById('knob-{key}'); knob.value = {place};"
                         "knob.dispatchEvent(new Event('input', {bubbles: true})); })()")

    def test_every_page_works_at_every_width_and_in_the_dark(self):
        for name in (*NAMES, "diff", *PLANS):
            for width, dark in ((1280, False), (1280, True), (390, False), (320, True)):
                with self.subTest(name=name, width=width, dark=dark):
                    self.open(name, width, dark=dark)
                    self.assertEqual(self.browser.complaints, [])
                    self.assertEqual([url for url in self.browser.requests if not url.startswith("file:")], [])
                    self.assertEqual(len(self.browser.requests), 1)
                    self.assertNotIn(False, self.browser.run(DRAWN))
                    self.assertEqual(self.browser.run(CONTRAST), [])
                    self.assertEqual(self.browser.run(LABELS), [])
                    wide = self.browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    self.assertLessEqual(wide, 0, "the page scrolls sideways")
                    self.browser.picture(self.pictures / f"{name}-{width}{'-dark' if dark else ''}.png")

    def test_a_checker_of_accessibility_finds_nothing(self):
        axe = find_axe()
        if axe is None:
            self.skipTest("no axe-core: pip install axe-playwright-python, or set STALLCAST_AXE")
        for name in (*NAMES, "diff", *PLANS):
            for width, dark in ((1280, False), (1280, True), (390, False)):
                with self.subTest(name=name, width=width, dark=dark):
                    self.open(name, width, dark=dark)
                    self.browser.run(axe + "; 0")
                    found = self.browser.run("""axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
                        .then(({violations, passes}) => ({passes: passes.length, violations: violations.map(
                            (v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | "))}))""")
                    self.assertEqual(found["violations"], [])
                    self.assertGreater(found["passes"], 15)

    def test_sliders_say_what_whatif_answers(self):
        for name in ("prep-bound", "fetch-bound", "multi-rank"):
            self.open(name)
            axes = self.browser.run("JSON.parse(document.getElementById('data').textContent).grid.axes")
            for places in ([(axis["found"] + 1) % len(axis["values"]) for axis in axes], [len(axis["values"]) - 1 for axis in axes]):
                for axis, place in zip(axes, places):
                    self.slide(axis["key"], place)
                command = self.text("answer-command").split()
                settings = command[command.index("--set") + 1:]
                answer = subprocess.run([CLI, "whatif", str(GOLDEN / f"{name}.json"), "--set", *settings, "--json"],
                                        stdout=subprocess.PIPE, check=True)
                wanted = json.loads(answer.stdout)["predictions"][0]
                shown = self.browser.run("""(() => { const grid = JSON.parse(document.getElementById('data').textContent).grid;
                    const set = document.getElementById('answer-command').textContent.slice(grid.command.length);
                    const place = grid.points.set.indexOf(set);
                    const shown = Object.fromEntries(Object.entries(grid.points).map(([name, column]) => [name, column[place]]));
                    return {...shown, bound: grid.texts[shown.bound]}; })()""")
                with self.subTest(name=name, settings=settings):
                    rate = wanted["throughput_samples_per_s"]
                    for key, value in (("mean", rate["mean"]), ("low", rate["ci90_low"]), ("high", rate["ci90_high"]),
                                       ("stall_frac", wanted["stall_frac"])):
                        self.assertAlmostEqual(shown[key], value, delta=2e-5 * max(abs(value), 1e-3))
                    self.assertTrue(self.text("answer-rate").startswith(shown["rate"]))
                    self.assertTrue(shown["bound"].startswith(wanted["bound"]))
                    self.assertIn(wanted["bound"], self.text("answer-bound"))

    def test_the_address_keeps_the_position(self):
        self.open("fetch-bound")
        before = self.text("answer-rate")
        self.slide("workers", 2)
        after, address = self.text("answer-rate"), self.browser.run("location.hash")
        self.assertNotEqual(before, after)
        self.assertTrue(address.startswith("#whatif:workers="))
        self.open("fetch-bound", fragment=address)
        self.assertEqual(self.text("answer-rate"), after)
        self.browser.run("document.querySelector('#whatif-form button').click()")
        self.assertEqual(self.text("answer-rate"), before)
        self.assertEqual(self.browser.run("location.hash"), "")
        for wrong in ("#whatif:workers=17&x=%00", "#whatif:", "#whatif:%", "#whatif:<img src=x>", "#verdict"):
            self.open("fetch-bound", fragment=wrong)
            self.assertEqual((self.text("answer-rate"), self.browser.complaints), (before, []))

    def test_the_curve_over_workers_says_what_whatif_answers(self):
        self.open("fetch-bound")
        curves = {curve["key"]: curve for curve in self.browser.run("JSON.parse(document.getElementById('data').textContent).curves")}
        self.assertEqual(set(curves), {"workers", "cache", "storage"})
        point = curves["workers"]["lines"][0]["points"][-1]
        answer = subprocess.run([CLI, "whatif", str(GOLDEN / "fetch-bound.json"), "--set", f"workers={point['x']:g}", "--json"],
                                stdout=subprocess.PIPE, check=True)
        rate = json.loads(answer.stdout)["predictions"][0]["throughput_samples_per_s"]
        self.assertAlmostEqual(point["mean"], rate["mean"], delta=1e-6 * rate["mean"])
        self.assertAlmostEqual(point["high"], rate["ci90_high"], delta=1e-6 * rate["ci90_high"])
        rows = self.browser.run("[...document.querySelectorAll('section[aria-labelledby=curves] tbody tr')].map((e) => e.textContent)")
        self.assertEqual(len(rows), sum(len(line["points"]) for key in ("workers", "cache") for line in curves[key]["lines"]))
        self.assertTrue(any("as profiled" in row for row in rows))
        rows = self.browser.run("document.querySelectorAll('section[aria-labelledby=storage] tbody tr').length")
        self.assertEqual(rows, len(curves["storage"]["lines"][0]["points"]))

    def test_phases_are_named_beside_the_timeline(self):
        self.open("multi-rank")
        legend = self.browser.run("[...document.querySelectorAll('.legend span:not(.swatch)')].map((e) => e.textContent)")
        self.assertEqual(legend, ["cold", "cached", "synthetic"])
        kept = json.loads((GOLDEN / "multi-rank.json").read_text())["phases"]
        rows = self.browser.run("document.querySelectorAll('[aria-label=\"The blocks of this run\"] tbody tr').length")
        self.assertEqual(rows, len(kept))

    def test_keys_move_the_sliders(self):
        self.open("fetch-bound")
        before = self.text("value-workers")
        self.browser.run("document.getElementById('knob-workers').focus()")
        self.browser.press("ArrowRight", 39)
        self.assertNotEqual(self.text("value-workers"), before)
        self.assertEqual(self.browser.run("document.getElementById('knob-workers').getAttribute('aria-valuetext')"),
                         self.text("value-workers"))

    def test_without_scripts_a_table_says_the_single_changes(self):
        self.browser.look(1280, scripts=False)
        self.browser.open(self.url("fetch-bound"), scripts=False)
        self.assertFalse(self.browser.run("document.getElementById('whatif-form').checkVisibility()"))
        rows = self.browser.run("[...document.querySelectorAll('#whatif-table tbody th')].filter((e) => e.checkVisibility()).map((e) => e.textContent)")
        self.assertIn("as profiled", rows)
        self.assertIn("cache=100%", rows)
        self.browser.look(1280)

    def test_a_profile_that_cannot_be_predicted_says_why(self):
        self.open("absent-heavy")
        text = self.browser.run("document.getElementById('whatif-section').textContent")
        self.assertIn("cannot answer", text)
        self.assertFalse(self.browser.run("!!document.getElementById('whatif-form')"))

    def test_a_plan_says_what_its_json_says(self):
        answer = json.loads(subprocess.run([CLI, "plan", str(GOLDEN / "prep-bound.json"), "--catalog", str(CATALOG), "--epochs", "90",
                                            "--target-time", "30min", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        self.open("plan")
        data = self.browser.run("JSON.parse(document.getElementById('data').textContent)")
        points = sorted((point for group in data["front"]["groups"] for point in group["points"]), key=lambda point: point["number"])
        self.assertEqual(len(self.rows("Options")), len(points))
        self.assertEqual([point["y"] for point in points if point["y"] in {option["cost"]["mean"] for option in answer["front"]}],
                         [option["cost"]["mean"] for option in answer["front"]])
        chosen = [row for row in self.rows("Options") if "the choice" in row]
        self.assertEqual(len(chosen), 1)
        self.assertIn(f"{answer['choice']['nodes']} x {answer['choice']['machine']}", chosen[0])
        lines = {(entry["key"], line["name"]): line["points"] for entry in data["curves"] for line in entry["lines"]}
        for curve in answer["curves"]:
            for key in ("weak", "strong"):
                drawn = [(point["x"], point["mean"]) for point in lines[key, curve["machine"]]]
                self.assertEqual(drawn, [(point["nodes"], point["throughput_samples_per_s"]["mean"]) for point in curve[key]["points"]])
        self.assertEqual(len(self.rows("Scaling")), sum(len(points) for points in lines.values()))

    def rows(self, region):
        return self.browser.run(f"[...document.querySelectorAll('[aria-label=\"{region}\"] tbody tr')].map((e) => e.textContent)")

    def test_pages_stay_small(self):
        for name in (*NAMES, *PLANS):
            self.assertLess((self.folder / f"{name}.html").stat().st_size, 1_000_000, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
