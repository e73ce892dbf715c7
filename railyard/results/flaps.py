"""How often the links of a node's ports went down between gates: what is kept, and when a port is good again.

A gate reads one counter per port: how often its link went down. It keeps the value, and each growth as an event between
two gates. Nobody knows when in that time the link went down, so an event has a beginning and an end. A counter that is
lower than before was cleared, or its driver was loaded again. After a boot all counters are zero. Another counter may
count the port now (its interface was renamed). None of these is a flap, none removes an event that was seen before, and
the quiet time begins again. A counter that stopped at its largest value shows no flap: the port is not quiet then.

What is kept is bounded: `MOST_FLAPS` events per port, and none that ended more than `KEPT_S` ago, except while the port
still flaps: without its events it would be good.

Times are seconds since 1970 (UTC), less than 0 for a clock that began there. If the clock was set, all kept times move
with it: within one boot by what the time since the boot shows, else only back, so that none is after now.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from railyard.base.bounds import FLAP_QUIET, FLAPS_PER_DAY
from railyard.base.files import write_whole
from railyard.base.paths import state_folder
from railyard.base.values import utc_time

DAY_S = 86_400
#: Events of one port: two gates an hour that each see flaps fill it in a day, and older ones are joined then.
MOST_FLAPS = 64
KEPT_S = 30 * DAY_S
#: A clock that is slewed gains up to 0.05 % (adjtime), and reading two clocks takes a moment: less was not set.
_SLEWED, _SLEWED_S = 0.001, 120.0
#: Times that moved with a clock of 1970 are before it.
_EARLIEST = -(1 << 36)
#: In bytes: a node with 16 ports of 64 events each has 50 KiB.
LONGEST_FILE = 4 << 20
#: The key of the kept ports in a node's file, beside what else its gate keeps.
KEY = "ports"

#: ``flapping``: it went down too often, and has not been quiet for long enough. ``good again``: it did, and was quiet.
#: ``seldom``: it went down, never too often.
FlapState = Literal["flapping", "good again", "seldom"]


@dataclass(frozen=True, slots=True)
class Flap:
    """So many times a link went down between two gates; ``begin`` and ``end`` are the times of the gates."""

    begin: float
    end: float
    count: int

    def share(self, begin: float, end: float) -> float:
        """Return how many of them fall into a time, if they are spread evenly over the time between the gates."""
        if self.begin == self.end:  # both gates at the same time
            return float(self.count) if begin <= self.end <= end else 0.0
        inside = min(end, self.end) - max(begin, self.begin)
        return self.count * max(0.0, inside) / (self.end - self.begin)


@dataclass(frozen=True, slots=True)
class FlapBounds:
    """What is too often: more than ``between`` flaps between two gates (None: any), or more than ``per_day`` in 24 h.

    ``quiet_s``: a port that flapped too often is good again after so long without a flap.
    """

    between: int | None = None
    per_day: int = int(FLAPS_PER_DAY.value)
    quiet_s: float = FLAP_QUIET.value * 3600


@dataclass(frozen=True, slots=True)
class PortReading:
    """How often a port's link went down by one of its counters, as the kernel shows it now.

    ``full``: the counter is at its largest value and stopped there, so it went down that often or more.
    """

    counter: str
    value: int
    bounds: FlapBounds
    full: bool = False


@dataclass(frozen=True, slots=True)
class PortFlaps:
    """What a gate keeps of one port.

    ``since``: the first gate that read it. ``base``: since when its counter is followed without a gap (the first gate
    after a boot, or after the counter was cleared). ``seen``: the last gate. ``repaired``: events that ended before do
    not count any more (``railyard gate --forget``). ``uptime``: seconds since the boot at the last gate.
    """

    system: str
    counter: str
    value: int
    boot: str | None
    since: float
    base: float
    seen: float
    bounds: FlapBounds = field(default_factory=FlapBounds)
    flaps: tuple[Flap, ...] = ()
    repaired: float | None = None
    uptime: float | None = None


@dataclass(frozen=True, slots=True)
class FlapReport:
    """What the kept events of a port add up to; ``first`` and ``last`` are times of the gates that saw them.

    ``per_day``: the most flaps in any 24 h. ``quiet_since``: since when no flap was seen. ``good_from``: when a port
    that flapped too often counts as good again, or since when it does; None for ``seldom``.
    """

    state: FlapState
    count: int
    per_day: float
    first: float
    last: float
    quiet_since: float
    good_from: float | None
    bounds: FlapBounds

    @property
    def words(self) -> str:
        """Return it as a part of a sentence that begins with the port."""
        times = "once" if self.count == 1 else f"{self.count} times"
        when = (
            f"first {utc_time(self.first)}, last {utc_time(self.last)}"
            if self.first != self.last
            else f"at {utc_time(self.last)}"
        )
        often = "" if self.count == 1 else f", {self.per_day:.3g} in 24 h"
        said = f"its link went down {times}{often} ({when})"
        hours = f"{self.bounds.quiet_s / 3600:g} h"
        if self.good_from is None:
            return f"{said}, not more than {self.bounds.per_day} in 24 h"
        if self.state == "good again":
            return f"{said}; good again since {utc_time(self.good_from)}, after {hours} without a flap"
        return f"{said}; good again from {utc_time(self.good_from)}, if a gate sees no flap for {hours}"


def follow(
    kept: Mapping[str, PortFlaps],
    now: Mapping[str, PortReading],
    seconds: float,
    boot: str | None,
    system: str,
    *,
    uptime: float | None = None,
    forget: bool = False,
) -> dict[str, PortFlaps]:
    """Return what a gate keeps after it read its ports, by rail; a rail that it did not read is kept as it was.

    ``boot`` is the kernel's name for this start of the node, ``uptime`` the seconds since then, ``seconds`` the time.
    ``forget``: a person has repaired what flapped, so earlier events do not count.
    """
    found = {rail: _move_times(port, _set_by(port, seconds, boot, uptime)) for rail, port in kept.items()}
    for rail, read in now.items():
        before = found.get(rail) or PortFlaps(
            system, read.counter, read.value, boot, seconds, seconds, seconds, read.bounds
        )
        flaps, base = before.flaps, before.base
        if (boot, read.counter) != (before.boot, before.counter) or boot is None or read.value < before.value:
            base = seconds
        elif read.value > before.value:
            flaps = (*flaps, Flap(before.seen, seconds, read.value - before.value))
        after = replace(
            before, system=system, counter=read.counter, value=read.value, boot=boot, seen=seconds, bounds=read.bounds,
            base=seconds if read.full else base, flaps=_join_oldest(flaps),
            repaired=seconds if forget else before.repaired, uptime=uptime,
        )  # fmt: skip
        found[rail] = _without_old(after)
    return found


def _set_by(port: PortFlaps, seconds: float, boot: str | None, uptime: float | None) -> float:
    """Return by how many seconds the clock was set since the last gate of a port; 0 if it only ran."""
    back = min(0.0, seconds - port.seen)
    if boot is None or boot != port.boot or uptime is None or port.uptime is None or uptime < port.uptime:
        return back
    passed = uptime - port.uptime
    by = seconds - port.seen - passed
    return back if abs(by) <= max(_SLEWED_S, _SLEWED * passed) else by


def _move_times(port: PortFlaps, by: float) -> PortFlaps:
    """Return what is kept with all times moved, so that the times between events stay what they were."""
    if not by:
        return port
    flaps = tuple(Flap(one.begin + by, one.end + by, one.count) for one in port.flaps)
    repaired = None if port.repaired is None else port.repaired + by
    return replace(
        port, seen=port.seen + by, since=port.since + by, base=port.base + by, flaps=flaps, repaired=repaired
    )


def _join_oldest(flaps: Sequence[Flap]) -> tuple[Flap, ...]:
    """Return the events; if there are too many, the two oldest become one, so none is lost."""
    kept = list(flaps)
    while len(kept) > MOST_FLAPS:
        first, second, *rest = kept
        kept = [Flap(first.begin, second.end, first.count + second.count), *rest]
    return tuple(kept)


def _without_old(port: PortFlaps) -> PortFlaps:
    """Return what is kept without old events, unless they are why the port still flaps."""
    kept = tuple(one for one in port.flaps if one.end >= port.seen - KEPT_S)
    if len(kept) == len(port.flaps):
        return port
    report = report_of(port)
    return port if report is not None and report.state == "flapping" else replace(port, flaps=kept)


def report_of(port: PortFlaps) -> FlapReport | None:
    """Return what the events of a port add up to; None if no flap was seen, or none since its repair.

    Only what gates saw counts: a port that no gate looked at since its last flap is not quiet.
    """
    flaps = [one for one in port.flaps if port.repaired is None or one.end > port.repaired]
    if not flaps:
        return None
    bounds, too_often, most = port.bounds, False, 0.0
    for place, one in enumerate(flaps):
        if place and one.begin - flaps[place - 1].end >= bounds.quiet_s:
            too_often = False  # it was good again before this one
        in_a_day = sum(each.share(one.end - DAY_S, one.end) for each in flaps[: place + 1])
        most = max(most, in_a_day)
        # rounded: thirds of three flaps add up to 2.9999999999999996
        too_often |= round(in_a_day, 6) > bounds.per_day
        too_often |= bounds.between is not None and one.count > bounds.between
    last = flaps[-1].end
    quiet_since = max(last, port.base)
    good_from = quiet_since + bounds.quiet_s
    state: FlapState = "seldom"
    if too_often:
        state = "good again" if port.seen >= good_from else "flapping"
    return FlapReport(
        state, sum(one.count for one in flaps), most, flaps[0].end, last, quiet_since,
        good_from if too_often else None, bounds,
    )  # fmt: skip


def to_json(ports: Mapping[str, PortFlaps]) -> dict[str, Any]:
    """Return the ports by rail as JSON values; times are rounded to seconds."""
    return {
        rail: {
            "system": port.system,
            "counter": port.counter,
            "value": port.value,
            "boot": port.boot,
            "since": round(port.since),
            "base": round(port.base),
            "seen": round(port.seen),
            "between": port.bounds.between,
            "per_day": port.bounds.per_day,
            "quiet_s": round(port.bounds.quiet_s),
            "flaps": [[round(one.begin), round(one.end), one.count] for one in port.flaps],
            "repaired": None if port.repaired is None else round(port.repaired),
            "uptime": None if port.uptime is None else round(port.uptime),
        }
        for rail, port in ports.items()
    }


def from_json(told: object) -> dict[str, PortFlaps]:
    """Return the ports of what ``to_json`` gave; nothing for None. Raises ValueError for any other value."""
    if told is None:
        return {}
    if not isinstance(told, dict):
        raise ValueError("ports: no object")
    return {str(rail): _port(str(rail), value) for rail, value in told.items()}


def _port(rail: str, told: object) -> PortFlaps:
    if not isinstance(told, dict):
        raise ValueError(f"ports.{rail}: no object")
    try:
        flaps = tuple(Flap(_number(begin), _number(end), _count(count)) for begin, end, count in told["flaps"])
        between = None if told["between"] is None else _count(told["between"])
        bounds = FlapBounds(between, _count(told["per_day"]), _number(told["quiet_s"], 0))
        uptime = told.get("uptime")  # an older gate's answer has none
        port = PortFlaps(
            _text(told["system"]), _text(told["counter"]), _count(told["value"]),
            None if told["boot"] is None else _text(told["boot"]),
            _number(told["since"]), _number(told["base"]), _number(told["seen"]), bounds, flaps,
            None if told["repaired"] is None else _number(told["repaired"]),
            None if uptime is None else _number(uptime, 0),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"ports.{rail}: {error}") from None
    if any(one.begin > one.end for one in flaps):
        raise ValueError(f"ports.{rail}: an event that ends before it begins")
    if any(one.end > port.seen for one in flaps):
        raise ValueError(f"ports.{rail}: an event after the last gate")
    return port


def _number(value: object, least: float = _EARLIEST) -> float:
    # the time of a file is shown to people, and gmtime takes no more
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1 << 36:
        raise ValueError(f"no time: {value!r:.40}")
    return float(value)


def _count(value: object) -> int:
    # no counter of the kernel has more than 64 bits, and a share of more would be no float
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise ValueError(f"no count: {value!r:.40}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"no text: {value!r:.40}")
    return value


@dataclass(frozen=True, slots=True)
class NodePort:
    """One port of a node that flapped."""

    node: str
    rail: str
    system: str
    report: FlapReport

    @property
    def words(self) -> str:
        """Return the whole sentence."""
        return f"{self.rail} of {self.node}: {self.report.words}"


def kept_by_site(home: Path) -> tuple[Path, Path]:
    """Return the folders in which a site keeps flaps: that of its gates, and what `railyard gate --nodes` collected."""
    folder = state_folder(home) / "gate"
    return folder, folder / "collected"


def collect(home: Path, answers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Write the ports in answers of gates (their JSON) where a site keeps them; return a sentence for each that fails.

    Nodes often keep their own state on a disk of their own, which nobody else sees.
    """
    folder, problems = kept_by_site(home)[1], []
    for told in answers:
        try:
            ports = from_json(told.get(KEY))
            if ports:
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(folder / f"{told['node']}.json", json.dumps({KEY: to_json(ports)}, indent=1))
        except (OSError, ValueError) as error:
            problems.append(f"{told['node']}: its flaps are not kept in {folder}: {error}")
    return problems


def read_folders(folders: Iterable[Path]) -> tuple[tuple[NodePort, ...], tuple[str, ...]]:
    """Return the ports that flapped, by what gates keep in folders, and a sentence for each file that is not whole.

    A folder has a file ``NODE.json`` per node. If two folders have the same port, the later look counts.
    """
    newest: dict[tuple[str, str], PortFlaps] = {}
    problems: list[str] = []
    for path in (path for folder in folders for path in _files(folder)):
        try:
            told = read_state(path)
            if isinstance(told, dict) and told.get("node", path.stem) != path.stem:
                raise ValueError(f"it is that of node {told['node']!r:.60}")
            ports = from_json(told.get(KEY) if isinstance(told, dict) else told)
        except (OSError, ValueError) as error:
            problems.append(f"{path}: not what a gate keeps ({error}): its flaps are not in the list")
            continue
        for rail, port in ports.items():
            before = newest.get((path.stem, rail))
            if before is None or before.seen < port.seen:
                newest[path.stem, rail] = port
    found = (
        NodePort(node, rail, port.system, report)
        for (node, rail), port in newest.items()
        if (report := report_of(port)) is not None
    )
    return tuple(sorted(found, key=lambda one: one.report.last, reverse=True)), tuple(problems)


def read_state(path: Path) -> Any:
    """Return the JSON of a node's file. Raises OSError, and ValueError for a file that is none or far too long."""
    with path.open("rb") as file:
        text = file.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise ValueError(f"more than {LONGEST_FILE >> 20} MiB")
    try:
        return json.loads(text.decode("utf-8"))
    except RecursionError:
        raise ValueError("lists in lists, far too deep") from None


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return
