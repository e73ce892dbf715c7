"""The sentences about links and ports of rails: errors, lost carriers, bonded ports, and segments that were resent."""

from collections.abc import Mapping, Sequence

from railyard.base.bounds import RESENT_SHARE
from railyard.base.wording import count_of, listing, percent


def place(device: str, node: str, rail: str) -> str:
    """Return where a port is, and the rail to which it is bonded, if it is another one."""
    return f"{device} of {node}" + ("" if device == rail else f" (a port of {rail})")


def bonded_shares(rail: str, node: str, shares: Mapping[str, float]) -> str:
    """Return over which of its ports a bonded rail sent."""
    each = listing([f"{percent(share)} over {port}" for port, share in shares.items()])
    return f"{rail} of {node} sent {each}, the ports bonded to it"


def say_flapped(where: str, changes: int) -> str:
    """Return that a link was lost during a run, and came back."""
    return f"the link of {where} flapped during the run: carrier_changes grew by {changes}"


def lost_carrier(where: str) -> str:
    """Return that a rail was lost during a run."""
    return f"rail {where} lost its carrier during the run"


def grew(counter: str, count: int, bound: int, whose: str) -> str:
    """Return that a counter of errors grew above its bound, and whose bound that is."""
    return f"{counter} grew by {count} (bound {bound}, {whose})"


def of_the_file() -> str:
    """Return whose bound it is that a system's file has."""
    return "the system's file"


def errors(where: str, grown: Sequence[str]) -> str:
    """Return which errors a port made: the words of each counter."""
    return f"errors on {where} during the run: {'; '.join(grown)}"


def signals(where: str, grown: Sequence[str], more: int) -> str:
    """Return which signals of a port grew, each with its count, and how many ``more`` there are."""
    return f"signals on {where}: {', '.join(grown)}{f' and {more} more' if more > 0 else ''}"


def signals_of_many(counter: str, ports: int, most: int, where: str) -> str:
    """Return on how many ports a signal grew, and where most."""
    return f"signals: {counter} grew on {count_of(ports, 'port')}, by {most} at most ({where})"


def at_maximum(counter: str, where: str, most: int | None) -> str:
    """Return that a counter cannot grow any more."""
    return f"{counter} of {where} was at its maximum, {most}, before the run and cannot grow any more: clear it"


def virtual(where: str) -> str:
    """Return that a virtual function does not show the errors of its port."""
    return f"port errors of {where} not seen: it is a virtual function"


def say_resent(node: str, again: int, sent: int) -> str:
    """Return that TCP sent more segments again than over a healthy path."""
    share = f"{percent(again / sent)}; bound {percent(RESENT_SHARE.value)}, {RESENT_SHARE.name}"
    return f"TCP of {node} sent {again} of {sent} segments again ({share})"


def no_bond() -> str:
    """Return what a rail is that has no bonded ports."""
    return "is not a bond"


def bond(mode: str, ports: Sequence[str], is_one_at_a_time: bool) -> str:
    """Return what a rail is that has bonded ports."""
    only = " (only one carries data)" if is_one_at_a_time else ""
    return f"is a bond ({mode}) of {listing(ports) or 'no port'}{only}"


def miscount(rail: str, node: str, there: str, expected: int) -> str:
    """Return that a rail has more or fewer bonded ports than the file says; ``there``: the words above."""
    return f"{rail} of {node} {there}, but the system's file says bonded_ports: {expected}"


def port_down(port: str, node: str, ports: int, rail: str, had_carrier: bool) -> str:
    """Return that a bonded port has no carrier."""
    when = "lost its carrier during the run" if had_carrier else "has no carrier"
    return f"{port} of {node}, one of {ports} ports bonded to {rail}, {when}"


def look_at(where: str) -> str:
    """Return what to look at if a rail makes errors or loses packets; ``where`` is ``hsn1 of vn2``."""
    return f"cable, port and switch port of {where}: link state, and error counters of both ends"


def look_at_link(where: str) -> str:
    """Return what to look at if a link was lost."""
    return f"cable, port and driver of {where}"


def look_at_port(port: str, node: str) -> str:
    """Return what to look at if a bonded port has no carrier."""
    return f"cable, port and driver of {port} on {node}"


def look_at_bond(rail: str, node: str) -> str:
    """Return what to look at if a bond is not what the file says."""
    return f"bonded_ports of {rail} in the system's file, and /proc/net/bonding on {node}"
