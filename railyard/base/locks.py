"""Takes a file lock, and says once if it has to wait. The lock ends with the last process that holds it."""

import fcntl
from collections.abc import Callable


def hold(descriptor: int, say: Callable[[str], None], waiting: str) -> None:
    """Return once we hold the exclusive lock. If another process holds it, say ``waiting`` first.

    Raises OSError if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(waiting)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
