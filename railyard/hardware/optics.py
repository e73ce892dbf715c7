"""A cable's or module's own readings against its own thresholds: alarm, warning, inside, or not judged and why.

The vendor writes four thresholds for each reading into the module (SFF-8472, SFF-8636 page 3, CMIS page 2): low alarm,
low warning, high warning, high alarm. Nothing else is compared with: where the module states none, or where they
contradict each other, the reading is not judged, and the report says so; the other readings are. Copper without
electronics has no light and states zeros.

A module's values are a flat mapping, as parsers give them: ``temperature_c``, ``voltage_v``; by lane from 1
``bias_ma_lane1``, ``tx_power_dbm_lane1``, ``rx_power_dbm_lane1``; thresholds as ``rx_power_dbm_low_alarm``; a flag that
the module raised as ``flag_rx_power_low_alarm_lane1``; ``identifier``, ``technology``, ``vendor``, ``part``,
``serial``. Optical power is in dBm, and no light is -40 (0.1 uW, the step in which modules count).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

#: What a module states: 0 mW is as little as it can count.
NO_LIGHT_DBM = -40.0
Values = Mapping[str, str | int | float]
Level = Literal["alarm", "warning"]
LIMITS = ("low_alarm", "low_warning", "high_warning", "high_alarm")
#: Key of a reading -> its words, its unit, and whether each lane has its own.
READINGS: Mapping[str, tuple[str, str, bool]] = MappingProxyType(
    {
        "temperature_c": ("temperature", "C", False),
        "voltage_v": ("voltage", "V", False),
        "bias_ma": ("laser bias current", "mA", True),
        "tx_power_dbm": ("transmitted power", "dBm", True),
        "rx_power_dbm": ("received power", "dBm", True),
    }
)
_LANE = re.compile(r"_lane([0-9]{1,2})$")
_FLAG = re.compile(
    r"^flag_(?P<reading>[a-z_]+?)_(?P<side>low|high)_(?P<level>alarm|warning)(?:_lane(?P<lane>[0-9]+))?$"
)
#: ethtool's words for copper, and mlxlink's. An active copper cable has electronics, and may state thresholds.
_PASSIVE = re.compile(r"passive|copper cable|\bunequali[sz]ed\b|Copper Pigtail|\bDAC\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OpticFinding:
    """One reading outside of the module's own threshold: what was found and what the module allows."""

    level: Level
    reading: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class OpticReport:
    """What a module shows: what is outside its thresholds, how many readings are inside, and what is not judged."""

    findings: tuple[OpticFinding, ...]
    inside: int
    unjudged: tuple[str, ...]
    name: str

    @property
    def alarms(self) -> tuple[OpticFinding, ...]:
        """The readings beyond an alarm threshold."""
        return tuple(one for one in self.findings if one.level == "alarm")


def dbm_of(milliwatt: float) -> float:
    """Return an optical power in dBm, at least that of no light."""
    return NO_LIGHT_DBM if milliwatt <= 0 else max(NO_LIGHT_DBM, 10 * math.log10(milliwatt))


def name_of(values: Values) -> str:
    """Return how sentences name a module: kind, vendor, part and serial number, as far as they are known."""
    maker = " ".join(str(values[name]) for name in ("vendor", "part") if values.get(name))
    serial = f"serial {values['serial']}" if values.get("serial") else ""
    return ", ".join(part for part in (str(values.get("identifier", "")), maker, serial) if part) or "a module"


def lanes_of(values: Values, reading: str) -> dict[int, float]:
    """Return the values of a reading by lane; one without lanes is lane 0."""
    found = {0: values[reading]} if reading in values else {}
    for key, value in values.items():
        at = _LANE.search(key)
        if at and key[: at.start()] == reading:
            found[int(at[1])] = value
    return {lane: float(value) for lane, value in sorted(found.items()) if isinstance(value, int | float)}


def report_of(values: Values) -> OpticReport:
    """Return what a module's readings are by its own thresholds."""
    name = name_of(values)
    if _is_passive(values):
        return OpticReport((), 0, ("passive copper: it has no light and no thresholds",), name)
    findings, unjudged, inside = list[OpticFinding](), list[str](), 0
    unused = unused_lanes(values)
    if unused:
        unjudged.append(
            f"lanes {unused[0]} to {unused[-1]}: no bias and no light either way, as lanes that are not used"
        )
    shows = any(lanes_of(values, reading) or limits_of(values, reading) for reading in READINGS)
    for reading, (words, _, _) in READINGS.items() if shows else ():
        lanes = {lane: value for lane, value in lanes_of(values, reading).items() if lane not in unused}
        limits = limits_of(values, reading)
        if wrong := _contradiction(reading, limits):
            unjudged.append(f"{words}: the module's thresholds contradict each other ({wrong})")
            continue
        if lanes and not limits:
            unjudged.append(f"{words}: the module states no thresholds")
        elif not lanes:
            unjudged.append(f"{words}: it is not shown")
        for lane, value in lanes.items() if limits else ():
            beyond = _crossed_threshold(reading, lane, value, limits)
            findings += [beyond] if beyond else []
            inside += beyond is None and _is_bounded(reading, value, limits)
        unjudged += _reasons_not_judged(reading, lanes, limits)
    unjudged += [f"{_place(reading, lane)}: it is not shown" for reading, lane in _missing_lanes(values, unused)]
    findings += _raised_flags(values, unused)
    if not findings and not inside and not unjudged:
        unjudged.append("the module shows no readings")
    findings.sort(key=lambda one: one.level)  # alarms first
    return OpticReport(tuple(findings), inside, tuple(unjudged), name)


def limits_of(values: Values, reading: str) -> dict[str, float]:
    """Return the thresholds of a reading by name; none if the module states only zeros: it has none then."""
    given = {limit: values[f"{reading}_{limit}"] for limit in LIMITS if f"{reading}_{limit}" in values}
    found = {limit: float(value) for limit, value in given.items() if isinstance(value, int | float)}
    nothing = (0.0, NO_LIGHT_DBM) if READINGS[reading][1] == "dBm" else (0.0,)
    return {} if len({*found.values()}) <= 1 and all(value in nothing for value in found.values()) else found


def unused_lanes(values: Values) -> tuple[int, ...]:
    """Return the upper lanes that a module of eight or more does not use: no bias, and no light either way.

    A module for 400GBASE-DR4 states eight lanes and has four. Lanes are unused only in whole halves from the top, so
    one dead lane is never taken for an unused one.
    """
    by_reading = {reading: lanes_of(values, reading) for reading, (_, _, each) in READINGS.items() if each}
    known = {reading: lanes for reading, lanes in by_reading.items() if lanes}
    lanes = sorted({lane for each in known.values() for lane in each})
    if len(lanes) < 8 or len(known) < 2:
        return ()
    dark = {"bias_ma": 0.0, "tx_power_dbm": NO_LIGHT_DBM, "rx_power_dbm": NO_LIGHT_DBM}
    used = len(lanes)
    while used > 1 and used % 2 == 0:
        upper = lanes[used // 2 : used]
        if not all(each.get(lane, dark[reading]) <= dark[reading] for reading, each in known.items() for lane in upper):
            break
        used //= 2
    has_light = any(known.get("tx_power_dbm", {}).get(lane, NO_LIGHT_DBM) > NO_LIGHT_DBM for lane in lanes[:used])
    return tuple(lanes[used:]) if has_light else ()


def _is_passive(values: Values) -> bool:
    return bool(_PASSIVE.search(str(values.get("technology", "")))) and not any(
        limits_of(values, reading) for reading in READINGS
    )


def _contradiction(reading: str, limits: Mapping[str, float]) -> str | None:
    """Return which thresholds of a reading are in the wrong order; None if they rise."""
    unit = READINGS[reading][1]
    rising = [(limit, limits[limit]) for limit in LIMITS if limit in limits]
    for (low, first), (high, second) in pairwise(rising):
        if first > second:
            return f"{low.replace('_', ' ')} {first:g} {unit}, {high.replace('_', ' ')} {second:g} {unit}"
    if len(rising) > 1 and rising[0][1] == rising[-1][1]:
        return f"all are {rising[0][1]:g} {unit}"
    return None


def _crossed_threshold(reading: str, lane: int, value: float, limits: Mapping[str, float]) -> OpticFinding | None:
    levels: tuple[Level, ...] = ("alarm", "warning")
    for level in levels:
        low, high = limits.get(f"low_{level}"), limits.get(f"high_{level}")
        if (low is not None and value < low) or (high is not None and value > high):
            _, unit, _ = READINGS[reading]
            shown = "no light" if unit == "dBm" and value <= NO_LIGHT_DBM else f"{value:g} {unit}"
            is_low = low is not None and value < low
            side = f"at least {low:g} {unit}" if is_low else f"at most {high:g} {unit}"
            expected = f"{side} (the module's own {'low' if is_low else 'high'} {level})"
            return OpticFinding(level, reading, f"{_place(reading, lane)} {shown}", expected)
    return None


def _is_bounded(reading: str, value: float, limits: Mapping[str, float]) -> bool:
    """Return whether a value can be called inside: both alarms are there, and no light is not its low alarm itself."""
    both = "low_alarm" in limits and "high_alarm" in limits
    return both and not (READINGS[reading][1] == "dBm" and value <= NO_LIGHT_DBM)


def _reasons_not_judged(reading: str, lanes: Mapping[int, float], limits: Mapping[str, float]) -> Iterator[str]:
    """Yield why values that are beyond no threshold are not judged: an alarm is not shown, or it allows no light."""
    words, unit, _ = READINGS[reading]
    missing = [limit for limit in ("low_alarm", "high_alarm") if limit not in limits]
    if lanes and limits and missing:
        yield f"{words}: its {' and its '.join(missing)} is not shown".replace("_", " ")
    for lane, value in lanes.items() if limits else ():
        if unit == "dBm" and value <= NO_LIGHT_DBM and _crossed_threshold(reading, lane, value, limits) is None:
            yield f"{_place(reading, lane)}: no light, and the module states no low alarm above it"


def _missing_lanes(values: Values, unused: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield each reading of a lane that lacks although the reading is there for other lanes: a cut or odd line."""
    by_reading = {reading: lanes_of(values, reading) for reading, (_, _, each) in READINGS.items() if each}
    last = max((lane for lanes in by_reading.values() for lane in lanes), default=0)
    for reading, lanes in by_reading.items():
        if lanes and 0 not in lanes:
            yield from ((reading, lane) for lane in range(1, last + 1) if lane not in lanes and lane not in unused)


def _place(reading: str, lane: int) -> str:
    return f"{READINGS[reading][0]}{f' of lane {lane}' if lane else ''}"


def _raised_flags(values: Values, unused: Sequence[int]) -> Iterator[OpticFinding]:
    """Yield a warning for each flag of a reading that is inside its thresholds now.

    Modules keep a flag until somebody reads it. A flag of a reading without thresholds, or with thresholds that
    contradict each other, says nothing: the module compared with these.
    """
    for key in values:
        said = _FLAG.match(key)
        if said is None or said["reading"] not in READINGS:
            continue
        lane, limits = int(said["lane"] or 0), limits_of(values, said["reading"])
        value = lanes_of(values, said["reading"]).get(lane)
        if (
            not limits
            or _contradiction(said["reading"], limits)
            or lane in unused
            or value is None
            or _crossed_threshold(said["reading"], lane, value, limits) is not None
        ):
            continue
        _, unit, _ = READINGS[said["reading"]]
        flag = f"the module's flag of a {said['side']} {said['level']}"
        found = f"{_place(said['reading'], lane)} {value:g} {unit}, and {flag}"
        yield OpticFinding("warning", said["reading"], found, "no flag: it was beyond the threshold before")
