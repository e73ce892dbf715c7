"""Ends a gate within its time or when it is cancelled, and leaves no process that it started."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_CANCELS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: A process that was asked to end has this long before it is killed, in seconds.
_GRACE_S = 0.5
#: timeout(1) waits so much longer than a gate's own time, in whole seconds: the gate ends first unless it was killed.
_SPARE_S = 2


class GateStop(Exception):
    """The gate was stopped before it could decide. The text says why."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a gate must have ended, by the monotonic clock in seconds."""

    end_s: float

    @property
    def left_s(self) -> float:
        """Return how many seconds are left, at least 0."""
        return max(0.0, self.end_s - time.monotonic())


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """What a process printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """Return the last line that it printed, for a sentence."""
        lines = [line.strip() for line in (*self.out.splitlines(), *self.err.splitlines()) if line.strip()]
        return lines[-1] if lines else f"exit code {self.code} and no output"


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[Deadline]:
    """Raise GateStop inside the block when the time is over or a signal asks the process to end.

    Ignore a second signal, so that all started processes are ended in order.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in (*_CANCELS, signal.SIGALRM):
            signal.signal(each, signal.SIG_IGN)
        over = number == signal.SIGALRM
        raise GateStop(f"its time of {seconds:g} s is over" if over else f"cancelled ({signal.Signals(number).name})")

    before = {each: signal.signal(each, stop) for each in (*_CANCELS, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield Deadline(time.monotonic() + seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def start_process(
    words: Sequence[str], folder: Path | None = None, more: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a process in its own process group. Whatever happens in the block, the whole group has ended afterwards.

    Raises OSError if it cannot be started.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace", cwd=folder,
        env={**os.environ, **(more or {})}, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        _end(process)


def limit_words(words: Sequence[str], deadline: Deadline) -> list[str]:
    """Return the words with timeout(1) before them: the command then ends even if this process is killed."""
    return ["timeout", "-k", "1", str(int(deadline.left_s) + _SPARE_S), *words]


def run(words: Sequence[str], deadline: Deadline, folder: Path | None = None) -> ProcessEnd:
    """Run a process and return what it printed.

    Raises OSError if it cannot be started, GateStop if the time is over.
    """
    with start_process(limit_words(words, deadline), folder) as process:
        return wait_for(process, deadline)


def wait_for(process: "subprocess.Popen[str]", deadline: Deadline) -> ProcessEnd:
    """Wait until a process has ended, and return what it printed. Raises GateStop if the time is over."""
    try:
        out, err = process.communicate(timeout=deadline.left_s)
    except subprocess.TimeoutExpired:
        raise GateStop("its time was over") from None
    return ProcessEnd(process.returncode, out, err)


def _end(process: "subprocess.Popen[str]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
