"""A capture, from stored records to the text of references/SYSTEM.yaml, and the layout of HPL that suits a system.

One captured reference: the entry as YAML text, in the style of files that people write.

Which ranks and threads suit HPL on a system's nodes, from the trial on one node, and where its file keeps them.

``HplLayout`` solves the same problem with one rank per core, per NUMA domain, per socket and per node. The best of them
is the default of `Hpl`: ``measure: benchmarks: hpl`` of systems/*.yaml.
"""

import json
import math
import re
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import yaml

from railyard.base.errors import InputError, RailyardError
from railyard.base.strict_yaml import Document, parse
from railyard.base.terminal import table
from railyard.base.values import show
from railyard.base.wording import count_of, message_size, number
from railyard.benchmarks.apps.hpl import say_split, splits
from railyard.benchmarks.table.applications import HPL, hpl_split
from railyard.hardware.limits import Limit
from railyard.hardware.node import NodeHardware
from railyard.results.record.form import CurveRecord, Record
from railyard.results.remarks import seen_nodes
from railyard.results.repeats import Group, Spread, choose_records, is_quick, spread, too_few
from railyard.results.store.verify import in_unit
from railyard.site.conditions import shown_values
from railyard.site.references.amount import REGIMES, BelowLink
from railyard.site.references.band import LATENCY_UP_TO_BYTES
from railyard.site.references.load import References, is_too_weak, load_references
from railyard.site.references.model import HIGHER_IS_BETTER, UNITS, Entry
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System
from railyard.site.test_id import TestId

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+/-]*")
_NUMBER_LIKE = re.compile(r"[0-9.+_eE:-]+|true|false|yes|no|on|off|null|y|n", re.IGNORECASE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class CapturedEntry:
    """A new reference: its id, what it is for, its text, and what its reader should know."""

    id: str
    group: Group
    metric: str
    text: str
    remarks: tuple[str, ...]


def capture_entry(
    group: Group, metric: str, unit: str, directions: int, found: Spread, limit: Limit | None
) -> CapturedEntry:
    """Return the entry for one metric of a test; for a median above the physical ``limit``, the limit is written."""
    name = entry_id(group, metric)
    side = "low" if metric in HIGHER_IS_BETTER else "high"
    remarks = [*_outlier_remarks(group, found), *_left_remarks(found)]
    lines = [
        f"  - id: {name}",
        f"    fabric: {_word(group.fabric)}",
        f"    stack: {_word(group.stack)}",
        f"    rails: {group.rails}",
        f"    policy: {group.policy}",
        f"    benchmark: {group.benchmark}",
        f"    metric: {metric}",
        *([] if group.hops is None else [f"    hops: {group.hops}"]),
        f"    unit: {unit}",
        *([f"    directions: {directions}"] if directions != 1 else []),
        "    kind: baseline",
        *_amount(found, side, limit, remarks),
        "    source:",
        *(f"      {line}" for line in _source(group, remarks)),
    ]
    return CapturedEntry(name, group, metric, "\n".join(lines) + "\n", tuple(remarks))


def with_below_link(text: str, stated: BelowLink) -> str:
    """Return an entry's text with the reason why it expects so much less than its link gives."""
    line = f"    below_link: {{share: {stated.share:g}, reason: {json.dumps(stated.reason, ensure_ascii=False)}}}\n"
    return text.replace("    source:\n", f"{line}    source:\n", 1)


def entry_id(group: Group, metric: str) -> str:
    """Return the name of the entry for a metric of a test: each capture gives the same name."""
    parts = ("baseline", group.fabric, group.stack, count_of(group.rails, "rail").replace(" ", "-"))
    policy = () if group.policy in ("any", "single") else (group.policy,)
    hops = () if group.hops is None else (count_of(group.hops, "hop").replace(" ", "-"),)
    return _NOT_IN_A_NAME.sub("-", "-".join((*parts, *policy, group.benchmark, *hops, metric)))


def _amount(found: Spread, side: str, limit: Limit | None, remarks: list[str]) -> list[str]:
    values = {size: _number(value) for size, value in found.curve.items()}
    for size, text in values.items():
        if limit is not None and size >= limit.from_bytes and float(text) > limit.value_mb_s:
            remarks.append(f"{text} at {message_size(size)} is above the physical limit, so the limit is written")
            values[size] = f"{math.floor(limit.value_mb_s * 1000) / 1000:.3f}"
    if set(values) == {0}:  # a single figure: a barrier, an application
        return [f"    value: {values[0]}", f"    tolerance: {{{side}: {found.tolerance[REGIMES[0]]:g}}}"]
    return [
        "    curve:",
        *(f"      {_size(size)}: {value}" for size, value in values.items()),
        "    tolerance:",
        *(f"      {name}: {{{side}: {found.tolerance[name]:g}}}" for name in REGIMES),
    ]


def _source(group: Group, remarks: Sequence[str]) -> list[str]:
    records, days = group.records, group.days
    count, pairs, jobs = len(records), len(group.pairs), len(set(group.jobs))
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    repeats = f"{count} on {count_of(pairs, 'set')} of nodes in {count_of(jobs, 'job')}, {span}"
    told = {
        "hardware": _common(_fact(record, "processor") for record in records),
        "firmware": _common(_device_fact(record, "firmware") for record in records),
        "driver": _common(_driver(record) for record in records),
        "mpi": _common(_environment(record, "mpi") for record in records),
        "benchmark_version": _common(record.test.benchmark_version for record in records),
    }
    lock = _common(_spack(record, "lock_sha256") for record in records)
    conditions = {
        "repeats": repeats,
        **({"capture": "quick"} if is_quick(group) else {}),
        **{name: " or ".join(found) for name, found in _conditions(records).items()},
        **({"lock-sha256": lock} if lock else {}),
    }
    # Not `proven`: if the rails have no counters, nobody saw which way the bytes went.
    if any(record.how.path_proof is not None and record.how.path_proof.state != "proven" for record in records):
        conditions["path"] = "not judged"
    lines = [f"document: median of {count} runs, by railyard capture", f"date: {days[-1]}"]
    lines += [f"{name}: {_text(text)}" for name, text in told.items() if text]
    lines += ["conditions:", *(f"  {name}: {_text(text)}" for name, text in conditions.items())]
    lines += ["runs:", *(f"  - {run}" for run in dict.fromkeys(_word(record.made.run) for record in records))]
    if remarks:
        lines.append(f"note: {_text('; '.join(remarks))}")
    return lines


def _outlier_remarks(group: Group, found: Spread) -> list[str]:
    return [
        f"kept though far off: run {group.records[one.repeat].made.run}, "
        f"{100 * one.share:+.1f} % at {message_size(one.size)}"
        for one in found.outliers
    ]


def _left_remarks(found: Spread) -> list[str]:
    if not found.left:
        return []
    measured = sorted({*found.curve, *found.left})
    parts: list[str] = []
    for wanted, sizes in groupby(measured, lambda size: size in found.left):
        names = [message_size(size) for size in sizes]
        if wanted:
            parts += names if len(names) < 3 else [f"{names[0]} to {names[-1]}"]
    return [f"not asserted, because the repeats spread too far: {', '.join(parts)}"]


def _common(values: Iterable[str | None]) -> str | None:
    """Return the value of all records, or each value with its count; None if no record has one."""
    counts: dict[str, int] = {}
    for value in values:
        if value:
            counts[value] = counts.get(value, 0) + 1
    if len(counts) <= 1:
        return next(iter(counts), None)
    return "; ".join(f"{value} ({count} runs)" for value, count in counts.items())


#: Conditions of the nodes in the captured runs, each under its name in a reference.
_CAPTURED = (
    *("processor", "clock", "memory", "operating-system", "kernel", "bios-version", "smt", "turbo", "governor"),
    *("numa-nodes-per-socket", "c-states", "mtu"),
)


def _conditions(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the nodes' value of each condition over all runs; several values if they were not alike."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for seen in seen_nodes(record):
            for name in _CAPTURED:
                found.setdefault(name, {}).update(dict.fromkeys(shown_values(name, seen)))
    return {name: list(values) for name in _CAPTURED if (values := found.get(name))}


def _fact(record: Record, name: str) -> str | None:
    return (
        " | ".join(dict.fromkeys(group.facts[name] for group in record.where.hardware if name in group.facts)) or None
    )


def _device_fact(record: Record, name: str) -> str | None:
    found = (said[name] for group in record.where.hardware for said in group.devices.values() if name in said)
    return " | ".join(dict.fromkeys(found)) or None


def _driver(record: Record) -> str | None:
    devices: Iterable[Mapping[str, str]] = (said for group in record.where.hardware for said in group.devices.values())
    found = (" ".join((said["driver"], said.get("driver_version", ""))).strip() for said in devices if "driver" in said)
    return " | ".join(dict.fromkeys(found)) or None


def _environment(record: Record, name: str) -> str | None:
    value = record.how.environment.get(name)
    return " ".join(value.split()) if isinstance(value, str) else None


def _spack(record: Record, name: str) -> str | None:
    spack = record.how.environment.get("spack")
    value = spack.get(name) if isinstance(spack, Mapping) else None
    return value if isinstance(value, str) else None


def _size(size: int) -> str:
    for unit, step in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size and size % step == 0:
            return f"{size // step}{unit}"
    return str(size)


def _number(value: float) -> str:
    """Return at least four digits that YAML 1.1 reads as a number: no exponent."""
    text = number(value)
    return f"{value:.10f}" if "e" in text else text


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and not _NUMBER_LIKE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _text(text: str) -> str:
    return _word(text) if " " not in text else json.dumps(text, ensure_ascii=False)


#: The line in a file that has no entry yet.
EMPTY = "entries: []"

HEAD = """\
# yaml-language-server: $schema=schema.json
system: {system}
entries:
"""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """What the user asked for: ``quick`` accepts repeats of one pair, ``replace`` replaces an existing entry.

    ``hops`` returns a record's distance, and each distance gets an entry; None for entries of any distance.
    """

    quick: bool = False
    replace: bool = False
    hops: Callable[[Record], int | None] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be written: the file's text before (None: no file) and after, the entries, and remarks on them.

    ``refused`` has a sentence for each record, test or entry that was not taken.
    """

    path: Path
    before: str | None
    after: str
    entries: tuple[CapturedEntry, ...]
    refused: tuple[str, ...]


def plan(system: System, path: Path, references: References, records: Sequence[Record], asked: CaptureRequest) -> Plan:
    """Return what the records of a system give for its references, as a file that loads.

    An entry that loading would refuse is left out, such as one far below what its link gives. Raises RailyardError if
    the file would still not load.
    """
    groups, left = choose_records(records, replace=asked.replace, hops=asked.hops)
    refused = list(left)
    entries: list[CapturedEntry] = []
    for group in groups:
        why = _unfit_reason(group, system) or too_few(group, quick=asked.quick)
        if why is not None:
            refused.append(f"{group.name}: {why}")
            continue
        for metric in _metrics(group):
            try:
                entries.append(_capture_metric(group, metric, system, references, asked))
            except _Refusal as error:
                refused.append(f"{group.name}, {metric}: {error}")
    before = path.read_text(encoding="utf-8") if path.exists() else None
    after = before or ""
    if entries:
        after = with_entries(before, path, system.system, entries)
        try:
            _check(after, path, system)
        except InputError:  # try each entry alone to find the bad one, which takes long
            entries, why_not = _loadable(entries, before, path, system, references)
            refused += why_not
            after = before or ""
            if entries:
                after = with_entries(before, path, system.system, entries)
                _check(after, path, system)
    return Plan(path, before, after, tuple(entries), tuple(refused))


def _loadable(
    entries: Sequence[CapturedEntry], before: str | None, path: Path, system: System, references: References
) -> tuple[list[CapturedEntry], list[str]]:
    """Return the entries with which the file loads, and a sentence for each of the others.

    If a replaced entry has a reason why it may be far below its link, the new entry keeps that reason.
    """
    stated = {entry.id: entry.below_link for entry in references.entries if entry.below_link is not None}
    taken: list[CapturedEntry] = []
    refused: list[str] = []
    for entry in entries:
        error = _why_not_loaded(entry, before, path, system)
        if error is not None and is_too_weak(error) and entry.id in stated:
            entry = replace(entry, text=with_below_link(entry.text, stated[entry.id]))
            error = _why_not_loaded(entry, before, path, system)
        if error is None:
            taken.append(entry)
            continue
        action = error.action
        if is_too_weak(error):
            action = (
                "find what makes it slow and run it again, or say why it may be in below_link (share and reason) of "
                f"references/{path.name}"
            )
        said = f"found {error.found}, expected {error.expected}" + (f"; {action}" if action else "")
        refused.append(f"{entry.group.name}, {entry.metric}: {said}")
    return taken, refused


def _why_not_loaded(entry: CapturedEntry, before: str | None, path: Path, system: System) -> InputError | None:
    try:
        _check(with_entries(before, path, system.system, [entry]), path, system)
    except InputError as error:
        return error
    return None


class _Refusal(ValueError):
    """Why one metric of a test is not captured."""


def _unfit_reason(group: Group, system: System) -> str | None:
    """Return why a test does not fit the present system: a fabric, stack or rail was renamed or removed."""
    if group.fabric not in system.fabrics:
        return f'found the fabric "{group.fabric}", expected one of systems/{system.system}.yaml'
    if group.stack not in system.stacks:
        return f'found the stack "{group.stack}", expected one of systems/{system.system}.yaml'
    there = system.fabrics[group.fabric]
    if not there.has(group.rails, group.policy):
        found = group.policy if there.has(group.rails) else count_of(group.rails, "rail")
        rails = count_of(len(there.rails), "rail")
        return f"found {found}, expected a test of systems/{system.system}.yaml, where {group.fabric} has {rails}"
    return None


def _metrics(group: Group) -> tuple[str, ...]:
    """Return the metrics that are captured; a message rate is left out if there is a bandwidth, which says the same."""
    names = dict.fromkeys(curve.metric for record in group.records for curve in record.found.curves)
    if "bandwidth" in names:
        names.pop("message_rate", None)
    return tuple(name for name in names if name in UNITS)


def _capture_metric(
    group: Group, metric: str, system: System, references: References, asked: CaptureRequest
) -> CapturedEntry:
    curves = _curves(group, metric)
    sizes = _sizes(group, metric, curves)
    columns = {size: [curve.values[curve.sizes.index(size)] for curve in curves] for size in sizes}
    found = spread(columns, group.jobs, metric)
    if not found.curve:
        far = ", ".join(
            f"{group.records[one.repeat].made.run} ({100 * one.share:+.1f} %)" for one in found.outliers[:3]
        )
        hint = f"; far off: {far}; leave such a run out with --without RUN" if far else ""
        raise _Refusal(f"found repeats that spread too far at every size, expected a size at which they agree{hint}")
    _check_place(group, metric, references, asked)
    fabric = system.fabrics[group.fabric]
    limit = fabric.limit(group.rails, curves[0].directions, policy=group.policy) if metric == "bandwidth" else None
    return capture_entry(group, metric, UNITS[metric], curves[0].directions, found, limit)


def _curves(group: Group, metric: str) -> tuple[CurveRecord, ...]:
    """Return the metric's curve of each record, all in one unit."""
    found: list[CurveRecord] = []
    for record in group.records:
        curve = next((one for one in record.found.curves if one.metric == metric), None)
        if curve is None:
            raise _Refusal(
                f"found no {metric} in run {record.made.run}, expected it in all runs; leave this run out with "
                "--without RUN"
            )
        try:
            found.append(in_unit(curve, UNITS[metric]))
        except RailyardError as error:
            raise _Refusal(f"run {record.made.run}: {error}") from error
    directions = {curve.directions for curve in found}
    if len(directions) != 1:
        raise _Refusal("found runs that sum one direction and runs that sum both, expected one kind; leave some out")
    return tuple(found)


def _sizes(group: Group, metric: str, curves: Sequence[CurveRecord]) -> tuple[int, ...]:
    """Return the sizes that every repeat has; of a ping-pong, small ones for its time and large ones for its rate."""
    common = set(curves[0].sizes).intersection(*(curve.sizes for curve in curves))
    both = {curve.metric for curve in group.records[0].found.curves} >= {"bandwidth", "latency"}
    if both:
        common = {size for size in common if (size <= LATENCY_UP_TO_BYTES) == (metric == "latency")}
    if not common:
        raise _Refusal("found no message size that all these runs measured, expected one; name runs with equal sizes")
    return tuple(sorted(common))


def _check_place(group: Group, metric: str, references: References, asked: CaptureRequest) -> None:
    """Raise _Refused if there is a reference that a capture must not replace, or only on request."""
    name = entry_id(group, metric)
    test = TestId(group.fabric, group.stack, group.rails, group.benchmark, policy=group.policy)
    for entry in references.entries:
        if entry.id == name and entry.kind != "baseline":
            raise _Refusal(f"found {name}, a {entry.kind} entry, expected none or a baseline; no capture replaces it")
        if entry.kind != "baseline" or not entry.matches(test, metric):
            continue
        if group.policy not in entry.policy and ANY not in entry.policy:  # only of the first rail
            continue
        if group.hops is not None and not entry.holds_at(group.hops):
            continue
        if entry.id != name or _is_wider(entry):
            raise _Refusal(
                f"found the baseline {entry.id}, which is for this test and perhaps others, expected {name} or none; "
                "remove it, or edit it by hand"
            )
        if not asked.replace:
            raise _Refusal(f"found {name} already, expected none; use --replace to put the new one in its place")


def _is_wider(entry: Entry) -> bool:
    several = max(len(entry.benchmark), len(entry.stack), len(entry.hops)) > 1
    return several or ANY in entry.stack or len(entry.rails) != 1


def _check(text: str, path: Path, system: System) -> None:
    """Raise InputError if reading the text would refuse it."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / path.parent.name / path.name
        trial.parent.mkdir()
        trial.write_text(text, encoding="utf-8")
        load_references(trial, system)


def with_entries(text: str | None, path: Path, system: str, entries: Sequence[CapturedEntry]) -> str:
    """Return the file's text with these entries.

    An entry with the same id is replaced in its place, others follow the last. ``text`` is None if there is no file
    yet. Raises InputError if the text is not one YAML mapping.
    """
    if text is None:
        return HEAD.format(system=system) + "\n".join(entry.text for entry in entries)
    shown = f"{path.parent.name}/{path.name}"
    lines = text.split("\n")
    document = parse(text.encode(), shown)
    places = _places(document, lines)
    new = [entry for entry in entries if entry.id not in places]
    replaced = [(places[entry.id], entry) for entry in entries if entry.id in places]
    end = max((last for _, last in places.values()), default=None)
    if end is None and EMPTY in lines:  # a report-only system's, as `railyard detect` writes it
        at = lines.index(EMPTY)
        lines[at : at + 1] = ["entries:", *"\n".join(entry.text for entry in entries).rstrip("\n").split("\n")]
        return "\n".join(lines)
    if end is None:
        raise document.error(("entries",), "no list of entries", "entries, each on a line that begins with -")
    indent = lines[places[next(iter(places))][0]].index("-")
    blocks = [("", *_indent(entry.text, indent)) for entry in new]
    lines[end + 1 : end + 1] = [line for block in blocks for line in block]
    for (first, last), entry in sorted(replaced, key=lambda each: -each[0][0]):
        lines[first : last + 1] = _indent(entry.text, indent)
    return "\n".join(lines)


def _indent(text: str, indent: int) -> list[str]:
    """Return an entry's lines with its dash in this column; the given lines have it in column 2."""
    lines = text.rstrip("\n").split("\n")
    return [" " * indent + line[2:] for line in lines]


def _places(document: Document, lines: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of each entry, counted from 0, by its id."""
    node = next((value for key, value in document.root.value if key.value == "entries"), None)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return {}
    found: dict[str, tuple[int, int]] = {}
    for item in node.value:
        if not isinstance(item, yaml.MappingNode):
            continue
        name = next((value.value for key, value in item.value if key.value == "id"), None)
        first = item.start_mark.line
        if not lines[first].lstrip().startswith("-"):
            raise RailyardError(
                f"{document.file}:{first + 1}: found an entry whose dash is on another line, expected it before "
                f"{show(str(name))}; put them on one line"
            )
        found[str(name)] = (first, _last_line(item, lines))
    return found


def _last_line(node: yaml.Node, lines: Sequence[str]) -> int:
    """Return the last line of a node that has text; the end mark of a block may be far below it."""
    mark = node.end_mark
    assert mark is not None
    deepest = node
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(value, lines) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(_last_line(value, lines) for value in node.value)
    last = mark.line if mark.column else mark.line - 1
    last = max(last, deepest.start_mark.line)
    while last > deepest.start_mark.line and (not lines[last].strip() or lines[last].lstrip().startswith("#")):
        last -= 1
    return last


#: Splits whose rate is within this share of the best one are as good: of these, the one with the fewest ranks is taken,
#: since fewer ranks send less over the network. Two runs of HPL on one node differ by about as much.
ALIKE = 0.01
_MEASURE, _BENCHMARKS = re.compile(r"measure:\s*(?:#.*)?"), re.compile(r"(?P<in> +)benchmarks:\s*(?:#.*)?")
_HPL = re.compile(rf"(?P<in> +){HPL}:(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class Split:
    """One way to split a node's cores: its name ("socket"), ranks and threads, and each run's rate, in Gflop/s."""

    name: str
    ranks_per_node: int
    threads: int
    rates: tuple[float, ...]

    @property
    def gflop_s(self) -> float:
        """The median of its runs."""
        return statistics.median(self.rates)


def rank_splits(records: Iterable[Record], hardware: NodeHardware) -> tuple[Split, ...]:
    """Return the splits that good runs measured, the fastest first. Runs that failed or were not measured do not count.

    A split that the hardware no longer has, since somebody changed the system's file, does not count either.
    """
    known = splits(hardware)
    rates: dict[str, list[float]] = {}
    for record in records:
        name = hpl_split(record.test.benchmark)
        good = record.found.state in ("pass", "report-only") and record.no_measurement is None
        if not good or name is None or name not in known:
            continue
        rates.setdefault(name, []).extend(each.value for each in record.found.figures if each.name == "performance")
    found = [
        Split(name, known[name], hardware.cores // known[name], tuple(each)) for name, each in rates.items() if each
    ]
    return tuple(sorted(found, key=lambda each: -each.gflop_s))


def choose_layout(found: Sequence[Split], system: str) -> Split:
    """Return the split to keep. Raises RailyardError if fewer than two were measured."""
    if len(found) < 2:
        raise RailyardError(
            f"found {len(found)} of at least two ways to split a node's cores among HPL's ranks in the stored runs; "
            f"measure them: railyard run --system {system} --extended -n HplLayout (nodes.hardware with sockets and "
            "numa_domains gives more of them)"
        )
    near = [each for each in found if each.gflop_s >= (1 - ALIKE) * found[0].gflop_s]
    return min(near, key=lambda each: each.ranks_per_node)


def layout_text(found: Sequence[Split], kept: Split) -> str:
    """Return all splits as a table, and which one is kept and why."""
    best = found[0].gflop_s
    rows = [
        (f"per {each.name}", say_split(each.ranks_per_node, each.threads), number(each.gflop_s),
         f"{100 * each.gflop_s / best:.1f} %", str(len(each.rates)))
        for each in found
    ]  # fmt: skip
    lines = table(("a rank", "split", "Gflop/s", "of best", "runs"), rows, 100, right=(2, 3, 4))
    why = "the fastest" if kept is found[0] else f"within {100 * ALIKE:g} % of the fastest, with fewer ranks"
    return "\n".join([*lines, f"kept: a rank per {kept.name} ({why})"])


def keep_layout(before: str, kept: Split, name: str) -> str:
    """Return a system's file with the split in it; the rest of the text stays as it is.

    Raises RailyardError if ``measure`` is there in a form in which nothing can be inserted line by line.
    """
    stated = f"{HPL}: {{ranks_per_node: {kept.ranks_per_node}, threads: {kept.threads}}}"
    lines = before.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("measure:")), None)
    if start is None:
        return f"{before.rstrip(chr(10))}\nmeasure:\n  benchmarks:\n    {stated}\n"
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"[^\s#]", lines[at])), len(lines))
    heads = [at for at in range(start + 1, end) if _BENCHMARKS.fullmatch(lines[at])]
    inside = any("benchmarks:" in line for line in lines[start:end])
    if not _MEASURE.fullmatch(lines[start]) or (inside and not heads):
        raise RailyardError(
            f"systems/{name}.yaml:{start + 1}: measure: found a form on one line, expected one line per field, so that "
            f"a line can be put into it; write this below measure: benchmarks: yourself: {stated}"
        )
    if not heads:
        lines[start + 1 : start + 1] = ["  benchmarks:", f"    {stated}"]
        return "\n".join(lines) + "\n"
    head = heads[0]
    indent = len(lines[head]) - len(lines[head].lstrip())
    there = next((at for at in range(head + 1, end) if _HPL.fullmatch(lines[at])), None)
    if there is None:
        lines.insert(head + 1, f"{' ' * (indent + 2)}{stated}")
    else:
        rest = _HPL.fullmatch(lines[there])
        assert rest is not None
        if not re.fullmatch(r"\s*\{[^{}#]*\}\s*", rest["rest"]) or re.search(r"\bnodes:", rest["rest"]):
            raise RailyardError(
                f"systems/{name}.yaml:{there + 1}: measure: benchmarks: {HPL}: found more than ranks and threads, "
                f"expected nothing else to be lost; write it yourself: {stated}"
            )
        lines[there] = f"{rest['in']}{stated}"
    return "\n".join(lines) + "\n"
