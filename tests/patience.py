"""How long a test waits for a real process: as long as a busy machine needs, but not for ever."""

import time
from collections.abc import Callable

#: Seconds after which a process counts as hanging. This is not a test of speed: shorter times are not judged.
PATIENCE_S = 600


def wait_for(happened: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until something has happened; fail, with its name, if it does not."""
    end_s = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < end_s, f"waited {patience_s:g} s in vain for {what}"
        time.sleep(0.02)
