"""One test's result on disk: a line of records.jsonl, from which reports, comparisons and history are made."""

import errno
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from railyard.errors import InputError, SetupError
from railyard.jsonform import FormError
from railyard.recordform import (
    FORMAT,
    STATES,
    BandRecord,
    CurveRecord,
    FaultClass,
    FigureRecord,
    LimitRecord,
    NodeTraffic,
    PathProofRecord,
    ProofState,
    RailTraffic,
    Record,
    RuleRecord,
    RuleState,
    State,
    SuspectKind,
    SuspectRecord,
    VerdictRecord,
)

__all__ = [
    "FILE_NAME",
    "FORMAT",
    "STATES",
    "BandRecord",
    "CurveRecord",
    "FaultClass",
    "FigureRecord",
    "LimitRecord",
    "NodeTraffic",
    "PathProofRecord",
    "ProofState",
    "RailTraffic",
    "Record",
    "Records",
    "RuleRecord",
    "RuleState",
    "State",
    "SuspectKind",
    "SuspectRecord",
    "VerdictRecord",
    "append_record",
    "read_records",
]

FILE_NAME = "records.jsonl"


@dataclass(frozen=True, slots=True)
class Records:
    """What a file of records held: the records in their order, and a sentence for each line that gave none."""

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()


def append_record(path: Path, record: Record) -> None:
    """Add one line to a file of records, creating file and folder; on disk when this returns, or not there at all.

    Raises FormError for NaN and infinity, SetupError where the file cannot be written (a full disk, no permission).
    """
    line = json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _append_line(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SetupError(
            f"{path}: the record of {record.case} could not be written ({error.strerror}); "
            "free some space or choose another folder, then run the test again"
        ) from error


def read_records(path: Path) -> Records:
    """Return the records of a file, or of the ``records.jsonl`` in a run folder; blank lines are passed over.

    A line that gives no record becomes a sentence in ``problems`` and the others are kept: a reader of a record file
    must not call a run passed while there are problems. Raises InputError where there is no such file.
    """
    path = path / FILE_NAME if path.is_dir() else path
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            str(path), f"no readable file ({error.strerror})", "records of a run", action="name a run folder"
        ) from error
    lines = content.split(b"\n")
    records: list[Record] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(_record_of(line, number == len(lines), len(records)))
        except _LineError as error:
            problems.append(f"{path}:{number}: {error}")
    return Records(tuple(records), tuple(problems))


class _LineError(ValueError):
    """Why one line gave no record."""


def _record_of(line: bytes, unended: bool, before: int) -> Record:
    try:
        data = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        if unended:
            raise _LineError(
                f"the last line is cut after {len(line)} bytes, its writer was stopped; "
                f"that record is lost, the {before} before it are kept"
            ) from None
        raise _LineError(f"found no JSON ({error}); that record is lost, the others are kept") from None
    if not isinstance(data, dict) or "format" not in data:
        raise _LineError('found no "format" key, so this is no record of Railyard; name another file')
    _check_format(data["format"])
    try:
        return Record.from_json(data)
    except FormError as error:
        raise _LineError(f"{error}; that record is not used") from None


def _check_format(number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise _LineError(f"found format {number!r}, expected a whole number; that record is not used")
    if number < FORMAT:
        raise _LineError(f"format {number} is too old, this Railyard reads format {FORMAT}; run the test again")
    if number > FORMAT:
        raise _LineError(
            f"format {number} is too new, this Railyard reads format {FORMAT}; read it with the Railyard that wrote it"
        )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _append_line(descriptor: int, line: bytes) -> None:
    """Write the line in one piece at the end, after ending a line that an earlier writer was stopped in."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    end = os.fstat(descriptor).st_size
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        line = b"\n" + line
    try:
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise
