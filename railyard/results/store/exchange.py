"""Brings results of another clone or site into this store: whole runs, or the lines of a run that are missing here.

Records to give away: without names of hosts and users, paths and addresses; figures and versions stay.

An output to give away is without hosts, users, paths and addresses too.
"""

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
from railyard.results.record.form import ENDED_FILE_NAME, PART_OF, Record, stored_value
from railyard.results.record.pair_rows import PairRows, is_file_name, put
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


#: Keys whose value names a test, a metric or a unit. They never name a host, and a user called mpich must not change
#: them.
_KEPT = frozenset(
    (
        *(
            "run",
            "time",
            "started",
            "hash",
            "case",
            "check",
            "system",
            "fabric",
            "stack",
            "benchmark",
            "state",
            "policy",
        ),
        *("metric", "unit", "name", "id", "kind", "class", "references", "scheduler", "format"),
        *("file", "sha256"),
    )
)
#: Keys under which four numbers with points are a version, not an address.
_VERSIONED = frozenset(("environment", "facts", "devices", "benchmark_version", "linked", "conditions"))
#: Keys that stay as they are, also if a host is called test.
_PARTS = frozenset(PART_OF.values())
_HOME = re.compile(r"/(?:home|users?|Users|u)/(?:[a-z]/)?(?P<name>[A-Za-z_][\w.-]*)")
_SHORTEST_NAME = 2
# /opt/mpi/lib/libmpi.so, with at least two parts: "MB/s" and "/dev" identify nobody
_PATH = re.compile(r"(?<![\w.:/])/(?:[\w.+@~-]+/)+(?P<last>[\w.+@~-]*)")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# a MAC (6 pairs), a GID in the form of perftest (16 numbers) and of ibstat (8 groups)
_COLONS = re.compile(r"(?<![\w:])[0-9a-fA-F]{2,3}(?::[0-9a-fA-F]{2,3}){5,15}(?![\w:])|"
                     r"(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}(?![\w:])")  # fmt: skip
_GUID = re.compile(r"(?<!\w)0x[0-9a-fA-F]{16}(?!\w)")


def scrubbed_records(
    records: Sequence[Record], hosts: Iterable[str], users: Iterable[str]
) -> tuple[dict[str, Any], ...]:
    """Return the records' JSON values: hosts as ``node1`` …, users as ``user``, paths as ``/path/`` and the last part.

    A host has the same number in all of them. Hosts are those of the records and the given ones; users are the given
    ones and those whose home is named.
    """
    values = [record.to_json() for record in records]
    named = dict.fromkeys(name for record in records for name in _hosts_of(record))
    short = dict.fromkeys(name.partition(".")[0] for name in (*named, *hosts) if name)
    numbered = {name: f"node{number}" for number, name in enumerate(short, start=1)}
    people = {*users, *(name for value in values for name in _homes(value))}
    scrub = _Scrubber(numbered, tuple(sorted(people, key=lambda name: (-len(name), name))))
    return tuple(scrub.mapping(value, versioned=False) for value in values)


class _Scrubber:
    def __init__(self, hosts: Mapping[str, str], users: tuple[str, ...]) -> None:
        self._hosts = hosts
        self._users = users
        names = "|".join(re.escape(name) for name in sorted(hosts, key=len, reverse=True))
        # A hyphen may come before or after a name: vn1-vn2 is a pair, vn1-ib0 an interface.
        self._host = re.compile(rf"(?<![\w.])(?P<name>{names})(?:\.[A-Za-z][\w-]*)*(?!\w)") if names else None

    def mapping(self, values: Mapping[str, Any], *, versioned: bool) -> dict[str, Any]:
        return {
            key if key in _PARTS else self.text(key, True): value
            if key in _KEPT
            else self.value(value, versioned or key in _VERSIONED)
            for key, value in values.items()
        }

    def value(self, value: Any, versioned: bool) -> Any:
        if isinstance(value, str):
            return self.text(value, versioned)
        if isinstance(value, Mapping):
            return self.mapping(value, versioned=versioned)
        if isinstance(value, list):
            return [self.value(item, versioned) for item in value]
        return value

    def text(self, text: str, versioned: bool) -> str:
        if text in self._hosts:  # with thousands of nodes, nearly every text is a node's name
            return self._hosts[text]
        text = without_paths(text)
        if not versioned:
            text = without_addresses(text)
        if self._host is not None:
            text = self._host.sub(lambda found: self._hosts[found["name"]], text)
        return without_users(text, self._users)


def _hosts_of(record: Record) -> Iterable[str]:
    yield from record.where.nodes
    for traffic in record.how.path_proof.each_node() if record.how.path_proof else ():
        yield traffic.node
    for group in record.where.hardware:
        yield from group.nodes
    if record.found.pairs is not None:
        yield from record.found.pairs.nodes
        for absent in record.found.pairs.sample.not_measured if record.found.pairs.sample is not None else ():
            yield from absent.nodes
    for suspect in record.found.verdict.suspects:
        yield from suspect.nodes
        if suspect.kind == "node" and suspect.node:
            yield suspect.node


def _homes(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        for found in _HOME.finditer(value):
            yield found["name"]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _homes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _homes(item)


def scrub_text(text: str, hosts: Iterable[str], users: Iterable[str]) -> str:
    """Return the text with each host as ``node1`` …, each user as ``user``, paths as ``/path/`` and their last part.

    Hosts are numbered in the given order; a name with a domain has the number of its short form. Addresses of all kinds
    become zeros in their own form. A name is replaced only if it is a word of its own.
    """
    text = without_addresses(without_paths(text))
    for number, host in enumerate(dict.fromkeys(host.partition(".")[0] for host in hosts if host), start=1):
        text = _word(host, r"(?:\.[A-Za-z][\w-]*)*").sub(f"node{number}", text)
    return without_users(text, users)


def without_paths(text: str) -> str:
    """Return the text with each path as ``/path/`` and its last part."""
    return _PATH.sub(lambda found: f"/path/{found['last']}", text)


def without_addresses(text: str) -> str:
    """Return the text with zeros for addresses, in their own form; a version of four numbers is mistaken for one."""
    text = _GUID.sub("0x0000000000000000", text)
    text = _COLONS.sub(lambda found: re.sub(r"[0-9a-fA-F]", "0", found[0]), text)
    return _IPV4.sub("0.0.0.0", text)


def without_users(text: str, users: Iterable[str]) -> str:
    """Return the text with ``user`` for each of these names if it is a word of its own."""
    for user in dict.fromkeys(users):
        if len(user) >= _SHORTEST_NAME:
            text = _word(user, "").sub("user", text)
    return text


def _word(name: str, tail: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}{tail}(?![\w-])")
