"""How schedulers are given many jobs of which few may run at once: an array of Slurm, chains elsewhere."""

import pytest

from railyard.job.batch import BatchRequest, batch_of
from tests.parsers.test_flux import JOBS as FLUX_JOBS
from tests.parsers.test_pbs import RECORDED as PBS
from tests.parsers.test_sge import NUMBERS
from tests.parsers.test_sge import RECORDED as SGE

ASKED = BatchRequest("railyard-pairs", ("n1", "n2"), 600, "/site/RUN", ("--account=abc", "--exclusive"))
#: What ``scontrol -o show job`` of Slurm 22.05 said of an array of four of which the last was given no nodes yet: cut
#: to the fields that are read. The third had its node drained.
STATES = """\
JobId=1 ArrayJobId=1 ArrayTaskId=4-9%2 ArrayTaskThrottle=2 JobState=PENDING Reason=JobHeldUser
JobId=4 ArrayJobId=1 ArrayTaskId=3 ArrayTaskThrottle=2 JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n2 \
Dependency=(null) StartTime=2026-11-24T04:55:18 ReqNodeList=n2,n4,n5
JobId=3 ArrayJobId=1 ArrayTaskId=2 ArrayTaskThrottle=2 JobState=RUNNING Reason=None NodeList=n[6-7]
JobId=2 ArrayJobId=1 ArrayTaskId=1 ArrayTaskThrottle=2 JobState=COMPLETED Reason=None ExitCode=0:0 NodeList=n[1,3]
"""


def test_an_array_of_slurm_is_held_and_asks_for_no_nodes() -> None:
    array = batch_of("slurm-nodb").array
    assert array is not None
    assert array.directives(ASKED, 20, 4) == [
        "#SBATCH --account=abc",
        "#SBATCH --job-name=railyard-pairs",
        "#SBATCH --array=1-20%4",
        "#SBATCH --hold",
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --exclusive",
        "#SBATCH --no-requeue",
        "#SBATCH --time=10",
        "#SBATCH --output=job-%a.out",
        "#SBATCH --error=job-%a.err",
        "#SBATCH --chdir=/site/RUN",
    ]


def test_a_task_is_given_its_nodes_by_number_processes_and_names() -> None:
    array = batch_of("slurm").array
    assert array is not None
    task = array.task("7", 3)
    assert array.give(task, ("n1", "n4", "n5")) == [
        "scontrol", "update", "JobId=7_3", "NumNodes=3-3", "NumTasks=3", "ReqNodeList=n1,n4,n5",
    ]  # fmt: skip
    assert array.release(task) == ["scontrol", "release", "7_3"]
    assert array.hold(task) == ["scontrol", "hold", "7_3"]


def test_the_tasks_of_an_array_are_told_apart_and_those_without_nodes_left_out() -> None:
    array = batch_of("slurm").array
    assert array is not None
    states = array.states(STATES)
    assert {number: (state.phase, state.word, state.reason) for number, state in states.items()} == {
        1: ("ended", "COMPLETED", None),
        2: ("runs", "RUNNING", None),
        3: ("waits", "PENDING", "ReqNodeNotAvail,_UnavailableNodes:n2"),
    }


def test_the_only_task_of_an_array_is_told_before_it_begins() -> None:
    array = batch_of("slurm").array
    assert array is not None
    line = "JobId=45 ArrayJobId=45 ArrayTaskId=1%1 ArrayTaskThrottle=1 JobState=PENDING Reason=Priority\n"
    assert {number: state.phase for number, state in array.states(line).items()} == {1: "waits"}


#: The option by which each scheduler begins a job when another has ended, however that ended.
AFTER = {
    "slurm": "#SBATCH --dependency=afterany:41",
    "pbs": "#PBS -W depend=afterany:41",
    "torque": "#PBS -W depend=afterany:41",
    "lsf": '#BSUB -w "ended(41)"',
    "flux-batch": "#flux: --dependency=afterany:41",
    "sge": "#$ -hold_jid 41",
}


@pytest.mark.parametrize("scheduler", AFTER)
def test_a_job_of_a_chain_begins_when_the_one_before_it_has_ended(scheduler: str) -> None:
    first = batch_of(scheduler).directives(ASKED)
    second = batch_of(scheduler).directives(BatchRequest("railyard-pairs", ("n1", "n2"), 600, "/site/RUN", after="41"))
    assert AFTER[scheduler] in second
    assert not any("41" in line for line in first)


@pytest.mark.parametrize(
    ("scheduler", "file", "phase", "word", "reason"),
    [
        ("pbs", "too-many-cores", "waits", "Q", "Can Never Run: Insufficient amount of resource: ncpus (R: 198 A: 64"),
        ("pbs", "depends", "waits", "H", None),
        ("pbs", "exit-3", "ended", "F", "Job run at Mon Nov 30 at 03:09 on (vn1:ncpus=1)+(vn2:ncpus=1) and failed"),
        ("flux-batch", "held", "waits", "SCHED", "held"),
        ("flux-batch", "running", "runs", "RUN", "vn[1-2]"),
        ("flux-batch", "time", "ended", "TIMEOUT", "vn[3-4]"),
    ],
)
def test_a_job_is_told_in_the_schedulers_genuine_words(
    scheduler: str, file: str, phase: str, word: str, reason: str | None
) -> None:
    text = FLUX_JOBS[file] if scheduler == "flux-batch" else (PBS / f"{file}.txt").read_text(encoding="utf-8")
    state = batch_of(scheduler).state(text)
    assert state is not None
    assert (state.phase, state.word) == (phase, word)
    assert (state.reason or "").startswith(reason or "")


def of_sge(name: str, file: str) -> str:
    """Return what the question to Grid Engine prints about the recorded job of this name."""
    return f"{NUMBERS[name]} root 1796047200\n{(SGE / file).read_text(encoding='utf-8')}"


@pytest.mark.parametrize(
    ("name", "file", "phase", "word", "end"),
    [
        ("waits", "qstat-waits.xml", "waits", "qw", None),
        ("running", "qstat-running.xml", "runs", "r", None),
        ("completed", "qacct-completed.txt", "ended", "exit status 0", None),
        ("time", "qacct-time.txt", "ended", "failed 37, exit status 137", "time"),
        ("cancelled", "qacct-cancelled.txt", "ended", "failed 100, exit status 137", "cancelled"),
    ],
)
def test_a_job_of_grid_engine_is_in_qstat_or_in_its_account(
    name: str, file: str, phase: str, word: str, end: str | None
) -> None:
    batch = batch_of("sge")
    state, ended = batch.state(of_sge(name, file)), batch.end(of_sge(name, file))
    assert state is not None
    assert (state.phase, state.word) == (phase, word)
    assert (None if ended is None else ended.kind) == end
    assert batch.state(of_sge("cancelled", "qacct-cancelled-waiting.txt")) is None


def test_a_job_of_grid_engine_names_its_nodes_and_keeps_the_files_own_options() -> None:
    own = BatchRequest("railyard-pairs", ("n1", "n2"), 600, "/site/RUN", ("-l exclusive=true", "-pe mpi-1 2"))
    assert batch_of("sge").directives(own) == [
        "#$ -l exclusive=true", "#$ -pe mpi-1 2", "#$ -S /bin/bash", "#$ -r n", "#$ -N railyard-pairs",
        "#$ -l hostname=n1|n2", "#$ -l h_rt=660", "#$ -o job.out", "#$ -e job.err", "#$ -wd /site/RUN",
    ]  # fmt: skip
    assert batch_of("sge").number.findall('Your job 19 ("railyard-pairs") has been submitted\n') == ["19"]


def test_a_finished_job_of_pbs_is_asked_for_with_its_history_and_torque_has_none() -> None:
    assert batch_of("pbs").ask("7.vn1") == ["qstat", "-x", "-f", "7.vn1"]
    assert batch_of("torque").ask("7.vn1") == ["qstat", "-f", "7.vn1"]


@pytest.mark.parametrize(
    ("scheduler", "text", "sentence"),
    [
        ("flux-batch", FLUX_JOBS["cancelled-waiting"], "job of the group was cancelled"),
        ("flux-batch", FLUX_JOBS["exit-3"], None),
        ("pbs", (PBS / "cancelled-waiting.txt").read_text(encoding="utf-8"), "job 3.vn1 was cancelled"),
        ("lsf", "EXIT", None),
    ],
)
def test_what_ended_a_job_of_a_chain_is_said(scheduler: str, text: str, sentence: str | None) -> None:
    end = batch_of(scheduler).end(text)
    assert (None if end is None else end.sentence) == sentence


@pytest.mark.parametrize("scheduler", ["pbs", "torque", "lsf", "flux-batch", "sge"])
def test_other_schedulers_have_no_array_whose_parts_are_given_nodes(scheduler: str) -> None:
    assert batch_of(scheduler).array is None
