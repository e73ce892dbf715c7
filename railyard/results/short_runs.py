"""Runs that measured mostly their start: a benchmark that needs a certain time computed for less (NPB: 20 s)."""

from railyard.benchmarks.table.applications import nodes_of_key
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record


def why_too_short(record: Record) -> str | None:
    """Return why nothing may be concluded from a record's figures, because its run was too short; None otherwise."""
    known = BENCHMARKS.get(nodes_of_key(record.test.benchmark)[0])
    times = [figure.value for figure in record.found.figures if figure.name == "runtime" and figure.unit == "s"]
    if known is None or not times or min(times) >= known.least_s:
        return None
    return f"it computed for {min(times):.4g} s, and less than {known.least_s:g} s is not judged"
