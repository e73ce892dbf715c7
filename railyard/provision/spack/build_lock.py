"""One build at a time: a lock on an environment's folder, held until the last process that builds there ends."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.locks import hold

FILE = ".lock"


@contextlib.contextmanager
def one_at_a_time(folder: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the folder's lock and yield its descriptor; a process that inherits it holds the lock too.

    So if Railyard was killed, its Spack keeps the next build away until it ends too. Raises SetupError if the folder
    cannot be written to, and for a file system without locks.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise SetupError(
            f"{error.filename or folder}: {(error.strerror or str(error)).lower()}, expected to build there; "
            f"choose another folder in the system's file (spack: root)"
        ) from None
    try:
        _hold(descriptor, folder, say)
        yield descriptor
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path, say: Callable[[str], None]) -> None:
    try:
        hold(descriptor, say, f"spack: another process builds in {folder}; waiting for it")
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        raise SetupError(
            f"{folder}: its file system has no file locks ({error.strerror}), so two builds at once would not "
            f"notice each other; choose another folder in the system's file (spack: root)"
        ) from None
