"""The sentences about how bytes were spread over the intended rails of a node."""

from collections.abc import Sequence

from railyard.base.bounds import WIRE_UP_RAIL
from railyard.base.wording import listing, percent, traffic
from railyard.verdict.wording import IDLE, IDLE_SECOND, NOT_PROVEN
from railyard.verdict.wording.path import Way


def one_rail_by_policy(rails: Sequence[str]) -> str:
    """Return that a policy uses one rail, and the run has several."""
    return f"policy single uses one rail, and the run has {listing(rails)}"


def too_few_pairs(pairs: int, rails: int) -> str:
    """Return that too few pairs of ranks run for all rails to be used."""
    return (
        f"{NOT_PROVEN}with a NIC per rank {pairs} pair of ranks cannot use {rails} rails, so this benchmark says "
        f"nothing about them"
    )


def too_little_split(node: str, way: Way, split_bytes: int, rails: Sequence[str], least_bytes: int) -> str:
    """Return that too few bytes moved in messages that are spread over the rails."""
    return (
        f"{NOT_PROVEN}{node} {way} {traffic(split_bytes)} in messages that are spread over {listing(rails)}, and the "
        f"split can be told from {traffic(least_bytes)} on ({WIRE_UP_RAIL.name})"
    )


def short() -> str:
    """Return why a rail is a suspect if only its share speaks against it."""
    return "carried less than its rate's share"


def brief_short_pair(rail: str) -> str:
    """Return as a headline that both ends of a rail carried less than its share."""
    return f"moved less over {rail} than that rail's share"


def brief_short(way: Way, share: float, due: float) -> str:
    """Return as a headline that a rail carried less than its share."""
    return f"{way} {percent(share)} of the bytes, due {percent(due)}"


def idle_part(rail: str, node: str, way: Way, carried_bytes: int, whole_bytes: int) -> str:
    """Return what an idle rail carried."""
    return f"rail {rail} of {node} {way} {traffic(carried_bytes)} of {traffic(whole_bytes)}"


def idle(parts: Sequence[str], rails: int, share: float, unit: str, bound: str) -> str:
    """Return that rails were idle: the words of each one, and the bound on its share."""
    which = IDLE_SECOND if rails == 2 else IDLE
    return f"{'; '.join(parts)}: {which} (bound {percent(share)} {unit}, {bound})"


def idle_reason(part: str) -> str:
    """Return why a rail is a suspect that was idle."""
    return f"idle: {part}"


def brief_idle(way: Way, carried_bytes: int, whole_bytes: int) -> str:
    """Return an idle rail as a headline."""
    return f"is idle: it {way} {traffic(carried_bytes)} of {traffic(whole_bytes)}"


def uneven_part(rail: str, node: str, way: Way, share: float, whole_bytes: int, due: float) -> str:
    """Return what one of the rails carried whose shares do not match their rates."""
    return f"rail {rail} of {node} {way} {percent(share)} of {traffic(whole_bytes)}, due {percent(due)}"


def uneven(parts: Sequence[str], points: float, bound: str) -> str:
    """Return that the shares of rails do not match their rates."""
    return f"uneven split: {'; '.join(parts)} (bound {100 * points:g} points, {bound})"


def look_at_rail_count() -> str:
    """Return what to look at if a policy does not fit to the rails."""
    return "the system's rails and the check's rail count"


def look_at_pairs() -> str:
    """Return what to run if a benchmark has too few pairs of ranks."""
    return "a benchmark with at least one pair per rail (osu_mbw_mr, IMB's Uniband)"


def look_at_repetitions() -> str:
    """Return what to look at if too little moved."""
    return "the check's repetitions: more of them move more bytes"


def look_at_settings(rails: Sequence[str], node: str) -> str:
    """Return what to look at if rails were idle."""
    return f"how the stack's devices and rails are set; whether {listing(rails)} of {node} reaches the other nodes"


def look_at_rates(rails: Sequence[str], node: str) -> str:
    """Return what to look at if a split is uneven."""
    return f"rate and errors of {listing(rails)} on {node}, then the stack's weights of its rails"
