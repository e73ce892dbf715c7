"""Files: read in bounded time and memory, written whole or not at all, and locked."""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import unwritable
from railyard.base.output_file import MOST_BYTES, MOST_LINES

#: How much is read of the beginning, and of the end, of a file that exceeds ``MOST_BYTES`` or ``MOST_LINES``.
END_BYTES = 2**19


@dataclass(frozen=True, slots=True)
class FileEnds:
    """The content of a file, or both of its ends. ``size`` is the size of the whole file, in bytes.

    ``excess`` says in words what the file has too much of. It is empty if the whole file was read.
    """

    content: bytes
    size: int
    excess: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the middle of the file is left out."""
        return bool(self.excess)

    @property
    def text(self) -> str:
        """The content as text. Bytes that are not UTF-8 become U+FFFD."""
        return self.content.decode("utf-8", errors="replace")


#: Bytes of a file beside a run's records that is read at all. Rows of 1.5 million pairs pack to 20 MB.
MOST_BESIDE_BYTES = 64 * 2**20


def read_regular(path: Path, most_bytes: int = MOST_BESIDE_BYTES) -> bytes:
    """Return the bytes of a regular file, not behind a link. Raises OSError for anything else, and if it is too long.

    For files of another site: a name may be of a device or a pipe, whose bytes never end, or of a link to elsewhere.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"more than {most_bytes:,} bytes", str(path))
    return content


def write_whole(path: Path, text: str | bytes, mode: int | None = None) -> None:
    """Write a file: first a draft, which then replaces the old one.

    ``mode`` sets its permissions; with None it gets those of any new file of this process. Raises OSError; nothing is
    left of the draft then.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        draft.write_bytes(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read_bounded(path: Path) -> FileEnds:
    """Return a file's content. If it is too long, return both ends, with a line between them that says so.

    The ends consist of whole lines, unless a line is longer than an end. Raises OSError (FileNotFoundError if there is
    no such file).
    """
    with path.open("rb") as handle:
        content = handle.read(MOST_BYTES + 1)
        size, lines = os.fstat(handle.fileno()).st_size, content.count(b"\n")
        if len(content) > MOST_BYTES:
            excess = f"{size:,} bytes, at most {MOST_BYTES:,}"
        elif lines > MOST_LINES:
            excess = f"{lines:,} lines, at most {MOST_LINES:,}"
        else:
            return FileEnds(content, len(content))
        head = content[:END_BYTES]
        handle.seek(-END_BYTES, os.SEEK_END)
        tail = handle.read(END_BYTES)
    head = head[: head.rfind(b"\n") + 1] or head + b"\n"
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = f"# railyard: {size - len(head) - len(tail)} bytes are left out here\n".encode()
    return FileEnds(head + left_out + tail, size, excess)


def too_long(path: Path, name: str) -> str | None:
    """Return a sentence if the file is too long to be read whole. Return None if it is not, or if there is no file."""
    try:
        excess = read_bounded(path).excess
    except OSError:
        return None
    if not excess:
        return None
    return f"{name} has {excess} are judged: only its first and last {END_BYTES:,} bytes were read"


def hold(descriptor: int, say: Callable[[str], None], waiting: str) -> None:
    """Return once we hold the exclusive lock. If another process holds it, say ``waiting`` first.

    Raises OSError if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(waiting)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def wait_for_turn(lock: Path) -> Iterator[None]:
    """Let one process at a time into the block; the others wait for it, on a file system that has locks.

    The file ``lock`` stays. It is never followed through a link. Raises SetupError if it cannot be made.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise unwritable(lock, "the lock", error, ", then try again") from error
    try:
        with contextlib.suppress(OSError):  # no locks there
            hold(descriptor, lambda _: None, "")  # it lasts a moment, so nothing is said
        yield
    finally:
        os.close(descriptor)
