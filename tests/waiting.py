"""How long a test waits for what a real process does: as long as a busy machine needs, and not without end."""

import time
from collections.abc import Callable

#: After this long a process hangs, in seconds. It is no measure of speed: nothing is asserted of what took less.
PATIENCE_S = 600


def wait_for(happened: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until something has happened; fail, with its name, where it does not."""
    end_s = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < end_s, f"waited {patience_s:g} s in vain for {what}"
        time.sleep(0.02)
