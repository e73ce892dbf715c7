"""The sentences about what a failed curve looks like, and about lesser parts whose rate it has."""

from collections.abc import Sequence

from railyard.base.wording import count_of, either, message_size, number, percent

#: How each sentence of a cause begins.
GUESS = "looks like "


def looks_like(cause: str) -> str:
    """Return a cause as a guess."""
    return f"{GUESS}{cause}"


def drop_guess(sentence: str) -> str:
    """Return what a curve looks like, from the sentence that says so."""
    return sentence.removeprefix(GUESS)


def with_first_cause(brief: str, cause: str) -> str:
    """Return a low value as a headline with the cause that it looks like, both without their figures."""
    return f"{brief.partition(': ')[0]}, like {cause.partition(' (')[0].partition(': ')[0]}"


def latency_within_node(least_us: float) -> str:
    """Return that a latency is as short as in shared memory."""
    return f"both ranks on one node (shared memory): {number(least_us)} us"


def rate_within_node(share: float, pairs: int) -> str:
    """Return that pairs of ranks move more than the link can; ``share``: of its limit."""
    of_limit = f"{percent(share)} of the link's limit"
    if pairs > 1:
        return f"{pairs} pairs of ranks on several pairs of nodes, or within a node (shared memory): {of_limit}"
    return f"both ranks on one node (shared memory): {of_limit}"


def rate_of_no_link(rate_mb_s: float, message_us: float) -> str:
    """Return that no link and no slot has a rate, and that short messages are as fast as in shared memory."""
    return (
        f"both ranks on one node (shared memory), or a link that carries less than it should: {number(rate_mb_s)} MB/s "
        f"is a rate of no link and no slot, and {number(message_us)} us for each message of a few bytes is as short as "
        "in a node's memory"
    )


def latency_of_tcp(least_us: float) -> str:
    """Return that a latency is as long as over TCP."""
    return f"TCP in place of RDMA: {number(least_us)} us for a message of a few bytes"


def rate_of_tcp(message_us: float, share: float, links: str | None) -> str:
    """Return that each message takes as long as over TCP; ``links``: those that have the rate, if any."""
    over = f", a rate of {links}" if links else ""
    return (
        f"TCP in place of RDMA: {number(message_us)} us for each message of a few bytes in a window, and "
        f"{percent(share)} of the limit at best{over}"
    )


def small_mtu_of_roce(share: float, limit_mb_s: float) -> str:
    """Return that a rate is what RoCE reaches with a path MTU of 1024."""
    of_limit = f"{percent(share)} of {number(limit_mb_s)} MB/s"
    return f"RoCE with a path MTU of 1024 (a network device of MTU 1500): {of_limit}"


def moved_threshold(first_bytes: int, last_bytes: int, worst_share: float) -> str:
    """Return that a few neighbouring sizes miss the reference, and that smaller and larger ones reach it."""
    sizes = message_size(first_bytes)
    if last_bytes > first_bytes:
        sizes += f" to {message_size(last_bytes)}"
    return (
        f"a moved eager or rendezvous threshold: {sizes} at {percent(worst_share)} of the reference, smaller and "
        "larger sizes reach it"
    )


def drop_above_cache(peak_mb_s: float, peak_bytes: int, last_mb_s: float, last_bytes: int) -> str:
    """Return that a rate falls with every size after its peak."""
    return (
        f"a drop above a cache's size: {number(peak_mb_s)} MB/s at {message_size(peak_bytes)} falls to "
        f"{number(last_mb_s)} MB/s ({percent(last_mb_s / peak_mb_s)}) at {message_size(last_bytes)} (last-level cache, "
        "the card's own, or registered memory)"
    )


def fitting_part(part: str, share: float, limit_mb_s: float) -> str:
    """Return a lesser part with the share of its limit that a rate is."""
    return f"{part} ({percent(share)} of {number(limit_mb_s)} MB/s)"


def one_of(parts: Sequence[str]) -> str:
    """Return lesser parts any of which has the rate; empty if there is none."""
    return " or ".join(parts)


def another_network(link: str, rate_mb_s: float, parts: Sequence[str]) -> str:
    """Return which networks and slots have a rate that is far below the link's."""
    return (
        f"another network than {link}, or a link or slot that runs far below it: {number(rate_mb_s)} MB/s is a rate of "
        f"{either(parts)}"
    )


def some_rails(rails: int, of: int) -> str:
    """Return fewer rails than the run should use."""
    return f"{count_of(rails, 'rail')} of {of}"


def some_lanes(lanes: int, of: int, generation: str) -> str:
    """Return fewer lanes than a link has."""
    return f"{lanes} of the {of} lanes of {generation}"


def link_of(generation: str) -> str:
    """Return a link of another generation."""
    return f"a link of {generation}"


def lesser_slot(generation: str, expected: str) -> str:
    """Return a slot that carries less than the card's own."""
    return f"a slot of {generation} in place of {expected}"


def named_slot(name: str) -> str:
    """Return a slot by its name in the table of slots."""
    return f"the slot {name}"


def fitting_share(part: str, share: float) -> str:
    """Return a link or a slot with the share of its limit that a rate is."""
    return f"{part} ({percent(share)})"


def slot_in_text(address: str, name: str, line: int, below: str, most_mb_s: float | None) -> str:
    """Return a degraded slot that the same text shows; ``below``: how it runs below its best."""
    most = "" if most_mb_s is None else f", {number(most_mb_s)} MB/s at most"
    return looks_like(f"the slot of {address} ({name[:80]}), line {line}: {below}{most}")


def port_in_text(place: str, line: int, rate_gbit_s: float, lanes: str, due_gbit_s: float, link: str) -> str:
    """Return a slow port that the same text shows; ``lanes``: its width and speed as printed, empty if not printed."""
    shown = f"{rate_gbit_s:g} Gbit/s{f' ({lanes})' if lanes else ''}"
    return looks_like(f"{place}, line {line}: {shown}, below the {due_gbit_s:g} Gbit/s of {link}")


def mtu_in_text(place: str, line: int, active: int | None, most: int | None) -> str:
    """Return a port with a small MTU that the same text shows."""
    return looks_like(f"{place}, line {line}: active_mtu {active} below max_mtu {most}")
