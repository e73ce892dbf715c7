"""What every check keeps from a run: its output, and its record in the folder of the run."""

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from railyard.job.case import Case
from railyard.job.kept_facts import kept_of
from railyard.provision.rehearsal import form as rehearsal
from railyard.provision.rehearsal import recorded_run
from railyard.results import run_folder
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record
from railyard.rfm.checks.measure_again import Measurement
from railyard.rfm.checks.runner import CheckRequest, RunOutputs
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves, places_of
from railyard.verdict import node_pairs
from railyard.verdict.assess import Assessment
from railyard.verdict.recording import record_of, untested_record

if TYPE_CHECKING:
    from railyard.rfm.checks.runner import Runner


def current_time() -> str:
    """Return the time as records have it."""
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def store(site: Site, record: Record) -> None:
    """Append a record to those of this run; in a rehearsal it says so. Raises RailyardError if it cannot."""
    rehearsed = rehearsal.current()
    record = record if rehearsed is None else record.with_fields(rehearsal=rehearsed.remark)
    append_record(run_folder.run_folder(site.home) / FILE_NAME, record)


def store_untested(site: Site, test: TestId, runner: "Runner", reason: str) -> None:
    """Store that a test did not run, and why."""
    record = untested_record(test, reason, run=run_folder.run_id(), time=current_time())
    store(site, record.with_fields(environment=runner.environment(None), replayed=runner.replayed))


def store_run(
    runner: "Runner",
    asked: CheckRequest,
    made: Measurement,
    found: Assessment,
    words: tuple[str, ...],
    left: RunOutputs,
) -> None:
    """Store a run with its output, and what ``asked`` told the benchmark; ``words`` are its command.

    ``found`` is the assessment of what was ``made``, with what was found out afterwards.
    """
    case, rows = found.case, left.stage / left.stderr if asked.outputs.on_stderr else None
    output = run_folder.keep_output(case.site.home, str(case.test), left.stage / left.stdout, rows)
    if output is not None and made.evidence.counters:
        told = [*asked.arguments(asked.message_sizes), *case.launch.settings.words]
        started = f"{made.started:%Y-%m-%dT%H:%M:%SZ}"
        kept = kept_of(case, made.evidence, told, asked.input_files(), left.nics(), started, found.readings)
        run_folder.keep_beside(case.site.home, output, kept)
    pairs = node_pairs.record_of(found, _leaves(case)) if found.pair_tables else None
    if pairs is not None and pairs.file is not None:
        run_folder.keep_pairs(case.site.home, pairs.file)
    record = record_of(
        found,
        run=run_folder.run_id(),
        time=current_time(),
        elapsed_s=round(made.elapsed_s, 2),
        environment=runner.environment(made.evidence),
        command=words,
        output=output,
    )
    record = record.with_fields(
        pairs=None if pairs is None else pairs.record,
        rehearsed_output=recorded_run.describe_stage(left.stage),
        **runner.circumstances(made.evidence, case.launch, made.started),
    )
    store(case.site, record)


def _leaves(case: Case) -> Leaves:
    """Return each node's leaf switch, if the system's file or the kept distances of the fabric say it."""
    rails = case.site.system.fabrics[case.fabric].used_rails(case.rails, case.test.policy)
    return places_of(case.site.home, case.site.system, case.fabric, rails).leaf_of
