"""Takes a file lock, and says once that it must be waited for; the lock ends with the last process that holds it."""

import fcntl
from collections.abc import Callable


def hold(descriptor: int, say: Callable[[str], None], waiting: str) -> None:
    """Return when the exclusive lock is ours; ``waiting`` is said before waiting for another's.

    Raises OSError where the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(waiting)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
