"""The sentences of rule 3: a value beside what physics allows."""

from dataclasses import dataclass

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.wording import IMPOSSIBLE, listing, message_size, number, percent
from railyard.verdict.wording import Figure, too_short


@dataclass(frozen=True, slots=True)
class Limit:
    """What a link moves in a long stream, and at the size in question (``at_size``), both in MB/s."""

    value: float
    at_size: float
    terms: str
    source: str

    @property
    def words(self) -> str:
        """``49.83 MB/s (120 Mbit/s; its source)``."""
        is_same = self.at_size == self.value
        burst = "" if is_same else f" for a long stream, and {number(self.at_size)} MB/s with the burst at its start"
        return f"{number(self.value)} MB/s{burst} ({self.terms}; {self.source})"


@dataclass(frozen=True, slots=True)
class Most:
    """The most that processors compute, or the most messages that a link carries per second."""

    value: float
    unit: str
    terms: str
    source: str

    @property
    def words(self) -> str:
        """``1024 Gflop/s (64 cores; its source)``."""
        return f"{number(self.value)} {self.unit} ({self.terms}; {self.source})"


def no_limit_for(names: list[str]) -> str:
    """Return that nothing bounds these metrics."""
    return f"no physical limit is known for {listing(names) or 'nothing'}"


def no_limit() -> str:
    """Return that a link has no known limit."""
    return "no limit known"


def not_read(name: str) -> str:
    """Return that a metric has no values."""
    return f"{name} was not read"


def unit_of_work(name: str, unit: str, other: str) -> str:
    """Return that work cannot be compared with what processors do in another unit."""
    return f"{name} is in {unit}, and what the processors can do is in {other}"


def unit_of_upper_limit(name: str, unit: str, entry: str, other: str) -> str:
    """Return that a rate cannot be compared with an upper limit of another unit."""
    return f"{name} is in {unit} and {entry} in {other}"


def unit_of_limit(name: str, unit: str) -> str:
    """Return that a value cannot be compared with a link's limit."""
    return f"{name} is in {unit} and the limit in MB/s"


def no_size_from(name: str, from_bytes: int) -> str:
    """Return that all sizes are below the first one at which a link's limit holds."""
    return f"{name} has no size from {message_size(from_bytes)}, where the limit holds"


def no_size_of_upper_limit(name: str) -> str:
    """Return that an upper limit holds at no measured size."""
    return f"the upper limit of {name} holds for no size that was measured"


def share_of_most(figure: Figure, most: Most) -> str:
    """Return which share of what its processors can do an application reached."""
    return (
        f"{figure.words} is {percent(figure.value / most.value)} of the most that its processors can do, {most.words}"
    )


def share_of_limit(figure: Figure, limit: Limit) -> str:
    """Return which share of a link's limit a bandwidth is."""
    return f"{figure.words} is {percent(figure.value / limit.at_size)} of the limit, {limit.words}"


def share_of_rate(figure: Figure, bound: float, what: str) -> str:
    """Return which share of an upper bound a message rate is; ``what`` the bound is: one of the two below."""
    return f"{figure.words} is {percent(figure.value / bound)} of {what}"


def upper_limit(value: float, unit: str, entry: str) -> str:
    """Return what an upper limit of the references is."""
    return f"the upper limit, {number(value)} {unit}, of {entry}"


def carried_messages(most: Most) -> str:
    """Return how many messages a link carries."""
    return f"what the link carries, {most.words}"


def say_disbelieved(share: str) -> str:
    """Return that a share, one of the three above, is more than is believed."""
    return f"{IMPOSSIBLE}{share}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"


def too_fast(figure: Figure, size_bytes: int, limit: Limit) -> str:
    """Return that a time is too short for that many bytes to cross a link."""
    rate = size_bytes / figure.value
    share = f"{number(rate)} MB/s, {percent(rate / limit.at_size)} of the limit, {limit.words}"
    return say_disbelieved(f"{figure.words} is {share}")


def too_fast_collective(
    figure: Figure, least_us: float, times: float, size_bytes: int, waiting: float, limit: Limit
) -> str:
    """Return that a collective ended before its bytes can have crossed the rails of a node.

    A node moves ``times`` the size, and the mean over ranks is at least the share ``waiting`` of the time for it.
    """
    mean = "" if waiting == 1 else f", and the mean over ranks is at least {percent(waiting)} of that"
    return (
        f"{IMPOSSIBLE}{figure.words}, and it takes at least {number(least_us)} us: a node must send or receive "
        f"{number(times)} x {message_size(size_bytes)}{mean}; the limit is {limit.words}"
    )


def too_short_latency(figure: Figure, least_us: float, source: str) -> str:
    """Return that a latency is shorter than any between two nodes."""
    return f"{IMPOSSIBLE}{too_short(figure, least_us)} ({source})"


def long_enough(figure: Figure, least_us: float) -> str:
    """Return that a latency is not too short."""
    return f"{figure.words} is not below {least_us:.2g} us"


def look_at_peak() -> str:
    """Return what to look at if an application computed more than its processors can."""
    return "cores, clock and flop per cycle in the system's file, and how many nodes ran"


def look_at_pairs(what: str) -> str:
    """Return what to look at if a message rate is too high; ``what``: one of the two below."""
    return f"whether both ranks of a pair ran on one node, and {what}"


def of_this_card() -> str:
    """Return what an upper limit of the references may be wrong about."""
    return "whether the upper limit is of this card"


def joined_messages() -> str:
    """Return why more messages than packets may arrive."""
    return "whether the library joins several messages in a packet"


def look_at_limit() -> str:
    """Return what to look at if a bandwidth is above the limit."""
    return "whether both ranks ran on one node, the system's link, slot and rails, and the number of iterations"


def look_at_times() -> str:
    """Return what to look at if a message crossed too quickly."""
    return "the unit of the times, whether both ranks ran on one node, and the system's link, slot and rails"


def look_at_times_of_all() -> str:
    """Return what to look at if a collective ended too soon."""
    return "whether the ranks ran on several nodes, the unit of the times, and the system's link, slot and rails"


def look_at_memory(is_tcp: bool) -> str:
    """Return what to look at if a latency is too short."""
    other = ", or used RDMA or sockets that bypass the kernel" if is_tcp else ""
    return f"whether both ranks ran on one node (shared memory){other}"
