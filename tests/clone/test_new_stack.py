"""A trial: a new MPI stack needs only an entry, its test and a folder for Spack."""

from pathlib import Path

import pytest

from tests.made.clone import copy_of_clone, run_module

ENTRY = '''\
"""Gantry MPI: MPICH with a launcher of its own."""

from collections.abc import Mapping
from dataclasses import replace

from railyard.stacks.entries.mpich import MPICH
from railyard.stacks.model import Stack, VersionProgram

STACKS: Mapping[str, Stack] = {
    "gantry": replace(
        MPICH,
        title="Gantry MPI",
        version_pattern=r"^Gantry MPI Version:",
        told_apart="nothing else begins so",
        spack_package="gantry-mpi",
        programs=(VersionProgram(("gantry_info",), r"^Gantry MPI (\\S+)"),),
        module="gantry",
    )
}
'''
TEST = '''\
"""Gantry MPI is told the devices of a run as MPICH is."""

from railyard.stacks import ask


def test_two_rails_are_striped() -> None:
    told = ask.settings("gantry", "ib", ("mlx5_0:1", "mlx5_1:1"), 2, None)
    assert (told.policy, told.env["UCX_NET_DEVICES"]) == ("striping", "mlx5_0:1,mlx5_1:1")
'''
ENVIRONMENT = """\
spack:
  include: [../common]
  specs: [$benchmarks]
  packages:
    mpi:
      require: [gantry-mpi]
    gantry-mpi:
      prefer:
      - "@1.0" # newest
  view: false
"""
#: What a node with it shows in addition: lines of a recording.
SHOWN = """\
which gantry_info = /opt/gantry/bin/gantry_info
$ gantry_info <<
| Gantry MPI 1.0
"""
#: The tests that compare stacks with each other, with Spack's folders and with the pages.
TOUCHED = (
    *("tests/stacks", "tests/clone/test_spack_envs.py", "tests/clone/test_docs.py"),
    "tests/provision/spack/test_program_versions.py",
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clone with three more files."""
    clone = copy_of_clone(tmp_path_factory.mktemp("trial"))
    (clone / "railyard/stacks/entries/gantry.py").write_text(ENTRY)
    (clone / "tests/stacks/test_gantry.py").write_text(TEST)
    (clone / "spack_envs/gantry").mkdir()
    (clone / "spack_envs/gantry/spack.yaml").write_text(ENVIRONMENT)
    return clone


@pytest.mark.full  # reads and runs what a contributor would run: seconds
def test_no_test_of_the_clone_turns_red(clone: Path) -> None:
    done = run_module(clone, "pytest", "-q", "-p", "no:cacheprovider", *TOUCHED)
    assert done.returncode == 0, done.stdout
    assert "gantry" not in (clone / "docs/reference/stacks.md").read_text(encoding="utf-8")


def test_a_node_that_has_it_shows_it(clone: Path) -> None:
    node = (clone / "tests/trees/dual-rail-hdr.tree").read_text(encoding="utf-8")
    (clone / "node.tree").write_text(node + SHOWN, encoding="utf-8")
    done = run_module(clone, "railyard", "detect", "--root", "node.tree", "--name", "site")
    assert "\n  gantry:  # gantry_info says version 1.0\n    prefix: /opt/gantry\n" in done.stdout, done


def test_its_page_is_written_by_a_command(clone: Path) -> None:
    done = run_module(clone, "railyard.stacks.document")
    assert "\n## gantry\n" in done.stdout
    stale = done.stdout.replace("MPIR_CVAR_CH4_NETMOD=ucx", "MPIR_CVAR_CH4_NETMOD=ofi", 1)
    (clone / "docs/reference/stacks.md").write_text(stale, encoding="utf-8")
    page = run_module(clone, "pytest", "-q", "-p", "no:cacheprovider", "tests/stacks/test_table.py", "-k", "page")
    assert page.returncode == 1 and "type make docs" in page.stdout


NO_KNOBS = """\
from dataclasses import replace

from railyard.stacks.entries.gantry import STACKS as _GANTRY

_TCP = _GANTRY["gantry"].ways["tcp"]
STACKS = {"winch": replace(_GANTRY["gantry"], ways={**_GANTRY["gantry"].ways, "tcp": replace(_TCP, FIELDS)})}
"""


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            "knobs={'gid_index': 'none'}",
            "/winch.py: winch: ways[tcp] (ch4:ucx over tcp): found no knobs traffic_class, service_level, expected "
            "each of gid_index, traffic_class, service_level, and no other: state each in knobs, as a Setting or with "
            "the reason why it cannot be set\n",
        ),
        ("cannot={}", "/winch.py: winch: ways[tcp] (ch4:ucx over tcp): found no policies round-robin, nic-per-rank, "),
        ("knobz={}", "/winch.py:6: found TypeError: Way.__init__() got an unexpected keyword argument 'knobz', "),
    ],
)
def test_a_wrong_entry_is_one_sentence(clone: Path, fields: str, sentence: str) -> None:
    entry = clone / "railyard/stacks/entries/winch.py"
    entry.write_text(NO_KNOBS.replace("FIELDS", fields), encoding="utf-8")
    try:
        for command in ("lint", "matrix"):
            done = run_module(clone, "railyard", command)
            assert (done.returncode, done.stdout) == (2, ""), done.stderr
            assert sentence in done.stderr and done.stderr.count("\n") == 1
    finally:
        entry.unlink()
