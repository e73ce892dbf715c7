"""ci/needs.sh: missing packages are named in one sentence, or installed after the command was printed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.provision.testbed.boot import PACKAGES

SCRIPT = Path(__file__).parents[2] / "ci/needs.sh"

#: What the script itself uses, and the needs that these tests take for granted.
TOOLS = ("sh", "sort", "tr", "sed", "id", "make", "flock", "gcc", "iperf3", "NPtcp", "fi_pingpong", *PACKAGES)

APT = """#!/bin/sh
PATH=/usr/bin:/bin
echo "$DEBIAN_FRONTEND $*" >>"{log}"
for word; do last=$word; done
if [ "$1" = update ] || [ "$2" = update ]; then touch "{lists}/x_Packages"; exit {update}; fi
if [ -e "{folder}/fails-once" ]; then rm "{folder}/fails-once"; exit 100; fi
case " $* " in *" openmpi-bin "*) {install} ;; esac
"""


class Machine:
    """A machine whose PATH is one folder; Open MPI and NetPIPE are missing unless they are added."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs, self.lists = folder, folder / "bin", folder / "lists"
        self.log = folder / "apt.log"
        self.programs.mkdir()
        self.lists.mkdir()
        (self.lists / "mirror_main_Packages").touch()
        for tool in TOOLS:
            found = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
            assert found, f"{tool} is missing here; type: make needs"
            (self.programs / tool).symlink_to(found)
        self.add("python3", f'exec {sys.executable} "$@"')
        self.add("id", "echo 0")

    def add(self, program: str, body: str = "exit 0") -> None:
        place = self.programs / program
        place.unlink(missing_ok=True)
        place.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        place.chmod(0o755)

    def add_apt(self, install: str | None = None, update: int = 0) -> None:
        made = f'for p in mpirun.openmpi NPopenmpi; do ln -sf "$(command -v sh)" "{self.programs}/$p"; done'
        text = APT.format(log=self.log, lists=self.lists, folder=self.folder, update=update, install=install or made)
        (self.programs / "apt-get").write_text(text, encoding="utf-8")
        (self.programs / "apt-get").chmod(0o755)

    def apt_lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def needs(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        environment = {"PATH": str(self.programs), "APT_LISTS": str(self.lists), **variables}
        answer = subprocess.run(
            ["/bin/sh", SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        return answer.returncode, answer.stdout, answer.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


INSTALL = "apt-get install -y --no-install-recommends netpipe-openmpi openmpi-bin"
APT_INSTALL = (
    "noninteractive -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends netpipe-openmpi openmpi-bin"
)


def test_nothing_missing_prints_nothing(machine: Machine) -> None:
    machine.add("mpirun.openmpi")
    machine.add("NPopenmpi")
    assert machine.needs() == (0, "", "")


def test_only_what_is_missing_is_installed_after_printing_the_line(machine: Machine) -> None:
    machine.add_apt()
    assert machine.needs() == (0, f"needs: {INSTALL}\n", "")
    assert machine.apt_lines() == [APT_INSTALL]
    assert machine.needs() == (0, "", "")
    assert machine.apt_lines() == [APT_INSTALL]


def test_without_lists_they_are_fetched_first(machine: Machine) -> None:
    machine.add_apt()
    (machine.lists / "mirror_main_Packages").unlink()
    assert machine.needs() == (0, f"needs: apt-get update\nneeds: {INSTALL}\n", "")
    assert machine.apt_lines() == ["noninteractive update -q", APT_INSTALL]


def test_old_lists_are_renewed_and_the_installation_tried_again(machine: Machine) -> None:
    machine.add_apt()
    (machine.folder / "fails-once").touch()
    assert machine.needs() == (0, f"needs: {INSTALL}\nneeds: apt-get update\n", "")
    assert machine.apt_lines() == [APT_INSTALL, "noninteractive update -q", APT_INSTALL]


def test_an_installation_that_fails_is_a_sentence_and_2(machine: Machine) -> None:
    machine.add_apt(install="exit 100", update=100)
    code, printed, complaint = machine.needs()
    assert (code, printed) == (2, f"needs: {INSTALL}\nneeds: apt-get update\n")
    assert complaint == (
        "needs: apt-get update failed; trying with the lists that are there\n"
        "needs: still missing after the installation: netpipe-openmpi openmpi-bin; type, and read what it says: "
        f"apt-get update && {INSTALL}\n"
    )


def test_an_installation_that_brings_nothing_is_no_success(machine: Machine) -> None:
    machine.add_apt(install="exit 0")
    code, _, complaint = machine.needs()
    assert code == 2
    assert complaint == (
        "needs: still missing after the installation: netpipe-openmpi openmpi-bin; type, and read what it says: "
        f"apt-get update && {INSTALL}\n"
    )


def test_install_0_installs_nothing(machine: Machine) -> None:
    machine.add_apt()
    assert machine.needs(INSTALL="0") == (
        2,
        "",
        "needs: missing on this machine: netpipe-openmpi openmpi-bin (INSTALL=0 says not to install); "
        f"type: {INSTALL}\n",
    )
    assert machine.apt_lines() == []


def test_an_ordinary_user_is_told_the_command(machine: Machine) -> None:
    machine.add_apt()
    machine.add("id", "echo 1000")
    assert machine.needs() == (
        2,
        "",
        f"needs: missing on this machine: netpipe-openmpi openmpi-bin (only root installs); type: sudo {INSTALL}\n",
    )
    assert machine.apt_lines() == []


def test_without_apt_the_packages_are_named(machine: Machine) -> None:
    assert machine.needs() == (
        2,
        "",
        "needs: missing on this machine: netpipe-openmpi openmpi-bin (Debian's package names), and there is no "
        "apt-get; install what your distribution calls these, then type the same command again\n",
    )


def test_the_python_part_asks_for_no_mpi(machine: Machine) -> None:
    assert machine.needs("python") == (0, "", "")


def test_without_any_python_its_packages_are_named(machine: Machine) -> None:
    machine.add_apt()
    (machine.programs / "python3").unlink()
    code, _, complaint = machine.needs("python", INSTALL="0")
    assert code == 2
    assert complaint == (
        "needs: missing on this machine: python3 python3-venv (INSTALL=0 says not to install); "
        "type: apt-get install -y --no-install-recommends python3 python3-venv\n"
    )


PYTHONS = [
    (
        "old",
        'case "$2" in *print*) echo 3.9.2;; *3,?10*) exit 1;; esac',
        "needs: old is Python 3.9.2, and Railyard needs 3.10 or newer; name one: make venv PYTHON=python3.11\n",
    ),
    (
        "broken",
        "exit 127",
        "needs: PYTHON=broken is no Python that runs; name one of 3.10 or newer: make venv PYTHON=python3.11\n",
    ),
    (
        "absent",
        None,
        "needs: PYTHON=absent is no Python that runs; name one of 3.10 or newer: make venv PYTHON=python3.11\n",
    ),
    (
        "bare",
        'case "$2" in *print*) echo 3.12.1;; *ensurepip*) exit 1;; esac',
        "needs: bare (3.12.1) cannot make a virtual environment: it lacks ensurepip or venv; name another: "
        "make venv PYTHON=/usr/bin/python3\n",
    ),
]


@pytest.mark.parametrize(("name", "body", "sentence"), PYTHONS)
def test_a_python_that_will_not_do_is_a_sentence(machine: Machine, name: str, body: str | None, sentence: str) -> None:
    if body is not None:
        machine.add(name, body)
    assert machine.needs("python", PYTHON=name) == (2, "", sentence)


def test_whatever_the_virtual_cluster_names_is_in_the_table() -> None:
    rows = [line.split() for line in SCRIPT.read_text(encoding="utf-8").splitlines()]
    table = {row[0]: row[1] for row in rows if len(row) > 2}
    assert {program: table.get(program) for program in PACKAGES} == PACKAGES


def test_an_unknown_part_is_a_sentence(machine: Machine) -> None:
    sentence = (
        "needs: no such part: pyhton; known: browser, python, sge, slurm, spack, tests, verbs, or nothing for what "
        "make run needs\n"
    )
    assert machine.needs("pyhton") == (2, "", sentence)


def test_the_browser_part_asks_for_chromium_alone_and_no_other_part_does(machine: Machine) -> None:
    machine.add_apt(install="exit 0")
    code, out, err = machine.needs("browser", INSTALL="0")
    assert (code, out) == (2, "")
    assert "needs: missing on this machine: chromium (INSTALL=0" in err
    for part in ("", "python", "verbs", "spack", "slurm", "sge", "tests"):
        assert "chromium" not in machine.needs(*part.split(), INSTALL="0")[2]


def test_the_spack_part_asks_for_compilers_too(machine: Machine) -> None:
    code, out, err = machine.needs("spack", INSTALL="0")
    assert (code, out) == (2, "")
    assert {"gfortran", "openmpi-bin"} <= set(err.split())


@pytest.mark.parametrize(("there", "is_named"), [("present", False), ("absent", True)])
def test_a_row_that_is_a_path_is_looked_for_as_a_file(tmp_path: Path, there: str, is_named: bool) -> None:
    """Headers and libraries are not programs, and a pattern may match the machine's own folder."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "present.h").touch()
    script = tmp_path / "needs.sh"
    text = SCRIPT.read_text(encoding="utf-8")
    row = f"{tmp_path}/inc*/{there}.h"
    script.write_text(text.replace("/usr/lib/*/libopenblas.so ", f"{row} "), encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", script, "spack"], env={"PATH": "/nowhere:/bin:/usr/bin", "INSTALL": "0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ("libopenblas-dev" in done.stderr.split()) is is_named
