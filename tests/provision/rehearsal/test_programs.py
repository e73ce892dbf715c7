"""The stand-in programs: one for each program that a check asks for, and what they say where they cannot stand in."""

import subprocess
from pathlib import Path

from railyard.benchmarks.table import micro
from railyard.provision.installed_stack import find_stack, has_text
from railyard.provision.rehearsal.prepare import names
from railyard.rfm.checks.microbench import FLOATS, VALIDATION_OPTION
from railyard.site.site import Site
from tests.provision.rehearsal.conftest import Bed


def test_each_program_is_found_where_a_check_looks_for_it(bed: Bed) -> None:
    there = find_stack(bed.site, "openmpi")
    for tool, asked in {
        "osu": ("osu_bw", "osu_allreduce", "osu_init", "osu_put_bw", "osu_multi_lat", "osu_barrier"),
        "npb": ("ft.A.x", "ft.C.x", "ep.C.x"),
        "npb-mz": ("bt-mz.C.x",),
        "milc": ("su3_rmd",),
        "gpcnet": ("network_test", "network_load_test"),
        "imb": ("",), "hpl": ("",), "hpcc": ("",), "netpipe": ("",), "pairs": ("",), "stream": ("",), "wrf": ("",),
    }.items():  # fmt: skip
        for program in asked:
            path = Path(there.executable(tool, program))
            assert path.is_file() and path.stat().st_mode & 0o111, path
    verbs = find_stack(bed.site, "verbs")
    for key in (key for key in micro.BENCHMARKS if key.startswith("perftest/ib_")):
        assert Path(verbs.executable("perftest", key.split("/")[1])).is_file()


def test_osu_has_the_options_that_checks_look_for(bed: Bed) -> None:
    program = bed.program("openmpi", "osu", "osu_reduce")
    assert has_text(program, VALIDATION_OPTION) and has_text(program, FLOATS)


def test_the_shell_takes_each_of_them(bed: Bed) -> None:
    for stack, tool, name in (("openmpi", "osu", "osu_bw"), ("verbs", "perftest", "ib_write_bw")):
        assert subprocess.run(["sh", "-n", bed.program(stack, tool, name)], check=False).returncode == 0


def test_ldd_takes_them_for_scripts(bed: Bed) -> None:
    said = subprocess.run(
        ["ldd", bed.program("openmpi", "imb", "")], capture_output=True, text=True, check=False, env={"LC_ALL": "C"}
    )
    assert "not a dynamic executable" in said.stdout + said.stderr


def test_netpipe_has_another_program_without_mpi(roomy: Site) -> None:
    assert [*names("netpipe", True, roomy.system)] == ["NPtcp"]
    assert [*names("netpipe", False, roomy.system)] == ["NPmpi"]


def test_without_a_rehearsal_a_stand_in_refuses(bed: Bed, tmp_path: Path) -> None:
    program = bed.program("openmpi", "osu", "osu_bw")
    ran = subprocess.run(
        [program], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1 and ran.stdout == ""
    assert "found no RAILYARD_REHEARSAL: a stand-in runs only in a rehearsal" in ran.stderr
