"""WRF's cases in a job: where a site has their inputs, how many ranks each takes, and what the job does with them.

What a WRF case's namelist.input asks for, as far as it decides what a time per step means: files, ranks, nests.
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import UNFIT_EXIT, RailyardError
from railyard.benchmarks.table.applications import WRF_STORMS
from railyard.parsers.wrf import COMPARE, COMPARED

#: &domains … / with  max_dom = 1,  between; text after "!" is a comment.
_GROUP = re.compile(r"^\s*&(?P<name>\w{1,60})\s*$")
_VALUE = re.compile(
    r"^\s*(?P<name>\w{1,60})(?:\([\d:, ]{1,40}\))?\s*=\s*(?P<first>'[^']{0,300}'|\"[^\"]{0,300}\"|[^,\s/!]{1,300})"
)
_COMMENT = re.compile(r"!.*$")
#: Minutes of a unit, by the end of the field: history_interval is in minutes, history_interval_h in hours.
_MINUTES: Mapping[str, float] = {"_d": 1440.0, "_h": 60.0, "_m": 1.0, "_s": 1 / 60, "": 1.0}
#: The name of a restart file, and the moment at which a run starts, if a namelist does not say it. Source: WRF,
#: Registry/registry.io_boilerplate (rst_inname) and Registry.EM_COMMON (start_year … start_second).
_RESTART_NAME = "wrfrst_d<domain>_<date>"
_START = (("year", 1993), ("month", 3), ("day", 13), ("hour", 12), ("minute", 0), ("second", 0))


@dataclass(frozen=True, slots=True)
class Namelist:
    """The first value of each field, by group and name in small letters, with the file's name for messages."""

    where: str
    values: Mapping[tuple[str, str], str]

    def number(self, group: str, name: str, default: float) -> float:
        """Return a field's number. Raises RailyardError if it is no number."""
        text = self.values.get((group, name))
        if text is None:
            return default
        try:
            return float(text.lower().replace("d", "e"))
        except ValueError:
            raise RailyardError(f"{self.where}: {group}.{name}: found {text}, expected a number") from None

    def minutes(self, group: str, name: str) -> float:
        """Return the minutes of an interval, which may be in several units; 0 if there is none."""
        return sum(minutes * self.number(group, f"{name}{unit}", 0) for unit, minutes in _MINUTES.items())

    def says(self, group: str, name: str) -> bool:
        """Return whether a field is true; False if it is not there, as in WRF."""
        return self.values.get((group, name), "").lower().strip(".").startswith("t")

    @property
    def start(self) -> str:
        """When the run starts, as WRF writes it: 2019-11-26_23:00:00. Raises RailyardError if a part is no number."""
        year, *others = (int(self.number("time_control", f"start_{part}", default)) for part, default in _START)
        month, day, hour, minute, second = others
        return f"{year:04}-{month:02}-{day:02}_{hour:02}:{minute:02}:{second:02}"

    @property
    def restart_file(self) -> str | None:
        """The file from which a run goes on; None if it begins with wrfinput_d01.

        With ``nocolons`` WRF looks for a name without colons. Source: WRF, construct_filename2a and
        maybe_remove_colons of share/module_io_domain.F.
        """
        if not self.says("time_control", "restart"):
            return None
        pattern = self.values.get(("time_control", "rst_inname"), _RESTART_NAME)
        name = pattern.replace("<domain>", "01").replace("<date>", self.start)
        return name.replace(":", "_") if self.says("time_control", "nocolons") else name

    @property
    def points(self) -> tuple[int, int] | None:
        """Grid points from west to east and from south to north (e_we, e_sn); None if it does not say both."""
        sides = int(self.number("domains", "e_we", 0)), int(self.number("domains", "e_sn", 0))
        return sides if min(sides) > 0 else None

    @property
    def run_minutes(self) -> float:
        """How long the case simulates, by run_days … run_seconds; infinite if all are 0 (start and end say it)."""
        units = (("days", 1440.0), ("hours", 60.0), ("minutes", 1.0), ("seconds", 1 / 60))
        found = sum(minutes * self.number("time_control", f"run_{unit}", 0) for unit, minutes in units)
        return found or float("inf")


def read(text: str, where: str) -> Namelist:
    """Return a namelist's fields. Raises RailyardError if it has no group &domains: it is no namelist of WRF."""
    values: dict[tuple[str, str], str] = {}
    group = ""
    groups = set()
    for line in text.splitlines():
        begun = _GROUP.match(_COMMENT.sub("", line))
        if begun is not None:
            group = begun["name"].lower()
            groups.add(group)
            continue
        found = _VALUE.match(line)
        if found is not None:
            values[group, found["name"].lower()] = found["first"].strip("'\"")
    if "domains" not in groups:
        raise RailyardError(f"{where}: found no &domains, expected a namelist of WRF; fetch the case's inputs again")
    return Namelist(where, values)


def load(folder: Path) -> Namelist:
    """Return the namelist.input of a folder. Raises RailyardError as ``read`` does."""
    path = folder / "namelist.input"
    return read(path.read_text(encoding="utf-8", errors="replace"), str(path))


def check(namelist: Namelist) -> tuple[str, ...]:
    """Return remarks on a case's namelist.

    Raises RailyardError if a time per step would mean something else than the case's: ranks that only write files,
    nests, or a file written in every step.
    """
    _refuse(namelist)
    step_min = namelist.number("domains", "time_step", 0) / 60
    told = []
    for name, what in (("history_interval", "history"), ("restart_interval", "a restart file")):
        every = namelist.minutes("time_control", name)
        if 0 < every <= step_min:
            raise RailyardError(
                f"{namelist.where}: time_control.{name}: found {every:g} minutes, expected more than a step of "
                f"{60 * step_min:g} s: each step would write a file, and none would count; raise it"
            )
        if 0 < every < namelist.run_minutes:
            told.append(
                f"the namelist writes {what} every {every:g} minutes; these steps are left out of the time per step"
            )
    return tuple(told)


def _refuse(namelist: Namelist) -> None:
    tasks = namelist.number("namelist_quilt", "nio_tasks_per_group", 0)
    if tasks > 0:
        raise RailyardError(
            f"{namelist.where}: namelist_quilt.nio_tasks_per_group: found {tasks:g}, expected 0: these ranks only "
            "write files, so fewer compute than we count; set it to 0"
        )
    nests = namelist.number("domains", "max_dom", 1)
    if nests != 1:
        raise RailyardError(
            f"{namelist.where}: domains.max_dom: found {nests:g}, expected 1: a step of the outer domain contains "
            "those of its nests, and no case here has nests"
        )


NAMELIST, INPUT = "namelist.input", "wrfinput_d01"
#: The weather at the edges, which a real case reads too.
EDGES = "wrfbdy_d01"
CHECKSUMS = "SHA256SUMS"
#: The ending of a reference field's name: wrfout_d01_2019-11-27_00:00:00.orig, as in NCAR's inputs for 4.2.
REFERENCE = ".orig"
#: WRF's own program that compares two files, beside main/ in WRF's folder.
DIFFWRF = "external/io_netcdf/diffwrf"
#: Grid points from west to east and from south to north, if the case's namelist.input does not say them (`e_we` and
#: `e_sn`). NCAR's 2.5 km inputs for 4.2 have 1501 x 1201 points, those for 4.4 have 1901 x 1301.
#: Source: NCAR, WRF's benchmark cases (12 km: 425 x 300; 2.5 km: 1501 x 1201 for version 3, as the rsl file of a run on
#: csd3-2020 prints it, 1901 x 1301 for version 4); WRF, test/em_quarter_ss/namelist.input.
GRIDS = {
    "conus12km-v3": (425, 300),
    "conus2.5km-v3": (1501, 1201),
    "conus12km-v4": (425, 300),
    "conus2.5km-v4": (1901, 1301),
    "em_quarter_ss": (42, 42),
}
#: WRF 4 stops if a patch has fewer points along a side. WRF up to 3.9 runs on, and such a run measures halos that are
#: as large as the patches, so we plan none with it either. Source: WRF 4, share/module_check_a_mundo.F, "Minimum
#: decomposed computational patch size, either x-dir or y-dir, is 10 grid cells."
LEAST_POINTS = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """A case's grid: its points from west to east and from south to north."""

    case: str
    west_east: int
    south_north: int


def grid(case: str, namelist: Namelist | None = None) -> Grid:
    """Return a case's grid: what the namelist says, else the published one."""
    points = None if namelist is None else namelist.points
    return Grid(case, *(points or GRIDS[case]))


def folder(cases: Mapping[str, str], case: str, home: Path, system: str) -> Path:
    """Return the folder of a case's inputs. Raises RailyardError if the site states none, or if a file is missing."""
    where = f"systems/{system}.yaml: wrf_cases.{case}"
    if case not in cases:
        raise RailyardError(f"{where}: found none, expected the folder of the case's inputs")
    path = home / cases[case].replace("{home}", str(home))
    why = why_incomplete(case, path)
    if why is not None:
        raise RailyardError(f"{where}: {why}")
    return path


def inputs_of(case: str, namelist: Namelist | None) -> tuple[str, ...]:
    """Return the files that a run of a case reads: a restart reads its restart file and no wrfinput_d01.

    Source: NCAR, README of the 12 km inputs for 4.2; med_initialdata_input of WRF's share/mediation_integrate.F.
    """
    restart = None if namelist is None else namelist.restart_file
    return (NAMELIST, restart or INPUT, *((EDGES,) if case in WRF_STORMS else ()))


def why_incomplete(case: str, path: Path) -> str | None:
    """Return which file of a case a folder lacks, and what to do; None if all are there.

    Raises RailyardError if its namelist.input is no namelist of WRF.
    """
    namelist = load(path) if (path / NAMELIST).is_file() else None
    names = inputs_of(case, namelist)
    lacking = next((name for name in names if not (path / name).is_file()), None)
    if lacking is None:
        return None
    how = "fetch the case's inputs into it" if case in WRF_STORMS else "run WRF's ideal.exe, which makes wrfinput_d01"
    if lacking.startswith("wrfrst"):
        # the same moment with other separators, or with the compiler's name behind it (4.4: .gnu and .ifort)
        begins = lacking.replace(":", "?").replace("_", "?")
        near = min((file.name for file in path.glob(f"{begins}*")), default=None)
        how = (
            "fetch the case's inputs into it, or set time_control.restart to .false."
            if near is None
            else f"WRF looks for that name alone: ln -s {near} {lacking}"
        )
    return f"found no {lacking} in {path}, expected {', '.join(names)}; {how}"


def fits(grid: Grid, ranks: int) -> bool:
    """Return whether a case fits on so many ranks: whether each patch has enough points along both sides."""
    return min(least_sides(grid, ranks)) >= LEAST_POINTS


def is_refused(grid: Grid, ranks: int) -> bool:
    """Return whether WRF itself ends at once on so many ranks. WRF up to 3.9 runs on patches of any size."""
    return not grid.case.endswith("-v3") and not fits(grid, ranks)


def small_patches(grid: Grid, ranks: int) -> str | None:
    """Return a remark if patches are smaller than we plan them, since their ranks were asked for; else None."""
    if fits(grid, ranks):
        return None
    west_east, south_north = least_sides(grid, ranks)
    return (
        f"patches of {west_east} x {south_north} points on {ranks} ranks, as asked: below {LEAST_POINTS} a side halos "
        "are as large as patches"
    )


def least_sides(grid: Grid, ranks: int) -> tuple[int, int]:
    """Return the points of the smallest patch from west to east and from south to north.

    WRF cuts the grid into M x N patches, the two factors of ``ranks`` that differ least, the smaller one from west to
    east. Source: MPASPECT in WRF's external/RSL_LITE/module_dm.F, which takes the first of the best.
    """
    across = next(factor for factor in range(math.isqrt(ranks), 0, -1) if ranks % factor == 0)
    return grid.west_east // across, grid.south_north // (ranks // across)


def ranks_per_node(grid: Grid, nodes: int, cores: int) -> int:
    """Return the most ranks on each of so many nodes that a case takes. Raises RailyardError if there is no number."""
    found = next((ranks for ranks in range(cores, 0, -1) if fits(grid, nodes * ranks)), None)
    if found is None:
        raise RailyardError(
            f"WRF: found no number of ranks for {grid.case} on {nodes} nodes of {cores} cores, expected patches of at "
            f"least {LEAST_POINTS} x {LEAST_POINTS} of its {grid.west_east} x {grid.south_north} points; take fewer "
            "nodes or a larger case"
        )
    return found


def layout(grid: Grid, nodes: int, cores: int) -> tuple[int, int]:
    """Return on how many of the nodes, and with how many ranks on each, a case has the most ranks.

    Among these it takes the fewest nodes, but at least two if there are two, since one alone has no network.
    Raises RailyardError if no number of nodes fits.
    """
    found: list[tuple[int, int]] = []
    for count in range(min(2, nodes), nodes + 1):
        try:
            found.append((count, ranks_per_node(grid, count, cores)))
        except RailyardError:
            if count == nodes and not found:
                raise
    return max(found, key=lambda each: each[0] * each[1])


def copy_lines(inputs: Path, executable: str) -> list[str]:
    """Return lines of the job that copy and check WRF's tables and the case's inputs, and that print its logs.

    The logs are always printed: the first rank's whole log, and of all ranks the fatal lines and those about the speed
    of the wind (cfl: the first of each log, 20 at most, since only the ranks that have such points print them). Both
    logs of a rank have the same step in a line, so only one log of the first rank is read.
    """
    tables = Path(executable).resolve().parent.parent / "run"
    found = f"railyard: error: files in {inputs} do not fit its {CHECKSUMS}"
    logs = (
        "cat rsl.error.0000; grep -h -A 8 'FATAL CALLED' rsl.error.*; "
        "grep -h -m 1 'points exceeded.*cfl' rsl.error.* | head -n 20"
    )
    return [
        f"trap {shlex.quote(f'({logs}) 2>/dev/null || :')} EXIT",
        f"cp -R -L {shlex.quote(str(tables))}/. .",
        f"cp -R -L {shlex.quote(str(inputs))}/. .",
        "rm -f rsl.error.* rsl.out.*",
        f"[ ! -f {CHECKSUMS} ] || bad=$(LC_ALL=C sha256sum --check --quiet --strict {CHECKSUMS} 2>&1) ||"
        f' {{ echo {shlex.quote(found)} "("$bad"): fetch them again" >&2; exit {UNFIT_EXIT}; }}',
    ]


def compare_lines(executable: str) -> list[str]:
    """Return lines of the job that define ``compare_fields``, which compares each field that has a reference.

    They call WRF's own diffwrf. Its exit code says nothing: it also ends with 0 if it cannot open a file. A file of the
    run's own name that came with the inputs goes first: it would be compared if the run wrote none.
    """
    program = shlex.quote(str(Path(executable).resolve().parent.parent / DIFFWRF))
    return [
        f'for reference in wrfout_d01_*{REFERENCE}; do rm -f "${{reference%{REFERENCE}}}"; done',
        "compare_fields() {",
        f"    for reference in wrfout_d01_*{REFERENCE}; do",
        '        [ -f "$reference" ] || continue',
        f"        made=${{reference%{REFERENCE}}}",
        f'        echo "{COMPARE} $made with $reference"',
        f'        if [ -x {program} ]; then {program} "$made" "$reference" 2>&1 || :',
        f"        else echo railyard: found no {program}; fi",
        f'        echo "{COMPARED}"',
        "    done",
        "}",
    ]
