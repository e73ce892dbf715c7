"""What OpenPBS 23.06 said of jobs, nodes and queues on the virtual cluster: a file's name is what became of the job.

All are our own, of jobs that slept or exited, from 28 and 30 November 2026: `qstat -x -f JOB` (its Variable_List cut
short), `pbsnodes -a` and `qstat -Q -f`. ``finished`` is what `qstat -f`, without -x, says of a job that has ended.
"""

from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd
from railyard.parsers.pbs import PbsJob, closed_queues, find_end, node_end, parse_job, parse_nodes

RECORDED = Path(__file__).parents[1] / "recordings" / "pbs"


def text(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def job(name: str) -> PbsJob:
    found = parse_job(text(name))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "phase", "exit_code", "nodes"),
    [
        ("waits", "waits", None, ()),
        ("held", "waits", None, ()),
        ("depends", "waits", None, ()),
        ("too-many-nodes", "waits", None, ()),
        ("stopped-queue", "waits", None, ()),
        ("running", "runs", None, ("vn1", "vn2")),
        ("completed", "ended", 0, ("vn1", "vn2")),
        ("exit-3", "ended", 3, ("vn1", "vn2")),
        ("killed", "ended", 137, ("vn3", "vn4")),
        ("time", "ended", None, ("vn3", "vn4")),
        ("cancelled-running", "ended", 0, ("vn1", "vn2")),
        ("cancelled-waiting", "ended", None, ()),
    ],
)
def test_a_job_waits_runs_or_has_ended_with_its_exit_code(
    name: str, phase: str, exit_code: int | None, nodes: tuple[str, ...]
) -> None:
    assert (job(name).phase, job(name).exit_code, job(name).nodes) == (phase, exit_code, nodes)


def test_a_folded_comment_is_one_line() -> None:
    assert job("too-many-cores").comment == (
        "Can Never Run: Insufficient amount of resource: ncpus (R: 198 A: 64 T: 64)"
    )
    assert job("no-such-host").comment == (
        "Can Never Run: Insufficient amount of resource: host (vn9 != vn1,vn2,vn3,vn4)"
    )


@pytest.mark.parametrize("name", ["too-many-nodes", "too-many-cores", "no-such-host"])
def test_a_job_that_can_never_run_waits_and_says_so(name: str) -> None:
    assert job(name).can_never_run
    assert not any(job(other).can_never_run for other in ("waits", "held", "depends", "stopped-queue", "running"))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("completed", None),
        ("exit-3", None),
        ("killed", None),
        ("running", None),
        ("time", JobEnd("time", "job 1.vn1 was killed at its time limit on vn3 and vn4")),
        # Its exit status is 0.
        ("cancelled-running", JobEnd("cancelled", "job 0.vn1 was cancelled by root@vn1 on vn1 and vn2")),
        ("cancelled-waiting", JobEnd("cancelled", "job 3.vn1 was cancelled")),
    ],
)
def test_a_jobs_end_is_in_its_comment(name: str, end: JobEnd | None) -> None:
    assert find_end(job(name)) == end


def test_a_job_that_pbs_could_not_run_is_no_measurement() -> None:
    """Exit_status below 0 is PBS's own: pbs_job_attributes(7B)."""
    ended = find_end(PbsJob("7.vn1", "F", -3, "job requeued, execution node vn1 down", ("vn1",)))
    assert ended is not None
    assert ended.sentence == (
        "job 7.vn1 was ended by PBS on vn1 (the scheduler's reason: job requeued, execution node vn1 down)"
    )


def test_an_unknown_or_finished_job_has_no_record() -> None:
    assert parse_job(text("finished")) is None
    assert parse_job("qstat: Unknown Job Id 9999.vn1\n") is None


def test_nodes_that_can_run_no_job_are_named_with_the_reason() -> None:
    offline = {node.name: node.unfit for node in parse_nodes(text("nodes-offline"))}
    assert offline == {"vn1": None, "vn2": None, "vn3": "offline (bad cable)", "vn4": None}
    # OpenPBS writes it so (attr_node_func.c)
    odd = "vn1\n     state = Stale\n\nvn2\n     state = free,unresolvable\n"
    assert [node.unfit for node in parse_nodes(odd)] == ["Stale", "unresolvable"]
    down = [node for node in parse_nodes(text("nodes-died")) if node.is_down]
    assert node_end(job("running"), down) == JobEnd(
        "node", "job 0.vn1 was ended because a node died: vn4 is down (node down: communication closed)", ("vn4",)
    )


def test_a_queue_that_starts_no_jobs_is_named() -> None:
    assert closed_queues(text("queue-stopped")) == (("workq", "starts no jobs (started = False)"),)
    disabled = text("queue-stopped").replace("enabled = True", "enabled = False").replace("started = False", "")
    assert closed_queues(disabled) == (("workq", "takes no jobs (enabled = False)"),)
