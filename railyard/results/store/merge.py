"""Brings results of another clone or site into this store: whole runs, or the lines of a run that are missing here."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, RailyardError, unwritable
from railyard.base.files import read_regular, wait_for_turn
from railyard.base.json_codec import FormError, decode
from railyard.base.paths import runs_folder
from railyard.results.record.file import FILE_NAME, append_lines, content_of, files_of_runs, has_records, lines_of
from railyard.results.record.form import stored_value
from railyard.results.record.pair_rows import is_file_name, put
from railyard.results.record.pairs import PairRows
from railyard.results.record.run_promise import ENDED_FILE_NAME
from railyard.results.store.query import exported_files

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
#: What is copied from a run's folder besides its records: no stage folders, no logs.
_BESIDE = ("*.json", "*.html", "*.xml", ENDED_FILE_NAME)


@dataclass(frozen=True, slots=True)
class MergedRun:
    """One run of a source: how many lines came, how many were already here; a sentence for each rejected one."""

    run: str
    came: int
    there: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """One run as it was found: its lines as bytes, and its folder if it has one.

    ``file`` is the file of the lines, ``exported`` are the files that an exported object has with them.
    """

    run: str
    lines: tuple[bytes, ...]
    folder: Path | None
    file: Path
    exported: Mapping[str, bytes]

    def content(self, name: str) -> bytes | None:
        """Return the rows of pairs that a record names, beside the records; None if there is no such file."""
        try:
            return self.exported.get(name) or read_regular(self.file.parent / name)
        except OSError:
            return None


def merge(home: Path, source: Path) -> tuple[MergedRun, ...]:
    """Bring in every run of a source: a site, its .railyard, a folder of runs, a run's folder, a .jsonl or a .json.

    A line is copied byte for byte, also in a newer format, and only once. A new run appears completely or not at all.
    Lines that are cut or not JSON are left out and named. Raises InputError if the source has no records, SetupError if
    this store cannot be written.
    """
    files = _record_files(source)
    if not files:
        raise InputError(
            str(source), "no records", "a site, a run's folder, a .jsonl or an exported .json", action="check the name"
        )
    merged: list[MergedRun] = []
    for file in files:
        try:
            found, problems = _runs_in(file)
        except InputError as error:  # one of several that may not be read keeps out no other
            if len(files) == 1:
                raise
            merged.append(MergedRun(file.parent.name, 0, 0, (str(error),)))
            continue
        for number, one in enumerate(found):
            merged.append(_merge_in_turn(runs_folder(home), one, problems if number == 0 else ()))
        if not found and problems:
            raise RailyardError("\n".join(problems))
    return tuple(merged)


def _record_files(source: Path) -> tuple[Path, ...]:
    if source.is_file():
        return (source,)
    if has_records(source):
        return (source / FILE_NAME,)
    return next(filter(None, map(files_of_runs, (source, source / "runs", source / ".railyard/runs"))), ())


def _runs_in(file: Path) -> tuple[list[_Source], tuple[str, ...]]:
    """Return the runs in a file, in the order of their first lines, and sentences on rejected lines."""
    problems: list[str] = []
    grouped: dict[str, list[bytes]] = {}
    for where, content, data in _lines(file):
        run = stored_value(data, "run")
        if data is None:
            problems.append(f"{where}: found no JSON, expected a record; that line is left out")
        elif not isinstance(run, str) or not _RUN.fullmatch(run):
            found = "no run" if run is None else f"the run {str(run)[:60]!r}"
            problems.append(f"{where}: found {found}, expected a record with its run's id; that line is left out")
        elif (rows := _rows_of(content)) is not None and not is_file_name(rows.file):
            problems.append(
                f"{where}: found a record that names {rows.file[:60]!r}, expected a file beside it (pairs-….tsv.gz); "
                "that line is left out, and nothing was read"
            )
        elif stored_value(data, "rehearsal"):
            problems.append(f"{where}: found a rehearsal, expected a measurement; that line is left out")
        else:
            grouped.setdefault(run, []).append(content)
    folder = file.parent if file.name == FILE_NAME else None
    whole = folder is not None and len(grouped) == 1
    exported = exported_files(_json(content_of(file))) if file.suffix == ".json" else {}
    beside = folder if whole else None
    sources = [_Source(run, tuple(lines), beside, file, exported) for run, lines in grouped.items()]
    return sources, tuple(problems)


def _lines(file: Path) -> Iterator[tuple[str, bytes, Any]]:
    """Yield the place of each record, its bytes, and its JSON value (None if it is not JSON)."""
    if file.suffix == ".json":
        data = _json(content_of(file))
        listed = data.get("records") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            raise InputError(
                str(file), "something else", '{"format": …, "records": […]}', action="name an exported file"
            )
        for place, item in enumerate(listed):
            text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
            yield f"{file}: records[{place}]", text.encode(), item
        return
    for line in lines_of(content_of(file)):
        yield f"{file}:{line.number}", line.content, _json(line.content)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _merge_in_turn(runs: Path, source: _Source, problems: tuple[str, ...]) -> MergedRun:
    """Bring in one run; two merges of the same run at once would each add its records."""
    with wait_for_turn(runs.parent / "merging"):
        try:
            return _merge_one(runs / source.run, source, problems)
        except OSError as error:
            raise unwritable(runs / source.run, "the run", error, ", then merge again") from error


def _merge_one(target: Path, source: _Source, problems: tuple[str, ...]) -> MergedRun:
    if not target.is_dir():
        lost = _place(source, target)
        return MergedRun(source.run, len(source.lines), 0, (*problems, *lost))
    file = target / FILE_NAME
    stored = [line.content for line in lines_of(content_of(file))] if file.exists() else []
    here, taken = {_canonical_text(line) for line in stored}, {_moment(line) for line in stored} - {None}
    new = [line for line in dict.fromkeys(source.lines) if _canonical_text(line) not in here]
    missing = [line for line in new if _moment(line) not in taken]
    changed = tuple(_describe_change(source.run, line) for line in new if _moment(line) in taken)
    # The rows of a record that is already here may have been lost since.
    taking = [*missing, *(line for line in source.lines if _canonical_text(line) in here)]
    lost = _bring_rows(source, taking, target)
    append_lines(file, missing)
    return MergedRun(source.run, len(missing), len(source.lines) - len(new), (*problems, *changed, *lost))


def _canonical_text(line: bytes) -> str:
    """Return the same text for two lines with the same JSON."""
    return json.dumps(_json(line), sort_keys=True)


def _moment(line: bytes) -> tuple[str, str] | None:
    """Return the case and the time of a record, which identify it; None if a line does not have them."""
    data = _json(line)
    case, time = stored_value(data, "case"), stored_value(data, "time")
    return (case, time) if isinstance(case, str) and isinstance(time, str) else None


def _describe_change(run: str, line: bytes) -> str:
    case, time = _moment(line) or ("", "")
    return f"{run}: found a record of {case} at {time} that differs from the one that is here; it is left out"


def _bring_rows(source: _Source, lines: Iterable[bytes], folder: Path) -> tuple[str, ...]:
    """Bring the rows of pairs that records name; return a sentence for each file that is missing or changed.

    Its record comes without it, and never counts as a pass.
    """
    lost = []
    for line in lines:
        rows = _rows_of(line)
        if rows is not None:
            why = put(folder, rows, source.content(rows.file), str(source.file))
            lost += [why] if why is not None else []
    return tuple(dict.fromkeys(lost))


def _rows_of(line: bytes) -> PairRows | None:
    """Return which file of rows a record names; None if it names none, or if its form is unknown here."""
    pairs = stored_value(_json(line), "pairs")
    rows = pairs.get("rows") if isinstance(pairs, dict) else None
    try:
        return None if rows is None else decode(PairRows, rows)
    except FormError:
        return None


def _place(source: _Source, target: Path) -> tuple[str, ...]:
    """Put a run's folder in its place in one step, so that nobody reads half of it; return what was lost."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.mkdir(parents=True)
        append_lines(partial / FILE_NAME, source.lines)
        lost = _bring_rows(source, source.lines, partial)
        if source.folder is not None:
            _copy_beside(source.folder, partial)
        partial.rename(target)
        return lost
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _copy_beside(folder: Path, into: Path) -> None:
    files: Sequence[Path] = [path for pattern in _BESIDE for path in folder.glob(pattern)]
    for path in files:
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, into / path.name)
    outputs = folder / "outputs"
    if outputs.is_dir() and not outputs.is_symlink():
        (into / "outputs").mkdir()
        for path in outputs.iterdir():
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, into / "outputs" / path.name)
