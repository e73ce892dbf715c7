"""What is wrong or odd in stored results: lines without a record, wrong clocks, other units, missing outputs.

Units that records of other versions or sites may have, and the unit in which each dimension is compared.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from railyard.base.errors import Finding, InputError, RailyardError, did_you_mean, problem, remark
from railyard.base.wording import count_of
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import BandRecord, CurveRecord, Record
from railyard.results.record.pair_rows import PATTERN
from railyard.results.run_folder import kept_output
from railyard.site.references.model import UNITS as DECLARED

#: For each unit its dimension, and its size in the smallest unit of that dimension (B/s, s, 1/s, flop/s, op/s, times).
UNITS: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "B/s": ("bandwidth", 1.0),
        "kB/s": ("bandwidth", 1e3),
        "MB/s": ("bandwidth", 1e6),
        "GB/s": ("bandwidth", 1e9),
        "KiB/s": ("bandwidth", 2.0**10),
        "MiB/s": ("bandwidth", 2.0**20),
        "GiB/s": ("bandwidth", 2.0**30),
        "Mbit/s": ("bandwidth", 1e6 / 8),
        "Gbit/s": ("bandwidth", 1e9 / 8),
        "ns": ("time", 1e-9),
        "us": ("time", 1e-6),
        "ms": ("time", 1e-3),
        "s": ("time", 1.0),
        "1/s": ("rate", 1.0),
        "M/s": ("rate", 1e6),
        "Mflop/s": ("floating-point operations", 1e6),
        "Gflop/s": ("floating-point operations", 1e9),
        "Tflop/s": ("floating-point operations", 1e12),
        "Mop/s": ("operations", 1e6),
        "Gop/s": ("operations", 1e9),
        "times": ("ratio", 1.0),
    }
)


def in_unit(curve: CurveRecord, unit: str) -> CurveRecord:
    """Return the curve with values, limit and bands in this unit. Raises RailyardError if that is impossible."""
    if curve.unit == unit:
        return curve
    factor = unit_factor(curve.unit, unit, curve.metric)
    return replace(
        curve,
        unit=unit,
        values=tuple(value * factor for value in curve.values),
        limit=None if curve.limit is None else replace(curve.limit, value=curve.limit.value * factor),
        bands=tuple(_band(band, factor) for band in curve.bands),
    )


def _band(band: BandRecord, factor: float) -> BandRecord:
    low, high = (tuple(None if each is None else each * factor for each in side) for side in (band.low, band.high))
    return replace(band, low=low, high=high)


def unit_factor(found: str, wanted: str, metric: str) -> float:
    """Return the factor that converts a value from one unit to another. Raises RailyardError if there is none."""
    for unit in (found, wanted):
        if unit not in UNITS:
            raise RailyardError(f"{metric}: found the unit {unit}, expected one of {', '.join(UNITS)}")
    (kind, step), (other, other_step) = UNITS[found], UNITS[wanted]
    if kind != other:
        raise RailyardError(f"{metric}: found the unit {found} ({kind}), expected {wanted} ({other}) or one like it")
    return step / other_step


_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z")


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """How many records were read, and what was found. A problem lost something or may mislead; a remark is only odd."""

    records: int
    findings: tuple[Finding, ...]


def verify(folder: Path, systems: Collection[str], now: datetime) -> StoreCheck:
    """Return what is found in one run's folder; ``systems`` are those with a file today, ``now`` has a time zone.

    A file that cannot be read is a problem of its run.
    """
    path = folder / FILE_NAME if folder.is_dir() else folder
    try:
        read = read_records(path)
    except InputError as error:
        return StoreCheck(0, (problem(path.parent.name, str(error)),))
    where = path.parent if path.name == FILE_NAME else None
    found = [problem(path.parent.name, sentence) for sentence in read.problems]
    if not read.records and not read.problems:
        found.append(problem(path.parent.name, f"{path}: found no record, expected one per test"))
    name = path.parent.name
    if where is not None:
        found += [problem(name, sentence) for sentence in _of_another_run(read.records, name)]
        found += [remark(name, sentence) for sentence in _missing_outputs(read.records, where)]
        found += [remark(name, sentence) for sentence in _of_no_record(read.records, where)]
    found += [problem(name, sentence) for sentence in _of_the_future(read.records, now)]
    found += [problem(name, sentence) for sentence in _of_another_form(read.records)]
    found += _units(read.records, name)
    found += [remark(name, sentence) for sentence in _clock(read.records)]
    found += [remark(name, sentence) for sentence in _find_renamed(read.records, systems)]
    return StoreCheck(len(read.records), tuple(found))


def _of_another_run(records: Sequence[Record], name: str) -> Iterator[str]:
    for run in dict.fromkeys(record.made.run for record in records):
        if run != name:
            yield f"found records of run {run}, expected only those of {name}; was a folder renamed, or a file copied?"


def _missing_outputs(records: Sequence[Record], folder: Path) -> Iterator[str]:
    missing = [
        record
        for record in records
        if record.made.output is not None and kept_output(folder, record.made.output) is None
    ]
    if missing:
        first = str(missing[0].made.output)[:60]
        yield (
            f"{count_of(len(missing), 'output')} that records name "
            f"{'is' if len(missing) == 1 else 'are'} not there (the first: {first}); the figures are"
        )


def _of_no_record(records: Sequence[Record], folder: Path) -> Iterator[str]:
    """Yield sentences on rows of pairs that no record names: their writer was stopped before its record."""
    named = {
        record.found.pairs.rows.file
        for record in records
        if record.found.pairs is not None and record.found.pairs.rows is not None
    }
    for path in sorted(folder.glob(PATTERN)):
        if path.name not in named:
            yield f"no record names {path.name}: the test that wrote it was stopped before its record; remove the file"


def _units(records: Sequence[Record], name: str) -> Iterator[Finding]:
    """Yield each unit that is not the metric's own: a convertible one is only odd, another cannot be compared."""
    odd = dict.fromkeys(
        (curve.metric, curve.unit)
        for record in records
        for curve in record.found.curves
        if curve.metric in DECLARED and curve.unit != DECLARED[curve.metric]
    )
    for metric, unit in odd:
        wanted = DECLARED[metric]
        can = unit in UNITS and UNITS[unit][0] == UNITS[wanted][0]
        does = "comparisons convert it" if can else "it cannot be compared"
        yield (remark if can else problem)(name, f"{metric} is in {unit}, expected {wanted}; {does}")


def _clock(records: Sequence[Record]) -> Iterator[str]:
    for before, after in pairwise(records):
        back = _seconds(before.made.time, after.made.time)
        if back is not None and back < 0:
            yield (
                f"the clock went back by {-back:.0f} s between {before.test.case} ({before.made.time}) and "
                f"{after.test.case} ({after.made.time}); the order in the file counts, and elapsed times do "
                "not come from this clock"
            )


def _of_the_future(records: Sequence[Record], now: datetime) -> Iterator[str]:
    late = [record for record in records if is_of_the_future(record, now)]
    if late:
        first = late[0]
        yield (
            f"{count_of(len(late), 'record')} from the future (the first: {first.test.case}, {first.made.time}): a "
            "clock was wrong; until then it stays the newest in all lists by time"
        )


def _of_another_form(records: Sequence[Record]) -> Iterator[str]:
    odd = [record for record in records if _UTC.fullmatch(record.made.time) is None]
    if odd:
        yield (
            f"{count_of(len(odd), 'record')} with a time in another form (the first: {odd[0].test.case}, "
            f'"{odd[0].made.time}"), expected UTC such as 2026-11-21T06:00:12Z: runs are sorted, and chosen by day, '
            "by that text"
        )


def is_of_the_future(record: Record, now: datetime) -> bool:
    """Return whether a record is dated more than a day after ``now``; False where its time cannot be read."""
    after = _seconds(now.isoformat(), record.made.time)
    return after is not None and after > timedelta(days=1).total_seconds()


def _seconds(first: str, second: str) -> float | None:
    try:
        return (datetime.fromisoformat(_plain(second)) - datetime.fromisoformat(_plain(first))).total_seconds()
    except (ValueError, TypeError):
        return None


def _plain(time: str) -> str:
    return time.removesuffix("Z") + ("+00:00" if time.endswith("Z") else "")  # Python 3.10 cannot read the Z


def _find_renamed(records: Sequence[Record], systems: Collection[str]) -> Iterator[str]:
    for system in dict.fromkeys(record.where.system for record in records):
        if system not in systems:
            yield (
                f'its system "{system}" has no file in systems/ ({did_you_mean(system, systems)}); if it was '
                f"renamed, `railyard capture --stored-as {system}` still finds its runs"
            )
