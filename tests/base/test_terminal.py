"""Progress bars: only on a terminal, only for long work, and never in output that a program reads."""

import os
import pty
import subprocess
import sys

import pytest

from railyard.base.terminal import tracked

TAKES = "from railyard.base.terminal import tracked; print(sum(tracked(range({count}), 'judging figures')))"


def on_a_terminal(count: int, term: str) -> tuple[str, str]:
    """Return what goes to stdout, and to a terminal as stderr."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", TAKES.format(count=count)],
        stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": term}, text=True, check=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # the other end of the terminal is closed: this is how it ends
        pass
    os.close(ours)
    return done.stdout, shown.decode()


@pytest.mark.parametrize(("count", "term", "bar"), [(30, "xterm", True), (5, "xterm", False), (30, "dumb", False)])
def test_a_bar_is_shown_on_a_terminal_alone_and_beside_the_output(count: int, term: str, bar: bool) -> None:
    out, shown = on_a_terminal(count, term)
    assert out == f"{sum(range(count))}\n"
    assert ("judging figures" in shown) is bar


def test_without_a_terminal_the_items_are_what_was_given() -> None:
    items = list(range(30))
    assert tracked(items, "judging figures") is items
