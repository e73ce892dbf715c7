"""Slurm's record of a job, and a sentence for each way in which a job can fail to run to its end.

The texts are synthetic, in the form of `scontrol -o show job` and `sacct -X -n -P` of Slurm 22.05.
"""

from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd, blocked_end, lost_end, still_pending
from railyard.parsers.slurm import FINAL, JobState, NodeState, find_end, killed_for_memory, parse_accounting, parse_job


def record(state: str, reason: str = "None", exit_code: str = "0:0", *, restarts: int = 0, more: str = "") -> str:
    return (
        f"JobId=12 JobName=rfm_ImbUniband_1a2b3c4d UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901748 "
        f"Nice=0 Account=(null) QOS=(null) JobState={state} Reason={reason} Dependency=(null) Requeue=0 "
        f"Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode={exit_code} RunTime=00:00:07 TimeLimit=00:02:00 "
        f"TimeMin=N/A SubmitTime=2026-11-21T18:00:00 Partition=all AllocNode:Sid=vn1:99 ReqNodeList=(null) "
        f"ExcNodeList=(null) "
        f"NodeList=vn[1-2] BatchHost=vn1 NumNodes=2 NumCPUs=32 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:* "
        f"TRES=cpu=32,node=2,billing=32 Command=/a folder/rfm_job.sh WorkDir=/a folder {more}Power= \n"
    )


def job(state: str, reason: str = "None", exit_code: str = "0:0", *, restarts: int = 0, more: str = "") -> JobState:
    found = parse_job(record(state, reason, exit_code, restarts=restarts, more=more))
    assert found is not None
    return found


def test_a_job_that_ran_to_its_end_has_its_exit_code_and_nodes() -> None:
    assert job("COMPLETED") == JobState("12", "COMPLETED", None, 0, 0, "vn[1-2]", None, 0, "00:02:00")
    failed = job("FAILED", "NonZeroExitCode", "71:0")
    assert (failed.exit_code, failed.signal, failed.is_final) == (71, 0, True)
    assert find_end(job("COMPLETED")) is None
    # The verdict judges its exit code: the scheduler did not end it.
    assert find_end(failed) is None


def test_a_job_whose_script_slurm_could_not_start_was_killed_by_nobody() -> None:
    found = job("FAILED", "RaisedSignal:53(Real-time_signal_19)", "0:53")
    assert find_end(found) == JobEnd(
        "unstarted",
        "job 12 did not run: Slurm could not start its script on vn[1-2] (the scheduler's reason: "
        "RaisedSignal:53(Real-time_signal_19))",
    )


def test_a_running_job_has_no_exit_code_yet() -> None:
    running = job("RUNNING")
    assert (running.exit_code, running.signal, running.is_final) == (None, None, False)
    assert find_end(running) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slurm_load_jobs error: Invalid job id specified\n",
        "slurm_load_jobs error: Unable to contact slurm controller\n",
        "JobId=12 JobName=x\n",
    ],
)
def test_what_has_no_job_gives_none(text: str) -> None:
    assert parse_job(text) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            job("TIMEOUT", "TimeLimit", "0:15"),
            JobEnd(
                "time",
                "job 12 was killed at its time limit of 00:02:00 on vn[1-2] (the scheduler's reason: TimeLimit)",
            ),
        ),
        (
            job("OUT_OF_MEMORY", "OutOfMemory", "0:125"),
            JobEnd(
                "memory",
                "job 12 was killed for memory: it used more than it was given on vn[1-2] "
                "(the scheduler's reason: OutOfMemory)",
            ),
        ),
        (
            job("PREEMPTED", "None", "0:15"),
            JobEnd("preempted", "job 12 was preempted by another job on vn[1-2]"),
        ),
        (job("CANCELLED", "None", "0:15"), JobEnd("cancelled", "job 12 was cancelled on vn[1-2]")),
        (
            job("RUNNING", restarts=1),
            JobEnd("requeued", "job 12 was requeued once: what it left may be of two runs"),
        ),
        (
            job("PENDING", "BeginTime", restarts=3),
            JobEnd(
                "requeued",
                "job 12 was requeued 3 times: what it left may be of two runs (the scheduler's reason: BeginTime)",
            ),
        ),
    ],
    ids=["time", "memory", "preempted", "cancelled", "requeued", "requeued and waiting"],
)
def test_what_ended_a_job_is_one_sentence(found: JobState, expected: JobEnd) -> None:
    assert find_end(found) == expected


def test_the_node_that_died_is_named_and_its_neighbour_is_not() -> None:
    nodes = (NodeState("vn1", "IDLE"), NodeState("vn2", "DOWN*", "Not responding"))
    assert find_end(job("NODE_FAIL", "None", "0:1"), nodes) == JobEnd(
        "node", "job 12 was ended because a node died: vn2 is not responding (Not responding)", ("vn2",)
    )
    assert find_end(job("NODE_FAIL", "NodeDown", "0:1", more="FailedNode=vn2 ")) == JobEnd(
        "node", "job 12 was ended because a node died: vn2 failed", ("vn2",)
    )
    assert find_end(job("NODE_FAIL", "NodeDown", "0:1")) == JobEnd(
        "node", "job 12 was ended because a node died: a node of vn[1-2] failed; the scheduler does not say which", ()
    )


#: As slurmstepd wrote it on the virtual cluster (OverMemoryKill, Slurm 22.05.8).
SAMPLED = """\
slurmstepd-vn3: error: StepId=2.0 exceeded memory limit (328318976 > 104857600), being killed
slurmstepd-vn3: error: Exceeded job memory limit
slurmstepd-vn4: error: StepId=2.0 exceeded memory limit (328302592 > 104857600), being killed
srun: error: vn3: task 0: Killed
"""
#: What it wrote in cgroups (v1), and what both forms of 26.05.3 are: the time in place of its name.
RECORDED = Path(__file__).parents[2] / "recordings" / "slurm"


@pytest.mark.parametrize(
    ("printed", "where"),
    [
        (SAMPLED, "on vn3 and vn4 (StepId=2.0 exceeded memory limit (328318976 > 104857600), being killed)"),
        (
            "memory-cgroup.err",
            "on vn1 and vn2 (Detected 1 oom-kill event(s) in StepId=2.0. Some of your processes may have been killed "
            "by the cgroup out-of-memory handler.)",
        ),
        (
            "26.05.3/memory-cgroup.err",
            "on vn1 and vn2 (Detected 1 oom_kill event in StepId=2.0. Some of the step tasks have been OOM Killed.)",
        ),
        (
            "26.05.3/memory-sampled.err",
            "on vn3 and vn4 (StepId=2.0 exceeded memory limit (169283584 > 20971520), being killed)",
        ),
        # Without srun nobody names the node.
        (
            "[2026-11-30T10:03:02.887] error: StepId=2.batch exceeded memory limit (9 > 8), being killed\n",
            "on vn[1-2] (StepId=2.batch exceeded memory limit (9 > 8), being killed)",
        ),
    ],
)
def test_a_job_killed_for_memory_says_so_in_its_own_error_output(printed: str, where: str) -> None:
    printed = (RECORDED / printed).read_text(encoding="utf-8") if printed.endswith(".err") else printed
    failed = job("FAILED", "NonZeroExitCode", "137:0")
    assert find_end(failed) is None
    sentence = f"job 12 was killed for memory: it used more than it was given {where}"
    assert killed_for_memory(failed, printed) == JobEnd("memory", sentence)
    assert killed_for_memory(job("FAILED", "JobLaunchFailure", "0:9"), printed) == JobEnd("memory", sentence)


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        # A step was killed, and the job's script went on without it.
        (job("COMPLETED", "None", "0:0"), SAMPLED),
        (job("FAILED", "NonZeroExitCode", "1:0"), "IMB-MPI1: error: memory limit\n"),
        (job("RUNNING"), SAMPLED),
    ],
)
def test_a_job_that_was_not_killed_for_memory_is_not_said_to_be(found: JobState, printed: str) -> None:
    assert killed_for_memory(found, printed) is None


def test_what_we_ended_ourselves_says_why() -> None:
    assert still_pending("12", 120.0, "Resources") == JobEnd(
        "pending", "job 12 had not begun after 2 min and was cancelled (the scheduler's reason: Resources)"
    )
    assert blocked_end("12", "JobHeldAdmin") == JobEnd(
        "pending", "job 12 could not begin and was cancelled (the scheduler's reason: JobHeldAdmin)"
    )
    assert lost_end("12", 90.0, "slurm_load_jobs error: Invalid job id specified") == JobEnd(
        "lost", "the scheduler said nothing about job 12 for 90 s: slurm_load_jobs error: Invalid job id specified"
    )
    assert lost_end("12", 180.0, "").sentence == "the scheduler said nothing about job 12 for 3 min: no answer"


def test_every_final_state_but_a_plain_end_has_a_sentence() -> None:
    silent = {state for state in FINAL if find_end(job(state)) is None}
    assert silent == {"COMPLETED", "FAILED"}


def test_accounting_says_the_same() -> None:
    row = "CANCELLED by 0|0:15|vn[1-2]|None\n"
    assert parse_accounting(row, "12") == JobState("12", "CANCELLED", None, 0, 15, "vn[1-2]")
    assert parse_accounting("TIMEOUT|0:0|vn1|TimeLimit\n", "12") == JobState("12", "TIMEOUT", "TimeLimit", 0, 0, "vn1")
    assert parse_accounting("RUNNING|0:0|vn1|None\n", "12") == JobState("12", "RUNNING", None, None, None, "vn1")
    for text in ("", "sacct: error: Problem talking to the database\n", "|0:0||\n"):
        assert parse_accounting(text, "12") is None
