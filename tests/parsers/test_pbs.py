"""What OpenPBS 23.06 said of jobs, nodes and queues on the virtual cluster: a file's name is what became of the job.

All are our own, of jobs that slept or exited, from 28 and 30 November 2026: `qstat -x -f JOB` (its Variable_List and
Submit_arguments cut short), `pbsnodes -a` and `qstat -Q -f`. ``finished`` is what `qstat -f`, without -x, says of a job
that has ended.

- ``killed``: a process of the script was killed; ``killed-shell``: `kill -9` of the shell that ran it, and of it.
- ``signalled``: `qsig -s SIGKILL JOB`. SIGTERM and SIGSTOP left the same words.
- ``memory``: pbs_mom killed it for 300 MB (`$enforce mem` in its config). The kernel's killer leaves ``killed``.
- ``mom-started-again``: `kill -9` of the pbs_mom of its first node, which was then started again.
- ``started-twice``: `qrerun -W force JOB` of a job with `-r n`.
"""

from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd
from railyard.parsers.pbs import PbsJob, closed_queues, find_end, find_unfit_run, node_end, parse_job, parse_nodes

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
        ("killed-shell", "ended", 137, ("vn1", "vn2")),
        ("signalled", "ended", 0, ("vn1", "vn2")),
        ("memory", "ended", None, ("vn1", "vn2")),
        ("mom-started-again", "ended", None, ("vn1", "vn2")),
        ("started-twice", "runs", None, ("vn1", "vn2")),
        ("suspended", "runs", None, ("vn1", "vn2")),
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
        # Its exit status is 0, and only its script knows that it did not come to its end.
        ("signalled", None),
        (
            "killed-shell",
            JobEnd(
                "killed",
                "job 5.vn1 was killed on vn1 and vn2: signal 9 ended its script, and the scheduler does not say who "
                "sent it (a person, a program, or the kernel without memory)",
            ),
        ),
        ("memory", JobEnd("memory", "job 4.vn1 was killed for mem: it used more than it asked for on vn1 and vn2")),
        (
            "mom-started-again",
            JobEnd(
                "node",
                "job 10.vn1 was ended because a node died: the pbs_mom of vn1 was started again while the job ran "
                "(Exit_status -4)",
                ("vn1",),
            ),
        ),
    ],
)
def test_a_jobs_end_is_in_its_comment(name: str, end: JobEnd | None) -> None:
    assert find_end(job(name)) == end


def test_a_job_that_pbs_could_not_run_is_no_measurement() -> None:
    """Exit_status below 0 is PBS's own: pbs_job_attributes(7B)."""
    ended = find_end(PbsJob("7.vn1", "F", -3, "job requeued, execution node vn1 down", ("vn1",)))
    assert ended is not None
    assert ended.sentence == (
        "job 7.vn1 was ended by PBS on vn1 (the scheduler's reason: Exit_status -3; job requeued, execution node vn1 "
        "down)"
    )


@pytest.mark.parametrize("resource", ["cput", "ncpus (burst)", "ncpus (sum)"])
def test_a_limit_of_processor_time_is_none_of_memory(resource: str) -> None:
    """The words of svr_jobfunc.c of OpenPBS 23.06."""
    ended = find_end(PbsJob("7.vn1", "F", -28, f"Job run at noon on (vn1:ncpus=1) and exceeded resource {resource}"))
    assert ended is not None and ended.kind == "limit"
    assert ended.sentence == f"job 7.vn1 was killed for {resource.split()[0]}: it used more than it asked for"


def test_a_job_that_pauses_or_was_started_again_measures_nothing() -> None:
    assert find_unfit_run(job("suspended")) == JobEnd(
        "suspended", "job 11.vn1 was suspended while it ran: its times have the pause in them"
    )
    assert find_unfit_run(job("started-twice")) == JobEnd(
        "requeued", "job 8.vn1 was started 2 times: what it left may be of two runs"
    )
    busy = find_unfit_run(PbsJob("7.vn1", "U"))
    assert busy is not None and busy.kind == "suspended", "by a person at that host (pbs_job_attributes(7B))"
    for name in ("running", "completed", "waits", "killed", "cancelled-waiting"):
        assert find_unfit_run(job(name)) is None


def test_an_unknown_or_finished_job_has_no_record() -> None:
    assert parse_job(text("finished")) is None
    assert parse_job("qstat: Unknown Job Id 9999.vn1\n") is None


def test_nodes_that_can_run_no_job_are_named_with_the_reason() -> None:
    offline = {node.name: node.unfit for node in parse_nodes(text("nodes-offline"))}
    assert offline == {"vn1": None, "vn2": None, "vn3": "offline (bad cable)", "vn4": None}
    several = {node.name: node.unfit for node in parse_nodes(text("nodes-down-and-offline"))}
    assert several == {
        "vn1": None, "vn2": None, "vn3": "down, offline (bad cable)", "vn4": "down (node down: communication closed)",
    }  # fmt: skip
    assert [node.unfit for node in parse_nodes(text("nodes-busy"))[:2]] == [None, None], "job-exclusive"
    # OpenPBS writes it so (attr_node_func.c)
    odd = "vn1\n     state = Stale\n\nvn2\n     state = free,unresolvable\n"
    assert [node.unfit for node in parse_nodes(odd)] == ["Stale", "unresolvable"]
    down = [node for node in parse_nodes(text("nodes-died")) if node.is_down]
    assert node_end(job("running"), down) == JobEnd(
        "node", "job 0.vn1 was ended because a node died: vn4 is down (node down: communication closed)", ("vn4",)
    )


def test_a_queue_that_starts_no_jobs_is_named() -> None:
    assert closed_queues(text("queue-stopped")) == (("workq", "starts no jobs (started = False)"),)
    assert closed_queues(text("queues-closed")) == (
        ("workq", "starts no jobs (started = False)"),
        ("shut", "takes no jobs (enabled = False)"),
    )
