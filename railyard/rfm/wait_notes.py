"""What a run waits for, and until when: the checks note it in the run's folder, and `railyard run` shows it.

The checks run in ReFrame's own process, whose lines say nothing while a job or a probe runs. So the run that started
it reads the note if nothing was printed for ten seconds. Only a terminal shows it: a log needs no such lines.
"""

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.base.files import write_whole
from railyard.base.terminal import error_width, fold_words
from railyard.results.run_folder import RUN_FOLDER_VARIABLE

#: Seconds without a line after which the run says what it waits for, and after which it says the same again.
QUIET_S, AGAIN_S = 10.0, 60.0
_FILE = "waiting.json"
_LOOK_S = 1.0
#: "[ RUN      ] ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich"
_BEGUN = re.compile(r"\[\s*RUN\s*\] (?P<name>\S.*?) /[0-9a-f]{8} (?P<where>@\S+)")


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for, since when and until when at the latest, in seconds of the epoch; None: nobody knows."""

    what: str
    since_s: float
    until_s: float | None


def note_wait(what: str, limit_s: float | None) -> None:
    """Note what this process waits for, for the run that it belongs to; do nothing if `railyard run` has none.

    ``limit_s``: how many seconds it can last from now on; None if nothing ends it.
    """
    folder, now = os.environ.get(RUN_FOLDER_VARIABLE), time.time()
    if not folder:
        return
    noted = {"what": what, "since_s": now, "until_s": None if limit_s is None else now + limit_s}
    with contextlib.suppress(OSError):  # it is for the reader's patience alone
        write_whole(Path(folder) / _FILE, json.dumps(noted))


def noted_wait(folder: Path) -> Wait | None:
    """Return what was noted last in a run's folder; None if nothing was, or if it cannot be read."""
    try:
        noted = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return Wait(noted["what"], noted["since_s"], noted["until_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Silence:
    """How long a run has printed nothing, and what it waits for meanwhile; ``now`` is the clock, in epoch seconds."""

    def __init__(self, noted: Callable[[], Wait | None], now: Callable[[], float] = time.time) -> None:
        self._noted, self._now = noted, now
        self._case = "ReFrame to load the checks"
        self._begun_s = self._heard_s = now()
        self._shown, self._shown_s = "", 0.0

    def restart(self) -> None:
        """Begin to count again: the run printed a line."""
        self._heard_s = self._now()

    def read(self, line: str) -> None:
        """Read a line of ReFrame: with a test that begins, what was noted before is over."""
        if found := _BEGUN.match(line):
            self._case, self._begun_s = f"{found['name']} {found['where']}", self._now()

    def words(self) -> str | None:
        """Return what to show now; None if the run printed something lately, or if the same was shown lately."""
        now = self._now()
        if now - self._heard_s < QUIET_S:
            return None
        noted = self._noted()
        words = f"waiting for {self._case}"
        if noted is not None and noted.since_s >= self._begun_s:
            words = f"waiting for {noted.what}"
            if noted.until_s is not None:
                words += f", until {time.strftime('%H:%M:%S', time.localtime(noted.until_s))} at the latest"
        if words == self._shown and now - self._shown_s < AGAIN_S:
            return None
        self._shown, self._shown_s, self._heard_s = words, now, now
        return words


@contextlib.contextmanager
def shown_silence(folder: Path) -> Iterator[Silence]:
    """Show on standard error, if it is a terminal, what a run waits for while it prints nothing."""
    silence, over = Silence(lambda: noted_wait(folder)), threading.Event()

    def show() -> None:
        while not over.wait(_LOOK_S):
            if words := silence.words():
                print(fold_words(words, error_width(), "  "), file=sys.stderr, flush=True)

    watcher = threading.Thread(target=show, daemon=True) if sys.stderr.isatty() else None
    if watcher is not None:
        watcher.start()
    try:
        yield silence
    finally:
        over.set()
        if watcher is not None:
            watcher.join()
        with contextlib.suppress(OSError):
            (folder / _FILE).unlink(missing_ok=True)
