"""What nccl-tests writes with ``-J`` (2.17.1 and later), and rccl-tests since 2025: one object per run, as a run.

Source: src/util.cu of nccl-tests 2.17.1 to 2.19.6. Up to 2.17.8 two keys are misspelt ("average_bus_bandwidith"). Only
the command line names the program. "devices" has only the first GPU of each process, so ranks are counted with threads
and GPUs too. The file's environment is left out: it may hold secrets.

rccl-tests also writes (``-Z json -x FILE``) a list with one object per size and half:
{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, "size":1048576,
"type":"float", "redop":"sum", "inPlace":0, "time":41.5, "algBw":25.3, "busBw":44.2, "wrong":"0"}. It names no host and
no mean. A list with its closing bracket is whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from railyard.parsers import nccl_words as words
from railyard.parsers.lines import figure, number, objects
from railyard.parsers.nccl_run import Row, Run
from railyard.parsers.nccl_said import Rank
from railyard.parsers.nccl_words import FACTORS, IN_PLACE, Column, Heading
from railyard.parsers.output import Cell, Remark

_HALVES = (("out_of_place", ""), ("in_place", IN_PLACE))
_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "time": "time",
        "cpu_time": "cputime",
        "hip_event_time": "hipevt",
        "alg_bw": "algbw",
        "bus_bw": "busbw",
        "nwrong": "#wrong",
    }
)
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "nthreads": "threads",
        "ngpus": "gpus",
        "minimum_bytes": "min_bytes",
        "maximum_bytes": "max_bytes",
        "step_factor": "step_factor",
        "step_bytes": "step_bytes",
        "warmup_iters": "warm_up",
        "iterations": "iterations",
        "aggregated_iterations": "aggregated",
        "validation": "validation",
        "graph": "graph",
    }
)
_AVERAGES = (("average_bus_bandwidth", "bandwidth"), ("average_bus_bandwidith", "bandwidith"))
_SIGNS = ('"nccl_version"', '"bus_bw"', '"rccl_version"', '"busBw"')
_OLD_VERSIONS = 10_000  # up to 2.8.4 a version is like 2804, then like 20901
_PROGRAMS = {name.removesuffix("_perf").replace("_", ""): name for name in FACTORS}
_FIGURES = (("time", "time"), ("algBw", "algbw"), ("busBw", "busbw"))
_SAID = (("ranks", "ranks"), ("nodes", "nodes"), ("ranksPerNode", "ranks_per_node"))


@dataclass(frozen=True, slots=True)
class WrittenJson:
    """What a text has of ``-J``, and the lines (1-based) that it takes."""

    runs: tuple[Run, ...] = ()
    failures: tuple[Remark, ...] = ()
    lines: frozenset[int] = frozenset()


def version_of(code: int) -> str:
    """Return NCCL's version from its number: 2.28.7 from 22807, 2.8.4 from 2804."""
    major = 1000 if code < _OLD_VERSIONS else 10_000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def read(text: str) -> WrittenJson:
    """Return the runs of all objects of nccl-tests in this text; nothing for a text without any."""
    if not any(sign in text for sign in _SIGNS):
        return WrittenJson()
    records: list[Record] = []
    runs: list[Run] = []
    failures: list[Remark] = []
    taken: set[int] = set()
    for lines, found in objects(text, _is_own):
        if found is None:
            failures.append(Remark(lines.start, "JSON of nccl-tests that is cut, or has a value that is not a number"))
            taken.update(lines)
        elif isinstance(found.get("results"), list) or isinstance(found.get("config"), dict):
            runs.append(_run(lines.start, found))
            taken.update(lines)
        elif is_record(found):
            records.append(Record(lines.start, found))
            taken.update(lines)
    runs += runs_of(records, text) if records else []
    return WrittenJson(tuple(runs), tuple(failures), frozenset(taken))


def _is_own(beginning: str) -> bool:
    return any(sign in beginning for sign in (*_SIGNS, '"numCycle"')) or beginning.startswith('{"version":')


def _run(line: int, found: dict[str, Any]) -> Run:
    run = Run(line, heading_line=line)
    config = found.get("config")
    config = config if isinstance(config, dict) else {}
    arguments = found.get("args")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], str):
        run.named = words.program_of(arguments[0].replace("\\", "")[:400])
    code = figure(found, "nccl_version")
    run.library = f"nccl {version_of(int(code))}" if code else "nccl"
    for key, name in _SETTINGS.items():
        value = figure(config, key)
        if value is not None:
            run.settings[name] = int(value)
    devices = config.get("devices")
    run.ranks = [rank for each in devices if (rank := _rank(line, each))] if isinstance(devices, list) else []
    run.ranks_a_line = run.settings.get("threads", 1) * run.settings.get("gpus", 1)
    run.cut = not run.ranks
    results = found.get("results")
    rows = [row for row in results if isinstance(row, dict)] if isinstance(results, list) else []
    run.heading = _heading(rows)
    for each in rows:
        _add(run, line, each)
    _end(run, found)
    return run


def _rank(line: int, found: object) -> Rank | None:
    if not isinstance(found, dict):
        return None
    rank, group, pid, device = (figure(found, key) for key in ("rank", "group", "pid", "device"))
    host, bus, name = (found.get(key) for key in ("hostname", "device_hex", "device_info"))
    if rank is None or not isinstance(host, str):
        return None
    return Rank(
        *(line, int(rank), int(group or 0), None if pid is None else int(pid), host[:255], int(device or 0)),
        *(bus[:40] if isinstance(bus, str) else "", name[:200] if isinstance(name, str) else ""),
    )


def _heading(rows: list[dict[str, Any]]) -> Heading:
    """Return the heading of all columns of the rows; a half that is null in every row has no columns."""
    columns: list[Column] = []
    half = 0
    for key, end in _HALVES:
        first = next((row[key] for row in rows if isinstance(row.get(key), dict)), None)
        names = [name for name in _KEYS if first is not None and name in first]
        printed = [words.FIGURES[_KEYS[name]] for name in names]
        columns += [Column(each.name + end, each.unit, each.printed, each.factor) for each in printed]
        half = half or len(names)
    return Heading(("type", "redop", "root"), tuple(columns), half, (), ())


def _add(run: Run, line: int, found: dict[str, Any]) -> None:
    heading = run.heading
    size, count = figure(found, "size"), figure(found, "count")
    if heading is None or size is None or count is None or size < 0:
        run.spoiled = True
        return
    kind = tuple(str(found.get(key, "")).strip()[:20] for key in ("type", "redop", "root"))
    cells: list[Cell] = []
    printed: list[str] = []
    for column in heading.columns:
        key, name = (
            ("in_place", column.name.removesuffix(IN_PLACE))
            if column.name.endswith(IN_PLACE)
            else (
                "out_of_place",
                column.name,
            )
        )
        half = found.get(key)
        value = _value(half, name) if isinstance(half, dict) else None
        if isinstance(half, dict) and value is None and name != "wrong":
            run.fail(line, f"not finite: {name} at {int(size)} B")
        if name == "wrong" and value:
            run.fail(line, f"wrong results: {value:g} wrong elements at {int(size)} B")
        printed.append("" if value is None else f"{value:.6f}")
        whole = value is not None and column.unit is None and value == int(value)
        cells.append(int(value) if whole and value is not None else None if value is None else value * column.factor)
    root = kind[2] if isinstance(number(kind[2]), int) else ""
    run.rows.append(Row(line, int(size), int(count), (kind[0], kind[1], root), tuple(cells), tuple(printed)))


def _value(half: dict[str, Any], name: str) -> float | None:
    return next((figure(half, key) for key, own in _KEYS.items() if words.FIGURES[own].name == name), None)


def _end(run: Run, found: dict[str, Any]) -> None:
    bounds = found.get("out_of_bounds")
    count = figure(bounds, "count") if isinstance(bounds, dict) else None
    if isinstance(bounds, dict) and count is not None:
        run.out_of_bounds = int(count)
        if count or bounds.get("okay") != "true":
            run.fail(run.line, f"wrong results: out of bounds values {int(count)}")
    for key, name in _AVERAGES:
        average = found.get(key)
        if isinstance(average, dict) and (value := figure(average, name)) is not None:
            run.average, run.averaged = value, True
            if average.get("okay") == "false":
                run.fail(run.line, f"average bus bandwidth {value:g} GB/s is below what the run was set to reach")
    errors = found.get("errors")
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, str) and error:
            run.fail(run.line, f"error: {error}")
    run.spoiled |= not isinstance(found.get("end_time"), str)


class Record(NamedTuple):
    """One object, with its line."""

    line: int
    found: dict[str, Any]

    @property
    def run(self) -> tuple[object, ...]:
        """What all records of one run have in common."""
        return tuple(self.found.get(key) for key in ("name", "ranks", "nodes"))

    @property
    def row(self) -> tuple[object, ...]:
        """What both halves of a row have in common."""
        return tuple(self.found.get(key) for key in ("numCycle", "size", "type", "redop"))


def is_record(found: dict[str, Any]) -> bool:
    """Return whether an object is one of them."""
    return {"name", "size", "inPlace", "busBw"} <= found.keys()


def runs_of(records: Sequence[Record], text: str) -> list[Run]:
    """Return the runs of these records, in the order of the text."""
    lines = text.split("\n")
    found: list[Run] = []
    following: tuple[int, bool] = (0, False)  # the next run's line, and whether its list is whole
    for each in reversed([list(each) for _, each in groupby(records, key=lambda record: record.run)]):
        run = _run_of_records(each)
        after = next((at for at, line in enumerate(lines[each[-1].line :], each[-1].line + 1) if line.strip()), 0)
        run.closed = bool(after) and (lines[after - 1].strip().startswith("]") or following == (after, True))
        following = (run.line, run.closed)
        found.append(run)
    return found[::-1]


def _run_of_records(records: list[Record]) -> Run:
    first = records[0]
    run = Run(first.line, heading_line=first.line, library="rccl")
    name = str(first.found["name"])[:80]
    run.named = _PROGRAMS.get(name.lower(), name)
    run.said = {own: int(value) for key, own in _SAID if (value := figure(first.found, key)) is not None}
    columns = [
        Column(words.FIGURES[own].name + end, words.FIGURES[own].unit, words.FIGURES[own].printed, factor)
        for end in ("", IN_PLACE)
        for own, factor in [*((own, words.FIGURES[own].factor) for _, own in _FIGURES), ("#wrong", 1.0)]
    ]
    run.heading = Heading(("type", "redop", "root"), tuple(columns), len(columns) // 2, (), ())
    rows = [list(halves) for _, halves in groupby(records, key=lambda record: record.row)]
    for halves in rows:
        _add_records(run, halves)
    alone = next((halves for halves in rows if len(halves) != len(rows[0])), None)
    if alone is not None:
        run.spoiled = True
        run.fail(alone[0].line, "a size with one record, and others with two: records are missing")
    return run


def _add_records(run: Run, records: list[Record]) -> None:
    record = records[0]
    size = figure(record.found, "size")
    if size is None or size < 0 or len(records) > 2:
        run.spoiled = True
        run.fail(record.line, f"a record of {run.named} without a size, or more than two of one size")
        return
    cells: list[Cell] = []
    printed: list[str] = []
    for in_place in (0, 1):
        half = next((each for each in records if figure(each.found, "inPlace") == in_place), None)
        for key, own in (*_FIGURES, ("wrong", "#wrong")):
            value = None if half is None else _value_of_record(half.found, key)
            if half is not None and value is None and key != "wrong":
                run.fail(half.line, f"not finite: {key} at {int(size)} B")
                run.spoiled = True
            if half is not None and key == "wrong" and value:
                run.fail(half.line, f"wrong results: {value:g} wrong elements at {int(size)} B")
            cells.append(None if value is None else int(value) if key == "wrong" else value * words.FIGURES[own].factor)
            printed.append("" if value is None and half is None else "N/A" if value is None else f"{value:.6f}")
    kind = (str(record.found.get("type"))[:20], str(record.found.get("redop"))[:20], "")
    run.rows.append(Row(record.line, int(size), None, kind, tuple(cells), tuple(printed)))


def _value_of_record(found: dict[str, Any], key: str) -> float | None:
    """Return a number; "wrong" is a text with a number, or "N/A"."""
    value = found.get(key)
    told = number(value.strip()) if isinstance(value, str) else figure(found, key)
    return None if told is None else float(told)
