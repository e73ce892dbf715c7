"""One measurement at a time on this machine: two at once would each get half of it.

Commands that do not measure but would disturb a measurement share the lock with each other.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.base.errors import SetupError

#: The same for every user and clone; a test may use another.
LOCK_FILE = Path("/tmp/railyard-measure.lock")
#: Set while we hold the lock, for child processes: they are part of the measurement and must not wait for it.
HELD_VARIABLE = "RAILYARD_MEASURE_LOCK_HELD"
_WHY = "two measurements at once would disturb each other"


@contextlib.contextmanager
def measurement_lock(
    on_wait: Callable[[str], None], home: Path | None = None, file: Path = LOCK_FILE, *, shared: bool = False
) -> Iterator[None]:
    """Hold the machine-wide measurement lock inside the block; wait for it if necessary.

    Before waiting, ``on_wait`` is called once with a sentence that says who measures. ``home`` is shown to the next
    waiter as our folder (default: the working folder). ``shared``: others that do not measure may hold it too. If a
    parent process holds the lock, the block simply runs. Raises SetupError if the lock file cannot be used.
    """
    if os.environ.get(HELD_VARIABLE) == str(file):
        yield
        return
    descriptor = _acquire(file, on_wait, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    before = os.environ.get(HELD_VARIABLE)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {home or Path.cwd()}\n".encode(errors="replace"), 0)
        os.environ[HELD_VARIABLE] = str(file)
        yield
    finally:
        if before is None:
            os.environ.pop(HELD_VARIABLE, None)
        else:
            os.environ[HELD_VARIABLE] = before
        os.ftruncate(descriptor, 0)
        os.close(descriptor)  # this releases the lock


def lock_file(file: Path = LOCK_FILE) -> Path:
    """Return the lock's file, created if missing, for ``flock`` (util-linux). Raises SetupError if unusable."""
    os.close(_open(file))
    return file


def who_measures(file: Path = LOCK_FILE) -> str | None:
    """Return ``process 9 of /site is measuring on this machine``; None if nobody does, or we do ourselves.

    Raises SetupError if the lock file cannot be used.
    """
    if os.environ.get(HELD_VARIABLE) == str(file):
        return None
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot_open(file, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _acquire(file: Path, on_wait: Callable[[str], None], how: int) -> int:
    told = False
    while True:
        descriptor = _open(file)
        try:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if not told:
                    on_wait(_who(descriptor))
                    told = True
                fcntl.flock(descriptor, how)
            if _is_still(descriptor, file):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # The file was removed meanwhile (something cleans /tmp): nobody else will find the file that we locked.
        os.close(descriptor)


def _open(file: Path) -> int:
    # First without O_CREAT: with fs.protected_regular (proc(5)), the kernel refuses O_CREAT for another user's file in
    # a sticky folder, even if its mode permits writing. O_NOFOLLOW: everybody may write to /tmp.
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    for _ in range(10):
        try:
            return _regular(os.open(file, flags), file)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):  # another process made it first: open that one
                return _make(file, flags)
        except OSError as error:
            raise _cannot_open(file, error) from None
    raise SetupError(f"measurement lock: {file} appears and disappears: another program uses this name")


def _make(file: Path, flags: int) -> int:
    try:
        descriptor = os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_open(file, error) from None
    os.fchmod(descriptor, 0o666)  # despite the umask: every user of the machine needs the same lock
    return descriptor


def _regular(descriptor: int, file: Path) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SetupError(f"measurement lock: {file} is not a regular file: remove it")
    with contextlib.suppress(PermissionError):  # another user's
        os.fchmod(descriptor, 0o666)  # `flock FILE` in a shell creates it with the umask, which shuts others out
    return descriptor


def _cannot_open(file: Path, error: OSError) -> SetupError:
    return SetupError(
        f"measurement lock: {file} cannot be opened for writing ({error.strerror}): "
        f"its owner must remove it or make it writable for all (chmod 666 {file})"
    )


def _is_still(descriptor: int, file: Path) -> bool:
    mine = os.fstat(descriptor)
    try:
        there = os.lstat(file)
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _who(descriptor: int) -> str:
    return f"waiting: {_holder(descriptor)}; {_WHY}"


def _holder(descriptor: int) -> str:
    pid, _, home = os.pread(descriptor, 4096, 0).decode(errors="replace").strip().partition(" ")
    # Any user can write there: only printable text is repeated.
    home = "".join(letter for letter in home if letter.isprintable())
    if pid.isascii() and pid.isdigit() and home:
        return f"process {pid} of {home} is measuring on this machine"
    return "another process is measuring on this machine"
