"""A capture, from stored records to the text of references/SYSTEM.yaml: what is added, replaced and refused."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from railyard.base.errors import InputError, RailyardError
from railyard.base.strict_yaml import Document, parse
from railyard.base.values import show
from railyard.base.wording import count_of
from railyard.results.capture.entry import CapturedEntry, capture_entry, entry_id, with_below_link
from railyard.results.capture.repeats import Group, choose_records, spread, too_few
from railyard.results.record.form import CurveRecord, Record
from railyard.results.store.units import in_unit
from railyard.site.references.band import LATENCY_UP_TO_BYTES
from railyard.site.references.load import References, load_references
from railyard.site.references.model import UNITS, Entry
from railyard.site.references.strength import is_too_weak
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System
from railyard.site.test_id import TestId

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
        why = _not_of(group, system) or too_few(group, quick=asked.quick)
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


def _not_of(group: Group, system: System) -> str | None:
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
