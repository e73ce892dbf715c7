"""One captured reference: the entry as YAML text, in the style of files that people write."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from railyard.base.wording import count_of, message_size, number
from railyard.hardware.limits import Limit
from railyard.results.capture.repeats import Group, Spread, is_quick
from railyard.results.conditions import seen_nodes
from railyard.results.record.form import Record
from railyard.site.conditions import shown_values
from railyard.site.references.amount import REGIMES, BelowLink
from railyard.site.references.model import HIGHER_IS_BETTER

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
