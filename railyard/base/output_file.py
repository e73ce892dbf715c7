"""A benchmark's output as text, from a file or standard input: bounded in memory, or one sentence that says why not."""

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import BinaryIO

from railyard.base.clean_text import clean, one_line
from railyard.base.errors import InputError

STANDARD_INPUT = "-"
#: More is refused, unpacked or not. The longest log known here, of a debug build of WRF, has a hundredth of it. Reading
#: takes some ten to fifteen times its bytes, so 0.9 GB at the limit, and a third of a second of CPU a megabyte.
MOST_BYTES = 64 * 2**20

_WHY: Mapping[type[OSError], tuple[str, str]] = MappingProxyType(
    {
        FileNotFoundError: ("no such file", "check the name"),
        IsADirectoryError: ("a folder", "name a file in it"),
        PermissionError: ("a file that may not be read", "ask its owner for permission"),
    }
)
_EXPECTED = "the text output of a benchmark"
_CHUNK = 2**20
_GZIP = b"\x1f\x8b"
# First bytes -> what it is, and the command that gives its text on standard output.
_PACKED = (
    (b"BZh", "a file packed with bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\x00", "a file packed with xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "a file packed with zstd", "zstd -dc"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
)
_BINARY = ((b"\x7fELF", "a program (ELF)"), (b"%PDF", "a PDF document"), (b"\x89PNG", "a picture (PNG)"))
# The longer mark first: that of UTF-32 (little-endian) begins as that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def read_output(name: str, standard_input: BinaryIO) -> str:
    """Return the text of a file, or of standard input where ``name`` is ``-``; its lines keep their numbers.

    gzip is unpacked, UTF-8, UTF-16 and UTF-32 are told by their byte order mark, what is no UTF-8 becomes U+FFFD.
    Escape sequences and control characters are gone; a carriage return ends no line and is a blank inside one.

    Raises InputError where there is no such file, it is a folder, empty, packed otherwise, cut (gzip), larger than
    ``MOST_BYTES``, or no text: then it has NUL bytes.
    """
    shown = shown_name(name)
    try:
        if name == STANDARD_INPUT:
            content = _content(standard_input, shown)
        else:
            content = _content_of_file(name, shown)
    except OSError as error:
        # gzip.BadGzipFile is an OSError too, but is answered where it is raised
        found, action = _WHY.get(type(error), (f"no readable file ({error.strerror})", "check the name"))
        raise _refusal(shown, found, action) from error
    text = _decoded(content, shown)
    if not text.strip():
        raise _refusal(shown, "nothing but white space" if content else "an empty file", "was the job's output kept?")
    return text


def shown_name(name: str) -> str:
    """Return a file's name as sentences show it: on one line, without control codes; ``-`` in words."""
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
    """Return all bytes, unpacked where they are gzip's; never more than the limit and one chunk is held."""
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


def _too_large(shown: str, found: str) -> InputError:
    return InputError(
        shown,
        found,
        f"at most {MOST_BYTES:,}",
        action="cut out the benchmark's own output: sed -n 'FROM,TOp' FILE | railyard parse -",
    )


def _decoded(content: bytes, shown: str) -> str:
    """Return the text of these bytes, made harmless. Raises InputError where they are none."""
    for mark, what, command in _PACKED:
        if content.startswith(mark):
            raise _refusal(shown, what, f"unpack it: {command} FILE | railyard parse -")
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    if encoding in (None, "utf-8-sig"):
        _refuse_nul(content, shown)
    try:
        text = content.decode(encoding or "utf-8", errors="replace" if encoding in (None, "utf-8-sig") else "strict")
    except UnicodeDecodeError as error:
        found = f"{error.encoding.upper()} that is damaged at byte {error.start + 1}"
        raise _refusal(shown, found, "copy it again, or convert it to UTF-8") from error
    if "\x00" in text:
        raise _refusal(shown, "NUL characters", "delete them", line=text.count("\n", 0, text.index("\x00")) + 1)
    # clean() would make a line's end of a carriage return, and shift the numbers of all lines below it
    return clean(text.replace("\r\n", "\n").replace("\r", " "))


def _refuse_nul(content: bytes, shown: str) -> None:
    at = content.find(b"\x00")
    if at < 0:
        return
    for mark, what in _BINARY:
        if content.startswith(mark):
            raise _refusal(shown, what, "name the file that holds what the benchmark printed")
    begins = content[:512]
    for encoding, zeros in (("UTF-16LE", begins[1::2]), ("UTF-16BE", begins[0::2])):
        # plain English in UTF-16: every other byte is NUL
        if zeros.count(0) > 0.9 * len(zeros):
            action = f"convert it: iconv -f {encoding} -t UTF-8 FILE | railyard parse -"
            raise _refusal(shown, f"{encoding} without a byte order mark", action)
    raise _refusal(
        shown,
        f"binary data: byte {at + 1} is NUL",
        "where a file system left a hole in a text, tr -d '\\000' < FILE | railyard parse - reads the rest",
        line=content.count(b"\n", 0, at) + 1,
    )
