"""Jobs beside those of the tests, with ReFrame's schedulers and fake commands: what is submitted and reported."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import reframe.core.runtime as runtime
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.environments import Environment

import railyard.rfm.backends  # registers its backend
import railyard.rfm.schedulers  # noqa: F401  # registers Flux's scheduler
from railyard.base.errors import RailyardError
from railyard.job.probe_job import job_lines, node_request
from railyard.rfm.backends import ReframeJob
from railyard.site.systems.jobs import SchedulerSettings, resource_options
from tests.parsers.test_flux import JOBS

PAIR = ("n9", "n10")
SUBMITTED = {
    "slurm-nodb": ("sbatch", 'cp "$1" submitted; echo "Submitted batch job 7"'),
    "pbs": ("qsub", 'for last; do :; done; cp "$last" submitted; echo 7.server'),
    "torque": ("qsub", 'for last; do :; done; cp "$last" submitted; echo 7.server'),
    "flux-batch": ("flux", '[ "$1" = batch ] && cp "$2" submitted && echo f7'),
    "lsf": ("bsub", 'cat >submitted; echo "Job <7> is submitted to queue <hpc>."'),
}
SCRIPTS = {
    "slurm-nodb": """\
#!/bin/bash
#SBATCH --job-name="probes-n9-n10"
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=1
#SBATCH --output=probes-n9-n10.out
#SBATCH --error=probes-n9-n10.err
#SBATCH --time=0:5:0
#SBATCH --account=abc
#SBATCH --nodes=4
#SBATCH --nodelist=n9,n10
#SBATCH --no-requeue
module load openmpi
scontrol show hostnames "$SLURM_JOB_NODELIST" | sh probes.sh probes-n9-n10 150 60 n9 n10
""",
    "pbs": """\
#!/bin/bash
#PBS -N probes_n9_n10
#PBS -o probes-n9-n10.out
#PBS -e probes-n9-n10.err
#PBS -l walltime=0:5:0
#PBS -A abc
#PBS -l place=scatter
#PBS -l select=1:ncpus=1:mpiprocs=1:host=n9+1:ncpus=1:mpiprocs=1:host=n10+2:ncpus=1:mpiprocs=1
cd STAGE
module load openmpi
awk '!seen[$0]++' "$PBS_NODEFILE" | sh probes.sh probes-n9-n10 150 60 n9 n10
""",
    "torque": """\
#!/bin/bash
#PBS -N probes_n9_n10
#PBS -o probes-n9-n10.out
#PBS -e probes-n9-n10.err
#PBS -l walltime=0:5:0
#PBS -A abc
#PBS -l nodes=n9:ppn=1+n10:ppn=1+2:ppn=1
cd STAGE
module load openmpi
awk '!seen[$0]++' "$PBS_NODEFILE" | sh probes.sh probes-n9-n10 150 60 n9 n10
""",
    "flux-batch": """\
#!/bin/bash
#flux: --job-name=probes-n9-n10
#flux: --output=probes-n9-n10.out
#flux: --error=probes-n9-n10.err
#flux: --cwd=STAGE
#flux: --time-limit=360s
#flux: --setopt=output.mode=append
#flux: --setattr=bank=abc
#flux: --nodes=4
#flux: --requires=host:n9,n10,n1,n2
: > probes-n9-n10.out
: > probes-n9-n10.err
exec >> probes-n9-n10.out 2>> probes-n9-n10.err
module load openmpi
flux hostlist -le | tr ' ' '\\n' | sh probes.sh probes-n9-n10 150 60 n9 n10
""",
    "lsf": """\
#!/bin/bash
#BSUB -J probes-n9-n10
#BSUB -o probes-n9-n10.out
#BSUB -e probes-n9-n10.err
#BSUB -W 5
#BSUB -P abc
#BSUB -n 4
#BSUB -m "n9 n10 n1 n2"
#BSUB -R "span[ptile=1]"
module load openmpi
awk '!seen[$0]++' "$LSB_DJOB_HOSTFILE" | sh probes.sh probes-n9-n10 150 60 n9 n10
""",
}
ACCESS = {
    "slurm-nodb": "--account=abc",
    "pbs": "-A abc|-l place=scatter",
    "torque": "-A abc",
    "lsf": "-P abc",
    "flux-batch": "--setattr=bank=abc",
}


#: The jobs of the system: an option with the number of a job's processors.
SETTINGS = SchedulerSettings.model_validate({})


class FakeSystem:
    @staticmethod
    def resource_options(nodes: int, slots: int) -> tuple[str, ...]:
        return resource_options(SETTINGS, slots, nodes * 16, nodes)


@pytest.fixture
def job_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ReframeJob]:
    """Return a maker of a scheduler's job; the commands are shell scripts that it gets by name."""
    monkeypatch.setattr(runtime, "emit_loadenv_commands", lambda *environs: ["module load openmpi"])
    monkeypatch.setattr(runtime, "temp_environment", nullcontext)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "stage").mkdir()

    def make(scheduler: str, **commands: str) -> ReframeJob:
        for name, text in {SUBMITTED[scheduler][0]: SUBMITTED[scheduler][1], **commands}.items():
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
            (tmp_path / "bin" / name).chmod(0o755)
        backend = getscheduler(scheduler)
        made: Any = object.__new__(backend)  # its own options need a running ReFrame
        made._prefix = {"slurm-nodb": "#SBATCH", "lsf": "#BSUB"}.get(scheduler, "#PBS")
        made._sched_access_in_submit = made._use_nodes_opt = False
        made._submit_timeout, made._cancel_reasons, made._resubmit_on_errors = None, [], []
        made._multi_clusters = None
        made._envvar_whitelist = set()
        access = ACCESS[scheduler].split("|")
        own = SimpleNamespace(
            scheduler=made,
            launcher=getlauncher("local")(),
            sched_access=access,
            cli_options=[],
        )
        empty = Environment("empty")
        partition = SimpleNamespace(local_env=empty, prepare_cmds=[])
        return ReframeJob(
            SimpleNamespace(
                job=own, stagedir=str(tmp_path / "stage"), exclusive_access=False, modules=[],
                current_partition=partition, current_environ=empty,
                site=SimpleNamespace(system=FakeSystem()),
            )
        )  # fmt: skip

    return make


def submit(job: ReframeJob, scheduler: str) -> None:
    asked = node_request(scheduler, PAIR, ("n1", "n2", "n3"), 4)
    job.submit("probes-n9-n10", job_lines("probes-n9-n10", scheduler, PAIR, 150, 60), asked, 4, 300)


@pytest.mark.parametrize("scheduler", SCRIPTS)
def test_what_is_submitted_is_this_script(tmp_path: Path, job_of: Callable[..., ReframeJob], scheduler: str) -> None:
    submit(job_of(scheduler), scheduler)
    text = (tmp_path / "stage/submitted").read_text(encoding="utf-8").replace(str(tmp_path / "stage"), "STAGE")
    assert "".join(f"{line}\n" for line in text.splitlines() if line) == SCRIPTS[scheduler]


def test_words_of_a_chunk_are_in_the_request_of_nodes_and_slots_are_counted(
    tmp_path: Path, job_of: Callable[..., ReframeJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = SchedulerSettings.model_validate({"resources": ["-l licences=lic:{num_slots}"]})
    monkeypatch.setitem(globals(), "SETTINGS", resources)
    monkeypatch.setitem(ACCESS, "pbs", "-A abc|ncpus=48:mem=190gb|ngpus=4")
    chunk = ("ncpus=48:mem=190gb", "ngpus=4")
    asked = node_request("pbs", PAIR, ("n1", "n2", "n3"), 4, chunk=chunk)
    job_of("pbs").submit("probes-n9-n10", job_lines("probes-n9-n10", "pbs", PAIR, 150, 60), asked, 4, 300)
    lines = (tmp_path / "stage/submitted").read_text(encoding="utf-8").splitlines()
    own = "mpiprocs=1:ncpus=48:mem=190gb:ngpus=4"
    assert [line for line in lines if "select" in line] == [f"#PBS -l select=1:{own}:host=n9+1:{own}:host=n10+2:{own}"]
    assert "#PBS -l licences=lic:4" in lines and "#PBS -A abc" in lines


def test_a_job_that_is_refused_is_said_in_the_schedulers_words(job_of: Callable[..., ReframeJob]) -> None:
    job = job_of("slurm-nodb", sbatch="echo 'sbatch: error: Invalid account or account/partition' >&2; exit 1")
    with pytest.raises(RailyardError) as raised:
        submit(job, "slurm-nodb")
    assert str(raised.value) == (
        "the scheduler refused the job for it: sbatch: error: Invalid account or account/partition"
    )
    job.cancel()  # there is none to be cancelled


def slurm(state: str, reason: str = "None") -> str:
    return f"echo JobId=7 JobState={state} Reason={reason} Restarts=0 ExitCode=0:0 NodeList='n[5,7,9-10]'"


def test_a_job_of_slurm_waits_runs_and_is_cancelled_once(tmp_path: Path, job_of: Callable[..., ReframeJob]) -> None:
    record = tmp_path / "record"
    job = job_of("slurm-nodb", scontrol=f"sh {record}", scancel=f'echo "$@" >>{tmp_path / "cancelled"}')
    submit(job, "slurm-nodb")
    record.write_text(slurm("PENDING", "Resources"), encoding="ascii")
    assert (job.state(), job.end_words) == ("waits", "job 7 waits (Resources)")
    record.write_text(slurm("RUNNING"), encoding="ascii")
    assert job.state() == "runs"
    job.cancel()
    assert (tmp_path / "cancelled").read_text(encoding="ascii") == "7\n"
    record.write_text(slurm("TIMEOUT"), encoding="ascii")
    assert (job.state(), job.end_words) == ("ended", "job 7 was killed at its time limit on n[5,7,9-10]")
    job.cancel()
    assert (tmp_path / "cancelled").read_text(encoding="ascii") == "7\n"


def test_jobs_of_pbs_and_lsf_wait_run_and_end(tmp_path: Path, job_of: Callable[..., ReframeJob]) -> None:
    told = tmp_path / "told"
    answer = f"cat {told}"
    for scheduler in ("pbs", "torque"):
        pbs = job_of(scheduler, qstat=answer, qdel=f'echo "$@" >{tmp_path / "deleted"}')
        submit(pbs, scheduler)
        for state, expected in (("Q", "waits"), ("R", "runs")):
            told.write_text(f"Job Id: 7.server\n    job_state = {state}\n", encoding="ascii")
            assert pbs.state() == expected
    lsf = job_of("lsf", bjobs=answer)
    submit(lsf, "lsf")
    for state, expected in (("PEND", "waits"), ("RUN", "runs"), ("EXIT", "ended")):
        told.write_text(f"7 me {state} hpc\n", encoding="ascii")
        assert lsf.state() == expected


def test_a_job_of_flux_waits_runs_and_ends_in_its_own_words(tmp_path: Path, job_of: Callable[..., ReframeJob]) -> None:
    told = tmp_path / "told"
    job = job_of("flux-batch", flux=f"case $1 in batch) echo f7 ;; jobs) cat {told} ;; esac")
    submit(job, "flux-batch")
    for said, expected in (("held", "waits"), ("depends", "waits"), ("waits-eta", "waits"), ("running", "runs")):
        told.write_text(JOBS[said], encoding="utf-8")
        assert job.state() == expected
    told.write_text(JOBS["too-many-nodes"], encoding="utf-8")
    assert job.state() == "ended"
    assert job.end_words == (
        "job f7 can never begin (the scheduler's reason: unsatisfiable request: need 9 exclusive node(s), only 4 "
        "eligible)"
    )
