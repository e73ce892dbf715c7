"""The median of a test's curves over earlier runs, read from the run folders beside this run's folder."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import CurveRecord, Record
from railyard.results.report.svg import EarlierMedian
from railyard.results.store.query import load

#: So many of the newest earlier runs are read: enough for a median, few enough for a report within a second.
MOST_RUNS = 10

#: System, case and metric of a curve.
Key = tuple[str, str, str]


def earlier_medians(folder: Path, records: Sequence[Record]) -> dict[Key, EarlierMedian]:
    """Return the median of each curve in the records of ``folder``, over the runs before it.

    Those runs are the folders beside it whose names, which begin with the time, sort before its own. Only tests that
    passed (report-only ones too) and measured over the same sizes count; a replay or a rehearsal has no earlier runs.
    What cannot be read is ignored: it is not part of this run.
    """
    wanted = {
        (record.system, record.case, curve.metric): curve
        for record in records
        if record.no_measurement is None
        for curve in record.curves
    }
    found: dict[Key, list[tuple[float, ...]]] = {}
    runs = [run for run in sorted(folder.resolve().parent.glob("*")) if run.name < folder.resolve().name]
    for run in [run for run in runs if (run / FILE_NAME).is_file()][-MOST_RUNS:]:
        for key, curve in _healthy(run, wanted):
            if (curve.sizes, curve.unit) == (wanted[key].sizes, wanted[key].unit):
                found.setdefault(key, []).append(curve.values)
    return {
        key: EarlierMedian(tuple(statistics.median(column) for column in zip(*repeats, strict=True)), len(repeats))
        for key, repeats in found.items()
    }


def _healthy(run: Path, wanted: Mapping[Key, CurveRecord]) -> Iterator[tuple[Key, CurveRecord]]:
    """Yield the curves of the wanted tests that passed in a stored run."""
    for record in load(run, str(run)).records:
        if record.no_measurement is None and record.state in ("pass", "report-only"):
            for curve in record.curves:
                key = (record.system, record.case, curve.metric)
                if key in wanted:
                    yield key, curve
