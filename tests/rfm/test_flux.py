"""Flux through its command line: what is submitted, and how a job waits, runs and ends. A script says its words."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job

import railyard.rfm.backends  # noqa: F401  # registers both
from railyard.rfm.job_ends import known_end
from railyard.site.systems.jobs import options, why_not
from tests.parsers.test_flux import JOBS, RECORDED
from tests.site.systems.test_jobs import settings

FLUX = """\
#!/bin/sh
case $1 in
    batch) [ ! -e complaint ] || { cat complaint >&2; exit 1; }; cp "$2" submitted; echo f7 ;;
    jobs) [ "$2 $3 $5" = "-n -o f7" ] && cat status ;;
    job) [ "$2 $3" = "eventlog f7" ] && [ -e events ] && cat events ;;
    cancel) echo "$2" >cancelled ;;
esac
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/flux").write_text(FLUX, encoding="ascii")
    (tmp_path / "bin/flux").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    made = Job.create(
        object.__new__(getscheduler("flux-batch")), getlauncher("flux-run")(), name="rfm_job", workdir=str(tmp_path),
        script_filename="rfm_job.sh", sched_access=["--queue=pbatch"],
    )  # fmt: skip
    made.num_tasks, made.num_tasks_per_node, made.time_limit = 4, 2, 300
    Path("rfm_job.sh").touch()
    return made


def test_a_job_asks_for_whole_nodes(job: Any, tmp_path: Path) -> None:
    assert job.scheduler.emit_preamble(job) == [
        "#flux: --job-name=rfm_job", "#flux: --output=rfm_job.out", "#flux: --error=rfm_job.err",
        f"#flux: --cwd={tmp_path}", "#flux: --nodes=2", "#flux: --time-limit=360s",
        "#flux: --setopt=output.mode=append", "#flux: --queue=pbatch",
        ": > rfm_job.out", ": > rfm_job.err", "exec >> rfm_job.out 2>> rfm_job.err",
    ]  # fmt: skip
    assert job.launcher.run_command(job) == "flux run --nodes=2 --ntasks=4"
    job.num_cpus_per_task = 8
    assert job.launcher.run_command(job) == "flux run --nodes=2 --ntasks=4 --cores-per-task=8"


def state(job: Any, said: str) -> bool:
    """Poll while Flux says this: a row of the recordings by its name, or nothing."""
    Path("status").write_text(f"{JOBS[said]}\n" if said else "", encoding="utf-8")
    job.scheduler.poll(job)
    return bool(job.finished())


@pytest.mark.parametrize(
    ("last", "exit_code", "kind"),
    [
        ("completed", 0, None),
        ("exit-3", 3, None),
        ("killed", 137, None),
        ("time", 142, "time"),
        ("cancelled-running", 143, "cancelled"),
        ("cancelled-waiting", None, "cancelled"),
        ("too-many-nodes", 1, "pending"),
    ],
)
def test_a_job_waits_runs_and_ends_with_its_exit_code(
    job: Any, last: str, exit_code: int | None, kind: str | None
) -> None:
    job.submit()
    assert (job.jobid, job.nodelist) == ("f7", [])
    assert not state(job, "waits-eta")
    assert not state(job, "running")
    assert job.nodelist == ["vn1", "vn2"]
    assert not state(job, "")  # no answer
    assert state(job, last)
    assert job.exitcode == exit_code
    ended = known_end(job)
    assert (None if ended is None else ended.kind) == kind


@pytest.mark.parametrize(("word", "reason"), [("waits-eta", "eta:"), ("held", "held"), ("depends", "depends:")])
def test_a_job_that_waits_too_long_is_cancelled(job: Any, word: str, reason: str) -> None:
    job.submit()
    job.max_pending_time, job._submit_time = 60, time.time() - 59
    assert not state(job, word)
    job._submit_time = time.time() - 61
    assert state(job, word)
    assert Path("cancelled").read_text(encoding="ascii") == "f7\n"
    ended = known_end(job)
    assert ended is not None and ended.kind == "pending"
    assert ended.sentence.startswith("job f7 had not begun after 60 s and was cancelled (the scheduler's reason: ")
    assert f"reason: {reason}" in ended.sentence


def test_a_job_that_lost_a_node_is_ended_and_the_node_blamed(job: Any) -> None:
    """Flux lets it go on: its other ranks would wait for the lost ones until the time limit."""
    job.submit()
    assert not state(job, "running")
    Path("events").write_text((RECORDED / "eventlog-node-failure.txt").read_text(encoding="utf-8"), encoding="utf-8")
    assert state(job, "running")
    ended = known_end(job)
    assert ended is not None
    assert (ended.kind, ended.nodes) == ("node", ("vn3",))
    assert Path("cancelled").read_text(encoding="ascii") == "f7\n"


def test_a_job_about_which_flux_says_nothing_is_lost(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job.submit()
    assert not state(job, "")
    monkeypatch.setattr("railyard.rfm.job_ends.LOST_AFTER_S", 0.0)
    assert state(job, "")
    ended = known_end(job)
    assert ended is not None and ended.kind == "lost"


def test_a_job_that_is_refused_is_said_in_fluxs_words(job: Any) -> None:
    Path("complaint").write_text("flux-batch: ERROR: Invalid queue 'nope' specified\n", encoding="ascii")
    with pytest.raises(JobSchedulerError, match=r"^flux batch said: flux-batch: ERROR: Invalid queue 'nope' specified"):
        job.submit()


def test_a_systems_file_has_its_words() -> None:
    few = settings(account="abc", partition="pbatch", constraint="gpu|-slow", exclusive=True)
    assert options("flux-batch", few) == (
        "--setattr=bank=abc", "--queue=pbatch", "--requires=gpu|-slow", "--exclusive",
    )  # fmt: skip
    assert why_not("flux-batch", settings(qos="high")) == (
        "qos", "a setting for which the scheduler flux-batch has an option: account, partition, constraint, exclusive",
    )  # fmt: skip
