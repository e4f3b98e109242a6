"""A headless Chromium with one page, through the DevTools protocol."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import websocket


def find_chromium():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Page:
    """Opens Chromium; everything that the page requests, logs or throws is kept."""

    def __init__(self, width=1400, height=1600):
        self.profile = tempfile.mkdtemp(prefix="attn-viewer-")
        self.downloads = os.path.join(self.profile, "downloads")
        os.mkdir(self.downloads)
        # The sandbox needs rights that root and containers do not have; the page is our own.
        self.process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--window-size={width},{height}", f"--user-data-dir={self.profile}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        self.number, self.events = 0, []
        address = self._address()
        self.socket = websocket.create_connection(address, timeout=60, max_size=None)
        self.session = None
        target = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", in_browser=True, behavior="allow", downloadPath=self.downloads)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def _address(self):
        for line in self.process.stderr:
            if match := re.search(r"DevTools listening on (ws://\S+)", line):
                return match[1]
        raise RuntimeError("chromium ended before it could be reached")

    def call(self, method, in_browser=False, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session and not in_browser:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=url)
        for _ in range(600):
            if self.evaluate("document.readyState === 'complete' && location.href !== 'about:blank'"):
                return
            time.sleep(0.05)
        raise RuntimeError(f"{url} did not load")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def move_to(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path):
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(image["data"]))

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Exceptions, and what the browser logs, such as a violated content security policy."""
        # Reading pixels back, as a test does, makes the browser recommend a setting.
        return [event["params"] for event in self.events
                if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
                and "willReadFrequently" not in str(event["params"])]

    def downloaded(self, ending):
        for _ in range(200):
            for name in os.listdir(self.downloads):
                if name.endswith(ending):
                    return os.path.join(self.downloads, name)
            time.sleep(0.05)
        raise RuntimeError(f"nothing that ends with {ending} was downloaded")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)
