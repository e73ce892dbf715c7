"""What a job wrote, in bounded time and memory: a file as it is, or both ends of one that is too long."""

import os
from dataclasses import dataclass
from pathlib import Path

from railyard.base.output_file import MOST_BYTES, MOST_LINES

#: Of a file that is longer than ``MOST_BYTES`` or ``MOST_LINES``: so much of its beginning, and of its end.
END_BYTES = 2**19


@dataclass(frozen=True, slots=True)
class Bounded:
    """The content of a file, or both of its ends. ``size`` is the file's own, in bytes.

    ``excess`` is what it has more of than is read, in words; empty where it was read whole.
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
        """The content as text; what is no UTF-8 becomes U+FFFD."""
        return self.content.decode("utf-8", errors="replace")


def read_bounded(path: Path) -> Bounded:
    """Return a file's content; of one that is too long both ends, with a line between them that says so.

    The ends are whole lines, unless one is longer than an end. Raises OSError, FileNotFoundError where there is none.
    """
    with path.open("rb") as handle:
        content = handle.read(MOST_BYTES + 1)
        size, lines = os.fstat(handle.fileno()).st_size, content.count(b"\n")
        if len(content) > MOST_BYTES:
            excess = f"{size:,} bytes, at most {MOST_BYTES:,}"
        elif lines > MOST_LINES:
            excess = f"{lines:,} lines, at most {MOST_LINES:,}"
        else:
            return Bounded(content, len(content))
        head = content[:END_BYTES]
        handle.seek(-END_BYTES, os.SEEK_END)
        tail = handle.read(END_BYTES)
    head = head[: head.rfind(b"\n") + 1] or head + b"\n"
    tail = tail[tail.find(b"\n") + 1 :] or tail
    left_out = f"# railyard: {size - len(head) - len(tail)} bytes are left out here\n".encode()
    return Bounded(head + left_out + tail, size, excess)


def too_long(path: Path, name: str) -> str | None:
    """Return the sentence of a file that is longer than what is read of it; None for a shorter one, or none."""
    try:
        excess = read_bounded(path).excess
    except OSError:
        return None
    if not excess:
        return None
    return f"{name} has {excess} are judged: only its first and last {END_BYTES:,} bytes were read"
