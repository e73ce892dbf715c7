"""Folders of WRF's inputs: what fits, what is wrong, what was not checked. The test writes them, without weather."""

import hashlib
import io
import struct
import tarfile
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.io import netcdf_file

from railyard.base.errors import Finding, RailyardError
from railyard.benchmarks.apps import wrf_inputs
from railyard.benchmarks.apps.wrf_inputs import PUBLISHED, Report, check_inputs, checksums

CASE = "conus12km-v4"
NAMELIST = """\
&time_control
 run_hours = 12,
 start_year = 2019,
 start_month = 11,
 start_day = 26,
 start_hour = 12,
/
&domains
 time_step = 72,
 e_we = 425,
 e_sn = 300,
 e_vert = 50,
/
"""
REFERENCE = "wrfout_d01_2019-11-27_00:00:00.orig"


def write_netcdf(path: Path, start: str = "2019-11-26_12:00:00", west_east: int = 425, release: str = "4.4") -> None:
    with netcdf_file(path, "w", version=2) as file:
        file.TITLE = f" OUTPUT FROM REAL_EM V{release} PREPROCESSOR"
        file.START_DATE = start
        file.createDimension("Time", None)
        for name, size in (("west_east_stag", west_east), ("south_north_stag", 300), ("bottom_top_stag", 50)):
            file.createDimension(name, size)
        values = file.createVariable("ZNW", "f4", ("Time", "bottom_top_stag"))
        values[0] = range(50)
        file.createVariable("MU", "f4", ("west_east_stag",))[:] = 1.0


def write_netcdf4(path: Path, length: int) -> None:
    """Write the first bytes of an HDF5 file (superblock version 2) that says how long it is."""
    begins = b"\x89HDF\r\n\x1a\n" + bytes([2, 8, 8, 0]) + struct.pack("<QQQQ", 0, 2**64 - 1, length, 48)
    path.write_bytes(begins + bytes(200 - len(begins)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The whole inputs of a case, with a reference field."""
    made = tmp_path / "inputs"
    made.mkdir()
    (made / "namelist.input").write_text(NAMELIST, encoding="ascii")
    for name in ("wrfinput_d01", "wrfbdy_d01", REFERENCE):
        write_netcdf(made / name)
    return made


@pytest.fixture
def archive(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of the folder, whose SHA-256 is the published one of the inputs for 4.2."""
    made = tmp_path / "v42_bench_conus12km.tar.gz"
    with tarfile.open(made, "w:gz") as members:
        members.add(folder, "v42_bench_conus12km")
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    table = tuple(replace(each, sha256=digest) if each.archive == made.name else each for each in PUBLISHED)
    monkeypatch.setattr(wrf_inputs, "PUBLISHED", table)
    return made


def wrong(report: Report) -> list[str]:
    return [one.sentence for one in report.findings if one.weight == "problem"]


def test_whole_inputs_fit_and_what_nobody_checked_is_said(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = check_inputs(CASE, folder)
    form = "netCDF with 64-bit offsets, whole, 425 x 300 x 50 points"
    assert report.fits == (
        f"wrfinput_d01: {form}",
        f"wrfbdy_d01: {form}",
        f"{REFERENCE}: netCDF with 64-bit offsets, a reference field",
    )
    assert report.findings == (
        Finding(
            "remark",
            "checksums",
            "no SHA-256 was compared: NCAR publishes none of single files",
            "give the archive (--archive v42_bench_conus12km.tar.gz)",
        ),
    )


def test_a_folder_is_as_good_as_its_archive(folder: Path, archive: Path) -> None:
    report = check_inputs(CASE, folder, archive)
    assert report.findings == ()
    assert report.fits[3] == "v42_bench_conus12km.tar.gz: the published SHA-256 (inputs for WRF 4.2)"
    names = ("namelist.input", "wrfbdy_d01", "wrfinput_d01", REFERENCE)
    assert sorted(report.fits[4:]) == [f"{name}: as in the archive" for name in names]


def test_a_file_that_is_not_the_archives_is_named(folder: Path, archive: Path) -> None:
    whole = bytearray((folder / "wrfinput_d01").read_bytes())
    whole[-1] ^= 1
    (folder / "wrfinput_d01").write_bytes(whole)
    (folder / "namelist.input").write_text(f"{NAMELIST}! changed\n", encoding="ascii")
    report = check_inputs(CASE, folder, archive)
    assert wrong(report) == ["wrfinput_d01: differs from that of v42_bench_conus12km.tar.gz; unpack the archive again"]
    assert Finding("remark", "namelist.input", "is not that of the archive: somebody changed it") in report.findings


def test_another_archive_is_refused_and_one_without_a_published_sum_is_said(folder: Path, archive: Path) -> None:
    other = archive.with_name("mine.tar.gz")
    archive.rename(other)
    with other.open("ab") as file:
        file.write(b"\0")
    (sentence,) = wrong(check_inputs(CASE, folder, other))
    assert sentence.startswith("mine.tar.gz: found the SHA-256 ") and "v42_bench_conus12km.tar.gz" in sentence
    unknown = other.rename(archive.with_name("v4.4_bench_conus12km.tar.gz"))
    report = check_inputs(CASE, folder, unknown)
    assert wrong(report) == []
    assert any(one.what.startswith("nobody publishes its SHA-256 (") for one in report.findings)


def test_an_archive_that_is_cut_is_named(folder: Path, archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-40])
    found = wrong(check_inputs(CASE, folder, archive))
    assert len(found) == 2 and found[1].startswith("v42_bench_conus12km.tar.gz: cannot be unpacked (")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            *("e_we = 425", "e_we = 400"),
            "namelist.input: domains.e_we and e_sn: found 400 x 300 points, expected 425 x 300 (WRF "
            "4.2 and 4.4); fetch it again",
        ),
        (
            *("time_step = 72", "time_step = 60"),
            "namelist.input: domains.time_step: found 60 s, expected 72 s; another step is another case",
        ),
        (
            *("e_vert = 50", "e_vert = 35"),
            "wrfinput_d01: found bottom_top_stag = 50, expected 35: domains.e_vert of namelist.input; fetch both "
            "again: they are of different cases",
        ),
        (
            *("start_hour = 12", "start_hour = 23"),
            "wrfinput_d01: found START_DATE 2019-11-26_12:00:00, expected 2019-11-26_23:00:00: the start in "
            "namelist.input; fetch both again: they are of different cases",
        ),
        (
            *("e_vert", "max_dom = 2,\n e_vert"),
            "namelist.input: domains.max_dom: found 2, expected 1: a step of the outer domain contains those of its "
            "nests, and no case here has nests",
        ),
    ],
)
def test_a_namelist_that_does_not_fit_is_named(folder: Path, old: str, new: str, sentence: str) -> None:
    assert old in NAMELIST
    (folder / "namelist.input").write_text(NAMELIST.replace(old, new), encoding="ascii")
    assert sentence in wrong(check_inputs(CASE, folder))


def test_a_restart_reads_its_own_file_and_no_wrfinput(folder: Path) -> None:
    (folder / "wrfinput_d01").rename(folder / "wrfrst_d01_2019-11-26_12:00:00")
    (folder / "namelist.input").write_text(
        NAMELIST.replace(" run_hours = 12", " restart = .true.,\n run_hours = 1"), encoding="ascii"
    )
    report = check_inputs(CASE, folder)
    assert wrong(report) == []
    assert report.fits[0].startswith("wrfrst_d01_2019-11-26_12:00:00: netCDF")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>not found", "wrfbdy_d01: found b'<html>no' at its beginning, expected a netCDF file; fetch it again"),
        (b"", "wrfbdy_d01: found b'' at its beginning, expected a netCDF file; fetch it again"),
        (b"CDF\x02\0\0\0\1", "wrfbdy_d01: it cannot be read to its end"),
    ],
)
def test_what_is_no_whole_netcdf_file_is_named(folder: Path, content: bytes, says: str) -> None:
    (folder / "wrfbdy_d01").write_bytes(content)
    (sentence,) = wrong(check_inputs(CASE, folder))
    assert sentence.startswith(says)


def test_a_file_that_is_cut_is_named(folder: Path) -> None:
    path = folder / "wrfinput_d01"
    path.write_bytes(path.read_bytes()[:-100])
    (sentence,) = wrong(check_inputs(CASE, folder))
    assert sentence.startswith("wrfinput_d01: it cannot be read to its end (")


def test_of_a_netcdf4_file_only_the_length_is_checked_and_that_is_said(folder: Path) -> None:
    write_netcdf4(folder / "wrfinput_d01", length=200)
    report = check_inputs(CASE, folder)
    assert wrong(report) == [] and report.fits[0] == "wrfinput_d01: netCDF-4, whole"
    assert report.findings[0].what == "a netCDF-4 file: its grid was not compared"
    write_netcdf4(folder / "wrfinput_d01", length=201)
    assert wrong(check_inputs(CASE, folder)) == [
        "wrfinput_d01: found 200 bytes, expected 201: it is cut; fetch it again"
    ]


def test_inputs_of_another_release_are_named(folder: Path) -> None:
    write_netcdf(folder / "wrfinput_d01", release="3.9.1.1")
    assert wrong(check_inputs(CASE, folder)) == [
        'wrfinput_d01: found "OUTPUT FROM REAL_EM V3.9.1.1 PREPROCESSOR", expected a file of WRF 4; take the inputs '
        "for your release"
    ]


def test_a_missing_file_and_a_missing_folder_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "wrfbdy_d01").unlink()
    assert wrong(check_inputs(CASE, folder)) == [
        f"{folder}: found no wrfbdy_d01 in {folder}, expected namelist.input, wrfinput_d01, wrfbdy_d01; fetch the "
        "case's inputs into it"
    ]
    with pytest.raises(RailyardError, match="found no folder, expected that of the inputs of conus12km-v4"):
        check_inputs(CASE, tmp_path / "nowhere")
    with pytest.raises(RailyardError, match="found no file, expected the archive"):
        check_inputs(CASE, folder, tmp_path / "nothing.tar.gz")


def test_a_field_that_a_run_would_overwrite_is_no_reference(folder: Path) -> None:
    (folder / REFERENCE).rename(folder / "wrfout_d01_2019-11-27_00:00:00.gnu")
    said = [one.sentence for one in check_inputs(CASE, folder).findings]
    assert (
        "wrfout_d01_2019-11-27_00:00:00.gnu: is compared with no run; for a reference field: ln -s "
        "wrfout_d01_2019-11-27_00:00:00.gnu wrfout_d01_2019-11-27_00:00:00.orig"
    ) in said
    assert (
        "reference field: found no wrfout_d01_*.orig: only what WRF prints is checked of the answer, no field"
    ) in said


def test_the_sums_of_a_folder_are_compared(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text(checksums(folder, CASE), encoding="ascii")
    report = check_inputs(CASE, folder)
    assert report.findings == () and report.fits[-1] == "SHA256SUMS: every file that it names"
    with (folder / REFERENCE).open("ab") as file:
        file.write(b"\0")
    assert wrong(check_inputs(CASE, folder)) == [f"{REFERENCE}: its SHA-256 is not that of SHA256SUMS; fetch it again"]


def test_an_idealized_case_has_no_published_archive(tmp_path: Path) -> None:
    (tmp_path / "namelist.input").write_text("&domains\n e_we = 42,\n e_sn = 42,\n/\n", encoding="ascii")
    (tmp_path / "wrfinput_d01").write_bytes(io.BytesIO(b"CDF").getvalue())
    report = check_inputs("em_quarter_ss", tmp_path)
    assert wrong(report) == ["wrfinput_d01: found b'CDF' at its beginning, expected a netCDF file; fetch it again"]
    assert report.findings[-1].what == "no SHA-256 was compared: nobody publishes one"
