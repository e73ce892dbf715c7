"""Wrong settings on the real virtual cluster: a variable, an MTU, two networks."""

import shutil

import pytest

from railyard.parsers.failure_lines import OTHER_HEAP
from railyard.provision.testbed.cluster import Testbed
from railyard.verdict.wording import IDLE_SECOND
from tests.e2e.conftest import CLONE, VirtualSite

pytestmark = [pytest.mark.e2e, pytest.mark.full]

TESTS = CLONE / "tests"
CELL = ("--system", "virtual:hsn", "-n", "ImbPingPong%rails=1", "-p", "mpich", "-P", "policy=default")


@pytest.mark.fault("stack", "a wrapper exports another UCX_TLS", 'UCX_TLS is "tcp,self,posix" in the environment of')
def test_a_variable_that_a_wrapper_exports_is_named_with_both_values(site: VirtualSite, promise: str) -> None:
    wrapper = site.folder / "IMB-MPI1"
    program = CLONE / ".stacks/intelmpi/bin/IMB-MPI1"
    wrapper.write_text(f'#!/bin/sh\nUCX_TLS=tcp,self,posix\nexport UCX_TLS\n{program} "$@"\n')
    wrapper.chmod(0o755)
    site.edit("systems/virtual.yaml", "imb: .stacks/intelmpi/bin/IMB-MPI1", f"imb: {wrapper}")
    ran = site.run(*CELL)
    assert f'{promise} IMB-MPI1 on vn1, expected "tcp,self"' in ran.record.found.verdict.text
    assert (ran.record.found.verdict.rule, ran.record.found.verdict.class_) == (1, "set-up")
    assert (ran.record.how.variables["UCX_TLS"], ran.record.found.verdict.suspects) == ("tcp,self,posix", ())


def enter(bed: Testbed, *words: str) -> None:
    done = bed.exec("vn2", ["ip", *words])
    assert done.returncode == 0, done.stderr


@pytest.mark.fault("rail", "one node's interface has an MTU of 1400", "the MTU of hsn0 is 1400 on vn2, expected 1500")
def test_an_mtu_of_one_end_is_named(site: VirtualSite, promise: str) -> None:
    with site.bed_of_system() as bed:
        enter(bed, "link", "set", "hsn0", "mtu", "1400")
        ran = site.run(*CELL)
    assert f"{promise} (systems/virtual.yaml, fabrics.hsn)" in ran.record.found.verdict.text
    assert (ran.record.found.verdict.rule, ran.record.found.verdict.suspects) == (1, ())


@pytest.mark.fault(
    "rail", "the addresses of a node's two rails are swapped", "expected rails of one name in one network"
)
def test_swapped_interfaces_are_named_as_wiring(site: VirtualSite, promise: str) -> None:
    with site.bed_of_system() as bed:
        spec = bed.spec
        for device, other in (("hsn0", "hsn1"), ("hsn1", "hsn0")):
            enter(bed, "address", "flush", "dev", device)
            enter(bed, "address", "add", f"{spec.address('vn2', other)}/24", "dev", device)
        ran = site.run(*CELL)
    text = ran.record.found.verdict.text
    assert f"wiring: hsn0 of vn1 is in {spec.network('hsn0').subnet}, where vn2 has hsn1" in text
    assert promise in text
    assert (ran.record.found.verdict.class_, ran.record.found.verdict.suspects) == ("set-up", ())


@pytest.mark.fault(
    "stack", "mpirun of Open MPI in MPICH's prefix", "it belongs to Open MPI, expected the launcher of MPICH"
)
def test_the_launcher_of_another_library_is_named(site: VirtualSite, promise: str) -> None:
    programs = site.folder / "mixed" / "bin"
    programs.mkdir(parents=True)
    (programs / "mpirun").symlink_to(CLONE / ".stacks/openmpi/bin/mpirun")
    (programs.parent / "lib").symlink_to(CLONE / ".stacks/mpich/lib")
    site.edit("systems/virtual.yaml", "prefix: .stacks/mpich", f"prefix: {programs.parent}")
    ran = site.run(*CELL)
    assert promise in ran.record.found.verdict.text
    assert (ran.record.found.verdict.rule, ran.record.found.verdict.suspects) == (1, ())


@pytest.mark.fault("stack", "another UCX comes first in LD_LIBRARY_PATH", "expected UCX of")
def test_another_ucx_than_the_stacks_is_named_unless_the_file_names_it(site: VirtualSite, promise: str) -> None:
    own, other = CLONE / ".stacks/mpich/lib/mpich", site.folder / "other"
    other.mkdir()
    for library in own.glob("libuc*.so*"):
        shutil.copy(library, other)
    shutil.copytree(own / "ucx", other / "ucx")
    old = 'env:\n      LD_LIBRARY_PATH: "{prefix}/lib"\n  intelmpi:'
    site.edit("systems/virtual.yaml", old, old.replace("/lib", f"/lib:{other}"))
    ran = site.run(*CELL)
    prefix = f"{site.folder}/.stacks/mpich"
    assert f"{other}/libuc" in ran.record.found.verdict.text and f"{promise} {prefix};" in ran.record.found.verdict.text
    assert "libraries of that stack in the system's file" in ran.record.found.verdict.text
    assert (ran.record.found.verdict.rule, ran.record.found.verdict.class_, ran.record.found.verdict.suspects) == (
        1,
        "set-up",
        (),
    )
    site.edit(
        "systems/virtual.yaml", "    prefix: .stacks/mpich\n", f"    prefix: .stacks/mpich\n    libraries: [{other}]\n"
    )
    ran = site.run(*CELL)
    assert ran.record.found.state == "pass", ran.record.found.verdict.text
    assert "not proven" not in ran.record.found.verdict.text


@pytest.mark.fault("scheduler", "Slurm's pmi2 breaks the first start of MPICH", "1 earlier start failed by a bug of")
def test_a_start_that_the_launchers_bug_ended_is_made_again(site: VirtualSite, promise: str) -> None:
    genuine = TESTS / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"
    wrapper, program = site.folder / "IMB-MPI1", CLONE / ".stacks/intelmpi/bin/IMB-MPI1"
    # As the bug does: with the same memory the start fails each time.
    wrapper.write_text(
        f'#!/bin/sh\n[ "$GLIBC_TUNABLES" = {OTHER_HEAP} ] && exec {program} "$@"\ncat {genuine} >&2\nexit 15\n'
    )
    wrapper.chmod(0o755)
    site.edit("systems/virtual.yaml", "imb: .stacks/intelmpi/bin/IMB-MPI1", f"imb: {wrapper}")
    ran = site.run(*CELL)
    assert (ran.code, ran.record.found.state) == (0, "pass"), ran.record.found.verdict.text
    assert f"{promise} the launcher" in ran.record.found.verdict.text
    assert "mpi/pmi2: value not properly terminated" in ran.record.how.attempts[0].sentence


@pytest.mark.fault("path", "UCX_RNDV_THRESH=inf in a wrapper: no message is split", 'UCX_RNDV_THRESH is "inf" in the')
def test_the_variable_that_leaves_a_rail_idle_is_named(site: VirtualSite, promise: str) -> None:
    wrapper, program = site.folder / "IMB-MPI1", CLONE / ".stacks/intelmpi/bin/IMB-MPI1"
    wrapper.write_text(f'#!/bin/sh\nUCX_RNDV_THRESH=inf exec {program} "$@"\n')
    wrapper.chmod(0o755)
    site.edit("systems/virtual.yaml", "imb: .stacks/intelmpi/bin/IMB-MPI1", f"imb: {wrapper}")
    record = site.cell("ImbUniband", "mpich", 2).record
    assert IDLE_SECOND in record.found.verdict.text
    assert (
        f"{promise} environment of IMB-MPI1 on vn1: UCX splits only messages of that size" in record.found.verdict.text
    )
    assert (record.found.verdict.rule, {suspect.kind for suspect in record.found.verdict.suspects}) == (4, {"stack"})
    assert record.found.verdict.next == "that variable in env of the system's file, in modules, profiles and wrappers"
