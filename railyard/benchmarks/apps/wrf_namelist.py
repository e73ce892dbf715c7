"""What a WRF case's namelist.input asks for, as far as it decides what a time per step means: files, ranks, nests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError

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
