"""What nccl-tests writes with ``-J`` (2.17.1 and later), and rccl-tests since 2025: one object per run, as a run.

The records that rccl-tests writes with ``-Z json`` are read by ``nccl_records``.

Source: src/util.cu of nccl-tests 2.17.1 to 2.19.6. Up to 2.17.8 two keys are misspelt ("average_bus_bandwidith"). Only
the command line names the program. "devices" has only the first GPU of each process, so ranks are counted with threads
and GPUs too. The file's environment is left out: it may hold secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from railyard.parsers import nccl_words as words
from railyard.parsers.json_objects import figure, objects
from railyard.parsers.lines import number
from railyard.parsers.nccl_records import Record, is_record, runs_of
from railyard.parsers.nccl_run import Row, Run
from railyard.parsers.nccl_said import Rank
from railyard.parsers.nccl_words import IN_PLACE, Column, Heading
from railyard.parsers.parsed import Cell, Remark

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
