"""A real run's outputs as recordings: scrubbed, and held to give the very curves that the run had."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.applications import installed_name
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers.parsed import Parsed, ParseError
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import recording_of
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.results.scrub import scrubbed
from railyard.site.test_id import TestId, check_of

MADE_BY = "railyard record"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a run: recordings with their texts, and a sentence for each test that gave none."""

    system: str
    made: tuple[tuple[Recording, str], ...]
    left: tuple[str, ...]


def recorded_outputs(
    run: Path, parsers: Mapping[str, Callable[[str], Parsed]], hosts: tuple[str, ...], users: tuple[str, ...]
) -> Recorded:
    """Return the recordings of a run's folder. ``parsers`` is a parser a tool; hosts and users are scrubbed away.

    Raises InputError where the folder has no records, RailyardError where none of them can be recorded, and where a
    scrubbed output no longer says what the run measured.
    """
    records = {record.case: record for record in read_records(run).records}
    made: list[tuple[Recording, str]] = []
    left: list[str] = []
    for record in records.values():
        why = _why_not(record, run)
        if why is not None:
            left.append(f"{record.case}: {why}")
            continue
        raw = (run / str(record.output)).read_text(encoding="utf-8", errors="replace")
        text = scrubbed(raw, (*record.nodes, *hosts), users)
        _refuse_changed(record, parsers, raw, text)
        made.append((recording_of(_test(record), text, "recorded", MADE_BY, f"run {record.run}"), text))
    if not made:
        raise RailyardError("\n".join((f"{run}: found no output that can be recorded, expected at least one", *left)))
    return Recorded(next(iter(records.values())).system, tuple(made), tuple(left))


def _why_not(record: Record, run: Path) -> str | None:
    if record.rehearsal is not None:
        return "found a rehearsed test, whose output a stand-in made, expected a measured one"
    if record.replayed is not None:
        return f"found a replayed test ({record.replayed}), expected a measured one"
    if record.state == "not-tested":
        return "it did not run"
    if record.benchmark in BENCHMARKS and BENCHMARKS[record.benchmark].every_node:
        return "its output tells nodes by their names, which recordings hide"
    if installed_name(record.benchmark) is not None:
        return "it is read by patterns of the site's own, and its output may be the vendor's"
    if not record.curves or record.output is None or not (run / record.output).is_file():
        return "it left no output with a curve"
    return None


def _test(record: Record) -> TestId:
    return TestId(record.fabric, record.stack, record.rails, record.benchmark, check_of(record.case))


def _refuse_changed(record: Record, parsers: Mapping[str, Callable[[str], Parsed]], raw: str, text: str) -> None:
    """Raise RailyardError where the parser reads other tables from the scrubbed text."""
    parse = parsers.get(record.benchmark.partition("/")[0])
    if parse is None:
        raise RailyardError(f"{record.case}: found no parser of {record.benchmark}, expected one of its tool")
    try:
        before, after = ([(t.benchmark, t.columns, t.rows, t.complete) for t in parse(one).tables]
                         for one in (raw, text))  # fmt: skip
    except ParseError as error:
        raise RailyardError(
            f"{record.case}: its output cannot be read ({error}), expected the one that was judged"
        ) from error
    if before != after:
        raise RailyardError(
            f"{record.case}: found other tables in its output without names of hosts and users, expected the same; "
            "a name of a host or user is a number or a benchmark's word"
        )
