"""A real run's outputs as recordings: scrubbed, and checked to give exactly the curves of the run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.files import read_regular
from railyard.benchmarks.table.applications import installed_name
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import recording_of
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.results.record.kept_test import kept_path, read
from railyard.results.run_folder import kept_output
from railyard.results.store.scrub import scrub_text
from railyard.site.test_id import TestId, check_of

MADE_BY = "railyard record"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The result for a run: recordings with their texts, and a sentence for each test without a recording.

    ``kept`` has the texts of other files that a rehearsal needs, by name.
    """

    system: str
    made: tuple[tuple[Recording, str], ...]
    left: tuple[str, ...]
    kept: Mapping[str, str] = field(default_factory=dict)


def recorded_outputs(
    run: Path, parsers: Mapping[str, Callable[[str], ParsedOutput]], hosts: tuple[str, ...], users: tuple[str, ...]
) -> RecordedRun:
    """Return the recordings of a run's folder. ``parsers`` has one per tool; hosts and users are scrubbed.

    Raises InputError if the folder has no records, and RailyardError if none of them can be recorded or a scrubbed
    output no longer says what the run measured.
    """
    records = {record.test.case: record for record in read_records(run).records}
    made: list[tuple[Recording, str]] = []
    left: list[str] = []
    kept_texts: dict[str, str] = {}
    for record in records.values():
        why = _why_not(record, run)
        if why is not None:
            left.append(f"{record.test.case}: {why}")
            continue
        said = partial(scrub_text, hosts=(*record.where.nodes, *hosts), users=users)
        output = kept_output(run, record.made.output)
        assert output is not None, "_why_not was asked"
        raw = read_regular(output).decode(errors="replace")
        text, kept = said(raw), _read_kept(output, record, said)
        _refuse_changed(record, parsers, raw, text)
        one = recording_of(_test(record), text, "recorded", MADE_BY, f"run {record.made.run}", kept)
        made.append((one, text))
        if one.kept is not None and kept is not None:
            kept_texts[one.kept.file] = kept
    if not made:
        raise RailyardError("\n".join((f"{run}: found no output that can be recorded, expected at least one", *left)))
    return RecordedRun(next(iter(records.values())).where.system, tuple(made), tuple(left), kept_texts)


def _read_kept(output: Path, record: Record, said: Callable[[str], str]) -> str | None:
    """Return the text of what the run kept beside an output, changed by ``said``; None if it kept nothing.

    Raises InputError for a file with a wrong form.
    """
    file = kept_path(output)
    if not file.is_file():
        return None
    kept = read(read_regular(file).decode(errors="replace"), str(file))
    return replace(kept, hardware=record.where.hardware).to_text(said)


def _why_not(record: Record, run: Path) -> str | None:
    if record.made.rehearsal is not None:
        return "found a rehearsed test, whose output a stand-in made, expected a measured one"
    if record.made.replayed is not None:
        return f"found a replayed test ({record.made.replayed}), expected a measured one"
    if record.found.state == "not-tested":
        return "it did not run"
    if record.test.benchmark in BENCHMARKS and BENCHMARKS[record.test.benchmark].every_node:
        return "its output names nodes, and recordings hide these names"
    if installed_name(record.test.benchmark) is not None:
        return "the site's own patterns read it, and its output may belong to the vendor"
    if not record.found.curves or kept_output(run, record.made.output) is None:
        return "it left no output with a curve"
    return None


def _test(record: Record) -> TestId:
    return TestId(
        record.where.fabric, record.test.stack, record.test.rails, record.test.benchmark, check_of(record.test.case)
    )


def _refuse_changed(record: Record, parsers: Mapping[str, Callable[[str], ParsedOutput]], raw: str, text: str) -> None:
    """Raise RailyardError if the parser reads other tables from the scrubbed text."""
    parse = parsers.get(record.test.benchmark.partition("/")[0])
    if parse is None:
        raise RailyardError(f"{record.test.case}: found no parser of {record.test.benchmark}, expected one of its tool")
    try:
        before, after = ([(t.benchmark, t.columns, t.rows, t.complete) for t in parse(one).tables]
                         for one in (raw, text))  # fmt: skip
    except ParseError as error:
        raise RailyardError(
            f"{record.test.case}: its output cannot be read ({error}), expected the one that was judged"
        ) from error
    if before != after:
        raise RailyardError(
            f"{record.test.case}: found other tables in its output without names of hosts and users, expected the "
            "same; a name of a host or user is a number or a benchmark's word"
        )
