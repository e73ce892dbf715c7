"""Records for other programs: one CSV table for spreadsheets, and a file of metrics for Prometheus.

Records as one CSV table, for spreadsheets and other programs; reports and exports have the same columns.

The newest result of each test, and the sick parts, as a file for Prometheus's node exporter (text file collector).

Nothing is sent: the node exporter of this machine reads the file on request. The official client library writes it,
completely or not at all.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.errors import RailyardError, SetupError, unwritable
from railyard.base.hostlist import fold_names
from railyard.base.paths import packaged_text
from railyard.base.values import one_line
from railyard.benchmarks.model import Figure
from railyard.results.record.form import STATES, Record
from railyard.results.report.spread import histories
from railyard.results.report.summary import row
from railyard.results.sick import SickPart
from railyard.results.store.verify import is_of_the_future

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

#: What the row is about; one number with its unit; the state of its test.
HEADS = (
    *("run", "time", "system", "fabric", "stack", "rails", "policy", "benchmark", "case", "state", "nodes", "replayed"),
    *("kind", "name", "size_bytes", "value", "unit"),
    *("percent_of_reference", "percent_of_limit", "split_percent", "verdict", "attempts", "starved", "rehearsal"),
    "computed",
)
_NOTHING = "–"
# The last four are these signs in full width, which spreadsheets of East Asian languages take for the same.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(records: Sequence[Record]) -> str:
    """Return the table with its head: a row per key figure (kind ``figure``) and per point of each curve (``curve``).

    A test without figures has one row with its state. Numbers have all digits and a decimal point; what is unknown is
    empty. A text that a spreadsheet would take for a formula has an apostrophe before it. ``computed`` is yes for a
    number that was computed for a replay and that no source printed.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADS)
    for record in records:
        writer.writerows(_rows(record))
    return file.getvalue()


def _rows(record: Record) -> Iterator[list[str]]:
    cells = row(record)
    head = [
        record.made.run,
        record.made.time,
        record.where.system,
        record.where.fabric,
        record.test.stack,
        str(record.test.rails),
        record.test.policy or "",
    ]
    head += [
        record.test.benchmark,
        record.test.case,
        record.found.state,
        " ".join(record.where.nodes),
        record.made.replayed or "",
    ]
    last = [cells.percent_of_reference, cells.percent_of_limit, cells.split, record.found.verdict.text]
    last += [str(len(record.how.attempts)), "" if record.how.starved is None else repr(record.how.starved)]
    last += [record.made.rehearsal or ""]
    for *number, computed in list(_numbers(record)) or [[""] * 6]:
        told = (*head, *number, *last, computed)
        yield ["" if text == _NOTHING else guard_cell(text) for text in map(one_line, told)]


def _numbers(record: Record) -> Iterator[list[str]]:
    for figure in record.found.figures:
        size = "" if figure.size is None else str(figure.size)
        yield ["figure", figure.name, size, repr(figure.value), figure.unit, "yes" if figure.computed else ""]
    for curve in record.found.curves:
        for at, value in zip(curve.sizes, curve.values, strict=True):
            yield ["curve", curve.metric, str(at), repr(value), curve.unit, "yes" if at in curve.computed else ""]


def guard_cell(text: str) -> str:
    """Return a cell's text, with an apostrophe before what a spreadsheet would run; a number stays as it is.

    What follows a semicolon is guarded too: where numbers have a decimal comma, a spreadsheet begins a cell there.
    """
    return ";".join(map(_guard_start, text.split(";")))


def _guard_start(text: str) -> str:
    begun = text.lstrip()
    if not begun.startswith(_FORMULA):
        return text
    try:
        float(begun)
    except ValueError:
        return f"{text[: len(text) - len(begun)]}'{begun}"
    return text


FILE = "results/grafana.json"
#: The suffix that the collector looks for; it ignores every other file.
SUFFIX = ".prom"
#: What identifies a test; these are labels of every sample.
TEST_LABELS = ("system", "fabric", "stack", "rails", "policy", "benchmark", "case")
FIGURE, STATE, TIME, EXPORTED = (
    "railyard_figure",
    "railyard_test_state",
    "railyard_test_time_seconds",
    "railyard_export_time_seconds",
)
#: What identifies a sick part.
PART_LABELS = ("system", "node", "kind", "part", "confidence", "class")
SUSPECT, FIRST_SEEN, LAST_SEEN = (
    "railyard_suspect",
    "railyard_suspect_first_seen_seconds",
    "railyard_suspect_last_seen_seconds",
)


def newest(records: Sequence[Record], now: datetime) -> tuple[Record, ...]:
    """Return the newest record of each measured test; if its newest run has a failure and a later pass, the failure.

    A record that a wrong clock dated after ``now`` is left out: it would hide every later run.
    """
    measured = [one for one in records if one.no_measurement is None and not is_of_the_future(one, now)]
    return tuple(history.newest for history in histories(measured))


def registry_of(records: Sequence[Record], now: datetime, sick: Sequence[SickPart] = ()) -> "CollectorRegistry":
    """Return the samples of these records, per test: figures, state, time of the record; and the time of this export.

    A test has a sample of each state, 1 for the one that it is in. The age of a result is not a sample, since it would
    not grow in the file: compute it as ``time() - railyard_test_time_seconds``. A sick part has a sample that is 1, and
    the times when it was blamed first and last; a part that passed since has none. Raises SetupError if the client
    library is not installed.
    """
    gauge, registry = _library()
    figures = gauge(
        FIGURE, "Key figure of the newest result, in its unit", (*TEST_LABELS, "figure", "unit"), registry=registry
    )
    states = gauge(STATE, "Whether the newest result is in this state", (*TEST_LABELS, "state"), registry=registry)
    times = gauge(TIME, "When the newest result was recorded, since the epoch", TEST_LABELS, registry=registry)
    for record in records:
        labels = _labels(record)
        for figure in _first_figures(record.found.figures):
            figures.labels(*labels, figure.name, figure.unit).set(figure.value)
        for state in STATES:
            states.labels(*labels, state).set(1 if record.found.state == state else 0)
        seconds = _seconds(record.made.time)
        if seconds is not None:
            times.labels(*labels).set(seconds)
    _add_parts(gauge, registry, sick)
    gauge(EXPORTED, "When this file was written, since the epoch", registry=registry).set(now.timestamp())
    return registry


def _add_parts(gauge: Any, registry: "CollectorRegistry", sick: Sequence[SickPart]) -> None:
    suspects = gauge(
        SUSPECT, "A part that failed tests blame, and that has not passed since", PART_LABELS, registry=registry
    )
    first = gauge(FIRST_SEEN, "When the part was blamed first, since the epoch", PART_LABELS, registry=registry)
    last = gauge(LAST_SEEN, "When the part was blamed last, since the epoch", PART_LABELS, registry=registry)
    for part in sick:
        if part.state != "sick":
            continue
        labels = (
            part.system, _nodes(part), part.kind, part.rail or part.part or "", part.confidence, part.class_ or "",
        )  # fmt: skip
        suspects.labels(*labels).set(1)
        for samples, seen in ((first, part.first), (last, part.last)):
            seconds = _seconds(seen.time)
            if seconds is not None:
                samples.labels(*labels).set(seconds)


def _nodes(part: SickPart) -> str:
    """Return a part's node, or ``n1-n2`` of a pair; for a leaf or an up-link without a name, its nodes."""
    if part.kind in ("leaf", "up-link"):
        return "" if part.part else fold_names(part.nodes)
    return "-".join(part.nodes)


def text_of(registry: "CollectorRegistry") -> str:
    """Return the samples in Prometheus's text format."""
    from prometheus_client import generate_latest

    text: bytes = generate_latest(registry)
    return text.decode("utf-8")


def write(path: Path, registry: "CollectorRegistry") -> None:
    """Write the samples completely or not at all: the collector never reads half a file.

    Raises RailyardError for a name that the collector ignores, SetupError if the file cannot be written.
    """
    if path.suffix != SUFFIX:
        raise RailyardError(f'-o: found "{path}", expected a name that ends in {SUFFIX}: the collector reads no other')
    from prometheus_client import write_to_textfile

    try:
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise unwritable(path, "the file", error, ", or choose another -o") from error


def _library() -> tuple[Any, "CollectorRegistry"]:
    try:
        from prometheus_client import CollectorRegistry, Gauge
    except ImportError as error:
        raise SetupError(
            "found no prometheus_client, expected Prometheus's client library; "
            "type: pip install 'railyard-hpc[prometheus]'"
        ) from error
    return Gauge, CollectorRegistry()


def _labels(record: Record) -> tuple[str, ...]:
    values = (record.value(name) for name in TEST_LABELS)
    return tuple("" if value is None else str(value) for value in values)


def _first_figures(figures: Sequence[Figure]) -> list[Figure]:
    """Return the first figure of each name and unit: Prometheus refuses two samples with the same labels."""
    return list({(figure.name, figure.unit): figure for figure in reversed(figures)}.values())[::-1]


def _seconds(time: str) -> float | None:
    try:
        # Python 3.10 cannot read the Z
        return datetime.fromisoformat(time.removesuffix("Z")).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def dashboard_text() -> str:
    """Return the dashboard as JSON, for Grafana to import, or for a folder from which Grafana is provisioned."""
    return packaged_text(FILE)
