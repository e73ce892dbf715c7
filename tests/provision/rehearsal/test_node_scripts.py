"""The scripts of a node: what they say where no node is needed to try them."""

import subprocess
from pathlib import Path

import pytest

from railyard.provision.rehearsal.node_scripts import BIND, DIE, PROLOG, scripts
from railyard.provision.rehearsal.sysfs import Machine

DAEMONS = ("slurmd", "munged")
# A stand-in of `bind`: it says what it was called with.
_BIND = '#!/bin/sh\necho "$2"\n'


def prolog(folder: Path, machine: Machine, variables: dict[str, str]) -> str:
    """Return the processors that the first task of a node is shown to be bound to, nothing where none is."""
    (folder / BIND).write_text(_BIND)
    (folder / BIND).chmod(0o755)
    (folder / PROLOG).write_text(scripts(str(folder), machine, DAEMONS)[PROLOG])
    words = ["sh", str(folder / PROLOG)]
    done = subprocess.run(words, env={"SLURM_TASK_PID": "9", **variables}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("threads", "variables", "expected"),
    [
        (1, {}, "0-111"),
        (2, {"SLURM_LOCALID": "0"}, "0-223"),
        (2, {"SLURM_LOCALID": "1"}, ""),
        (2, {"SLURM_CPU_BIND": "quiet,none"}, "0-223"),
        (2, {"SLURM_CPU_BIND": "quiet,sockets"}, "0-55,112-167"),
        # Without a hint two processors of Slurm's are one core, with it each is one.
        (2, {"SLURM_CPU_BIND": "quiet,threads", "SLURM_CPUS_PER_TASK": "4"}, "0-1,112-113"),
        (
            2,
            {"SLURM_CPU_BIND": "quiet,threads", "SLURM_CPUS_PER_TASK": "4", "SLURM_THREADS_PER_CORE": "1"},
            "0-3,112-115",
        ),
        (1, {"SLURM_CPU_BIND": "quiet,cores"}, "0"),
        (1, {"SLURM_CPU_BIND": "quiet,cores", "SLURM_CPUS_PER_TASK": "500"}, "0-111"),
    ],
)
def test_the_first_task_shows_where_slurm_binds_it(
    tmp_path: Path, threads: int, variables: dict[str, str], expected: str
) -> None:
    assert prolog(tmp_path, Machine(2, 56, threads, 1 << 30), variables) == expected


def test_no_blank_is_left_open() -> None:
    for name, text in scripts("/bed", Machine(1, 1, 1, 1 << 30), DAEMONS).items():
        assert not [word for word in text.split() if word.startswith("@") and word != "@"], name
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_a_node_that_dies_ends_its_daemons_first() -> None:
    text = scripts("/bed", Machine(1, 1, 1, 1 << 30), DAEMONS)[DIE]
    assert 'case $round:$name in daemons:slurmd* | daemons:munged* | all:*) kill -9 "$pid" ;; esac' in text


def test_only_a_node_of_the_rehearsal_can_die(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("bed 0 1\nno-such-host 1 2 3\n")
    (tmp_path / DIE).write_text(scripts(str(tmp_path), Machine(1, 1, 1, 1 << 30), DAEMONS)[DIE])
    done = subprocess.run(["sh", str(tmp_path / DIE)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("is not a node of this rehearsal\n")
