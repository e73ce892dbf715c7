"""PBS through our backend, with the words of OpenPBS 23.06: how a job waits, runs and ends, and never waits on."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.schedulers import Job

import railyard.rfm.backends  # noqa: F401  # registers it
from railyard.parsers.job_end import JobEnd
from railyard.rfm import schedulers
from railyard.rfm.job_ends import known_end
from tests.parsers.test_pbs import RECORDED

QSTAT = """\
#!/bin/sh
[ "$*" = "-x -f 7.vn1" ] && [ -e said ] && cat said && exit
echo "qstat: Unknown Job Id 7.vn1" >&2
exit 153
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    programs = {
        "qstat": QSTAT,
        "pbsnodes": f'#!/bin/sh\n[ "$*" = "vn1 vn2" ] && cat "{RECORDED}/nodes-$(cat nodes)".txt\n',
        "qdel": '#!/bin/sh\necho "$1" >deleted\n',
    }
    for name, text in programs.items():
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(text, encoding="ascii")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    scheduler = object.__new__(getscheduler("pbs-chunks"))  # its own options need a running ReFrame
    made = Job.create(scheduler, getlauncher("local")(), name="rfm_job", workdir=str(tmp_path))
    made._jobid, made._submit_time = "7.vn1", time.time()
    Path("nodes").write_text("offline", encoding="ascii")
    return made


def state(job: Any, said: str | None, outputs: bool = True) -> bool:
    """Poll while PBS says what it said of the recorded job of this name."""
    Path("said").unlink(missing_ok=True)
    if said is not None:
        Path("said").write_text((RECORDED / f"{said}.txt").read_text(encoding="utf-8"), encoding="utf-8")
    for name in (job.stdout, job.stderr):
        Path(name).touch() if outputs else Path(name).unlink(missing_ok=True)
    job.scheduler.poll(job)
    return bool(job.finished())


@pytest.mark.parametrize(
    ("last", "exit_code", "kind"),
    [
        ("completed", 0, None),
        ("exit-3", 3, None),
        ("killed", 137, None),
        ("time", None, "time"),
        ("cancelled-running", 0, "cancelled"),
        ("cancelled-waiting", None, "cancelled"),
        ("killed-shell", 137, "killed"),
        ("signalled", 0, None),
        ("memory", None, "memory"),
        ("mom-started-again", None, "node"),
    ],
)
def test_a_job_waits_runs_and_ends_with_its_exit_code(
    job: Any, last: str, exit_code: int | None, kind: str | None
) -> None:
    assert not state(job, "waits", outputs=False)
    assert not state(job, "running", outputs=False)
    assert job.nodelist == ["vn1", "vn2"]
    assert state(job, last)
    assert job.exitcode == exit_code
    ended = known_end(job)
    assert (None if ended is None else ended.kind) == kind


def test_a_finished_job_is_waited_for_until_its_output_is_there(job: Any) -> None:
    assert not state(job, "completed", outputs=False)
    assert state(job, "completed")


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock by which it is told for how long something has been so go on by so many seconds."""
    later = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: later)


def test_a_job_that_can_never_run_is_deleted_once_pbs_has_said_so_for_a_while(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not state(job, "too-many-cores", outputs=False)
    assert not Path("deleted").exists()
    pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert state(job, "too-many-cores", outputs=False)
    assert Path("deleted").read_text(encoding="ascii") == "7.vn1\n"
    assert (known_end(job) or JobEnd("lost", "")).sentence.endswith(
        "could not begin and was cancelled (the scheduler's reason: Can Never Run: Insufficient amount of resource: "
        "ncpus (R: 198 A: 64 T: 64))"
    )


@pytest.mark.parametrize("word", ["waits", "held", "depends", "stopped-queue"])
def test_a_job_that_waits_too_long_is_deleted(job: Any, word: str) -> None:
    job.max_pending_time = 60
    assert not state(job, word, outputs=False)
    job._submit_time = time.time() - 61
    assert state(job, word, outputs=False)
    ended = known_end(job)
    assert ended is not None and ended.kind == "pending"
    assert " had not begun after 60 s and was cancelled" in ended.sentence
    assert Path("deleted").is_file()


def test_a_job_whose_node_is_down_is_ended_and_the_node_blamed(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """PBS lets it run on, or runs it a second time."""
    assert not state(job, "running", outputs=False)
    Path("nodes").write_text("died", encoding="ascii")
    assert not state(job, "running", outputs=False)
    pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert state(job, "running", outputs=False)
    ended = known_end(job)
    assert ended is not None
    assert (ended.kind, ended.nodes) == ("node", ("vn4",))


def test_without_a_history_of_jobs_a_job_has_ended_when_its_output_is_there(job: Any) -> None:
    """Then the exit code is the one that its script wrote."""
    assert not state(job, "running", outputs=False)
    assert not state(job, None, outputs=False)
    assert state(job, None)
    assert (job.exitcode, known_end(job)) == (None, None)


@pytest.mark.parametrize("complaint", ["qstat: cannot connect to server pbs (errno=15010)", "no answer within 60 s"])
def test_a_server_that_does_not_answer_ends_no_job_that_has_an_output(
    job: Any, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedulers, "answer", lambda words: ("", complaint))
    assert not state(job, None)


@pytest.mark.parametrize(("name", "kind"), [("suspended", "suspended"), ("started-twice", "requeued")])
def test_a_job_that_pauses_or_runs_again_is_deleted(job: Any, name: str, kind: str) -> None:
    assert state(job, name, outputs=False)
    assert Path("deleted").read_text(encoding="ascii") == "7.vn1\n"
    ended = known_end(job)
    assert ended is not None and ended.kind == kind


def test_a_job_is_submitted_without_the_outputs_of_an_earlier_one(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reframe.core.schedulers.pbs.PbsJobScheduler.submit", lambda scheduler, job: None)
    for name in (job.stdout, job.stderr):
        Path(name).write_text("old", encoding="ascii")
    job.scheduler.submit(job)
    assert not Path(job.stdout).exists() and not Path(job.stderr).exists()


def test_a_job_about_which_pbs_says_nothing_is_lost(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not state(job, None, outputs=False)
    monkeypatch.setattr("railyard.rfm.job_ends.LOST_AFTER_S", 0.0)
    assert state(job, None, outputs=False)
    assert (known_end(job) or JobEnd("time", "")).sentence.endswith("qstat: Unknown Job Id 7.vn1")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("pbs-chunks", ["#PBS -l select=2:mpiprocs=1:ncpus=1:mem=1gb", "#PBS -l wd", "#PBS -m n", "#PBS -r n"]),
        ("pbs-totals", ["#PBS -l wd", "#PBS -m n", "#PBS -r n", "#PBS -l ncpus=96"]),
    ],
)
def test_nodes_are_asked_for_in_chunks_or_by_the_totals_of_the_options(job: Any, name: str, asked: list[str]) -> None:
    scheduler = object.__new__(getscheduler(name))
    scheduler._prefix, scheduler._sched_access_in_submit = "#PBS", False
    access, options = (["mem=1gb", "-l wd"], []) if name == "pbs-chunks" else (["-l wd"], ["-l ncpus=96"])
    made = Job.create(
        scheduler, getlauncher("local")(), name="rfm_job", workdir=job.workdir, sched_access=[*access, "#PBS -m n"]
    )
    made.num_tasks, made.num_tasks_per_node, made.options = 2, 1, ["-r n", *options]
    assert sorted(scheduler._emit_lselect_option(made)) == sorted(asked)
