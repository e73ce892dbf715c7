"""A site away from its cluster, with one system's file: dry runs, refused runs, and paths that jobs cannot have.

PATH holds nothing here, so no machine that runs these tests has a scheduler, an MPI or environment modules.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD, REFRAME

pytestmark = pytest.mark.e2e

SYSTEM = """\
system: made
description: A cluster that is elsewhere
hostnames: []
scheduler: {scheduler}
launcher: {launcher}
modules_system: {modules}
nodes: {{count: 4}}
report_only: made for this test
fabrics:
  ib:
    description: one card
    kind: ib
    link: ib-edr
    rails: [{{device: mlx5_0, port: 1, counters: mlx5}}]
stacks:
  openmpi:
    modules: [gcc/12, openmpi/4.1.6]
    prefix: /nowhere/openmpi
    benchmarks: {{osu: "{{home}}/nodes/osu"}}
"""
#: Scheduler -> its launcher, the modules system of its file, the first directive, and what this host lacks of both.
ELSEWHERE = {
    "slurm": (
        "srun",
        "lmod",
        "#SBATCH --",
        "sbatch, scancel, sacct and srun are",
        "no Lmod (the variable LMOD_CMD names none)",
    ),
    "pbs": ("mpirun", "envmod", "#PBS -N", "qsub, qstat and qdel are", "no modulecmd on PATH"),
    "torque": ("mpirun", "envmod", "#PBS -N", "qsub, qstat and qdel are", "no modulecmd on PATH"),
    "lsf": ("mpirun", "spack", "#BSUB -J", "bsub, bjobs and bkill are", "no spack on PATH"),
    "flux-batch": ("flux-run", "lmod", "#flux: --job-name", "flux is", "no Lmod (the variable LMOD_CMD names none)"),
    "sge": ("mpirun", "envmod", "#$ -N", "qsub, qstat and qdel are", "no modulecmd on PATH"),
    "local": ("mpirun", "lmod", "", "", "no Lmod (the variable LMOD_CMD names none)"),
}
FIRST = ("slurm", "pbs")
SOME = [pytest.param(each, marks=() if each in FIRST else pytest.mark.full) for each in ELSEWHERE]
ONE = ("--system", "made", "-n", "OsuBandwidth%rails=1")


def make_site(folder: Path, scheduler: str = "slurm") -> Path:
    """Return a site of two files: ReFrame's settings and a system without references."""
    (folder / "systems").mkdir(parents=True)
    shutil.copy(CLONE / "reframe_settings.py", folder)
    launcher, modules, *_ = ELSEWHERE[scheduler]
    text = SYSTEM.format(scheduler=scheduler, launcher=launcher, modules=modules)
    if scheduler == "sge":
        text += 'jobs: {resources: ["-pe mpi {num_slots}"]}\n'
    (folder / "systems/made.yaml").write_text(text, encoding="utf-8")
    return folder


def call(site: Path, *words: str, path: str = "") -> "subprocess.CompletedProcess[str]":
    """Return the result of a command in a site, by default with an empty PATH; what it printed is in ``stdout``."""
    (site / "no-programs").mkdir(exist_ok=True)
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("RFM_", "RAILYARD_", "LMOD_"))}
    return subprocess.run(
        words, cwd=site, env={**kept, "PATH": path or str(site / "no-programs")}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


def unchecked_lines(said: str) -> list[str]:
    return [line.removeprefix("railyard: not checked: ") for line in said.splitlines() if "not checked" in line]


@pytest.mark.parametrize("scheduler", SOME)
def test_a_dry_run_shows_the_script_and_names_each_thing_that_is_not_here(tmp_path: Path, scheduler: str) -> None:
    _, _, directive, programs, modules = ELSEWHERE[scheduler]
    site = make_site(tmp_path / "site", scheduler)
    ran = call(site, *RAILYARD, "run", *ONE, "--dry-run")
    assert ran.returncode == 0, ran.stdout
    lines = ran.stdout.splitlines()
    assert "railyard: dry run of 1 test: nothing was submitted, measured or judged" in lines
    osu = f"{site}/nodes/osu"
    assert unchecked_lines(ran.stdout) == [
        *(
            [f"scheduler: {programs} not on this host, so that nobody asked whether it takes these jobs"]
            * bool(programs)
        ),
        f"modules_system: {modules} on this host, so that nobody looked for 2 modules; the scripts load them in the "
        "file's order, and unload none that conflict",
        "stacks.openmpi.prefix: /nowhere/openmpi is not on this host, so that nobody looked for the library there",
        f"stacks.openmpi.benchmarks.osu: {osu} is not on this host, so that nobody looked for programs there; if it is "
        "a folder, the job does so itself (find_program.sh)",
    ]
    assert [line for line in lines if line.startswith(directive)][: bool(directive)] != [] or not directive
    load = "spack load" if scheduler == "lsf" else "module load"
    assert [line for line in lines if line.startswith(load)] == [f"{load} gcc/12", f"{load} openmpi/4.1.6"]
    assert f"sh find_program.sh ./programs/osu_bw {osu} osu_bw || exit 66" in lines
    assert any(" -- ./programs/osu_bw " in line for line in lines)
    assert not any("PASSED" in line for line in lines)


def test_plain_reframe_says_the_same(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    ran = call(site, REFRAME, "-C", "reframe_settings.py", "--dry-run", *ONE)
    assert ran.returncode == 0, ran.stdout
    assert len(unchecked_lines(ran.stdout)) == 4
    assert list((site / ".railyard/reframe/stage").rglob("rfm_job.sh"))


def test_a_run_away_from_the_cluster_is_refused_before_any_test(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    ran = call(site, *RAILYARD, "run", *ONE)
    assert ran.returncode == 2
    assert "sbatch, scancel, sacct, srun are not on the search path" in ran.stdout
    plain = call(site, REFRAME, "-C", "reframe_settings.py", "-r", *ONE)
    assert plain.returncode == 1
    assert (
        "modules_system: found no Lmod (the variable LMOD_CMD names none) on this host, expected lmod as "
        "systems/made.yaml says; run it on a login host of the cluster, with the modules set up, or here: railyard run "
        "--dry-run, railyard rehearse"
    ) in plain.stdout
    assert not list(site.rglob("rfm_job.sh"))


def test_the_job_finds_the_benchmark_that_only_the_nodes_have(tmp_path: Path) -> None:
    """The script of a dry run is run as on a node: first without the folder, then with it."""
    site = make_site(tmp_path / "site", "local")
    made = site / "systems/made.yaml"
    made.write_text(made.read_text(encoding="utf-8").replace("modules_system: lmod\n", "").replace(
        "    modules: [gcc/12, openmpi/4.1.6]\n", ""), encoding="utf-8")  # fmt: skip
    ran = call(site, *RAILYARD, "run", *ONE, "--dry-run")
    assert ran.returncode == 0, ran.stdout
    (script,) = site.rglob("rfm_job.sh")
    programs = site / "node-programs"
    programs.mkdir()
    (programs / "mpirun").write_text('#!/bin/sh\nshift 2\nexec "$@"\n', encoding="utf-8")
    (programs / "mpirun").chmod(0o755)
    text = script.read_text(encoding="utf-8").replace("/nowhere/openmpi/bin", str(programs))
    # This host has no such rail: its counters are not read.
    script.write_text(re.sub(r"sh reader.sh .* -- ", "", text), encoding="utf-8")
    absent = subprocess.run(["bash", script], cwd=script.parent, capture_output=True, text=True, check=False)
    assert (absent.returncode, absent.stderr) == (
        66,
        f"railyard: error: {site}/nodes/osu is no folder on this node, expected one with osu_bw: correct the system's "
        "file, or mount it on the nodes\n",
    )
    below = site / "nodes/osu/pt2pt"
    below.mkdir(parents=True)
    (below / "osu_bw").write_text('#!/bin/sh\necho "I am osu_bw: $*"\n', encoding="utf-8")
    (below / "osu_bw").chmod(0o755)
    found = subprocess.run(["bash", script], cwd=script.parent, capture_output=True, text=True, check=False)
    assert "I am osu_bw: -m 1:4194304" in found.stdout, found.stdout + found.stderr
    assert (script.parent / "programs/osu_bw").resolve() == below / "osu_bw"


# --- paths


#: A folder's name with a sign that jobs cannot have; a shell would make the file ``pwned`` of the first two.
PLANTED = ["a$(touch pwned)", "a`touch pwned`", "a b", "o'neill", "a\nb", "a;touch pwned;b"]


def planted_files(folder: Path) -> list[Path]:
    return list(folder.rglob("pwned"))


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each == PLANTED[0] else pytest.mark.full) for each in PLANTED]
)
def test_a_site_whose_path_jobs_cannot_have_is_refused_by_both_doors(tmp_path: Path, name: str) -> None:
    site = make_site(tmp_path / name)
    shown = str(site).replace("\n", "\\n")
    plain = call(site, REFRAME, "-C", f"{site}/reframe_settings.py", "-r", *ONE)
    ran = call(site, *RAILYARD, "run", *ONE, "--dry-run")
    assert (plain.returncode, ran.returncode) == (1, 2)
    for said in (plain.stdout, ran.stdout):
        assert f"{shown}: found " in said and "expected a site or a clone in a folder whose path has only" in said
        assert "Traceback" not in said
    assert (planted_files(tmp_path), list(tmp_path.rglob("rfm_job.sh"))) == ([], [])


OPTIONS = ["--prefix", "--stage", "--output", "--report-file", "--report-junit", "-c"]
GIVEN = [(option, PLANTED[0]) for option in OPTIONS] + [("--stage", name) for name in PLANTED[1:]]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        pytest.param(*each, marks=() if each[0] == "--stage" and each[1] in PLANTED[:1] else pytest.mark.full)
        for each in GIVEN
    ],
)
def test_a_path_of_reframes_options_is_refused_and_never_run(tmp_path: Path, option: str, name: str) -> None:
    site = make_site(tmp_path / "site")
    said = call(site, REFRAME, "-C", "reframe_settings.py", "--dry-run", *ONE, option, str(site / name))
    assert said.returncode == 1, said.stdout
    assert option in said.stdout and "failed to load configuration: " in said.stdout
    assert str(site / name).replace("\n", "\\n") in said.stdout
    assert (planted_files(tmp_path), list(tmp_path.rglob("rfm_job.sh"))) == ([], [])


def test_a_command_in_the_path_that_reframe_expands_first_is_refused_by_railyard_run(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    said = call(site, *RAILYARD, "run", *ONE, "--dry-run", "--perflogdir", str(site / PLANTED[0]))
    assert (said.returncode, said.stdout) == (
        2,
        f"railyard: --perflogdir {site}/a$(touch pwned): found $(touch pwned) in this path, which ReFrame would run, "
        "expected a path without commands; choose another\n",
    )
    assert planted_files(tmp_path) == []


def test_a_path_with_letters_of_any_language_replays_a_recording(tmp_path: Path) -> None:
    site = tmp_path / "jürgen_weiß-サイト+1@x=2"
    assert call(tmp_path, *RAILYARD, "init", str(site), "--published").returncode == 0
    ran = call(site, *RAILYARD, "run", "--system", "dell-c6320:edr", "-n", "OsuBandwidth%rails=1", path=os.defpath)
    assert ran.returncode == 0, ran.stdout
    assert "PASS: 1 of 1 test passed" in ran.stdout or "1 test: 1 pass" in " ".join(ran.stdout.split()), ran.stdout
