"""WRF's cases: inputs that must be there, lines of the job, and releases that belong to another case."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.wrf import (
    GRIDS,
    Grid,
    compare_lines,
    copy_lines,
    fits,
    folder,
    grid,
    inputs_of,
    is_refused,
    layout,
    ranks_per_node,
    read,
    small_patches,
)
from railyard.benchmarks.table.applications import WRF_CASES
from railyard.benchmarks.table.micro import BENCHMARKS

CASE = "conus12km-v4"
#: A namelist as far as the inputs' names follow from it.
BEGINS = "&time_control\n/\n&domains\n/\n"
GOES_ON = (
    "&time_control\n start_year = 2019,\n start_month = 11,\n start_day = 26,\n start_hour = 23,\n"
    " restart = .true.,\n/\n"
    "&domains\n e_we = 1501,\n e_sn = 1201,\n/\n"
)
RESTART = "wrfrst_d01_2019-11-26_23:00:00"


def test_every_case_is_a_benchmark_of_its_own() -> None:
    assert [case for case in WRF_CASES if f"wrf/wrf/{case}" not in BENCHMARKS] == []


def test_the_inputs_of_a_case_are_found(tmp_path: Path) -> None:
    where = tmp_path / "inputs"
    where.mkdir()
    for name in inputs_of(CASE, None):
        (where / name).write_text(BEGINS, encoding="ascii")
    assert folder({CASE: "{home}/inputs"}, CASE, tmp_path, "mine") == where
    assert folder({CASE: "inputs"}, CASE, tmp_path, "mine") == where
    (where / "wrfbdy_d01").unlink()
    with pytest.raises(RailyardError) as caught:
        folder({CASE: "inputs"}, CASE, tmp_path, "mine")
    assert str(caught.value) == (
        f"systems/mine.yaml: wrf_cases.conus12km-v4: found no wrfbdy_d01 in {where}, expected namelist.input, "
        "wrfinput_d01, wrfbdy_d01; fetch the case's inputs into it"
    )
    with pytest.raises(RailyardError) as caught:
        folder({}, CASE, tmp_path, "mine")
    assert str(caught.value) == (
        "systems/mine.yaml: wrf_cases.conus12km-v4: found none, expected the folder of the case's inputs"
    )


def test_an_idealized_case_has_no_weather_at_its_edges_and_its_inputs_are_made(tmp_path: Path) -> None:
    (tmp_path / "namelist.input").write_text(BEGINS, encoding="ascii")
    with pytest.raises(RailyardError) as caught:
        folder({"em_quarter_ss": "."}, "em_quarter_ss", tmp_path, "mine")
    assert str(caught.value) == (
        f"systems/mine.yaml: wrf_cases.em_quarter_ss: found no wrfinput_d01 in {tmp_path}, expected namelist.input, "
        "wrfinput_d01; run WRF's ideal.exe, which makes wrfinput_d01"
    )
    (tmp_path / "wrfinput_d01").write_text("x", encoding="ascii")
    assert folder({"em_quarter_ss": "."}, "em_quarter_ss", tmp_path, "mine") == tmp_path


def test_the_job_checks_what_it_copies_and_prints_the_logs_whatever_happens() -> None:
    lines = copy_lines(Path("/data/a case"), "/opt/wrf/main/wrf.exe")
    assert lines[0].startswith("trap ") and lines[0].endswith(" EXIT")
    assert "rsl.error.0000" in lines[0]
    assert lines[1:3] == ["cp -R -L /opt/wrf/run/. .", "cp -R -L '/data/a case'/. ."]
    assert lines[-1].startswith(
        "[ ! -f SHA256SUMS ] || bad=$(LC_ALL=C sha256sum --check --quiet --strict SHA256SUMS 2>&1) || {"
    )


def test_a_changed_input_ends_the_job_in_a_sentence(tmp_path: Path) -> None:
    inputs, stage = tmp_path / "inputs", tmp_path / "stage"
    stage.mkdir()
    (tmp_path / "run").mkdir()
    inputs.mkdir()
    (inputs / "wrfinput_d01").write_text("weather", encoding="ascii")
    digest = hashlib.sha256(b"weather").hexdigest()
    (inputs / "SHA256SUMS").write_text(f"{digest}  wrfinput_d01\n", encoding="ascii")
    job = "\n".join(["set -e", *copy_lines(inputs, str(tmp_path / "main" / "wrf.exe")), "echo begun"])
    whole = subprocess.run(["sh", "-c", job], cwd=stage, capture_output=True, text=True, check=False)
    assert (whole.returncode, whole.stdout, whole.stderr) == (0, "begun\n", "")
    (inputs / "wrfinput_d01").write_text("wether", encoding="ascii")
    changed = subprocess.run(["sh", "-c", job], cwd=stage, capture_output=True, text=True, check=False)
    assert (changed.returncode, changed.stdout) == (66, "")
    assert changed.stderr == (
        f"railyard: error: files in {inputs} do not fit its SHA256SUMS "
        "(wrfinput_d01: FAILED sha256sum: WARNING: 1 computed checksum did NOT match): fetch them again\n"
    )


@pytest.mark.parametrize(
    ("there", "how"),
    [
        ("", "fetch the case's inputs into it, or set time_control.restart to .false."),
        (
            "wrfrst_d01_2019-11-26_23:00:00.gnu",
            "WRF looks for that name alone: ln -s wrfrst_d01_2019-11-26_23:00:00.gnu wrfrst_d01_2019-11-26_23:00:00",
        ),
        (
            "wrfrst_d01_2019-11-26_23_00_00",
            "WRF looks for that name alone: ln -s wrfrst_d01_2019-11-26_23_00_00 wrfrst_d01_2019-11-26_23:00:00",
        ),
    ],
)
def test_a_restart_needs_its_file_by_the_name_that_wrf_looks_for(tmp_path: Path, there: str, how: str) -> None:
    (tmp_path / "namelist.input").write_text(GOES_ON, encoding="ascii")
    (tmp_path / "wrfbdy_d01").touch()
    if there:
        (tmp_path / there).touch()
    with pytest.raises(RailyardError) as caught:
        folder({CASE: "."}, CASE, tmp_path, "mine")
    assert str(caught.value) == (
        f"systems/mine.yaml: wrf_cases.conus12km-v4: found no {RESTART} in {tmp_path}, expected namelist.input, "
        f"{RESTART}, wrfbdy_d01; {how}"
    )
    (tmp_path / RESTART).touch()
    assert folder({CASE: "."}, CASE, tmp_path, "mine") == tmp_path


def test_the_namelist_says_the_grid_and_else_the_case_does() -> None:
    assert grid("conus2.5km-v4", read(GOES_ON, "namelist.input")) == Grid("conus2.5km-v4", 1501, 1201)
    assert grid("conus2.5km-v4", read(BEGINS, "namelist.input")) == Grid("conus2.5km-v4", 1901, 1301)


def test_a_field_is_compared_with_its_reference_and_never_with_itself(tmp_path: Path) -> None:
    made = "wrfout_d01_2019-11-27_00:00:00"
    program = tmp_path / "wrf/external/io_netcdf/diffwrf"
    lines = compare_lines(str(tmp_path / "wrf/main/wrf.exe"))
    stage = tmp_path / "stage"
    stage.mkdir()
    (stage / f"{made}.orig").touch()
    (stage / made).write_text("came with the inputs", encoding="ascii")

    def run() -> list[str]:
        job = "\n".join(["set -e", *lines, "compare_fields"])
        done = subprocess.run(["sh", "-c", job], cwd=stage, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    begun = f"railyard: compare {made} with {made}.orig"
    assert run() == [begun, f"railyard: found no {program}", "railyard: compared"]
    assert not (stage / made).exists()
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho " Diffing $1 $2"\nexit 3\n', encoding="ascii")
    program.chmod(0o755)
    assert run() == [begun, f" Diffing {made} {made}.orig", "railyard: compared"]
    (stage / f"{made}.orig").unlink()
    assert run() == []


@pytest.mark.parametrize(
    ("case", "ranks", "runs"),
    [
        ("conus12km-v4", 900, True),  # 30 x 30 patches of 14 x 10 points
        ("conus12km-v4", 896, False),  # 28 x 32: nine points from south to north, where the larger factor is
        ("conus12km-v4", 448, True),  # 16 x 28
        ("conus12km-v4", 31, False),  # a prime is one row: nine points
        ("conus12km-v4", 29, True),
        ("conus2.5km-v4", 130 * 130, True),
        ("conus2.5km-v4", 131 * 131, False),
        ("em_quarter_ss", 16, True),
        ("em_quarter_ss", 20, False),  # 4 x 5: eight points
        ("conus12km-v3", 900, True),
        ("conus12km-v3", 1792, False),  # WRF 3 runs it, on patches of five points (csd3-2020 did)
        ("conus2.5km-v3", 120 * 120, True),
        ("conus2.5km-v3", 14336, False),  # 112 x 128: nine points from south to north
    ],
)
def test_a_patch_has_ten_points_a_side_at_least(case: str, ranks: int, runs: bool) -> None:
    assert fits(grid(case), ranks) is runs


def test_every_case_has_a_grid() -> None:
    assert set(GRIDS) == set(WRF_CASES)


def test_smaller_patches_that_were_asked_for_run_with_version_3_alone_and_are_said() -> None:
    assert not is_refused(grid("conus12km-v3"), 3136) and is_refused(grid("conus12km-v4"), 3136)
    assert small_patches(grid("conus12km-v3"), 3136) == (
        "patches of 7 x 5 points on 3136 ranks, as asked: below 10 a side halos are as large as patches"
    )
    assert small_patches(grid("conus12km-v3"), 900) is None


@pytest.mark.parametrize(
    ("case", "nodes", "cores", "shape"),
    [
        ("conus12km-v4", 8, 112, (8, 105)),  # 28 x 30
        ("conus12km-v4", 128, 112, (9, 100)),  # it takes at most 900 ranks: nine nodes have them
        ("conus12km-v4", 1, 112, (1, 112)),
        ("conus2.5km-v4", 8, 112, (8, 112)),
        ("em_quarter_ss", 4, 112, (2, 8)),  # two nodes, although one has more cores than it takes
        ("em_quarter_ss", 4, 1, (4, 1)),
        ("conus12km-v3", 56, 32, layout(grid("conus12km-v4"), 56, 32)),
        ("conus12km-v3", 128, 112, (9, 100)),
    ],
)
def test_a_case_has_as_many_ranks_as_it_takes(case: str, nodes: int, cores: int, shape: tuple[int, int]) -> None:
    assert layout(grid(case), nodes, cores) == shape


def test_a_sweep_has_the_ranks_that_fit_each_of_its_nodes() -> None:
    counts = [ranks_per_node(grid("conus12km-v4"), nodes, 112) for nodes in (1, 2, 4, 8, 16, 32, 64)]
    assert counts == [112, 112, 112, 105, 49, 21, 9]


def test_nodes_on_which_no_number_of_ranks_fits_are_refused() -> None:
    with pytest.raises(RailyardError) as caught:
        ranks_per_node(grid("em_quarter_ss"), 32, 112)
    assert str(caught.value) == (
        "WRF: found no number of ranks for em_quarter_ss on 32 nodes of 112 cores, expected patches of at least "
        "10 x 10 of its 42 x 42 points; take fewer nodes or a larger case"
    )
