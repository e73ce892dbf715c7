"""Every environment of spack_envs/ for aarch64: a real Spack solves it for Neoverse V2; nothing is built.

Spack takes this machine for a Grace node (tests/made/as_grace). Compilers and vendors' libraries are externals, as on
such a system.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.provision.spack import build, locks, program
from railyard.provision.spack.request import Request
from railyard.stacks.model import STACKS

CLONE = Path(__file__).parents[2]
PROCESSOR = "neoverse_v2"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(program.program(CLONE) is None, reason="there is no Spack: nothing is asked of the real one"),
]
OVERLAY = """\
packages:
  gcc:
    buildable: false
    externals:
    - spec: gcc@13.2.0 languages='c,c++,fortran'
      prefix: /usr
      extra_attributes:
        compilers: {c: /usr/bin/gcc, cxx: /usr/bin/g++, fortran: /usr/bin/gfortran}
  hpcx-mpi:
    externals: [{spec: hpcx-mpi@2.25, prefix: /opt/hpcx/ompi}]
  cray-mpich:
    externals: [{spec: cray-mpich@8.1.30 +wrappers, prefix: /opt/cray/pe/mpich/8.1.30/ofi/gnu/12.3}]
"""
#: The packages that each environment asks for in any case.
ASKED = {"osu-micro-benchmarks", "intel-mpi-benchmarks", "hpl", "netpipe", "npb"}
#: Intel MPI is left out by a rule (Stack.families). Spack says: "This package in only available for x86_64 and Linux".
SOLVED = sorted(path.parent.name for path in CLONE.glob("spack_envs/*/spack.yaml") if path.parent.name != "intelmpi")


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Request:
    monkeypatch.setenv("PYTHONPATH", str(CLONE / "tests/made/as_grace"))
    # What was solved for this machine is kept there.
    monkeypatch.setenv("SPACK_USER_CACHE_PATH", str(tmp_path / "cache"))
    overlay = tmp_path / "systems/spack/grace.yaml"
    overlay.parent.mkdir(parents=True)
    overlay.write_text(OVERLAY, encoding="utf-8")
    return Request(tmp_path, "grace", "", "", tmp_path / "spack", (), processor=PROCESSOR)


def solve(request_: Request, stack: str) -> locks.Lock:
    asked = replace(request_, stack=stack, environment=stack)
    return locks.parse(build.relock(asked, lambda line: None).text, f"{stack}.lock")


@pytest.mark.parametrize(
    "stack", [name if name == "verbs" else pytest.param(name, marks=pytest.mark.full) for name in SOLVED]
)
def test_an_environment_is_solved_for_neoverse_v2(request_: Request, stack: str) -> None:
    lock = solve(request_, stack)
    assert {lock.specs[key].target for _, key in lock.roots} == {PROCESSOR}
    assert {spec.target for spec in lock.specs.values()} <= {PROCESSOR, "aarch64"}  # aarch64: compilers
    names = {text.split()[0] for text, _ in lock.roots}
    assert names == ({"perftest"} if stack == "verbs" else ASKED)
    if stack != "verbs":
        assert lock.mpi is not None and lock.mpi.name == STACKS[stack].spack_package
