"""The lane speeds of InfiniBand and RoCE by name, and the Gbit/s by which a link of so many lanes is known.

A rate here is what the kernel prints (``/sys/class/infiniband/*/ports/*/rate``, ibstat, ibstatus): the number of lanes
times the lane's round number. 4X EDR is 100, although it signals 4 x 25.78125 Gbit/s. 4X QDR is 40, although 8b/10b
leaves 32 for data. Source: ``ib_port_attr_to_speed_info`` and ``rate_show`` of Linux; ``ibnd_dump_agg_linkspeedext`` of
rdma-core (signalled rates); ``speed_str`` of ibv_devinfo (14.0, 25.0, 50.0 ... for the same speeds).
"""

import re
from functools import lru_cache
from types import MappingProxyType

# name -> round number of one lane, signalled rate of one lane, both in Gbit/s; slowest first
LANES: MappingProxyType[str, tuple[float, float]] = MappingProxyType(
    {
        "SDR": (2.5, 2.5),
        "DDR": (5.0, 5.0),
        "QDR": (10.0, 10.0),
        "FDR10": (10.0, 10.3125),
        "FDR": (14.0, 14.0625),
        "EDR": (25.0, 25.78125),
        "HDR": (50.0, 53.125),
        "NDR": (100.0, 106.25),
        "XDR": (200.0, 212.5),
    }
)
_ORDER = MappingProxyType({name: place for place, name in enumerate(LANES)})
_WIDTH = re.compile(r"\A([0-9]{1,2})[xX]\Z")
# 100G, 100G_4X, 100GbE, 2.5G, 10M: names of Ethernet speeds in mlxlink
_ETHERNET = re.compile(r"\A([0-9]{1,4}(?:\.[0-9])?)(G|M)(?:bE|bps)?(?:_[0-9]{1,2}[xX])?\Z")


@lru_cache(maxsize=256)
def width_of(word: str) -> str | None:
    """Return a printed width as "4X"; None if the word is not a width ("??", "undefined (0)", "N/A", "0x")."""
    found = _WIDTH.match(word)
    return f"{int(found[1])}X" if found and int(found[1]) else None


def lanes(width: str | None) -> int | None:
    """Return how many lanes a width has; None if there is no width."""
    return int(width[:-1]) if width else None


@lru_cache(maxsize=256)
def speed_name(word: str) -> str | None:
    """Return the name of a speed ("EDR"), from upper or lower case, with or without "IB-"; None for any other word."""
    name = word.upper().removeprefix("IB-")
    return name if name in LANES else None


@lru_cache(maxsize=256)
def speed_of_lane(gbit_s: float) -> str | None:
    """Return the name of a lane speed in Gbit/s, round or signalled (14.0, 14.0625), within 1 %; None if none fits."""
    for name, rates in LANES.items():
        if any(abs(gbit_s - rate) <= 0.01 * rate for rate in rates):
            return name
    return None


def rate_gbit_s(width: str | None, speed: str | None) -> float | None:
    """Return the rate of a link in Gbit/s as the kernel prints it; None if width or speed is unknown."""
    if width is None or speed is None or speed not in LANES:
        return None
    return int(width[:-1]) * LANES[speed][0]


def ethernet_gbit_s(word: str) -> float | None:
    """Return the rate in Gbit/s of an Ethernet speed's name ("100GbE", "200G_4X"); None for any other word."""
    found = _ETHERNET.match(word)
    return (float(found[1]) / (1 if found[2] == "G" else 1000)) if found else None


def slower(one: str, other: str) -> bool | None:
    """Return whether speed ``one`` is below ``other``; None if the names are of different families."""
    if one in _ORDER and other in _ORDER:
        return _ORDER[one] < _ORDER[other]
    first, second = ethernet_gbit_s(one), ethernet_gbit_s(other)
    return None if first is None or second is None else first < second


def fastest(names: tuple[str, ...]) -> str | None:
    """Return the fastest of these speeds, within one family (InfiniBand before Ethernet); None if there are none."""
    known = [name for name in names if name in _ORDER]
    if known:
        return max(known, key=_ORDER.__getitem__)
    rated = [(rate, name) for name in names if (rate := ethernet_gbit_s(name)) is not None]
    return max(rated)[1] if rated else None
