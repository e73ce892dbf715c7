"""RoCE: the GID that jobs use, its mode, and priorities with flow control (PFC) or congestion notification (ECN)."""

import re
from collections import Counter

from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Gid, Readings
from railyard.cluster.fabric.words import unique

# prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
_PFC = re.compile(r"^\s*prio-pfc((?:\s+[0-7]:(?:on|off))+)\s*$", re.MULTILINE)
_PRIORITY = re.compile(r"([0-7]):(on|off)")
_SHOW_GIDS = "look at /sys/class/infiniband/DEVICE/ports/1/gid_attrs/types, and set the intended index for jobs"


def parse_pfc(text: str) -> tuple[int, ...] | None:
    """Return the priorities that ``dcb pfc show dev DEV`` prints as on; None for any other text."""
    found = _PFC.search(text)
    if found is None:
        return None
    return tuple(int(priority) for priority, word in _PRIORITY.findall(found[1]) if word == "on")


def roce_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card of a RoCE fabric whose GIDs, PFC or ECN are not as expected."""
    if expected.kind != "roce":
        return []
    cards = [card for card in readings.cards if expected.sits(card.device)]
    found = _gids(expected, cards)
    for what, meant in (("pfc", expected.pfc), ("ecn", expected.ecn)):
        for card in cards:
            here = card.pfc if what == "pfc" else card.ecn
            if meant is None or here is None or here == meant:
                continue
            fix = "mlnx_qos -i INTERFACE --pfc" if what == "pfc" else "ecn/roce_*/enable/N of the interface in /sys"
            said = f"{what.upper()} {_priorities(here)}"
            found.append(_finding(what, card, said, f"{what.upper()} {_priorities(meant)}", f"{fix}, as on the switch"))
    return found


def _gids(expected: ExpectedFabric, cards: list[Card]) -> list[Finding]:
    found = []
    usable: list[tuple[Card, int]] = []
    for card in cards:
        if not card.gids:
            continue
        if expected.gid_index is not None:
            found += _at_index(expected, card, expected.gid_index)
            continue
        index = _first(card.gids, expected.roce_mode)
        if index is None:
            shown = ", ".join(unique(f"RoCE {gid.kind}" for gid in card.gids if gid.kind)) or "none with a mode"
            meant = f"a GID of RoCE {expected.roce_mode} with an IP address"
            netdev = next((f" {gid.netdev}" for gid in card.gids if gid.netdev), "")
            fix = f"give the card's interface{netdev} an IP address, and check its RoCE mode (cma_roce_mode)"
            found.append(_finding("gid", card, f"only GIDs of {shown}", meant, fix))
        else:
            usable.append((card, index))
    return found + _odd(usable)


def _at_index(expected: ExpectedFabric, card: Card, index: int) -> list[Finding]:
    gid = next((each for each in card.gids if each.index == index), None)
    meant = f"a GID of RoCE {expected.roce_mode} at index {index}"
    if gid is None:
        return [_finding("gid", card, f"no GID at index {index}", meant, _SHOW_GIDS)]
    if gid.kind is not None and gid.kind != expected.roce_mode:
        return [_finding("gid", card, f"RoCE {gid.kind} at index {index}", meant, _SHOW_GIDS)]
    return []


def _first(gids: tuple[Gid, ...], mode: str | None) -> int | None:
    """Return the first index of this mode with an IPv4 address, else the first of this mode that is not link-local."""
    of_mode = [gid for gid in gids if gid.kind == mode]
    ipv4 = [gid.index for gid in of_mode if gid.gid.startswith("0000:0000:0000:0000:0000:ffff:")]
    other = [gid.index for gid in of_mode if not gid.gid.startswith("fe80:")]
    return next(iter([*ipv4, *other]), None)


def _odd(usable: list[tuple[Card, int]]) -> list[Finding]:
    """Return a finding for each card whose index is not the majority's: a job gives all nodes the same index."""
    if not usable:
        return []
    most, times = Counter(index for _, index in usable).most_common(1)[0]
    if 2 * times <= len(usable):
        return []
    shown = f"index {most}, as on {times} of {len(usable)} cards"
    return [
        _finding("gid", card, f"the first usable GID at index {index}", shown, _SHOW_GIDS)
        for card, index in usable
        if index != most
    ]


def _priorities(values: tuple[int, ...]) -> str:
    noun = "priorities" if len(values) > 1 else "priority"
    return f"on {noun} {', '.join(map(str, values))}" if values else "on no priority"


def _finding(what: str, card: Card, found: str, expected: str, fix: str) -> Finding:
    return Finding(what, card.node, card.device, None, found, expected, fix)
