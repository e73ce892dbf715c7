"""Doctor's own job, with stand-ins for Slurm's commands: what it finds if one refuses, waits, fails or says nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.cluster.doctor import ask_nodes
from railyard.job import node_files
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from tests.cluster.doctor.conftest import SYSTEMS

#: Runs the script as Slurm would, with its output in the file of --output, and prints the job's number.
SBATCH = """\
for word; do
    case $word in --output=*) output=${word#*=} ;; esac
done
printf '%s\\n' "$@" >"$HERE/sbatch.words"
echo 7
sh "$word" >"$output" 2>&1
"""
#: One line per node, in place of the command's own.
SRUN = """\
for word; do :; done
for node in n1 n2; do sh -c "$(printf '%s' "$word" | sed "s/\\$(uname -n)/$node/")"; done
"""
SCONTROL = "echo 'JobId=7 JobState=COMPLETED Reason=None ExitCode=0:0 NodeList=n[1-2]'\n"

Made = Callable[..., Site]


@pytest.fixture
def slurm_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return a function that returns a site whose Slurm is these commands: a name and a script each."""

    def make(old: str = "", new: str = "", system: str = "hdr", **commands: str) -> Site:
        for name, text in {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "scancel": "", **commands}.items():
            file = tmp_path / "bin" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"#!/bin/sh\nHERE={tmp_path}\n{text}", encoding="utf-8")
            file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        file = tmp_path / "systems" / f"{system}.yaml"
        file.parent.mkdir()
        assert old in SYSTEMS[system]
        file.write_text(SYSTEMS[system].replace(old, new), encoding="utf-8")
        loaded = load_system(file)
        return Site(tmp_path, loaded, references_of(tmp_path / "references", loaded))

    return make


def sentences(site: Site, count: int | None = None) -> list[str]:
    return [f"{found.weight}: {found.sentence}" for found in ask_nodes.findings(site, count)]


def test_a_job_that_reaches_all_nodes_finds_nothing_and_is_asked_for_as_a_checks_job(
    slurm_site: Made, tmp_path: Path
) -> None:
    site = slurm_site(
        'access: ["--partition=batch"]', 'access: ["--partition=batch"]\njobs: {account: abc, exclusive: true}'
    )
    assert sentences(site) == []
    words = (tmp_path / "sbatch.words").read_text(encoding="utf-8").splitlines()
    assert {"--partition=batch", "--account=abc", "--exclusive", "--nodes=2", "--no-requeue"} <= set(words)
    assert "srun --mpi=pmix sh -c" in Path(words[-1]).read_text(encoding="utf-8")


def test_what_sbatch_says_is_said(slurm_site: Made) -> None:
    said = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"
    site = slurm_site(sbatch=f"echo '{said}' >&2\nexit 1\n")
    assert sentences(site) == [
        f"problem: job on hdr: sbatch refused it: {said}; see jobs and access in the system's file"
    ]


def test_what_sbatch_says_may_be_in_another_encoding(slurm_site: Made) -> None:
    site = slurm_site(sbatch="printf 'quota \\351puis\\351\\n' >&2\nexit 1\n")
    assert sentences(site) == [
        "problem: job on hdr: sbatch refused it: quota \ufffdpuis\ufffd; see jobs and access in the system's file"
    ]


def test_a_step_that_fails_is_named_with_what_srun_said(slurm_site: Made) -> None:
    site = slurm_site(srun="echo 'srun: error: MPI: Cannot create context for mpi/pmix' >&2\nexit 1\n")
    assert sentences(site) == [
        "problem: openmpi in job 7: its step reached 0 of 2 nodes and ended with exit code 1: srun: error: MPI: "
        "Cannot create context for mpi/pmix"
    ]


def test_a_step_on_fewer_nodes_is_no_sound_one(slurm_site: Made) -> None:
    assert sentences(slurm_site(), count=3) == [
        "problem: openmpi in job 7: its step reached 2 of 3 nodes and ended with exit code 0: it printed nothing"
    ]


#: Of five nodes n8 and n11 write no file, and n9's is cut.
SRUN_OF_MANY = """\
while [ "$1" != sh ]; do shift; done
for rank in 0 2 3; do
    SLURMD_NODENAME=n$((rank + 7)) SLURM_PROCID=$rank SLURM_STEP_NODELIST='n[7-11]' "$@"
done
file=$(echo "$3"/*/n9.2.out)
head -c 40 "$file" >"$file.cut" && mv "$file.cut" "$file"
"""


def test_of_very_many_nodes_each_writes_a_file_and_who_did_not_is_named(
    slurm_site: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_files, "SEEN_WITHIN_S", 0.0)
    site = slurm_site("nodes: {count: 8}", "nodes: {count: 520}", srun=SRUN_OF_MANY)
    answer = tmp_path / ".railyard/doctor/openmpi/2/n9.2.out"
    assert sentences(site, 520) == [
        f"problem: n9: its answer {answer} is incomplete: found 40 bytes without an end: it was cut; check whether "
        "the file system is full, and try again",
        "problem: n8: it did not answer; check whether it is up, and whether a job starts there",
        "problem: n11: it did not answer; check whether it is up, and whether a job starts there",
        "problem: openmpi in job 7: its step reached 2 of 520 nodes and ended with exit code 0: it printed nothing",
    ]


def test_a_job_that_does_not_begin_is_cancelled_and_decides_nothing(
    slurm_site: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_nodes, "WITHIN_S", 0.5)
    pending = "echo 'JobId=7 JobState=PENDING Reason=Priority ExitCode=0:0 NodeList=(null)'\n"
    site = slurm_site(sbatch="echo 7\nexec sleep 30\n", scontrol=pending, scancel='echo "$@" >"$HERE/cancelled"\n')
    assert sentences(site) == [
        "remark: job on hdr: job 7 had not begun after 0.5 s and was cancelled (Priority); try again when nodes are "
        "free: jobs are not checked yet"
    ]
    assert (tmp_path / "cancelled").read_text(encoding="utf-8") == "7\n"


def test_a_job_that_slurm_ended_says_how(slurm_site: Made) -> None:
    site = slurm_site(
        scontrol="echo 'JobId=7 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15 NodeList=n1 TimeLimit=00:02'\n"
    )
    (found,) = sentences(site)
    assert found.startswith("problem: job on hdr: job 7 ")
    assert "time" in found


def test_an_output_that_never_appears_means_no_shared_folder(slurm_site: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_nodes, "_SEEN_WITHIN_S", 0.1)
    (found,) = sentences(slurm_site(sbatch="echo 7\n"))
    assert found.endswith("; put the site's folder on a file system that nodes and this host share")


def test_modules_without_a_modules_system_are_a_problem(slurm_site: Made) -> None:
    site = slurm_site("openmpi: {prefix: /opt/ompi, ", "openmpi: {modules: [openmpi/5], ")
    assert sentences(site)[0] == (
        "problem: hdr: stacks.openmpi.modules: found 1 module (openmpi/5) and no modules_system, so nothing loads "
        "them; write modules_system (lmod, envmod or spack) into the system's file"
    )


def test_another_scheduler_is_refused_with_what_to_do(slurm_site: Made) -> None:
    with pytest.raises(SetupError, match="found scheduler pbs, expected Slurm; send a job by hand: railyard run"):
        ask_nodes.findings(slurm_site(system="roce"), None)
