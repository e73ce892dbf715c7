"""WRF's cases: inputs that must be there, lines of the job, and releases that belong to another case."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.wrf import (
    EDGES,
    GRIDS,
    NEEDED,
    copy_lines,
    fits,
    folder,
    is_refused,
    layout,
    other_release,
    ranks_per_node,
    small_patches,
)
from railyard.benchmarks.metrics import curves
from railyard.benchmarks.model import physics_of
from railyard.benchmarks.table.applications import WRF_CASES
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers import wrf
from railyard.parsers.output import Table

CASE = "conus12km-v4"


def table(version: str | None) -> Table:
    release = "" if version is None else f"WRF V{version} MODEL\n"
    text = (
        f"{release}Timing for main: time 2026-11-21_00:01:00 on domain   1:    2.75250 elapsed seconds\n"
        "Timing for main: time 2026-11-21_00:02:00 on domain   1:    0.75250 elapsed seconds\n"
        "d01 2026-11-21_00:02:00 wrf: SUCCESS COMPLETE WRF\n"
    )
    (found,) = wrf.parse(text).tables
    return found


def test_every_case_is_a_benchmark_of_its_own() -> None:
    assert [case for case in WRF_CASES if f"wrf/wrf/{case}" not in BENCHMARKS] == []


def test_the_inputs_of_a_case_are_found(tmp_path: Path) -> None:
    where = tmp_path / "inputs"
    where.mkdir()
    for name in (*NEEDED, EDGES):
        (where / name).write_text("x", encoding="ascii")
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
    (tmp_path / "namelist.input").write_text("x", encoding="ascii")
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
    ("case", "version", "why"),
    [
        ("conus12km-v3", "3.9.1.1", None),
        ("conus12km-v3", "3.4", None),
        ("conus12km-v4", "4.7.1", None),
        ("conus12km-v4", None, None),
        ("em_quarter_ss", "4.2.2", None),
        ("em_quarter_ss", "3.9.1.1", None),
        (
            "conus12km-v3",
            "4.5.1",
            "conus12km-v3 ran with WRF 4.5.1, expected up to 3.9: other releases have another case's inputs",
        ),
        (
            "conus2.5km-v4",
            "3.9.1",
            "conus2.5km-v4 ran with WRF 3.9.1, expected 4.0 or newer: other releases have another case's inputs",
        ),
    ],
)
def test_a_release_of_another_case_is_named(case: str, version: str | None, why: str | None) -> None:
    assert other_release(f"wrf/wrf/{case}", [table(version)]) == why
    assert other_release("wrf/wrf", [table(version)]) is None


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
    assert fits(case, ranks) is runs


def test_every_case_has_a_grid() -> None:
    assert set(GRIDS) == set(WRF_CASES)


def test_smaller_patches_that_were_asked_for_run_with_version_3_alone_and_are_said() -> None:
    assert not is_refused("conus12km-v3", 3136) and is_refused("conus12km-v4", 3136)
    assert small_patches("conus12km-v3", 3136) == (
        "patches of 7 x 5 points on 3136 ranks, as asked: below 10 a side halos are as large as patches"
    )
    assert small_patches("conus12km-v3", 900) is None


@pytest.mark.parametrize(
    ("case", "nodes", "cores", "shape"),
    [
        ("conus12km-v4", 8, 112, (8, 105)),  # 28 x 30
        ("conus12km-v4", 128, 112, (9, 100)),  # it takes at most 900 ranks: nine nodes have them
        ("conus12km-v4", 1, 112, (1, 112)),
        ("conus2.5km-v4", 8, 112, (8, 112)),
        ("em_quarter_ss", 4, 112, (2, 8)),  # two nodes, although one has more cores than it takes
        ("em_quarter_ss", 4, 1, (4, 1)),
        ("conus12km-v3", 56, 32, layout("conus12km-v4", 56, 32)),
        ("conus12km-v3", 128, 112, (9, 100)),
    ],
)
def test_a_case_has_as_many_ranks_as_it_takes(case: str, nodes: int, cores: int, shape: tuple[int, int]) -> None:
    assert layout(case, nodes, cores) == shape


def test_a_sweep_has_the_ranks_that_fit_each_of_its_nodes() -> None:
    counts = [ranks_per_node("conus12km-v4", nodes, 112) for nodes in (1, 2, 4, 8, 16, 32, 64)]
    assert counts == [112, 112, 112, 105, 49, 21, 9]


def test_nodes_on_which_no_number_of_ranks_fits_are_refused() -> None:
    with pytest.raises(RailyardError) as caught:
        ranks_per_node("em_quarter_ss", 32, 112)
    assert str(caught.value) == (
        "WRF: found no number of ranks for em_quarter_ss on 32 nodes of 112 cores, expected patches of at least "
        "10 x 10 of its 42 x 42 points; take fewer nodes or a larger case"
    )


def log(*lines: str) -> tuple[Table, ...]:
    return wrf.parse("\n".join((*lines, "wrf: SUCCESS COMPLETE WRF\n"))).tables


def a_step(number: int, seconds: float) -> str:
    return f"Timing for main: time 2026-11-21_00:{number:02}:00 on domain   1:{seconds:11.5f} elapsed seconds"


WRITING = "Timing for Writing wrfout_d01_2026-11-21_00:02:00 for domain        1:    4.00000 elapsed seconds"


def test_a_step_that_wrote_a_file_is_not_in_the_time_per_step() -> None:
    tables = log(a_step(1, 9), a_step(2, 0.5), WRITING, a_step(3, 4.5), a_step(4, 0.7), WRITING)
    (main,) = (table for table in tables if table.context["kind"] == "main")
    (curve,) = curves(main, "wrf/wrf/conus12km-v4")
    assert list(curve.values) == pytest.approx([0.6])
    physics = physics_of(BENCHMARKS["wrf/wrf/conus12km-v4"])
    assert physics.remarks("wrf/wrf/conus12km-v4", tables) == (
        "1 step that also wrote a file: left out of the time per step",
    )
    (speed,) = physics.figures(tables)
    assert (speed.name, speed.unit) == ("simulated_over_elapsed", "times")
    assert speed.value == pytest.approx(60 / 0.6)


def test_a_run_whose_steps_all_wrote_a_file_has_no_time_per_step() -> None:
    tables = log(a_step(1, 9), WRITING, a_step(2, 4.5), WRITING, a_step(3, 4.5))
    (main,) = (table for table in tables if table.context["kind"] == "main")
    with pytest.raises(ValueError, match="3 rows, too few for a runtime"):
        curves(main, "wrf/wrf/conus12km-v4")
    assert physics_of(BENCHMARKS["wrf/wrf/conus12km-v4"]).figures(tables) == ()
