"""Whether a folder holds the inputs of a WRF case: names, forms, lengths, grid, dates, and what is known of checksums.

NCAR, which maintains the inputs, publishes no checksum, neither of an archive nor of a file in one. So there are two
ways to be sure of the bytes: the archive itself, whose SHA-256 others publish, and a SHA256SUMS that the site wrote.
"""

import hashlib
import struct
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from railyard.base.errors import Finding, RailyardError, problem, remark
from railyard.base.wording import listing
from railyard.benchmarks.apps import wrf
from railyard.benchmarks.apps.wrf import (
    CHECKSUMS,
    INPUT,
    NAMELIST,
    REFERENCE,
    Namelist,
    grid,
    inputs_of,
    why_incomplete,
)


@dataclass(frozen=True, slots=True)
class InputArchive:
    """Inputs as NCAR publishes them: for which release, the archive, its SHA-256 (None: nobody publishes one)."""

    case: str
    of: str
    archive: str
    sha256: str | None
    points: tuple[int, int]
    step_s: int


#: Source of the checksums: Ramble, application wrf (wrf 3.9.1.1 and 4.2); that of the 2.5 km archive for 4.2 also in
#: Azure's scripts for HBv4. Nobody publishes those for 4.4. Source of grids and steps: NCAR's benchmark pages, and the
#: namelists that these scripts check (1501 x 1201 for 4.2); the fields of the archive for 4.4 (1901 x 1301).
PUBLISHED = (
    InputArchive(
        *("conus12km-v3", "3.9", "bench_12km.tar.bz2"),
        "0c5ecfc85f2a982f0fa0191371401c1474cf562a7cf97192acd3c9b91ebcc48d",
        *((425, 300), 72),
    ),
    InputArchive(
        *("conus2.5km-v3", "3.9", "bench_2.5km.tar.bz2"),
        "1919a0e0499057c1a570619d069817022bae95b17cf1a52bdaa174f8e8d11508",
        *((1501, 1201), 15),
    ),
    InputArchive(
        *("conus12km-v4", "4.2", "v42_bench_conus12km.tar.gz"),
        "6a0e87e3401efddc50539e71e5437fd7a5af9228b64cd4837e739737c3706fc3",
        *((425, 300), 72),
    ),
    InputArchive("conus12km-v4", "4.4", "v4.4_bench_conus12km.tar.gz", None, (425, 300), 72),
    InputArchive(
        *("conus2.5km-v4", "4.2", "v42_bench_conus2.5km.tar.gz"),
        "dcae9965d1873c1c1e34e21ad653179783302b9a13528ac10fab092b998578f6",
        *((1501, 1201), 15),
    ),
    InputArchive("conus2.5km-v4", "4.4", "v4.4_bench_conus2.5km.tar.gz", None, (1901, 1301), 15),
)
_BLOCK = 1 << 20
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CLASSIC = {1: "netCDF", 2: "netCDF with 64-bit offsets", 5: "netCDF with 64-bit data"}
_FETCH = "fetch it again"
#: Dimension of a file -> field of the namelist: a staggered side has one point more than the others.
_SIDES = {"west_east_stag": "e_we", "south_north_stag": "e_sn", "bottom_top_stag": "e_vert"}


@dataclass(frozen=True, slots=True)
class Report:
    """What a check of a folder says: what fits, what is wrong (problems), and what nobody checked (remarks)."""

    fits: tuple[str, ...]
    findings: tuple[Finding, ...]


def check_inputs(case: str, folder: Path, archive: Path | None = None) -> Report:
    """Return what the check of a case's folder finds, with the archive from which it was unpacked, if it is given.

    Raises RailyardError if the folder or the archive is not there, or cannot be read.
    """
    if not folder.is_dir():
        raise RailyardError(f"{folder}: found no folder, expected that of the inputs of {case}")
    if archive is not None and not archive.is_file():
        raise RailyardError(f"{archive}: found no file, expected the archive that NCAR publishes for {case}")
    fits: list[str] = []
    found: list[Finding] = []
    try:
        namelist = wrf.load(folder) if (folder / NAMELIST).is_file() else None
        lacking = why_incomplete(case, folder)
        if lacking is not None:
            found.append(problem(str(folder), lacking))
        if namelist is not None:
            found += _compare_namelist(case, namelist)
    except RailyardError as error:
        return Report((), (problem(NAMELIST, str(error)),))
    for name in inputs_of(case, namelist)[1:]:
        if (folder / name).is_file():
            said, wrong = _compare_file(case, folder / name, namelist)
            fits += [f"{name}: {said}"] if said else []
            found += wrong
    fits += _read_reference(folder, found)
    _check_bytes(case, folder, archive, fits, found)
    return Report(tuple(fits), tuple(found))


def checksums(folder: Path, case: str) -> str:
    """Return SHA256SUMS of what a run reads of a folder, with the reference fields."""
    names = [*inputs_of(case, wrf.load(folder)), *(path.name for path in _references(folder))]
    return "".join(f"{_sha256((folder / name).open('rb'))}  {name}\n" for name in names)


def _compare_namelist(case: str, namelist: Namelist) -> Iterator[Finding]:
    """Yield what a namelist says that would make it another case, or a time per step mean something else."""
    try:
        for said in wrf.check(namelist):
            yield remark(NAMELIST, said)
    except RailyardError as error:
        yield problem(NAMELIST, str(error).removeprefix(f"{namelist.where}: "))
    known = [each for each in PUBLISHED if each.case == case]
    here = grid(case, namelist)
    points, step_s = (here.west_east, here.south_north), namelist.number("domains", "time_step", 0)
    if namelist.points is None:
        yield problem(NAMELIST, "domains.e_we and e_sn: found none, expected the points of the grid", _FETCH)
    if known and points not in [each.points for each in known]:
        grids: dict[tuple[int, int], list[str]] = {}
        for each in known:
            grids.setdefault(each.points, []).append(each.of)
        expected = " or ".join(f"{we} x {sn} (WRF {listing(of)})" for (we, sn), of in grids.items())
        yield problem(
            NAMELIST, f"domains.e_we and e_sn: found {points[0]} x {points[1]} points, expected {expected}", _FETCH
        )
    if known and step_s != known[0].step_s:
        why = "another step is another case"
        yield problem(NAMELIST, f"domains.time_step: found {step_s:g} s, expected {known[0].step_s} s", why)


def _compare_file(case: str, path: Path, namelist: Namelist | None) -> tuple[str, list[Finding]]:
    """Return what fits of an input file, and what is wrong with it or could not be read."""
    try:
        form, whole = _form(path)
        if whole is not None and path.stat().st_size < whole:
            size = path.stat().st_size
            return "", [problem(path.name, f"found {size} bytes, expected {whole}: it is cut", _FETCH)]
        if form == "netCDF-4":
            said = remark(path.name, "a netCDF-4 file: its grid was not compared", f"ncdump -h {path.name} shows it")
            return "netCDF-4, whole", [said]
        header = _header(path)
    except RailyardError as error:
        return "", [problem(path.name, str(error), _FETCH)]
    wrong = list(_compare_header(case, path.name, header, namelist))
    dimensions = [f"{header.sides[side]}" for side in _SIDES if side in header.sides]
    grid_here = f", {' x '.join(dimensions)} points" if dimensions else ""
    return f"{form}, whole{grid_here}", wrong


@dataclass(frozen=True, slots=True)
class _Header:
    """A file's dimensions and the texts among its global attributes."""

    sides: Mapping[str, int]
    texts: Mapping[str, str]


def _form(path: Path) -> tuple[str, int | None]:
    """Return the form of a netCDF file, and how many bytes it has at least, if its first bytes say it.

    Raises RailyardError if it is none. Source: HDF5 File Format Specification, superblock versions 0 to 3.
    """
    with path.open("rb") as file:
        begins = file.read(64)
    if begins.startswith(_HDF5) and len(begins) == 64:
        version = begins[8]
        at = 28 if version >= 2 else 40
        return "netCDF-4", struct.unpack_from("<Q", begins, at)[0] if version <= 3 else None
    if begins[:3] == b"CDF" and begins[3:4] and begins[3] in _CLASSIC:
        return _CLASSIC[begins[3]], None
    raise RailyardError(f"found {begins[:8]!r} at its beginning, expected a netCDF file")


def _header(path: Path) -> _Header:
    """Return what a classic netCDF file says of itself. Raises RailyardError if it is cut, or not to be read."""
    from scipy.io import netcdf_file

    try:
        # It maps every variable, so it finds a file that is shorter than its header says; and it reads no values.
        with netcdf_file(path, "r", mmap=True) as file:
            sides = {name: int(size) for name, size in file.dimensions.items() if size is not None}
            texts = {
                name: value.decode("utf-8", "replace").strip("\x00 ")
                for name, value in file._attributes.items()
                if isinstance(value, bytes)
            }
            file.variables.clear()  # else it warns of maps that are still in use
    except (ValueError, TypeError, IndexError, struct.error) as error:
        raise RailyardError(f"it cannot be read to its end ({error}): it is cut, or damaged") from None
    return _Header(sides, texts)


def _compare_header(case: str, name: str, header: _Header, namelist: Namelist | None) -> Iterator[Finding]:
    for side, field in _SIDES.items():
        stated = 0 if namelist is None else int(namelist.number("domains", field, 0))
        if stated and side in header.sides and header.sides[side] != stated:
            found = f"found {side} = {header.sides[side]}, expected {stated}: domains.{field} of {NAMELIST}"
            yield problem(name, found, "fetch both again: they are of different cases")
    start = header.texts.get("START_DATE", "")
    if namelist is not None and name == INPUT and start and start != namelist.start:
        found = f"found START_DATE {start}, expected {namelist.start}: the start in {NAMELIST}"
        yield problem(name, found, "fetch both again: they are of different cases")
    title = header.texts.get("TITLE", "")
    release = case.rpartition("-v")[2] if "-v" in case else ""
    if release and " V" in title and f" V{release}" not in title:
        yield problem(name, f'found "{title}", expected a file of WRF {release}', "take the inputs for your release")


def _read_reference(folder: Path, found: list[Finding]) -> list[str]:
    """Return what fits of reference fields; add a remark if there is none, or one that a run would overwrite."""
    there = _references(folder)
    for path in sorted(folder.glob("wrfout_d01_*")):
        if path not in there and not any(path.name.startswith(one.name.removesuffix(REFERENCE)) for one in there):
            begins = path.name.partition(".")[0]
            found.append(
                remark(
                    path.name,
                    "is compared with no run",
                    f"for a reference field: ln -s {path.name} {begins}{REFERENCE}",
                )
            )
    if not there:
        why = "only what WRF prints is checked of the answer, no field"
        found.append(remark("reference field", f"found no wrfout_d01_*{REFERENCE}: {why}"))
    fits = []
    for path in there:
        try:
            fits.append(f"{path.name}: {_form(path)[0]}, a reference field")
        except RailyardError as error:
            found.append(problem(path.name, str(error), _FETCH))
    return fits


def _references(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"wrfout_d01_*{REFERENCE}"))


def _check_bytes(case: str, folder: Path, archive: Path | None, fits: list[str], found: list[Finding]) -> None:
    """Compare the folder with its own SHA256SUMS, and with the archive if it is given; say if neither is there."""
    sums = folder / CHECKSUMS
    if sums.is_file():
        wrong = list(_compare_sums(folder, sums))
        found += wrong
        fits += [] if wrong else [f"{CHECKSUMS}: every file that it names"]
    if archive is not None:
        found += _compare_archive(case, folder, archive, fits)
    elif not sums.is_file():
        names = listing([each.archive for each in PUBLISHED if each.case == case and each.sha256])
        what = "no SHA-256 was compared: NCAR publishes none of single files"
        found.append(remark("checksums", what, f"give the archive (--archive {names})") if names else
                     remark("checksums", "no SHA-256 was compared: nobody publishes one"))  # fmt: skip


def _compare_sums(folder: Path, sums: Path) -> Iterator[Finding]:
    for number, line in enumerate(sums.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        digest, _, name = line.partition(" ")
        name = name.lstrip(" *")
        if len(digest) != 64 or not name:
            yield problem(f"{CHECKSUMS}:{number}", f"found {line[:80]!r}, expected a SHA-256, two blanks and a name")
        elif not (folder / name).is_file():
            yield problem(name, f"found none, expected a file: {CHECKSUMS} names it", _FETCH)
        elif _sha256((folder / name).open("rb")) != digest.lower():
            yield problem(name, f"its SHA-256 is not that of {CHECKSUMS}", _FETCH)


def _compare_archive(case: str, folder: Path, archive: Path, fits: list[str]) -> Iterator[Finding]:
    """Yield how the archive differs from what is published, and the folder from the archive; add what fits."""
    digest = _sha256(archive.open("rb"))
    known = [each for each in PUBLISHED if each.case == case]
    same = next((each for each in known if each.sha256 == digest), None)
    if same is None and any(each.archive == archive.name and each.sha256 is None for each in known):
        yield remark(archive.name, f"nobody publishes its SHA-256 ({digest})", "only the folder was compared with it")
    elif same is None:
        published = ", ".join(f"{each.sha256} ({each.archive})" for each in known if each.sha256) or "none"
        yield problem(archive.name, f"found the SHA-256 {digest}, expected {published}", _FETCH)
    else:
        fits.append(f"{archive.name}: the published SHA-256 (inputs for WRF {same.of})")
    names = {path.name: path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS}
    compared = set()
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                own = names.get(PurePosixPath(member.name).name)
                content = members.extractfile(member) if own is not None and member.isfile() else None
                if own is None or content is None:
                    continue
                compared.add(own.name)
                if _sha256(content) == _sha256(own.open("rb")):
                    fits.append(f"{own.name}: as in the archive")
                elif own.name == NAMELIST:
                    yield remark(NAMELIST, "is not that of the archive: somebody changed it")
                else:
                    yield problem(own.name, f"differs from that of {archive.name}", "unpack the archive again")
    except (tarfile.TarError, EOFError, OSError) as error:
        yield problem(archive.name, f"cannot be unpacked ({error})", _FETCH)
        return
    for name in inputs_of(case, wrf.load(folder) if NAMELIST in names else None):
        if name in names and name not in compared:
            yield problem(name, f"is not in {archive.name}", "unpack the archive again")


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
