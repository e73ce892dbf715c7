"""WRF's cases: where a site has their inputs, for which releases of WRF each is, and how many ranks it takes.

What a WRF case's namelist.input asks for, as far as it decides what a time per step means: files, ranks, nests.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import UNFIT_EXIT, RailyardError
from railyard.base.wording import count_of
from railyard.benchmarks.metrics import timed_rows
from railyard.benchmarks.model import Figure, Physics
from railyard.benchmarks.table.applications import WRF_STORMS
from railyard.parsers.output import OTHER_WORK, Table

#: The files that every case reads. A real case also reads the weather at its edges.
NEEDED = ("namelist.input", "wrfinput_d01")
EDGES = "wrfbdy_d01"
CHECKSUMS = "SHA256SUMS"
#: Grid points from west to east and from south to north: `e_we` and `e_sn` of each case's namelist.input.
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
_RELEASE = re.compile(r"(?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")


def folder(cases: Mapping[str, str], case: str, home: Path, system: str) -> Path:
    """Return the folder of a case's inputs. Raises RailyardError if the site states none, or if a file is missing."""
    where = f"systems/{system}.yaml: wrf_cases.{case}"
    if case not in cases:
        raise RailyardError(f"{where}: found none, expected the folder of the case's inputs")
    path = home / cases[case].replace("{home}", str(home))
    needed = (*NEEDED, EDGES) if case in WRF_STORMS else NEEDED
    how = "fetch the case's inputs into it" if case in WRF_STORMS else "run WRF's ideal.exe, which makes wrfinput_d01"
    lacking = next((name for name in needed if not (path / name).is_file()), None)
    if lacking is not None:
        raise RailyardError(f"{where}: found no {lacking} in {path}, expected {', '.join(needed)}; {how}")
    return path


def fits(case: str, ranks: int) -> bool:
    """Return whether a case fits on so many ranks: whether each patch has enough points along both sides."""
    return min(least_sides(case, ranks)) >= LEAST_POINTS


def is_refused(case: str, ranks: int) -> bool:
    """Return whether WRF itself ends at once on so many ranks. WRF up to 3.9 runs on patches of any size."""
    return not case.endswith("-v3") and not fits(case, ranks)


def small_patches(case: str, ranks: int) -> str | None:
    """Return a remark if patches are smaller than we plan them, since their ranks were asked for; else None."""
    if fits(case, ranks):
        return None
    west_east, south_north = least_sides(case, ranks)
    return (
        f"patches of {west_east} x {south_north} points on {ranks} ranks, as asked: below {LEAST_POINTS} a side halos "
        "are as large as patches"
    )


def least_sides(case: str, ranks: int) -> tuple[int, int]:
    """Return the points of the smallest patch from west to east and from south to north.

    WRF cuts the grid into M x N patches, the two factors of ``ranks`` that differ least, the smaller one from west to
    east. Source: MPASPECT in WRF's external/RSL_LITE/module_dm.F, which takes the first of the best.
    """
    across = next(factor for factor in range(math.isqrt(ranks), 0, -1) if ranks % factor == 0)
    west_east, south_north = GRIDS[case]
    return west_east // across, south_north // (ranks // across)


def ranks_per_node(case: str, nodes: int, cores: int) -> int:
    """Return the most ranks on each of so many nodes that a case takes. Raises RailyardError if there is no number."""
    found = next((ranks for ranks in range(cores, 0, -1) if fits(case, nodes * ranks)), None)
    if found is None:
        points = " x ".join(map(str, GRIDS[case]))
        raise RailyardError(
            f"WRF: found no number of ranks for {case} on {nodes} nodes of {cores} cores, expected patches of at least "
            f"{LEAST_POINTS} x {LEAST_POINTS} of its {points} points; take fewer nodes or a larger case"
        )
    return found


def layout(case: str, nodes: int, cores: int) -> tuple[int, int]:
    """Return on how many of the nodes, and with how many ranks on each, a case has the most ranks.

    Among these it takes the fewest nodes, but at least two if there are two, since one alone has no network.
    Raises RailyardError if no number of nodes fits.
    """
    found: list[tuple[int, int]] = []
    for count in range(min(2, nodes), nodes + 1):
        try:
            found.append((count, ranks_per_node(case, count, cores)))
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


def other_release(key: str, tables: Sequence[Table]) -> str | None:
    """Return why a run's release of WRF does not fit its case, or None. A run that names no release is not checked.

    The inputs of 2001 for version 3 work up to 3.9; those of version 4 have the same names, but are other data. The
    release that reads an idealized case also makes it.
    """
    case = next((part for part in key.split("/") if part in WRF_STORMS), None)
    for table in tables if case is not None else ():
        found = _RELEASE.match(table.version or "")
        if found is None:
            continue
        release = int(found["major"]), int(found["minor"])
        fits = release <= (3, 9) if str(case).endswith("-v3") else release >= (4, 0)
        if not fits:
            expected = "up to 3.9" if str(case).endswith("-v3") else "4.0 or newer"
            ran = f"{case} ran with WRF {table.version}"
            return f"{ran}, expected {expected}: other releases have another case's inputs"
    return None


def _wrong(key: str, tables: Sequence[Table]) -> tuple[tuple[int, str], ...]:
    other = other_release(key, tables)
    return () if other is None else ((tables[0].line, other),)


def figures(tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return the computed speed as WRF's users give it: simulated time over elapsed time, of the outer domain's steps.

    It is of the same steps as the mean time: without the first one and those that wrote a file.
    """
    for table in tables:
        step_s = table.context.get("step_s")
        if (table.context.get("domain"), table.context.get("kind")) != (1, "main") or not isinstance(step_s, float):
            continue
        values = [value for (value,) in table.rows if isinstance(value, float)]
        times = timed_rows(table, values) if len(values) == len(table.rows) else []
        if math.fsum(times) > 0:
            return (Figure("simulated_over_elapsed", step_s * len(times) / math.fsum(times), "times"),)
    return ()


def remarks(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return how many steps were left out of the figure because they also wrote a file."""
    counts = [len(str(table.context[OTHER_WORK]).split()) for table in tables if OTHER_WORK in table.context]
    return tuple(
        f"{count_of(count, 'step')} that also wrote a file: left out of the time per step" for count in counts[:1]
    )


RELEASE = Physics(wrong=_wrong, remarks=lambda key, tables: remarks(tables), figures=figures)


#: &domains … / with  max_dom = 1,  between; text after "!" is a comment.
_GROUP = re.compile(r"^\s*&(?P<name>\w{1,60})\s*$")
_VALUE = re.compile(
    r"^\s*(?P<name>\w{1,60})(?:\([\d:, ]{1,40}\))?\s*=\s*(?P<first>'[^']{0,300}'|\"[^\"]{0,300}\"|[^,\s/!]{1,300})"
)
_COMMENT = re.compile(r"!.*$")
#: Minutes of a unit, by the end of the field: history_interval is in minutes, history_interval_h in hours.
_MINUTES: Mapping[str, float] = {"_d": 1440.0, "_h": 60.0, "_m": 1.0, "_s": 1 / 60, "": 1.0}
_RESTART_FILE = "wrfrst_d01_*"


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


def check(folder: Path) -> tuple[str, ...]:
    """Return remarks on a case's namelist.input.

    Raises RailyardError if a time per step would mean something else than the case's: ranks that only write files,
    nests, a file written in every step, or a restart without its file.
    """
    path = folder / "namelist.input"
    namelist = read(path.read_text(encoding="utf-8", errors="replace"), str(path))
    _refuse(namelist, folder)
    step_min = namelist.number("domains", "time_step", 0) / 60
    told = []
    for name, what in (("history_interval", "history"), ("restart_interval", "a restart file")):
        every = namelist.minutes("time_control", name)
        if 0 < every <= step_min:
            raise RailyardError(
                f"{path}: time_control.{name}: found {every:g} minutes, expected more than a step of {60 * step_min:g} "
                "s: each step would write a file, and none would count; raise it"
            )
        if 0 < every < _run_minutes(namelist):
            told.append(
                f"the namelist writes {what} every {every:g} minutes; these steps are left out of the time per step"
            )
    return tuple(told)


def _refuse(namelist: Namelist, folder: Path) -> None:
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
    restart = namelist.values.get(("time_control", "restart"), "").lower().strip(".")
    if restart.startswith("t") and not any(folder.glob(_RESTART_FILE)):
        raise RailyardError(
            f"{namelist.where}: time_control.restart: found .true. and no {_RESTART_FILE} beside it, expected that "
            "file; fetch the case's inputs again, or set restart to .false."
        )


def _run_minutes(namelist: Namelist) -> float:
    """Return how long the case simulates, by run_days … run_seconds; infinite if all are 0 (start and end say it)."""
    units = (("days", 1440.0), ("hours", 60.0), ("minutes", 1.0), ("seconds", 1 / 60))
    found = sum(minutes * namelist.number("time_control", f"run_{unit}", 0) for unit, minutes in units)
    return found or float("inf")
