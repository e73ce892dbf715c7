"""Files: read in bounded time and memory, written whole or not at all, and locked.

Reads a benchmark's output as text, from a file or standard input, in bounded memory. If it cannot, it says why.

Source: moby/moby, daemon/logger/jsonfilelog/jsonlog: Log, Stream, Created. A line above 16 KiB has several objects.
"""

import codecs
import contextlib
import errno
import fcntl
import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from railyard.base.errors import InputError, unwritable
from railyard.base.values import clean, one_line

STANDARD_INPUT = "-"
#: More is refused, packed or unpacked. The longest log that we know, of a debug build of WRF, has a fiftieth of it; the
#: pairs of 1,000 nodes have half a million lines. Reading takes up to four times the bytes in memory, plus 100 bytes
#: and 6 us of CPU time per line, whatever is in the line.
MOST_BYTES = 32 * 2**20
MOST_LINES = 1_000_000
_WHY: Mapping[type[OSError], tuple[str, str]] = MappingProxyType(
    {
        FileNotFoundError: ("no such file", "check the name"),
        IsADirectoryError: ("a folder", "name a file in it"),
        PermissionError: ("a file that may not be read", "ask its owner for permission"),
    }
)
_EXPECTED = "the text output of a benchmark"
# For files that are packed, have another encoding, or are text in which a file system left a hole.
_TO_TEXT = "make it text: xz -dc FILE | railyard parse - (or unzip -p FILE, iconv -f UTF-32 FILE, tr -d '\\000' < FILE)"
#: Line ends of old Macs, of VT and of Unicode. A reader that drops one of them joins two figures to a number.
_OTHER_ENDS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
# "copying:  50% |####": a progress bar overwrites itself, and what is printed next overwrites it
_PROGRESS = re.compile(r"\D{0,60}[0-9]{1,3}(?:\.[0-9]{1,2})? ?%")
_CHUNK = 2**20
_GZIP = b"\x1f\x8b"


def read_output(name: str, standard_input: BinaryIO) -> str:
    """Return the text of a file, or of standard input if ``name`` is ``-``. Its lines keep their numbers.

    gzip is unpacked, UTF-16 is decoded (PowerShell's ">" writes it), a byte order mark is dropped, and bytes that are
    not UTF-8 become U+FFFD. A container's log is read as what it printed (``container_lines``). Escape sequences and
    control characters are removed. A carriage return or a line separator of Unicode ends a line only in a text without
    newlines; elsewhere it is a blank, and a progress bar before it goes.

    Raises InputError if there is no such file, or if it is a folder, empty, cut (gzip), larger than ``MOST_BYTES`` or
    ``MOST_LINES``, or not text: NUL bytes are in programs, other encodings and other packed files.
    """
    shown = shown_name(name)
    try:
        if name == STANDARD_INPUT:
            content = _content(standard_input, shown)
        else:
            content = _content_of_file(name, shown)
    except OSError as error:
        # gzip.BadGzipFile is an OSError too, but is handled where it is raised
        found, action = _WHY.get(type(error), (f"no readable file ({error.strerror})", "check the name"))
        raise _refusal(shown, found, action) from error
    text = _decode(content, shown)
    if not text.strip():
        raise _refusal(shown, "nothing but white space" if content else "an empty file", "was the job's output kept?")
    return text


def shown_name(name: str) -> str:
    """Return a file's name as sentences show it: on one line, without control codes, and ``-`` in words."""
    return "standard input" if name == STANDARD_INPUT else one_line(name)


def _refusal(shown: str, found: str, action: str, line: int | None = None) -> InputError:
    return InputError(shown, found, _EXPECTED, line=line, action=action)


def _content_of_file(name: str, shown: str) -> bytes:
    # a name with a NUL or with surrogates that no file system takes is refused as a name that is not there
    if "\x00" in name:
        raise _refusal(shown, "a NUL in the file's name", "check the name")
    with open(name, "rb") as handle:
        status = os.fstat(handle.fileno())
        head = handle.peek(len(_GZIP))[: len(_GZIP)] if stat.S_ISREG(status.st_mode) else b""
        if status.st_size > MOST_BYTES and head != _GZIP:
            raise _too_large(shown, f"{status.st_size:,} bytes")
        return _content(handle, shown)


def _content(handle: BinaryIO, shown: str) -> bytes:
    """Return all bytes, unpacked if they are gzip. Memory never holds more than the limit and one chunk."""
    content = _up_to_the_limit(handle, shown, "")
    if not content.startswith(_GZIP):
        return content
    unpacked = gzip.GzipFile(fileobj=io.BytesIO(content))
    try:
        return _up_to_the_limit(unpacked, shown, " when unpacked")
    except EOFError as error:
        raise _refusal(shown, "a gzip file that is cut", "copy it again: its end is missing") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise _refusal(shown, f"a gzip file that is damaged ({error})", "copy it again") from error


def _up_to_the_limit(handle: BinaryIO | gzip.GzipFile, shown: str, when: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := handle.read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise _too_large(shown, f"more than {MOST_BYTES:,} bytes{when}")
    return b"".join(pieces)


def _too_large(shown: str, found: str, most: int = 0) -> InputError:
    return InputError(
        shown,
        found,
        f"at most {most or MOST_BYTES:,}",
        action="cut out the benchmark's own output: sed -n 'FROM,TOp' FILE | railyard parse -",
    )


def _decode(content: bytes, shown: str) -> str:
    """Return the text of these bytes, made harmless. Raises InputError if they are not text."""
    text = _utf_16(content)
    at = content.find(b"\x00") if text is None else -1
    if at >= 0:
        found, line = f"binary data: byte {at + 1} is NUL", content.count(b"\n", 0, at) + 1
        raise _refusal(shown, found, _TO_TEXT, line=line)
    lines = content.count(b"\n")
    if lines > MOST_LINES:
        raise _too_large(shown, f"{lines:,} lines", MOST_LINES)
    text = text or content.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="replace")
    return clean(_with_newlines(container_lines(text)))


def _utf_16(content: bytes) -> str | None:
    """Return the text of these bytes if they are UTF-16, with a byte order mark or of ASCII; None for any others."""
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    odd, even = (content[at:4096:2] for at in (1, 0))
    kind = "utf-16" if marked else "utf-16-le" if odd.strip(b"\0") == b"" else "utf-16-be"
    if len(content) < 4 or not (marked or odd.strip(b"\0") == b"" or even.strip(b"\0") == b""):
        return None
    try:
        text = content.decode(kind)
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _with_newlines(text: str) -> str:
    """Return a text in which only newlines end lines, so that ``clean`` neither adds lines nor joins two."""
    text = text.replace("\r\n", "\n")
    if _OTHER_ENDS.search(text) is None:
        return text
    if "\n" not in text.rstrip("\n"):
        return _OTHER_ENDS.sub("\n", text)
    return "\n".join([_visible_part(line) if _OTHER_ENDS.search(line) else line for line in text.split("\n")])


def _visible_part(line: str) -> str:
    """Return a line without the progress bars that carriage returns in it overwrite."""
    *earlier, last = [part for part in line.split("\r") if clean(part).strip()] or [""]
    return _OTHER_ENDS.sub(" ", " ".join([*(part for part in earlier if not _PROGRESS.match(part)), last]))


def container_lines(text: str) -> str:
    """Return the lines that a container printed, with the numbers of their objects; any other text as it is.

    A line of several objects is where the last of them is.
    """
    begin = text.lstrip()[:200]
    if not (begin.startswith('{"') and '"log":' in text):
        return text
    lines: list[str] = []
    open_line: dict[str, str] = {}  # by stream
    for each in text.removesuffix("\n").split("\n"):
        said = _log_text(each) if each.strip() else ("", "\n")
        if said is None:
            return text
        stream, printed = said
        whole = open_line.pop(stream, "") + printed
        if printed.endswith("\n"):
            lines.append(whole[:-1])
        else:
            lines.append("")
            open_line[stream] = whole
    lines.extend(open_line.values())
    return "\n".join(lines) + ("" if open_line else "\n")


def _log_text(line: str) -> tuple[str, str] | None:
    """Return the stream of one object and what was printed; None for any other line, and for one of several lines."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    printed = found.get("log") if isinstance(found, dict) else None
    if not isinstance(printed, str) or "\n" in printed[:-1]:
        return None
    return str(found.get("stream", "")), printed


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
