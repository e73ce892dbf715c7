"""`railyard apps inputs`: its lines, its exit code, and the SHA256SUMS that it writes."""

import json
from pathlib import Path

import pytest

from railyard.cli.main import main

NAMELIST = "&domains\n time_step = 12,\n e_we = 42,\n e_sn = 42,\n/\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from scipy.io import netcdf_file

    (tmp_path / "namelist.input").write_text(NAMELIST, encoding="ascii")
    with netcdf_file(tmp_path / "wrfinput_d01", "w") as file:
        file.createDimension("west_east_stag", 42)
        file.createVariable("MU", "f4", ("west_east_stag",))[:] = 1.0
    return tmp_path


def test_a_folder_that_fits_is_said_with_what_was_not_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apps", "inputs", "em_quarter_ss", str(folder)]) == 0
    assert capsys.readouterr().out == (
        "fits: wrfinput_d01: netCDF, whole, 42 points\n"
        "remark: reference field: found no wrfout_d01_*.orig: only what WRF prints is checked of the answer, no field\n"
        "remark: checksums: no SHA-256 was compared: nobody publishes one\n"
        f"em_quarter_ss in {folder}: 0 problems, 2 remarks\n"
    )


def test_a_folder_that_does_not_fit_ends_with_1_and_is_not_sealed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrfinput_d01").write_bytes(b"weather")
    assert main(["apps", "inputs", "em_quarter_ss", str(folder), "--write", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["fits"] == [] and told["findings"][0] == {
        "where": "wrfinput_d01",
        "weight": "problem",
        "sentence": "wrfinput_d01: found b'weather' at its beginning, expected a netCDF file; fetch it again",
    }
    assert not (folder / "SHA256SUMS").exists()


def test_sums_are_written_once_and_then_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["apps", "inputs", "em_quarter_ss", str(folder)]
    assert main([*words, "--write"]) == 0
    capsys.readouterr()
    assert main(words) == 0
    assert "fits: SHA256SUMS: every file that it names\n" in capsys.readouterr().out
    assert main([*words, "--write"]) == 2
    assert "SHA256SUMS, expected none; remove it first" in capsys.readouterr().err
    (folder / "namelist.input").write_text(f"{NAMELIST}!\n", encoding="ascii")
    assert main(words) == 1


def test_a_case_that_does_not_exist_is_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apps", "inputs", "conus12km", str(folder)]) == 2
    assert 'did you mean "conus12km-v' in capsys.readouterr().err
