"""Which MPI's launcher starts a run, from genuine answers to ``--version``."""

import subprocess
from pathlib import Path
from typing import Literal

import pytest

from railyard.job.mpi_identity import OtherLauncher, line, why_other_launcher

OPENMPI = "/usr/bin/mpirun\nmpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
UPSTREAM = "/opt/openmpi/bin/mpirun\nmpirun (Open MPI) 5.0.3\n"
MPICH = "/opt/mpich/bin/mpirun\nHYDRA build details:\n    Version:                                 5.0.2\n    CC: cc\n"
INTEL = (
    "/opt/impi/bin/mpiexec.hydra\nIntel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\n"
)


@pytest.mark.parametrize(
    ("said", "stack", "version"),
    [
        (OPENMPI, "openmpi", "4.1.4"),
        (OPENMPI, "hpcx", "2.25"),
        (UPSTREAM, "openmpi", None),
        (MPICH, "mpich", "5.0.2"),
        (MPICH, "mvapich", "4.0"),
        (MPICH, "mvapich2", "2.3.7"),
        (INTEL, "intelmpi", "2021.18"),
        ("/usr/bin/mpirun\nthe site's own launcher 7\n", "openmpi", "4.1.4"),
        ("/opt/cray/pals/bin/mpiexec\nHYDRA build details:\n", "craympich", None),
        ("", "openmpi", "4.1.4"),
    ],
)
def test_the_stacks_own_launcher_and_one_that_names_nobody_are_no_contradiction(
    said: str, stack: str, version: str | None
) -> None:
    assert why_other_launcher(said, stack, version) is None


@pytest.mark.parametrize(
    ("said", "stack", "version", "found"),
    [
        (OPENMPI, "mpich", None, ("mpirun.openmpi (OpenRTE) 4.1.4", "library", "Open MPI", "MPICH (CH4)")),
        (MPICH, "openmpi", None, ("HYDRA build details: Version: 5.0.2", "library", "MPICH (CH4)", "Open MPI")),
        (UPSTREAM, "openmpi", "4.1.4", ("mpirun (Open MPI) 5.0.3", "version", "5.0.3", "Open MPI 4.1.4")),
    ],
)
def test_another_librarys_launcher_is_named(
    said: str, stack: str, version: str | None, found: tuple[str, Literal["library", "version"], str, str]
) -> None:
    assert why_other_launcher(said, stack, version) == OtherLauncher(said.partition("\n")[0], *found)


def test_the_line_of_the_job_writes_path_and_answer_and_never_ends_it(tmp_path: Path) -> None:
    program = tmp_path / "mpi run"
    program.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\nexit 3\n")
    program.chmod(0o755)
    script = "\n".join(["set -e", line(str(program), "own.txt"), line("no-such-mpirun", "none.txt"), "echo done"])
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
    assert (tmp_path / "own.txt").read_text() == f"{program}\nmpirun (Open MPI) 4.1.4\n"
    assert why_other_launcher((tmp_path / "none.txt").read_text(), "openmpi", None) is None
