"""Flux through its command line (here a fake script): what is submitted, and how a job waits, runs and ends."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobError, JobSchedulerError
from reframe.core.schedulers import Job

import railyard.rfm.backends  # noqa: F401  # registers both
from railyard.site.systems.jobs import options, why_not
from tests.site.systems.test_jobs import settings

FLUX = """\
#!/bin/sh
case $1 in
    batch) [ ! -e complaint ] || { cat complaint >&2; exit 1; }; cp "$2" submitted; echo f7 ;;
    jobs) [ "$2 $3 $5" = "-n -o f7" ] && cat status ;;
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
        f"#flux: --cwd={tmp_path}", "#flux: --nodes=2", "#flux: --time-limit=300s",
        "#flux: --setopt=output.mode=append", "#flux: --queue=pbatch",
        ": > rfm_job.out", ": > rfm_job.err", "exec >> rfm_job.out 2>> rfm_job.err",
    ]  # fmt: skip
    assert job.launcher.run_command(job) == "flux run --nodes=2 --ntasks=4"
    job.num_cpus_per_task = 8
    assert job.launcher.run_command(job) == "flux run --nodes=2 --ntasks=4 --cores-per-task=8"


def state(job: Any, status: str) -> bool:
    Path("status").write_text(f"{status}\n", encoding="ascii")
    job.scheduler.poll(job)
    return bool(job.finished())


@pytest.mark.parametrize(
    ("last", "exit_code"),
    [
        ("COMPLETED|0|n[9-10]", 0),
        ("FAILED|71|n[9-10]", 71),
        ("FAILED|-9|n[9-10]", 137),
        ("TIMEOUT|-15|n[9-10]", 124),  # like our own timeout in a job: the verdict knows it
        ("CANCELED|-128|", None),
    ],
)
def test_a_job_waits_runs_and_ends_with_its_exit_code(job: Any, last: str, exit_code: int | None) -> None:
    job.submit()
    assert (job.jobid, job.nodelist) == ("f7", [])
    assert not state(job, "PENDING||")
    assert not state(job, "RUNNING||n[9-10]")
    assert job.nodelist == ["n9", "n10"]
    assert not state(job, "")  # no answer
    assert state(job, last)
    assert (job.state, job.exitcode) == (last.partition("|")[0], exit_code)


def test_a_job_that_waits_too_long_is_cancelled(job: Any) -> None:
    job.submit()
    job.max_pending_time, job._submit_time = 60, time.time() - 61
    with pytest.raises(JobError, match=r"maximum pending time exceeded"):
        state(job, "PENDING||")
    assert Path("cancelled").read_text(encoding="ascii") == "f7\n"


def test_a_job_that_is_refused_is_said_in_fluxs_words(job: Any) -> None:
    Path("complaint").write_text("flux-batch: ERROR: Invalid queue name\n", encoding="ascii")
    with pytest.raises(JobSchedulerError, match=r"^flux batch said: flux-batch: ERROR: Invalid queue name"):
        job.submit()


def test_a_systems_file_has_its_words() -> None:
    few = settings(account="abc", partition="pbatch", constraint="gpu|-slow", exclusive=True)
    assert options("flux-batch", few) == (
        "--setattr=bank=abc", "--queue=pbatch", "--requires=gpu|-slow", "--exclusive",
    )  # fmt: skip
    assert why_not("flux-batch", settings(qos="high")) == (
        "qos", "a setting for which the scheduler flux-batch has an option: account, partition, constraint, exclusive",
    )  # fmt: skip
