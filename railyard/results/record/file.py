"""One test's result on disk: a line of records.jsonl, from which reports, comparisons and history are made."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError, unwritable
from railyard.base.files import read_regular
from railyard.base.json_codec import FormError
from railyard.results.record import pair_rows
from railyard.results.record.form import (
    FORMAT,
    OLDEST_FORMAT,
    Record,
    why_short,
)
from railyard.results.record.masking import masked_json

FILE_NAME = "records.jsonl"
#: Of a file of records, so that a foreign one cannot fill the memory: 5,000 tests with all that is known of each.
_MOST_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Records:
    """The content of a file of records: the records in their order, and a sentence for each line without one."""

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()


def append_record(path: Path, record: Record) -> None:
    """Add one line to a file of records, creating file and folder; when this returns, it is on disk or not there.

    Secrets, known by name or form, are masked first (``railyard.results.record.masking``).

    Raises FormError for NaN and infinity, SetupError if the file cannot be written (a full disk, no permission).
    """
    values = masked_json(record.to_json())
    line = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            is_new = os.fstat(descriptor).st_size == 0
            _append_line(descriptor, line)
        finally:
            os.close(descriptor)
        if is_new:
            _sync_folder(path.parent)
    except OSError as error:
        more = ", or choose another folder, then run the test again"
        raise unwritable(path, f"the record of {record.test.case}", error, more) from error


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Add lines that are already records, unchanged and in one piece; on disk when this returns. Raises OSError."""
    if lines:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _append_line(descriptor, b"\n".join(lines) + b"\n")
        finally:
            os.close(descriptor)


def read_records(path: Path) -> Records:
    """Return the records of a file, or of the ``records.jsonl`` in a run folder; blank lines are ignored.

    A line without a record becomes a sentence in ``problems``, and the others are kept. A reader must not call a run
    passed while there are problems. A killed run is a problem too, and so is a record whose rows of pairs are missing.
    Raises InputError if there is no such file.
    """
    path = path / FILE_NAME if path.is_dir() else path
    records: list[Record] = []
    problems: list[str] = []
    for line in lines_of(content_of(path)):
        try:
            record = line.record(len(records))
        except LineError as error:
            problems.append(f"{path}:{line.number}: {error}")
            continue
        records.append(record)
        if (lost := why_rows_lost(path.parent, record)) is not None:
            problems.append(f"{path}:{line.number}: {lost}")
    if path.name == FILE_NAME and (short := why_short(path.parent, len({record.test.case for record in records}))):
        problems.append(short)
    return Records(tuple(records), tuple(problems))


def why_rows_lost(folder: Path, record: Record) -> str | None:
    """Return why the rows of pairs that a record names are missing or changed; None if they are as written."""
    rows = None if record.found.pairs is None else record.found.pairs.rows
    return None if rows is None else pair_rows.why_not(folder, rows)


class LineError(ValueError):
    """Why one line has no record."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file of records that is not blank: its number from 1, where it begins, whether it has an end."""

    number: int
    offset: int
    content: bytes
    ended: bool

    def record(self, before: int) -> Record:
        """Return the record of this line; ``before``: how many came before it. Raises LineError if there is none."""
        try:
            data = json_of(self.content)
        except (ValueError, RecursionError) as error:
            if not self.ended:
                raise LineError(
                    f"the last line is cut after {len(self.content)} bytes, because its writer was stopped; "
                    f"that record is lost, the {before} before it are kept"
                ) from None
            raise LineError(f"found no JSON ({error}); that record is lost, the others are kept") from None
        return record_of(data)


def record_of(data: object) -> Record:
    """Return the record of a line's JSON value. Raises LineError with the reason if it is not one."""
    if not isinstance(data, dict) or "format" not in data:
        raise LineError('found no "format" key, so this is not a record of Railyard; name another file')
    _check_format(data["format"])
    try:
        return Record.from_json(data)
    except FormError as error:
        raise LineError(f"{error}; that record is not used") from None


def lines_of(content: bytes) -> Iterator[Line]:
    """Yield the lines that are not blank; a line without an end is cut, unless it is complete without it."""
    offset = 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield Line(number, offset, line, offset + len(line) < len(content))
        offset += len(line) + 1


def has_records(folder: Path) -> bool:
    """Return whether a folder has a file of records, or may not be entered: then reading that file says so."""
    try:
        return (folder / FILE_NAME).is_file()
    except PermissionError:
        return True


def files_of_runs(folder: Path) -> tuple[Path, ...]:
    """Return the file of records of each run in a folder, by name; hidden folders are of unfinished merges."""
    runs = (run for run in sorted(folder.glob("*")) if not run.name.startswith("."))
    return tuple(run / FILE_NAME for run in runs if has_records(run))


def content_of(path: Path) -> bytes:
    """Return the content of a file of records; if the last line has no end, it is read again when the writer is done.

    Raises InputError if it cannot be read.
    """
    # A run's file is no link. A file that a person names may be one.
    named = path if path.name == FILE_NAME else path.resolve()
    try:
        content = read_regular(named, _MOST_BYTES)
        if content and not content.endswith(b"\n"):
            with named.open("rb") as stream:
                _lock(stream.fileno(), fcntl.LOCK_SH)
                content = read_regular(named, _MOST_BYTES)
    except OSError as error:
        raise InputError(
            str(path), f"no readable file ({error.strerror})", "records of a run", action="name a run folder"
        ) from error
    return content


def _check_format(number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise LineError(f"found format {number!r}, expected a whole number; that record is not used")
    if number < OLDEST_FORMAT or number > FORMAT:
        why, action = (
            ("old", "run the test again") if number < FORMAT else ("new", "read it with the Railyard that wrote it")
        )
        raise LineError(
            f"format {number} is too {why}, this Railyard reads formats {OLDEST_FORMAT} to {FORMAT}; {action}"
        )


def json_of(content: bytes) -> object:
    """Return the value of a line; equal texts become one object. Raises ValueError and RecursionError."""
    from pydantic_core import from_json

    try:  # takes 0.6 of the time of Python's own
        return from_json(content, allow_inf_nan=False)
    except ValueError:  # Python's own explains more, and accepts half a surrogate pair, which is removed later
        return json.loads(content.decode(), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


#: The errors of a file system without locks (NFS without lockd, Lustre without -o flock). Only one host writes a run's
#: file, so appending is safe there without a lock.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def _lock(descriptor: int, how: int) -> None:
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _append_line(descriptor: int, line: bytes) -> None:
    """Write the line in one piece at the end; if an earlier writer was stopped in a line, end that line first."""
    _lock(descriptor, fcntl.LOCK_EX)
    end = os.fstat(descriptor).st_size
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        line = b"\n" + line
    try:
        written = os.write(descriptor, line)
        if written != len(line):
            # Writing the rest fails with the reason (a full disk, a quota, a limit on file sizes), or it fits after
            # all.
            written += os.write(descriptor, line[written:])
        if written != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _sync_folder(folder: Path) -> None:
    """Put a new file's name on disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not have this call
            raise
    finally:
        os.close(descriptor)
