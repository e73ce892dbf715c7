"""Our ReFrame scheduler with synthetic records: a job ends with its exit code or the reason, and never waits on."""

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reframe.core.backends import getscheduler

from railyard.job import clients
from railyard.parsers.job_end import JobEnd
from railyard.parsers.slurm import NodeState
from railyard.rfm.backends import COMPLETING_MOST_S, NAME, SlurmWithoutDatabase, find_end
from railyard.rfm.job_ends import CANCELLED_LOST_AFTER_S, LOST_AFTER_S

TESTS = Path(__file__).parents[1]


class Controller:
    """Stands in for scontrol and scancel: its answers about the one job, and what it had to cancel."""

    def __init__(self) -> None:
        self.text, self.complaint = "", ""
        self.cancelled: list[str] = []

    def say(self, state: str, reason: str = "None", exit_code: str = "0:0", restarts: int = 0) -> None:
        self.text = (
            f"JobId=7 JobState={state} Reason={reason} Restarts={restarts} ExitCode={exit_code} TimeLimit=00:02:00 "
            f"NodeList=vn[1-2] \n"
        )

    def show_job(self, job: object) -> tuple[str, str]:
        return self.text, self.complaint

    def answer(self, words: list[str], env: object = None) -> tuple[str, str]:
        assert words[0] == "scancel"
        self.cancelled.append(words[1])
        return "", ""


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Controller:
    made = Controller()
    monkeypatch.setattr(clients, "show_job", made.show_job)
    monkeypatch.setattr(clients, "answer", made.answer)
    monkeypatch.setattr(clients, "accounted_state", lambda job: None)
    return made


@pytest.fixture
def scheduler() -> Any:
    made = object.__new__(SlurmWithoutDatabase)  # its own options need a running ReFrame
    made._cancel_reasons = ["ReqNodeNotAvail"]
    return made


def submitted_job(max_pending_time: float | None = None, waited_s: float = 0.0) -> Any:
    return SimpleNamespace(
        jobid="7", state=None, _state=None, _exitcode=None, _nodespec=None, _completion_time=None,
        submit_time=time.time() - waited_s, max_pending_time=max_pending_time,
    )  # fmt: skip


def poll_job(scheduler: Any, job: Any) -> Any:
    job.state = job._state
    scheduler.poll(job)
    job.state = job._state
    return job


def test_reframe_finds_it_by_its_name() -> None:
    assert getscheduler(NAME) is SlurmWithoutDatabase


def test_a_job_ends_with_its_exit_code_and_nodes(controller: Controller, scheduler: Any) -> None:
    job = submitted_job()
    controller.say("RUNNING")
    assert not scheduler.finished(poll_job(scheduler, job))
    controller.say("FAILED", "NonZeroExitCode", "71:0")
    assert scheduler.finished(poll_job(scheduler, job))
    assert (job._exitcode, job._nodespec) == (71, "vn[1-2]")
    assert find_end(job) is None


def test_a_job_that_a_signal_ended_has_no_exit_code_0(controller: Controller, scheduler: Any) -> None:
    job = submitted_job()
    controller.say("TIMEOUT", "TimeLimit", "0:15")
    assert scheduler.finished(poll_job(scheduler, job))
    assert job._exitcode == 143
    found = find_end(job)
    assert found is not None
    assert found.kind == "time"


def test_a_preempted_job_has_ended(controller: Controller, scheduler: Any) -> None:
    """ReFrame's own backends take PREEMPTED for a job that waits, and would wait with it."""
    job = submitted_job()
    controller.say("PREEMPTED", "None", "0:15")
    assert scheduler.finished(poll_job(scheduler, job))
    assert find_end(job) == JobEnd("preempted", "job 7 was preempted by another job on vn[1-2]")
    assert controller.cancelled == []


def test_a_requeued_job_is_cancelled_and_not_judged_as_one_run(controller: Controller, scheduler: Any) -> None:
    job = submitted_job()
    controller.say("RUNNING", restarts=1)
    assert scheduler.finished(poll_job(scheduler, job))
    assert controller.cancelled == ["7"]
    assert find_end(job) == JobEnd("requeued", "job 7 was requeued once: what it left may be of two runs")


def test_a_job_that_waits_too_long_is_cancelled(controller: Controller, scheduler: Any) -> None:
    controller.say("PENDING", "Resources")
    patient = poll_job(scheduler, submitted_job(max_pending_time=120.0, waited_s=60.0))
    assert not scheduler.finished(patient)
    late = poll_job(scheduler, submitted_job(max_pending_time=120.0, waited_s=121.0))
    assert scheduler.finished(late)
    assert controller.cancelled == ["7"]
    assert find_end(late) == JobEnd(
        "pending", "job 7 had not begun after 2 min and was cancelled (the scheduler's reason: Resources)"
    )


@pytest.mark.parametrize("reason", ["JobHeldAdmin", "ReqNodeNotAvail,_UnavailableNodes:vn3"])
def test_a_job_that_cannot_begin_is_cancelled_at_once(controller: Controller, scheduler: Any, reason: str) -> None:
    controller.say("PENDING", reason)
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    assert find_end(job) == JobEnd(
        "pending", f"job 7 could not begin and was cancelled (the scheduler's reason: {reason})"
    )


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(
            "DependencyNeverSatisfied",
            marks=pytest.mark.fault(
                "scheduler", "a job whose dependency failed waits for ever", "reason: DependencyNeverSatisfied"
            ),
        ),
        pytest.param(
            "QOSMaxNodePerJobLimit",
            marks=pytest.mark.fault(
                "scheduler", "a job asks for more nodes than its QOS allows", "reason: QOSMaxNodePerJobLimit"
            ),
        ),
        pytest.param(
            "AssocGrpCPUMinutesLimit",
            marks=pytest.mark.fault(
                "scheduler", "an account whose hours are used up", "reason: AssocGrpCPUMinutesLimit"
            ),
        ),
        pytest.param(
            "QOSGrpBillingMinutes",
            marks=pytest.mark.fault("scheduler", "a QOS whose budget is used up", "reason: QOSGrpBillingMinutes"),
        ),
        pytest.param(
            "AssocMaxMemPerNode",
            marks=pytest.mark.fault(
                "scheduler", "a job asks for more memory than its account may have", "reason: AssocMaxMemPerNode"
            ),
        ),
        pytest.param(
            "launch_failed_requeued_held",
            marks=pytest.mark.fault(
                "scheduler", "a job held since a node's prolog failed", "reason: launch_failed_requeued_held"
            ),
        ),
    ],
)
def test_a_job_that_never_begins_is_not_waited_for(
    controller: Controller, scheduler: Any, reason: str, promise: str
) -> None:
    controller.say("PENDING", "Priority")
    assert not scheduler.finished(poll_job(scheduler, submitted_job()))
    controller.say("PENDING", reason)
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    found = find_end(job)
    assert found is not None
    assert promise in found.sentence


BLOCKED = sorted((TESTS / "recordings/slurm").rglob("blocked-*.txt"))


@pytest.mark.fault("scheduler", "a reservation that is over", "reason: Reservation_res_was_deleted")
@pytest.mark.parametrize("release", ["", "26.05.3/"])
def test_a_job_whose_reservation_is_over_is_not_waited_for(
    controller: Controller, scheduler: Any, release: str, promise: str
) -> None:
    controller.text = recorded_text(f"{release}blocked-reservation-deleted")
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    found = find_end(job)
    assert found is not None and promise in found.sentence


@pytest.mark.parametrize("path", BLOCKED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_job_that_slurm_said_it_would_never_begin_is_not_waited_for(
    controller: Controller, scheduler: Any, path: Path
) -> None:
    """For some reasons scontrol prints a sentence in place of the name that squeue(1) lists."""
    controller.text = path.read_text(encoding="utf-8")
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    found = find_end(job)
    assert found is not None and found.kind == "pending"
    (reason,) = re.findall(r"^JobId=.* Reason=(\S+) ", controller.text, re.MULTILINE)
    assert f"could not begin and was cancelled (the scheduler's reason: {reason})" in found.sentence


@pytest.mark.parametrize(
    "reason",
    [
        "Job's_account_not_permitted_to_use_this_partition_(urgent_allows_xyz_not_abc)",
        "Job's_QOS_not_known,_so_it_can't_use_this_partition_(urgent_allows_high)",
        "uid_1000_not_in_group_permitted_to_use_this_partition_(urgent)._groups_allowed:_staff",
        "Reservation_maint_is_invalid",
        "user_env_retrieval_failed_requeued_held",
    ],
)
def test_a_sentence_of_slurmctlds_source_is_a_reason_too(controller: Controller, scheduler: Any, reason: str) -> None:
    """As partition_mgr.c, node_scheduler.c, reservation.c and job_mgr.c have them; none of these occurred here."""
    controller.say("PENDING", reason)
    assert scheduler.finished(poll_job(scheduler, submitted_job()))
    assert controller.cancelled == ["7"]


@pytest.mark.parametrize("path", sorted((TESTS / "recordings/slurm").rglob("waits-*.txt")), ids=lambda path: path.stem)
def test_a_job_that_slurm_said_it_would_begin_later_is_waited_for(
    controller: Controller, scheduler: Any, path: Path
) -> None:
    controller.text = path.read_text(encoding="utf-8")
    assert not scheduler.finished(poll_job(scheduler, submitted_job()))
    assert controller.cancelled == []


@pytest.mark.parametrize(
    "reason",
    ["Resources", "AssocGrpCPURunMinutesLimit", "QOSMaxJobsPerUserLimit", "AssocGrpNodeLimit", "Reservation", "None"],
)
def test_a_job_that_begins_as_others_end_is_waited_for(controller: Controller, scheduler: Any, reason: str) -> None:
    controller.say("PENDING", reason)
    assert not scheduler.finished(poll_job(scheduler, submitted_job()))
    assert controller.cancelled == []


def recorded_text(name: str) -> str:
    """Return what Slurm said about a job and the nodes (tests/parsers/slurm/test_recordings.py says when)."""
    return (TESTS / "recordings/slurm" / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ("suspended", "suspended"),
        ("suspended-resumed", "suspended"),
        ("suspended-by-signal", "suspended"),
        ("several-array", "several"),
        ("several-array-running", "several"),
        ("several-heterogeneous", "several"),
    ],
)
def test_a_job_that_is_paused_or_several_is_cancelled(
    controller: Controller, scheduler: Any, record: str, kind: str
) -> None:
    controller.text = recorded_text(record)
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    assert controller.cancelled == ["7"]
    found = find_end(job)
    assert found is not None
    assert found.kind == kind


@pytest.mark.fault(
    "scheduler", "sbatch accepts a job that no question finds again", "the scheduler said nothing about job 7"
)
def test_a_job_that_is_never_shown_is_given_up(
    controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    controller.complaint = "slurm_load_jobs error: Invalid job id specified"
    job = poll_job(scheduler, submitted_job())
    now += LOST_AFTER_S
    assert scheduler.finished(poll_job(scheduler, job))
    found = find_end(job)
    assert found is not None
    assert found.sentence == f"{promise} for 3 min: {controller.complaint}"


def test_silence_is_borne_for_a_restart_and_not_for_ever(
    controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    controller.complaint = "slurm_load_jobs error: Unable to contact slurm controller"
    job = poll_job(scheduler, submitted_job())
    now += LOST_AFTER_S - 1
    assert not scheduler.finished(poll_job(scheduler, job))
    controller.say("RUNNING")
    assert not scheduler.finished(poll_job(scheduler, job))  # it answered: the time begins again
    controller.text = ""
    poll_job(scheduler, job)
    now += LOST_AFTER_S
    assert scheduler.finished(poll_job(scheduler, job))
    assert find_end(job) == JobEnd("lost", f"the scheduler said nothing about job 7 for 3 min: {controller.complaint}")
    assert job._nodespec == "vn[1-2]"


@pytest.mark.parametrize("word", ["STAGE_OUT", "SIGNALING", "RESIZING"])
def test_a_job_that_has_run_for_long_does_not_wait_too_long_to_begin(
    controller: Controller, scheduler: Any, word: str
) -> None:
    controller.say(word)
    job = poll_job(scheduler, submitted_job(max_pending_time=120.0, waited_s=600.0))
    assert not scheduler.finished(job)
    assert find_end(job) is None


def test_a_cancelled_job_of_a_scheduler_that_is_gone_is_soon_given_up(
    controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run that was interrupted ends, and does not wait for minutes for a job that nobody wants."""
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(clients, "answer", lambda words: ("", "Unable to contact slurm controller"))
    controller.complaint = "slurm_load_jobs error: Unable to contact slurm controller"
    job = poll_job(scheduler, submitted_job())
    scheduler.cancel(job)
    now += CANCELLED_LOST_AFTER_S - 1
    assert not scheduler.finished(poll_job(scheduler, job))
    now += 1
    assert scheduler.finished(poll_job(scheduler, job))


def test_a_script_that_a_signal_ended_was_killed_unless_its_output_says_for_memory(
    controller: Controller, scheduler: Any
) -> None:
    controller.text = recorded_text("killed")
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job) and job._exitcode == 137
    found = find_end(job)
    assert found is not None and found.kind == "killed"
    assert found.sentence.startswith(
        f"job {job.railyard_record.job} was killed on vn[1-2]: signal 9 ended its script, and "
    )
    printed = (TESTS / "recordings/slurm/memory-cgroup.err").read_text(encoding="utf-8")
    found = find_end(job, printed)
    assert found is not None and found.kind == "memory"


def test_a_node_that_died_is_asked_for(controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "show_nodes", lambda nodes: (NodeState("vn1", "IDLE"), NodeState("vn2", "DOWN*")))
    controller.say("NODE_FAIL", "None", "0:1")
    job = poll_job(scheduler, submitted_job())
    assert scheduler.finished(job)
    assert find_end(job) == JobEnd("node", "job 7 was ended because a node died: vn2 is not responding", ("vn2",))


def test_a_job_whose_nodes_are_cleaned_is_waited_for_and_ends_as_it_did(
    controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    controller.say("COMPLETING")
    job = poll_job(scheduler, submitted_job(max_pending_time=1.0, waited_s=60.0))
    now += COMPLETING_MOST_S - 1
    assert not scheduler.finished(poll_job(scheduler, job))
    controller.say("COMPLETED")
    assert scheduler.finished(poll_job(scheduler, job))
    assert (find_end(job), job._exitcode, controller.cancelled) == (None, 0, [])


@pytest.mark.fault(
    "scheduler", "a process that no signal ends keeps a job on its node", "not released by vn2 (Kill task"
)
def test_a_job_that_a_node_does_not_give_up_ends_with_that_nodes_name(
    controller: Controller, scheduler: Any, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    asked: list[str | None] = []

    def nodes(names: str | None) -> tuple[NodeState, ...]:
        asked.append(names)
        return (NodeState("vn2", "IDLE+COMPLETING+DRAIN", "Kill task failed"),)

    monkeypatch.setattr(clients, "show_nodes", nodes)
    controller.text = recorded_text("completing")
    job = poll_job(scheduler, submitted_job())
    now += COMPLETING_MOST_S
    assert scheduler.finished(poll_job(scheduler, job))
    sentence = f"job 9 is over, and still COMPLETING after 10 min: {promise} failed)"
    assert (find_end(job), asked) == (JobEnd("stuck", sentence, ("vn2",)), ["vn2"])
    assert controller.cancelled == []
    monkeypatch.setattr(clients, "show_nodes", lambda names: ())
    silent = poll_job(scheduler, submitted_job())
    now += COMPLETING_MOST_S
    poll_job(scheduler, silent)
    assert find_end(silent) == JobEnd("stuck", "job 9 is over, and still COMPLETING after 10 min: not released by vn2")
