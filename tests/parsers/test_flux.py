"""What Flux 0.88 said of jobs, nodes and queues on the virtual cluster: a row's name is what had become of the job.

``tests/recordings/flux/jobs.txt`` has what `flux jobs -n -o FORMAT` printed, behind a name of ours; ``*.err`` are error
outputs of jobs of `flux batch`. All are our own, of jobs that slept or exited, from 28 and 30 November 2026: of
``killed`` somebody killed the script, of ``killed-by-flux`` all by `flux job kill -s KILL JOB`, of ``killed-program`` a
process that `flux run` had started.
"""

from pathlib import Path

import pytest

from railyard.parsers import flux
from railyard.parsers.flux import FluxJob, closed_queues, failed_nodes, find_end, parse_job, unfit_nodes
from railyard.parsers.job_end import JobEnd

RECORDED = Path(__file__).parents[1] / "recordings" / "flux"
ROWS = [line.split("\t") for line in (RECORDED / "jobs.txt").read_text(encoding="utf-8").splitlines()]
JOBS = {name: row for name, row in ROWS}


def text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def job(name: str) -> FluxJob:
    found = parse_job(JOBS[name], "f7")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "phase", "exit_code"),
    [
        ("held", "waits", None),
        ("depends", "waits", None),
        ("waits-eta", "waits", None),
        ("running", "runs", None),
        ("completed", "ended", 0),
        ("exit-3", "ended", 3),
        ("killed", "ended", 137),
        ("cancelled-running", "ended", 143),
        ("cancelled-waiting", "ended", None),
        ("too-many-nodes", "ended", 1),
    ],
)
def test_a_job_waits_runs_or_has_ended_with_its_exit_code(name: str, phase: str, exit_code: int | None) -> None:
    assert (job(name).phase, job(name).exit_code) == (phase, exit_code)


def test_every_recorded_job_is_read() -> None:
    assert len(JOBS) == len(ROWS)
    assert [name for name, row in JOBS.items() if parse_job(row, "f7") is None] == []


@pytest.mark.parametrize(
    "line", ["", "\n", "flux-jobs: ERROR: f7: invalid JobID value", "PENDING||||||", "COMPLETED|0"]
)
def test_what_is_no_job_is_none(line: str) -> None:
    assert parse_job(line, "f7") is None


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("completed", None),
        ("exit-3", None),
        ("killed", None),
        ("running", None),
        ("held", None),
        ("cancelled-running", JobEnd("cancelled", "job f7 was cancelled on vn[1-2]")),
        ("cancelled-waiting", JobEnd("cancelled", "job f7 was cancelled")),
        (
            "time",
            JobEnd(
                "time",
                "job f7 was killed at its time limit on vn[3-4] (the scheduler's reason: resource allocation expired)",
            ),
        ),
        (
            "too-many-nodes",
            JobEnd(
                "pending",
                "job f7 can never begin (the scheduler's reason: unsatisfiable request: need 9 exclusive node(s), only "
                "4 eligible)",
            ),
        ),
        (
            "no-such-feature",
            JobEnd(
                "pending",
                "job f7 can never begin (the scheduler's reason: unsatisfiable request: need 2 exclusive node(s), only "
                "0 eligible)",
            ),
        ),
    ],
)
def test_a_jobs_end_is_said_in_fluxs_words(name: str, end: JobEnd | None) -> None:
    assert find_end(job(name)) == end


def test_a_node_is_blamed_if_flux_names_it() -> None:
    assert find_end(job("node-died")) == JobEnd(
        "node", "job f7 was ended because a node died: Flux lost its broker on vn2", ("vn2",)
    )
    # What flux-core 0.88 said when the job's processes on vn2 were killed a moment before its broker.
    killed = find_end(FluxJob("f7", "FAILED", 137, "vn[2,4]", "exec", None, "shell rank 0 (on vn2): Killed"))
    assert killed == JobEnd(
        "cancelled", "job f7 was ended by Flux on vn[2,4] (the scheduler's reason: shell rank 0 (on vn2): Killed)"
    ), "who killed it is not known"


def test_a_node_that_a_job_lost_is_read_from_its_events() -> None:
    assert failed_nodes(text("eventlog-node-failure.txt")) == ("vn3",)
    assert failed_nodes('1.0 exception type="cancel" severity=0 note="" userid=0\n') == ()


def test_nodes_that_can_run_no_job_are_named_with_the_reason() -> None:
    drained = text("nodes-drained.txt")
    assert unfit_nodes(drained) == (("vn3", "drained (bad cable)"),)
    assert unfit_nodes(text("nodes-died.txt")) == (("vn3", "offline"), ("vn4", "offline"))


def test_a_queue_that_takes_or_starts_no_jobs_is_named() -> None:
    assert closed_queues(text("queue-started.txt")) == ()
    assert closed_queues(text("queue-closed.txt")) == (
        ("batch", "Job submission is disabled: no more"),
        ("batch", "Scheduling is stopped: new cables"),
    )
    assert closed_queues(text("queue-stopped.txt")) == (
        ("batch", "Job submission is disabled: moving"),
        ("batch", "Scheduling is stopped: new cables"),
    )


def test_no_line_of_a_broker_is_the_programs() -> None:
    for name in (
        *("exit3.err", "late-brokers.err", "limit.err", "cancelled.err"),
        *("killed.err", "killed-by-flux.err"),
    ):
        left = [line for line in flux.without_broker_lines(text(name)).splitlines() if line]
        assert left == (["flux-job: task(s) Terminated"] if name == "cancelled.err" else []), name
        assert flux.without_broker_lines(text(name)).count("\n") == text(name).count("\n"), "lines keep their numbers"
    killed = flux.without_broker_lines(text("killed-program.err")).splitlines()
    assert len(killed) == 4 and killed[2:] == ["flux-job: task(s) Killed", ""]
    assert killed[0].startswith("35.665s: flux-shell[0]: FATAL: task-exit: sh: task rank 1 on host vn2 exited (Killed)")
    own = "IMB-MPI1: error\nbroker.err[0]: of the program\n"
    assert flux.without_broker_lines(own) == own


def test_a_script_that_ended_by_itself_has_its_exit_code() -> None:
    """Flux said TIMEOUT of that job: its brokers had not ended when its time was over."""
    assert flux.script_exit_code(text("late-brokers.err")) == 3
    assert flux.script_exit_code(text("exit3.err")) == 3
    assert flux.script_exit_code(text("killed-program.err")) == 137, "a signal ended a process of it"
    for name in ("limit", "killed", "killed-by-flux"):
        assert flux.script_exit_code(text(f"{name}.err")) is None, "a signal ended it"
    assert flux.script_exit_code("rc2.0: /x/script Exited (rc=3) 0.1s\n") is None, "the program's own line"
