"""A headless Chromium driven over its debugging pipe: no driver and no package is needed."""
import base64
import json
import os
import shutil
import subprocess
import time

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """Path of an installed Chromium, or None."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Browser:
    """One browser with one page. What the page logs, throws and asks the network for is collected."""

    def __init__(self, program, folder):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def wire():  # the browser reads from descriptor 3 and writes to 4
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                 "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen([program, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=wire)
        os.close(to_browser)
        os.close(from_browser)
        self._pending = b""
        self._number = 0
        self._session = None
        self.complaints = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def _message(self):
        while b"\0" not in self._pending:
            part = os.read(self._in, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self._pending += part
        text, self._pending = self._pending.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(what["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def call(self, method, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") != number:
                self._note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def look(self, width, height=900, dark=False, scripts=True):
        """Sets the window and what the user prefers; for the next page that is opened."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, url, scripts=True):
        self.call("Page.navigate", url="about:blank")  # a new fragment alone would load nothing
        self.complaints.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)
        if not scripts:  # no promise would be kept
            while self.run("document.readyState + location.protocol") != "completefile:":
                time.sleep(0.02)
            return
        self.run("new Promise((done) => { if (document.readyState === 'complete') done(); else addEventListener('load', done); })"
                 ".then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))")

    def run(self, script):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
