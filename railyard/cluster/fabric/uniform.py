"""Checks what should be the same on every node: firmware, board id (PSID), MTU. Names the odd one, not the others."""

from collections import Counter
from collections.abc import Callable

from railyard.base.finding import Weight
from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Readings
from railyard.cluster.fabric.words import some
from railyard.hardware.counters import DRIVERS

_KNOWN = frozenset(module for driver in DRIVERS.values() for module in driver.modules)


def uniform_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card whose firmware, board or MTU is not as expected, or not as on the others."""
    cards = [card for card in readings.cards if expected.sits(card.device)]
    found: list[Finding] = []
    # Two kinds of cards in a node have different firmware and PSIDs: compare a card with the cards of the same name.
    for device in dict.fromkeys(card.device for card in cards):
        same = [card for card in cards if card.device == device]
        found += _unlike_cards(
            same, "firmware", expected.firmware, lambda card: card.firmware, "update it as on the others"
        )
        found += _unlike_cards(same, "psid", expected.psid, lambda card: card.psid, "is it another model of card?")
    return found + _mtus(expected, readings)


def driver_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each card whose driver does not fit the file's ``counters``, or is in no table."""
    found = []
    for card in readings.cards:
        rail = expected.sits(card.device)
        if rail is None or card.driver is None or rail.counters in ("none", "netdev"):
            continue
        modules = DRIVERS[rail.counters].modules
        if card.driver in modules:
            continue
        unknown = card.driver not in _KNOWN
        meant = f"{' or '.join(modules)} (counters: {rail.counters})"
        fix = f"correct counters of this rail in {expected.file}"
        if unknown:
            fix = "no table has this driver: link and slot are judged, counters only by their standard names"
        weight: Weight = "remark" if unknown else "problem"
        shown = f"the driver {card.driver}"
        found.append(Finding("driver", card.node, card.device, None, shown, meant, fix, weight))
    return found


def _unlike_cards(
    cards: list[Card], what: str, meant: str | None, value: Callable[[Card], str | None], fix: str
) -> list[Finding]:
    """Return a finding for each card whose value is not ``meant`` or, without ``meant``, not the majority's.

    If no value is on more than half of the cards, no card is odd: one remark says which cards have which value.
    """
    said = [(card, text) for card in cards if (text := value(card)) is not None]
    if not said:
        return []
    if meant is None:
        most, times = Counter(text for _, text in said).most_common(1)[0]
        if 2 * times <= len(said):
            return [_no_majority(said, what)]
        meant, shown = most, f"{most}, as on {times} of {len(said)} cards"
    else:
        shown = meant
    return [
        Finding(what, card.node, card.device, None, f"{what} {text}", shown, fix)
        for card, text in said
        if text != meant
    ]


def _no_majority(said: list[tuple[Card, str]], what: str) -> Finding:
    groups: dict[str, list[str]] = {}
    for card, text in said:
        groups.setdefault(text, []).append(f"{card.node} {card.device}")
    shown = "; ".join(f"{what} {text} on {some(places, 4)}" for text, places in groups.items())
    fix = f"update some of them, or say which is expected (fabric_state.{what})"
    return Finding(what, None, None, None, shown, f"one {what} on all cards", fix, "remark")


def _mtus(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    found = []
    for port in readings.own:
        if expected.rail(port.device, port.port) is None or port.mtu_bytes is None or port.is_active is False:
            continue
        if expected.mtu is None or port.mtu_bytes == expected.mtu:
            continue
        fix = "look at the subnet manager's MTU of this port and of its switch (max_mtu of ibv_devinfo)"
        if port.link_layer == "Ethernet" or expected.kind == "roce":
            device = port.netdev or "INTERFACE"
            fix = f"raise the interface's MTU: ip link set {device} mtu 9000 (4200 or more gives a path MTU of 4096)"
        if port.mtu_bytes > expected.mtu:
            fix = f"correct mtu of fabrics.{expected.fabric} in {expected.file}"
        place = (port.node, port.device, port.port)
        found.append(Finding("mtu", *place, f"MTU {port.mtu_bytes}", f"MTU {expected.mtu}", fix))
    return found
