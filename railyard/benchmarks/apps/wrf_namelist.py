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
