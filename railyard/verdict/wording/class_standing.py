"""The sentences about how a curve compares with the published numbers of its transport class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import count_of, listing, message_size, number, percent

Side = Literal["below", "within", "above"]


@dataclass(frozen=True, slots=True)
class PublishedRange:
    """The lowest and the highest published number for a size, in GB/s, and the names of all."""

    low: float
    high: float
    numbers: tuple[str, ...]


def comparison(
    side: Side,
    of_class: str,
    collective: str,
    busbw_gb_s: float,
    size_bytes: int | None,
    published: PublishedRange,
    counts: Mapping[Side, int],
) -> str:
    """Return how a curve compares with published numbers, by the worst of its sizes; None: its peak.

    ``counts``: how many sizes are on each side.
    """
    low, high = published.low, published.high
    where = "at its peak" if size_bytes is None else f"at {message_size(size_bytes)}"
    share = percent(busbw_gb_s / (low if side == "below" else high))
    shown = f"{number(low)} GB/s" if low == high else f"{number(low)} to {number(high)} GB/s"
    each = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return (
        f"{side} what is published for {of_class}: busbw {number(busbw_gb_s)} GB/s of {collective} {where} is {share} "
        f"of {shown} ({listing(published.numbers)}); of {count_of(sum(counts.values()), 'comparison')}: {each}"
    )


def not_known(why: str) -> str:
    """Return that a curve cannot be compared, and why."""
    return f"not known: {why}"


def left_out(number_id: str, why: str) -> str:
    """Return why a published number was left out."""
    return f"{number_id}: {why}"


def no_number_at(sizes: Sequence[int]) -> str:
    """Return at which sizes of a curve nothing is published."""
    return f"no published number at {listing([message_size(size) for size in sizes])}"


def bad_case(reason: str) -> str:
    """Return that a number is of a system that was not healthy."""
    return f"a bad case ({reason})"


def mean_of_sizes() -> str:
    """Return that a mean cannot be compared."""
    return "a mean over all sizes says nothing about any size"


def nodes_of_source_unknown() -> str:
    """Return that a number's source does not say on how many nodes it was measured."""
    return "its source does not say on how many nodes"


def nodes_unknown() -> str:
    """Return that it is not known on how many nodes the curve was measured."""
    return "it is not known on how many nodes yours was measured"


def other_node_count(published: int, measured: int) -> str:
    """Return that a number is for another number of nodes."""
    return f"it is for {count_of(published, 'node')}, yours for {count_of(measured, 'node')}"


def other_algorithm(published: str | None, measured: str | None) -> str:
    """Return that a number is for another algorithm; None: the library's own choice."""
    ways = [each or "the library's choice" for each in (published, measured)]
    return f"its algorithm was {ways[0]}, yours {ways[1]}"


def longer_peak(peak_gb_s: float, longest_bytes: int) -> str:
    """Return that a peak may be for longer messages than were measured."""
    return (
        f"its peak of {number(peak_gb_s)} GB/s may be for longer messages; yours end at {message_size(longest_bytes)}"
    )


def nothing_published(collective: str, of_class: str) -> str:
    """Return that nothing of a collective is published for a class."""
    return f"no published measurement of {collective} on {of_class} is stored here"


def published_only_at(of_class: str, collective: str, sizes: Sequence[int]) -> str:
    """Return at which sizes a collective is published, if the curve has none of them."""
    return f"{of_class} has published {collective} only at {listing([message_size(size) for size in sizes])}"


def say_demanded(
    whose: str,
    sizes: Mapping[int, float],
    single_gb_s: float,
    nodes: int | None,
    number_id: str,
    reached: str,
    most_gb_s: float | None,
) -> str:
    """Return who demands what, and whether the curve reaches it; ``most_gb_s``: the most that is possible, if less.

    ``sizes``: GB/s by size in bytes; without any, one value is demanded, ``single_gb_s``.
    """
    wanted = (
        ", ".join(f"{number(value)} GB/s at {message_size(size)}" for size, value in sizes.items())
        or f"{number(single_gb_s)} GB/s"
    )
    on = "" if nodes is None else f" on {count_of(nodes, 'node')}"
    head = f"{whose} demands {wanted}{on} ({number_id}; a threshold, not physics)"
    beyond = "" if most_gb_s is None else f"; no run can reach it, since at most {number(most_gb_s)} GB/s are possible"
    return f"{head}: {reached}{beyond}"


def mean_not_compared() -> str:
    """Return that a demanded mean is not compared."""
    return "not compared, since it is a mean over all sizes"


def nodes_of_source_not_compared() -> str:
    """Return that a demanded value is not compared, since its source names no number of nodes."""
    return "not compared, since its source does not say on how many nodes"


def other_nodes_not_compared() -> str:
    """Return that a demanded value is not compared, since it is for other nodes."""
    return "not compared, since yours is for another or an unknown number of nodes"


def other_sizes_not_compared() -> str:
    """Return that a demanded curve is not compared, since the measured one has none of its sizes."""
    return "not compared, since yours has none of its sizes"


def is_reached(whether: bool) -> str:
    """Return whether a demanded peak is reached."""
    return "reached" if whether else "not reached"


def reached_except_at(sizes: Sequence[int]) -> str:
    """Return at which sizes a demanded curve is not reached."""
    if not sizes:
        return is_reached(True)
    return f"{is_reached(False)} at {listing([message_size(size) for size in sizes])}"
