"""Faults planted in a scheduler's job or in a session: each fails with its cause and blames nobody else."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from railyard.parsers import slurm
from railyard.results.record.form import Suspect
from railyard.site.references.model import ExpectedFailure
from railyard.site.site import Site
from railyard.verdict import wording
from railyard.verdict.assess import Assessment
from railyard.verdict.rule_model import Inputs, Job, PathProof
from railyard.verdict.verdict import Verdict, judge
from railyard.verdict.wording import run_rules as run_words
from tests.made.fault_case import fault

Assess = Callable[..., Assessment]
Text = Callable[..., str]
ENDED = "JobId=7 JobState={state} Reason=None {more} ExitCode={code} TimeLimit=00:02:00 NodeList=vn[1-2] \n"
MOVED = {"hsn0": (190.0, 2.0), "hsn1": (0.1, 0.1), "eth0": (0.1, 0.1)}
RECEIVED = {**MOVED, "hsn0": (2.0, 190.0)}
#: What the run's nodes had moved at its end: if the job's end left a rail slow or idle, nobody is at fault.
SLOW = PathProof("failed", "rail hsn0 of vn2 idled", "fabric", suspects=(Suspect("rail", "it idled", "vn2", "hsn0"),))


def of_record(text: str, of_nodes: str = "", printed: str = "") -> Verdict:
    """Return the verdict of a run whose job has this record, if scontrol says this about its nodes."""
    job = slurm.parse_job(text)
    assert job is not None
    ended = slurm.find_end(job, slurm.parse_nodes(of_nodes)) or slurm.killed_for_memory(job, printed)
    left = Job(
        job.exit_code, ("vn1", "vn2"), ("vn1", "vn2"), tables=0, time_limit_s=120, ended=ended,
        timed_out=ended is not None and ended.kind == "time",
    )  # fmt: skip
    run = Inputs("virtual", "hsn", "mpich", ("hsn0",), ("vn1", "vn2"), left, (), SLOW, date(2026, 11, 23))
    return judge(run)


def record(state: str, code: str = "0:0", more: str = "Restarts=0 SuspendTime=None SecsPreSuspend=0") -> str:
    return ENDED.format(state=state, code=code, more=more)


def test_a_job_that_ran_to_its_end_is_not_said_to_have_ended_otherwise() -> None:
    for text in (record("COMPLETED"), record("COMPLETED", more="ArrayJobId=7 ArrayTaskId=3 Restarts=0")):
        found = slurm.parse_job(text)
        assert found is not None
        assert slurm.find_end(found) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        fault("requeued", "scheduler", "a job requeued during the run", "what it left may be of two runs",
              record("COMPLETED", more="Restarts=1"), "scheduler"),
        fault("suspended", "scheduler", "a job suspended for a while, which ended well",
              "its times have the pause in them",
              record("COMPLETED", more="Restarts=0 SuspendTime=2026-11-23T06:00:00 SecsPreSuspend=4"), "scheduler"),
        fault("array", "scheduler", "SBATCH_ARRAY_INX makes an array of the job", "job 7 is several jobs, an array",
              "".join(record("COMPLETED", more=f"ArrayJobId=7 ArrayTaskId={task}") for task in (1, 0)), "set-up"),
        fault("heterogeneous", "scheduler", "access options make a heterogeneous job",
              "or a heterogeneous job: what they left",
              record("RUNNING") + record("RUNNING", more="HetJobId=7 HetJobOffset=1"), "set-up"),
        fault("preempted", "scheduler", "a job preempted during the run", "was preempted by another job",
              record("PREEMPTED", "0:15"), "scheduler"),
        fault("cancelled", "scheduler", "a job cancelled by hand", "job 7 was cancelled on vn[1-2]",
              record("CANCELLED", "0:15"), "scheduler"),
        fault("memory", "scheduler", "a job killed for memory", "it used more than it was given",
              record("OUT_OF_MEMORY", "0:125"), "set-up"),
        fault("boot", "scheduler", "a node that does not boot", "did not run: a node did not boot", record("BOOT_FAIL"),
              "node"),
        fault("up-again", "scheduler", "a node that died and is up again when asked",
              "the scheduler does not say which", record("NODE_FAIL", "1:0"), "node"),
    ],
)  # fmt: skip
def test_what_the_scheduler_did_is_said_and_nobody_is_blamed(text: str, fault: str, promise: str) -> None:
    verdict = of_record(text)
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 1, fault)
    assert promise in verdict.sentence
    assert verdict.suspects == ()


@pytest.mark.fault("scheduler", "an exit code that Slurm lost", "ended without an exit code, expected 0")
def test_an_exit_code_that_is_lost_is_no_0(promise: str) -> None:
    verdict = of_record(record("COMPLETED", "lost"))
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 1, "scheduler")
    assert promise in verdict.sentence


@pytest.mark.fault("scheduler", "a node dies, and its neighbour is drained for a repair", "vn1 is not responding")
def test_a_drained_neighbour_of_a_node_that_died_is_no_suspect(promise: str) -> None:
    of_nodes = (
        "NodeName=vn1 State=DOWN* Reason=Not responding [slurm@2026-11-23T06:00:00] \n"
        "NodeName=vn2 State=IDLE+DRAIN Reason=new firmware on Friday [root@2026-11-22T06:00:00] \n"
    )
    verdict = of_record(record("NODE_FAIL", "1:0"), of_nodes)
    assert promise in verdict.sentence
    assert [(one.kind, one.node) for one in verdict.suspects] == [("node", "vn1")]
    assert "vn2" not in verdict.sentence


@pytest.mark.fault(
    "scheduler", "Slurm's own limit cuts the last sizes", "; job 7 was killed at its time limit of 00:02:00"
)
def test_a_job_that_slurm_ended_for_time_is_no_crash(promise: str) -> None:
    verdict = of_record(record("TIMEOUT", "0:15"))
    assert (verdict.state, verdict.rule) == ("fail", 1)
    assert verdict.sentence.startswith(run_words.at_time_limit(120, 0, 1, "", "", ""))
    assert promise in verdict.sentence


@pytest.mark.parametrize(
    ("ran_on", "changes"),
    [
        fault("other-node", "scheduler", "a job that ran on another node than asked",
              run_words.other_nodes(("vn1", "vn9"), ("vn1", "vn2")), ("vn1", "vn9"), {}),
        fault("more-nodes", "scheduler", "a job that ran on a node more than asked",
              run_words.other_nodes(("vn1", "vn2", "vn3"), ("vn1", "vn2")), ("vn1", "vn2", "vn3"), {}),
        fault("fewer-nodes", "scheduler", "a job that ran on a node fewer than asked",
              run_words.other_nodes(("vn1",), ("vn1", "vn2")), ("vn1",), {}),
        fault("no-last-line", "session", "a job script that was killed before its last line",
              run_words.no_exit_code(""), ("vn1", "vn2"), {"exit_code": None}),
    ],
)  # fmt: skip
def test_nodes_that_were_not_asked_for_are_named_and_nobody_is_blamed(
    assess_cell: Assess, counters_text: Text, ran_on: tuple[str, ...], changes: dict[str, object], promise: str
) -> None:
    files = [counters_text(node, MOVED if node == "vn1" else RECEIVED) for node in ran_on]
    found = assess_cell(counters=tuple(files), **changes).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 1, "scheduler")
    assert promise in found.sentence
    assert found.suspects == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        fault("earlier-run", "session", "counters that an earlier run left", "the file is from another run (9",
              "1a2b3c4d-17", "99999999-1"),
        fault("other-version", "session", "a counter reader of another version", "the file has format 2, expected 1",
              "railyard-counters 1 ", "railyard-counters 2 "),
        fault("no-end", "session", "the counter reader killed before its second reading",
              "was killed before the counters were read", "\nend 0\n", "\n"),
        fault("two-writers", "session", "two readers write one node's counters", "two processes wrote it",
              "\nafter at 15.00\n", "\nrailyard-counters 1 1a2b3c4d-17\nafter at 15.00\n"),
        fault("reset", "session", "a node's counters set to 0 during a run", "hsn0 of vn2 counted fewer bytes received",
              "after hsn0 rx_bytes 190001000", "after hsn0 rx_bytes 12"),
        fault("gone", "session", "a device that is gone at the second reading",
              "rail hsn0 of vn2 has no readable counter", "after hsn0 tx_bytes 2001000\n", ""),
    ],
)  # fmt: skip
def test_counters_that_are_not_of_this_run_prove_nothing(
    assess_cell: Assess, counters_text: Text, old: str, new: str, promise: str
) -> None:
    vn1, vn2 = counters_text("vn1", MOVED), counters_text("vn2", RECEIVED)
    assert assess_cell(counters=(vn1, vn2)).verdict.state == "pass"
    assert old in vn2
    found = assess_cell(counters=(vn1, vn2.replace(old, new)))
    assert found.verdict.state == "fail"
    assert promise in f"{found.verdict.text}; {found.path.sentence}"
    assert not any(one.node == "vn1" for one in found.verdict.suspects)


@pytest.mark.fault(
    "session",
    "an expected failure beside a crash",
    wording.covers_only("", "", date(2026, 11, 21), (4, 5)).partition("2026-11-21) ")[2],
)
def test_an_expected_failure_hides_no_crash(assess_cell: Assess, virtual: Site, promise: str) -> None:
    known = {"fabric": "hsn", "benchmark": "imb/Uniband", "reason": "ticket 12", "expires": date(2026, 12, 24)}
    references = replace(virtual.references, expected_failures=(ExpectedFailure.model_validate(known),))
    site = replace(virtual, references=references)
    found = assess_cell(site=site, exit_code=139, stderr="Segmentation fault")
    assert found.verdict.state == "fail"
    assert promise in found.verdict.sentence
    slow = assess_cell(site=site, rates={1 << 20: 20.0, 4 << 20: 20.0})
    assert slow.verdict.state == "xfail"
