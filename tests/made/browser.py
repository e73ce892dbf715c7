"""A headless Chromium as a test and the screenshots drive it: its own protocol over two pipes, and no other package.

Source of the protocol: Chrome DevTools Protocol, `--remote-debugging-pipe`: JSON objects, each ended by a zero byte,
read from descriptor 3 and written to descriptor 4.
"""

import base64
import contextlib
import fcntl
import importlib.util
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Debian's package installs it by the first name.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
#: What installs the browser and axe-core, for the reason of a skipped test.
INSTALL = "make browser"
_AXE_PACKAGE = "axe_playwright_python"
_PATIENCE_S = 120.0  # for one answer: a machine that measures beside us is slow
_WORDS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
#: Where the pipes' ends are kept, above the descriptors that the browser expects them at.
_ABOVE = 10


class BrowserError(Exception):
    """The browser ended, answered with an error, or did not answer."""


def why_not() -> str | None:
    """Return why there is no browser here, None where there is one."""
    return None if _program() else f"no {PROGRAMS[0]} on PATH; type: {INSTALL}"


def axe_path() -> Path | None:
    """Return where axe-core's script is installed, None where it is not."""
    found = importlib.util.find_spec(_AXE_PACKAGE)
    places = found.submodule_search_locations if found and found.submodule_search_locations else ()
    return next((Path(place) / "axe.min.js" for place in places if (Path(place) / "axe.min.js").is_file()), None)


def _program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """One page of the browser: its size, its theme, and what is asked of it."""

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser, self._session = browser, session

    def ask(self, method: str, **words: object) -> dict[str, Any]:
        """Return the answer to a command of the protocol. Raises BrowserError where it is an error."""
        return self._browser.ask(method, words, self._session)

    def show(self, path: Path, width: int = 1280, height: int = 900, *, dark: bool = False, media: str = "") -> None:
        """Load a file at a size in CSS pixels, in the light or the dark theme; ``media`` is ``print`` for paper."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[theme])
        self.ask("Page.enable")
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self._browser.wait_for("Page.loadEventFired", self._session)

    def run(self, script: str) -> Any:
        """Return the value of an expression; of a promise what it came to. Raises BrowserError where it throws."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key that writes nothing, such as Tab."""
        code = {"Tab": 9, "Enter": 13, "Space": 32}[key]
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        words: dict[str, object] = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **words)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **words)

    def height(self) -> int:
        """Return the height of the whole page in CSS pixels."""
        return int(self.run("document.documentElement.scrollHeight"))

    def picture(self, height: int | None = None) -> bytes:
        """Return a PNG of the page from its top: all of it, or so many pixels."""
        width = int(self.run("document.documentElement.clientWidth"))
        clip = {"x": 0, "y": 0, "width": width, "height": height or self.height(), "scale": 1}
        return self._bytes("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)

    def picture_of(self, selector: str) -> bytes:
        """Return a PNG of the first element that a CSS selector fits, with a margin of 8 CSS pixels."""
        box = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
            "return [box.x + scrollX, box.y + scrollY, box.width, box.height] })()"
        )
        x, y, width, height = box
        clip = {"x": x - 8, "y": y - 8, "width": width + 16, "height": height + 16, "scale": 1}
        return self._bytes("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)

    def pdf(self) -> bytes:
        """Return the page as a browser prints it: A4, with its colours."""
        return self._bytes("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)

    def _bytes(self, method: str, **words: object) -> bytes:
        return base64.b64decode(self.ask(method, **words)["data"])


class Browser:
    """The running browser; ``browser()`` starts and ends it."""

    def __init__(self, program: str, profile: Path) -> None:
        words = [program, *_WORDS, f"--user-data-dir={profile}", "about:blank"]
        if os.geteuid() == 0:
            words.insert(1, "--no-sandbox")  # Chromium refuses its sandbox to root
        theirs_in, self._out = _pipe()
        self._in, theirs_out = _pipe()
        self._waiting = b""
        self._events: list[dict[str, Any]] = []
        self._number = 0
        null = [(os.POSIX_SPAWN_OPEN, at, os.devnull, os.O_RDWR, 0) for at in (0, 1, 2)]
        ends = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        environment = {**os.environ, "HOME": str(profile)}
        self._process = os.posix_spawn(program, words, environment, file_actions=[*null, *ends], setpgroup=0)
        os.close(theirs_in)
        os.close(theirs_out)

    def page(self) -> Page:
        """Return a new, empty page."""
        target = self.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Page(self, session)

    def ask(self, method: str, words: Mapping[str, object], session: str | None = None) -> dict[str, Any]:
        """Return the answer to a command. Raises BrowserError where it is an error, or none comes."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": words}
        message |= {"sessionId": session} if session else {}
        with contextlib.suppress(BrokenPipeError):  # what it said last is in the sentence of _read
            os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                break
            self._events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        found: dict[str, Any] = answer["result"]
        return found

    def wait_for(self, event: str, session: str) -> None:
        """Return when a page has said that something happened, and forget what it said before."""
        seen, self._events = self._events, []
        while not any(one.get("method") == event and one.get("sessionId") == session for one in seen):
            seen = [self._read()]

    def end(self) -> None:
        """End the browser and wait for it."""
        with contextlib.suppress(BrowserError, OSError):
            self.ask("Browser.close", {})
        os.close(self._out)
        os.close(self._in)
        for _ in range(100):
            if os.waitpid(self._process, os.WNOHANG)[0]:
                return
            time.sleep(0.1)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._waiting:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            got = os.read(self._in, 1 << 20) if ready else b""
            if not got:
                raise BrowserError("the browser ended" if ready else f"no answer in {_PATIENCE_S:.0f} s")
            self._waiting += got
        text, _, self._waiting = self._waiting.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Yield a browser whose profile is a folder of the caller. Raises BrowserError where there is none."""
    program = _program()
    if program is None:
        raise BrowserError(str(why_not()))
    started = Browser(program, profile)
    try:
        yield started
    finally:
        started.end()


def axe(page: Page, tags: Sequence[str]) -> list[str]:
    """Return what axe-core finds on the page that is shown: ``rule (impact): where, what``, one a rule and element."""
    path = axe_path()
    if path is None:
        raise BrowserError(f"axe-core is not installed; type: {INSTALL}")
    page.run(path.read_text(encoding="utf-8") + "; 0")
    wanted = json.dumps({"runOnly": {"type": "tag", "values": list(tags)}, "resultTypes": ["violations"]})
    found = page.run(f"axe.run(document, {wanted}).then(result => result.violations)")
    return [
        f"{rule['id']} ({rule['impact']}): {' '.join(map(str, node['target']))}: {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
    ]


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    kept = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for end in ends]
    for end in ends:
        os.close(end)
    return kept[0], kept[1]
