"""One measurement at a time on this machine: two at once would each get half of it.

Commands that do not measure but would disturb a measurement share the lock with each other. So that a measurement does
not wait until none of them runs by chance, there is a second lock, a turnstile: who waits for the first lock holds it,
and who comes later waits there, also to share.

Whoever can open a file can hold its lock, so the file lies where nobody but its users can open or replace it. It is one
file for the whole machine if an administrator has made MACHINE_FOLDER for a group, as docs/explanation/security.md
shows. Else each user has one, and two users do not wait for each other: a test that another one disturbs shows that by
the time in which its processes waited for a processor.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.errors import SetupError

#: Root makes it for itself; a group has it by: install -d -m 2770 -g GROUP /run/lock/railyard
MACHINE_FOLDER = Path("/run/lock/railyard")
#: Set while we hold the lock, for child processes: they are part of the measurement and must not wait for it.
HELD_VARIABLE = "RAILYARD_MEASURE_LOCK_HELD"
_FILE_NAME = "measure.lock"
_WHY = "two measurements at once would disturb each other"


@contextlib.contextmanager
def measurement_lock(
    on_wait: Callable[[str], None], home: Path | None = None, file: Path | None = None, *, shared: bool = False
) -> Iterator[None]:
    """Hold the measurement lock inside the block; wait for it if necessary.

    Before waiting, ``on_wait`` is called once with a sentence that says who measures. ``home`` is shown to the next
    waiter as our folder (default: the working folder). ``file`` is ``lock_file()`` if it is not given. ``shared``:
    others that do not measure may hold it too. If a parent process holds the lock, the block simply runs. Raises
    SetupError if the lock file cannot be used.
    """
    file = file or lock_file()
    if os.environ.get(HELD_VARIABLE) == str(file):
        yield
        return
    descriptor = _acquire(file, on_wait, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    before = os.environ.get(HELD_VARIABLE)
    try:
        since = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M}"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {since} {home or Path.cwd()}\n".encode(errors="replace"), 0)
        os.environ[HELD_VARIABLE] = str(file)
        yield
    finally:
        if before is None:
            os.environ.pop(HELD_VARIABLE, None)
        else:
            os.environ[HELD_VARIABLE] = before
        os.ftruncate(descriptor, 0)
        os.close(descriptor)  # this releases the lock


def lock_file() -> Path:
    """Return where the lock of this user is: the machine's, if the user may write there, else the user's own.

    Raises SetupError if the user's own folder is a link, or another user's.
    """
    user = os.getuid()
    if user == 0 and os.access(MACHINE_FOLDER.parent, os.W_OK):
        with contextlib.suppress(OSError):
            MACHINE_FOLDER.mkdir(mode=0o755, exist_ok=True)
    if _is_only_of(MACHINE_FOLDER, 0, stat.S_IWOTH) and os.access(MACHINE_FOLDER, os.W_OK):
        return MACHINE_FOLDER / _FILE_NAME
    runtime = Path(f"/run/user/{user}")  # systemd's, pam_systemd(8): mode 0700
    if _is_only_of(runtime, user, 0o077) and os.access(runtime, os.W_OK):
        return runtime / f"railyard-{_FILE_NAME}"
    own = Path(f"/tmp/railyard-{user}")
    with contextlib.suppress(FileExistsError):
        own.mkdir(mode=0o700)
    if not _is_only_of(own, user, 0o022):
        raise SetupError(
            f"measurement lock: {own}: found a link, or what another user owns or may write, expected a folder of "
            f"yours alone; let its owner remove it"
        )
    return own / _FILE_NAME


def _is_only_of(folder: Path, user: int, refused: int) -> bool:
    """Return whether it is a folder, no link, of this user, with none of the refused bits of its mode."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & refused


def who_measures(file: Path | None = None) -> str | None:
    """Return ``process 9 of /site is measuring on this machine``, and since when; None if nobody else does.

    Raises SetupError if the lock file cannot be used.
    """
    file = file or lock_file()
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

    def tell_once() -> None:
        nonlocal told
        if not told:
            told = True
            descriptor = _open(file)
            try:
                on_wait(_who(descriptor))
            finally:
                os.close(descriptor)

    turnstile = _wait_for(file.with_name(f"{file.name}.next"), tell_once, fcntl.LOCK_EX)
    try:
        return _wait_for(file, tell_once, how)
    finally:
        os.close(turnstile)


def _wait_for(file: Path, tell: Callable[[], None], how: int) -> int:
    """Return the descriptor of a file whose lock we hold; ``tell`` is called before waiting for it."""
    while True:
        descriptor = _open(file)
        try:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                tell()
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
    # a sticky folder, even if its mode permits writing.
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
        descriptor = os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_open(file, error) from None
    folder = os.stat(file.parent)
    if folder.st_mode & stat.S_IWGRP:  # a group's: whoever is in it needs the file, whatever our umask
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, folder.st_gid)
        os.fchmod(descriptor, 0o660)
    return descriptor


def _regular(descriptor: int, file: Path) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SetupError(f"measurement lock: {file} is not a regular file: remove it")
    return descriptor


def _cannot_open(file: Path, error: OSError) -> SetupError:
    return SetupError(
        f"measurement lock: {file} cannot be opened for writing ({error.strerror}): "
        f"its owner must remove it, or let the folder's group write it (chmod 660 {file})"
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
    text = os.pread(descriptor, 4096, 0).decode(errors="replace").strip()
    pid, since, home = [*text.split(" ", 2), "", ""][:3]
    # A group's members can write there: only what is printable, and of its form, is repeated.
    home = "".join(letter for letter in home if letter.isprintable())
    if not (pid.isascii() and pid.isdigit() and home):
        return "another process is measuring on this machine"
    try:
        when = f" (since {datetime.fromisoformat(since):%Y-%m-%d %H:%M} UTC)"
    except ValueError:
        when = ""
    return f"process {pid} of {home} is measuring on this machine{when}"
