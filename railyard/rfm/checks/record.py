"""What every check keeps of a run: its output, and its record in the folder of the run."""

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from railyard.results import run_folder
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record
from railyard.rfm.checks.measure_again import Measurement
from railyard.rfm.checks.runner import Runner
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment
from railyard.verdict.recording import record_of, untested_record


def now() -> str:
    """Return the time as records have it."""
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def store(site: Site, record: Record) -> None:
    """Append a record to those of this run. Raises RailyardError where it cannot be written."""
    append_record(run_folder.run_folder(site.home) / FILE_NAME, record)


def store_untested(site: Site, test: TestId, runner: Runner, reason: str) -> None:
    """Store that a test was not run, with why."""
    record = untested_record(test, reason, run=run_folder.run_id(), time=now())
    store(site, replace(record, environment=runner.environment(None), replayed=runner.replayed))


def store_run(
    runner: Runner, made: Measurement, found: Assessment, words: tuple[str, ...], stdout: Path, rows: Path | None
) -> None:
    """Store a run with its output; ``words`` are its command, ``rows`` is its error output where the tool's rows are.

    ``found`` is the assessment of what was ``made``, with what was found out afterwards.
    """
    case = found.case
    record = record_of(
        found,
        run=run_folder.run_id(),
        time=now(),
        elapsed_s=round(made.elapsed_s, 2),
        environment=runner.environment(made.evidence),
        command=words,
        output=run_folder.keep_output(case.site.home, str(case.test), stdout, rows),
    )
    store(case.site, replace(record, **runner.circumstances(made.evidence, case.launch, made.started)))
