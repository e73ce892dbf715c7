"""The index of all stored results: a disposable SQLite table made from the record files, and updated when they change.

The files of records are the truth. The index has the searchable columns, and the position of each record in its file.
It is read completely into memory, updated there, and written back as a new file that replaces the old one. So it never
needs SQLite's locks, which are unreliable on NFS and Lustre. If two processes do this at once, only the work of one is
lost. An index that is missing, damaged or of another version is made again.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from railyard.base.errors import InputError
from railyard.base.terminal import track
from railyard.results.record.file import LineError, content_of, lines_of, why_rows_lost
from railyard.results.record.form import STATES, Record
from railyard.results.store.names import final_of

INDEX_FILE = "index.sqlite"
#: Raise this with any change of the tables below.
VERSION = 4
#: In place of size, time and inode of a file that could not be read.
_UNREAD = (-1, -1, -1)

#: What a condition may name: the column and its content.
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "run": "id of the run",
        "time": "when the record was written, UTC, such as 2026-11-21T06:00:12Z",
        "started": "when the test was launched, UTC",
        "test": "the case as ReFrame names it",
        "check_name": "name of the check",
        "system": "system",
        "fabric": "fabric",
        "stack": "MPI stack",
        "rails": "how many rails",
        "policy": "how messages were spread over them",
        "benchmark": "tool and benchmark, such as imb/PingPong",
        "state": ", ".join(STATES),
        "rule": "the first rule that did not hold",
        "class": "class of the failure: fabric, node, set-up …",
        "sentence": "the verdict's sentence",
        "path": "state of the path proof: proven, failed, not-proven, not-judged",
        "replayed": "1 if a recording was played, or a stand-in rehearsed",
        "elapsed_s": "seconds that the test took",
        "attempts": "how many measurements before it were disturbed and so repeated",
        "starved": "share of the time in which its processes waited for a processor, 0 to 1",
        "nodes": "names of its nodes, separated by commas",
        "job_id": "id of the scheduler's job",
        "peak": "key figure: largest bandwidth, MB/s; like each key figure, empty if a replay computed it",
        "n_half": "key figure: message size at half of the peak, B",
        "small_message_latency": "key figure, us",
        "message_rate": "key figure, 1/s",
    }
)
_FIGURES = ("peak", "n_half", "small_message_latency", "message_rate")

_TABLES = f"""
CREATE TABLE files (id INTEGER PRIMARY KEY, place TEXT UNIQUE, size INTEGER, mtime_ns INTEGER, inode INTEGER);
CREATE TABLE problems (file INTEGER, line INTEGER, sentence TEXT);
CREATE TABLE tests (
  id INTEGER PRIMARY KEY, file INTEGER, begins INTEGER, bytes INTEGER, final INTEGER,
  {", ".join(f'"{name}"' for name in COLUMNS)}
);
CREATE INDEX tests_file ON tests (file);
CREATE INDEX tests_where ON tests (system, fabric, stack, benchmark, rails);
PRAGMA user_version = {VERSION};
"""


def open_index(files: Iterable[Path], kept: Path | None) -> sqlite3.Connection:
    """Return the index of these files of records, up to date, in memory; ``kept`` is where it is kept between calls.

    A file that cannot be read is a problem, and is read again at the next call. It is not an error if the index itself
    cannot be read or written.
    """
    index = _taken_over(kept)
    if index is None:
        index = sqlite3.connect(":memory:")
        index.executescript(_TABLES)
    if _bring_up_to_date(index, tuple(files)) and kept is not None:
        _keep(index, kept)
    return index


def _taken_over(kept: Path | None) -> sqlite3.Connection | None:
    """Return the kept index, in memory, if it is complete and of this version; else None."""
    if kept is None or not kept.is_file():
        return None
    index = sqlite3.connect(":memory:")
    try:
        # immutable: nobody writes to this file, it is only replaced; so SQLite takes no lock, which NFS may never grant
        with contextlib.closing(sqlite3.connect(f"{kept.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as disk:
            disk.backup(index)
        version = index.execute("PRAGMA user_version").fetchone()[0]
        if version == VERSION and index.execute("PRAGMA quick_check").fetchone()[0] == "ok":
            return index
    except sqlite3.DatabaseError:  # cut, overwritten, or no database at all
        pass
    index.close()
    return None


def _bring_up_to_date(index: sqlite3.Connection, files: tuple[Path, ...]) -> bool:
    """Read new and changed files, forget removed ones; return whether there were any."""
    known = {row[1]: row for row in index.execute("SELECT id, place, size, mtime_ns, inode FROM files")}
    changed = False
    for path in track(files, "reading runs"):
        try:
            status = path.stat()
        except FileNotFoundError:  # removed since its folder was listed
            continue
        except OSError:  # a stale handle of NFS
            now = _UNREAD
        else:
            now = (status.st_size, status.st_mtime_ns, status.st_ino)
        before = known.pop(str(path), None)
        if before is not None:
            if before[2:] == now != _UNREAD:
                continue
            _forget(index, before[0])
        _add(index, path, now)
        changed = True
    for gone in known.values():
        _forget(index, gone[0])
        changed = True
    index.commit()
    return changed


def _forget(index: sqlite3.Connection, file: int) -> None:
    for table, key in (("tests", "file"), ("problems", "file"), ("files", "id")):
        index.execute(f"DELETE FROM {table} WHERE {key} = ?", (file,))


def _add(index: sqlite3.Connection, path: Path, status: tuple[int, int, int]) -> None:
    file = index.execute(
        "INSERT INTO files (place, size, mtime_ns, inode) VALUES (?, ?, ?, ?)", (str(path), *status)
    ).lastrowid
    rows: list[list[Any]] = []
    records: list[Record] = []
    try:
        content = content_of(path)
    except InputError as error:
        sentence = f"found {error.found}, expected {error.expected}; its tests are missing here"
        index.execute("INSERT INTO problems VALUES (?, NULL, ?)", (file, sentence))
        index.execute("UPDATE files SET size = ?, mtime_ns = ?, inode = ? WHERE id = ?", (*_UNREAD, file))
        return
    for line in lines_of(content):
        try:
            record = line.record(len(records))
        except LineError as error:
            index.execute("INSERT INTO problems VALUES (?, ?, ?)", (file, line.number, str(error)))
            continue
        records.append(record)
        if (lost := why_rows_lost(path.parent, record)) is not None:
            index.execute("INSERT INTO problems VALUES (?, ?, ?)", (file, line.number, lost))
        rows.append([file, line.offset, len(line.content), 0, *map(_sql_value, _row(record))])
    for place in final_of([(one.made.run, one.test.case, one.found.state) for one in records]):
        rows[place][3] = 1
    marks = ", ".join("?" * (4 + len(COLUMNS)))
    names = ", ".join(f'"{name}"' for name in ("file", "begins", "bytes", "final", *COLUMNS))
    index.executemany(f"INSERT INTO tests ({names}) VALUES ({marks})", rows)


def _sql_value(value: object) -> object:
    """Return a value that SQLite takes: its whole numbers have 63 bits and a sign."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _row(record: Record) -> tuple[object, ...]:
    figures = {figure.name: figure.value for figure in reversed(record.found.figures) if not figure.computed}
    return (
        record.made.run,
        record.made.time,
        record.made.started,
        record.test.case,
        record.test.check,
        record.where.system,
        record.where.fabric,
        record.test.stack,
        record.test.rails,
        record.test.policy,
        record.test.benchmark,
        record.found.state,
        record.found.verdict.rule,
        record.found.verdict.class_,
        record.found.verdict.text,
        None if record.how.path_proof is None else record.how.path_proof.state,
        int(record.no_measurement is not None),
        record.made.elapsed_s,
        len(record.how.attempts),
        record.how.starved,
        ",".join(record.where.nodes),
        record.where.job_id,
        *(figures.get(name) for name in _FIGURES),
    )


def _keep(index: sqlite3.Connection, kept: Path) -> None:
    """Replace the index file, completely or not at all."""
    partial = kept.with_name(f".{kept.name}.{os.getpid()}.partial")
    try:
        with contextlib.closing(sqlite3.connect(partial)) as disk:
            index.backup(disk)
        partial.replace(kept)
    except (OSError, sqlite3.Error):  # a read-only store, a full disk: the next call reads the files again
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
