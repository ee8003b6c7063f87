"""Headless Chromium as a reader uses it: real clicks and keys, what it asked for, and what it complained of.

It is driven by the protocol of its developer tools over two pipes (`--remote-debugging-pipe`), which needs neither a
driver program nor a package, and obeys the content policy of a page.
"""

import fcntl
import os
import select
import shutil
import signal
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--disable-dev-shm-usage",
)
ANSWER_S = 90.0
"""The longest wait for an answer: the first start on a loaded machine takes a while."""
LEAST_DESCRIPTOR = 10
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
KEYS = {"ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9, "+": 187, "0": 48}
"""Keys and their codes."""
Event = dict[str, Any]


class Chromium:
    """A running browser: commands go into one pipe, answers and events of all windows come from the other."""

    def __init__(self, reads: int, writes: int) -> None:
        """The ends of the pipes that are ours."""
        self._reads, self._writes = reads, writes
        self._numbers, self._rest = 0, b""

    def send(self, method: str, parameters: Event, session: str) -> int:
        """Write a command; the number that its answer will have."""
        self._numbers += 1
        message: Event = {"id": self._numbers, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self._writes, msgspec.json.encode(message) + b"\0")
        return self._numbers

    def message(self) -> Event:
        """The next answer or event. Raises AssertionError where none comes."""
        while b"\0" not in self._rest:
            readable, _, _ = select.select([self._reads], [], [], ANSWER_S)
            assert readable, "Chromium does not answer"
            piece = os.read(self._reads, 1 << 20)
            assert piece, "Chromium is gone"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: Event = msgspec.json.decode(text)
        return message


class Browser:
    """One window with a profile of its own, with everything that was asked for and logged since it was opened."""

    def __init__(self, program: Chromium) -> None:
        self._program, self._session = program, ""
        self.events: list[Event] = []
        self._profile = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self._profile)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Close the window, and forget its profile."""
        self._session = ""
        self.call("Target.disposeBrowserContext", browserContextId=self._profile)

    def call(self, method: str, **parameters: object) -> Event:
        """The answer to one command. Raises AssertionError where it fails or does not come."""
        number = self._program.send(method, parameters, self._session)
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]  # type: ignore[no-any-return]

    def _message(self) -> Event:
        message = self._program.message()
        if self._is_event(message):
            self.events.append(message)
        return message

    def _is_event(self, message: Event) -> bool:
        return "method" in message and message.get("sessionId", "") == self._session

    def wait_for(self, method: str, since: int | None = None) -> None:
        """Wait until the browser reports such an event, from here on or behind the first `since` events."""
        start = len(self.events) if since is None else since
        while not any(event["method"] == method for event in self.events[start:]):
            self._message()

    def open(self, address: str, width: int = 1440, height: int = 900, *, dark: bool = False) -> None:
        """Load a page in a window of that many pixels, in light or dark colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What an expression of the page's script language is, once the page has been drawn."""
        drawn = f"new Promise((done) => requestAnimationFrame(() => setTimeout(() => done({expression}))))"
        answer = self.call("Runtime.evaluate", expression=drawn, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def place(self, element: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element, scrolled into view. `element`: an expression."""
        box = f"(() => {{ const at = {element}; at.scrollIntoView({{block: 'center'}}); "
        box += "const box = at.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })()"
        left, top, width, height = self.value(box)
        return left, top, width, height

    def press(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def click(self, element: str) -> None:
        """Click into the middle of an element. `element`: an expression."""
        left, top, width, height = self.place(element)
        self.press(left + width / 2, top + height / 2)

    def follow(self, element: str) -> str:
        """Click on a link, wait for its page, and return the page's address."""
        before = len(self.events)
        self.click(element)
        self.wait_for("Page.loadEventFired", before)  # the page may be there before the click is answered
        return str(self.value("location.href"))

    def keys(self, *names: str) -> None:
        """Press keys, one after another."""
        for name in names:
            text = {"text": "\r" if name == "Enter" else name} if len(name) == 1 or name == "Enter" else {}
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=KEYS[name],
                          **(text if kind == "keyDown" else {}))  # fmt: skip

    def type(self, text: str) -> None:
        """Enter a text where the focus is."""
        self.call("Input.insertText", text=text)

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    @property
    def requests(self) -> list[str]:
        """Addresses of everything that pages asked for, also of what their policy forbade."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]  # fmt: skip

    @property
    def complaints(self) -> list[Event]:
        """Errors, warnings and whatever else pages or the browser logged."""
        return [event["params"] for event in self.events if event["method"] in COMPLAINTS]


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """A browser with a profile of its own, which ends with the block. Windows are a `Browser` each."""
    (theirs_in, writes), (reads, theirs_out) = os.pipe(), os.pipe()
    given = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR) for end in (theirs_in, theirs_out)]
    log = os.open(profile.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    argv = [str(CHROMIUM), *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    actions = [(os.POSIX_SPAWN_DUP2, end, number) for end, number in zip((*given, log), (3, 4, 2), strict=True)]
    process = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions)
    for end in (theirs_in, theirs_out, *given, log):
        os.close(end)
    try:
        yield Chromium(reads, writes)
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        os.close(reads)
        os.close(writes)
