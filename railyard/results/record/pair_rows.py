"""The rows of pairs beside the records: ``pairs-….tsv.gz``, one row per measured pair, complete or not there at all.

Format 1: three lines of heading (``# railyard pair rows 1``, how many nodes and rows, the names of the columns), then
the rows with tabs, and ``# end``. Nodes are numbers: indices from 0 into the record's ``pairs.nodes``, so a file has no
names. ``step`` is the index into ``pairs.rows.steps``. Bandwidths are MB/s (10^6 B/s) from first to second and back,
latency is half a round trip, us; an empty field gave no result. The file's name has the beginning of its SHA-256, and
the record has all of it. This shows if a file is missing, cut or different.
"""

import errno
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from railyard.base.errors import InputError, SetupError
from railyard.base.files import write_whole
from railyard.base.wording import count_of
from railyard.results.record.pairs import PairRows

FORMAT = 1
#: The names of such files beside a run's records.
PATTERN = "pairs-*.tsv.gz"
COLUMNS = ("step", "round", "first", "second", "forward", "backward", "latency")
_NAME = re.compile(r"pairs-[0-9a-f]{16}\.tsv\.gz")
_TITLE = f"# railyard pair rows {FORMAT}"
_COUNTS = re.compile(r"# ([0-9]{1,9}) nodes, ([0-9]{1,12}) rows\Z")
#: Bytes after unpacking, so that a malicious file cannot fill the memory: 1.5 million rows of 40 B are 60 MB.
_MOST_BYTES = 256 * 2**20
#: Bytes of a file that is read at all. Rows of 40 B pack to a third.
_MOST_PACKED_BYTES = 64 * 2**20


class Row(NamedTuple):
    """One measured pair: the index of its step, its round from 1, the indices of its nodes, and its values."""

    step: int
    round: int
    first: int
    second: int
    forward: float | None
    backward: float | None
    latency: float | None


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The rows as they are written: the file's content, and the record's entry for it."""

    told: PairRows
    content: bytes


def pack_rows(nodes: int, rows: Iterable[Row], steps: Sequence[str]) -> PackedRows:
    """Return the file of these rows. Equal rows give equal bytes."""
    lines = ["\t".join(map(_cell, row)) for row in rows]
    text = "\n".join([_TITLE, f"# {nodes} nodes, {len(lines)} rows", "\t".join(COLUMNS), *lines, "# end", ""])
    content = gzip.compress(text.encode(), compresslevel=6, mtime=0)
    digest = hashlib.sha256(content).hexdigest()
    return PackedRows(PairRows(f"pairs-{digest[:16]}.tsv.gz", digest, len(lines), tuple(steps)), content)


def write(folder: Path, file: PackedRows) -> None:
    """Write the file beside a run's records. Raises SetupError if that fails; then nothing of it is left."""
    path = folder / file.told.file
    try:
        write_whole(path, file.content)
    except OSError as error:
        raise SetupError(
            f"{path}: the rows of pairs could not be written ({error.strerror}); free some space or choose another "
            "folder, then run the test again"
        ) from error


def why_not(folder: Path, told: PairRows) -> str | None:
    """Return why the file that a record names is not the one that was written; None if it is, byte for byte."""
    try:
        content_of(folder, told)
    except InputError as error:
        return str(error)
    return None


def read(folder: Path, told: PairRows) -> tuple[Row, ...]:
    """Return the rows of a file. Raises InputError if it is missing, cut, different, or of another form."""
    return parse(content_of(folder, told), str(folder / told.file), told.rows)


def content_of(folder: Path, told: PairRows) -> bytes:
    """Return a file as it was written, byte for byte. Raises InputError if it is missing, cut or different."""
    if not is_file_name(told.file):
        raise _refusal(str(folder), f"a record that names {told.file[:60]!r}")
    path = folder / told.file
    try:
        content = stored_bytes(path)
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else f"no readable file ({error.strerror})"
        raise _refusal(str(path), found) from None
    if (wrong := _difference(content, told)) is not None:
        raise _refusal(str(path), wrong)
    return content


def is_file_name(name: str) -> bool:
    """Return whether a record may name this file: one beside the record, never one elsewhere, as /dev/zero."""
    return _NAME.fullmatch(name) is not None


def stored_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file, not behind a link. Raises OSError for anything else, and if it is too long.

    A record of another site may name a device or a pipe, whose bytes never end.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = file.read(_MOST_PACKED_BYTES + 1)
    if len(content) > _MOST_PACKED_BYTES:
        raise OSError(errno.EFBIG, f"more than {_MOST_PACKED_BYTES:,} bytes", str(path))
    return content


def put(folder: Path, told: PairRows, content: bytes | None, source: str) -> str | None:
    """Write a file from elsewhere, if it is what its record says and not there yet; else return why not.

    ``content`` None: ``source`` has no such file. Raises OSError.
    """
    why = why_unlike(content, told, source)
    if content is None or why is not None:
        return None if is_file_name(told.file) and why_not(folder, told) is None else why
    if why_not(folder, told) is not None:
        write_whole(folder / told.file, content)
    return None


def why_unlike(content: bytes | None, told: PairRows, source: str) -> str | None:
    """Return why a source's file is not what was written; ``content`` None: the source has no such file."""
    if not is_file_name(told.file):
        return str(_refusal(source, f"a record that names {told.file[:60]!r}"))
    wrong = "no such file" if content is None else _difference(content, told)
    return None if wrong is None else str(_refusal(f"{source}: {told.file}", wrong))


def parse(content: bytes, file: str, expected: int) -> tuple[Row, ...]:
    """Return the rows of a file's bytes. Raises InputError naming ``file`` for another form."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
            text = unpacked.read(_MOST_BYTES + 1).decode("ascii")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise _refusal(file, f"no complete gzip text ({error})") from None
    if len(text) > _MOST_BYTES:
        raise _refusal(file, f"more than {_MOST_BYTES:,} bytes when unpacked")
    lines = text.split("\n")
    counts = _COUNTS.match(lines[1]) if len(lines) > 4 and lines[0] == _TITLE else None
    if counts is None or lines[2] != "\t".join(COLUMNS) or lines[-2:] != ["# end", ""]:
        raise _refusal(file, "another form")
    nodes, rows = int(counts[1]), lines[3:-2]
    if not len(rows) == int(counts[2]) == expected:
        raise _refusal(file, f"{count_of(len(rows), 'row')}, but {expected} were written")
    try:
        found = tuple(_row(line) for line in rows)
    except ValueError as error:
        raise _refusal(file, f"a row of another form ({error})") from None
    if any(not 0 <= row.first < nodes or not 0 <= row.second < nodes for row in found):
        raise _refusal(file, "a node that is not in the record")
    return found


def _difference(content: bytes, told: PairRows) -> str | None:
    digest = hashlib.sha256(content).hexdigest()
    if digest == told.sha256:
        return None
    return f"a file with the SHA-256 {digest[:16]}…" if _ends(content) else "a file that is cut"


def _ends(content: bytes) -> bool:
    """Return whether the file has gzip's end."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacker.decompress(content, _MOST_BYTES)
    except zlib.error:
        return False
    return unpacker.eof


def _refusal(where: str, found: str) -> InputError:
    return InputError(
        where,
        found,
        "the rows of pairs that its record names",
        action="copy the file from where the run was made; until then nothing that depends on these rows is a pass",
    )


def _cell(value: float | None) -> str:
    return "" if value is None else str(value)


def _row(line: str) -> Row:
    cells = line.split("\t")
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{len(cells)} fields, expected {len(COLUMNS)}")
    values = (float(cell) if cell else None for cell in cells[4:])
    return Row(*map(int, cells[:4]), *values)
