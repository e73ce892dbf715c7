"""The sentences of rules 2 and 3: what was read, what physics allows, and what is wrong with a curve by itself.

The sentences of rule 3: a value beside what physics allows.

The sentences of rule 2: what was read, and why a metric cannot be judged.

The sentences about what is wrong with a curve by itself: outliers, falls and steps.
"""

from collections.abc import Sequence
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
class Ceiling:
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


def share_of_most(figure: Figure, most: Ceiling) -> str:
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


def carried_messages(most: Ceiling) -> str:
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


def nothing_declared() -> str:
    """Return that a check has no metric."""
    return "the check declares no metric, so nothing was measured"


def read_at(name: str, unit: str, sizes: int) -> str:
    """Return at how many sizes a metric was read."""
    return f"{name} in {unit} at {'1 size' if sizes == 1 else f'{sizes} sizes'}"


def read(metrics: Sequence[str]) -> str:
    """Return what was read: the words of each metric."""
    return f"read {listing(metrics)}"


def in_pass(place: int, count: int) -> str:
    """Return the beginning of a sentence about one pass of several."""
    return f"in pass {place} of {count}: "


def say_unread(name: str, unit: str, problem: str) -> str:
    """Return that an output lacks a metric; ``problem``: the reader's sentence, empty if it has none."""
    because = f": {problem}" if problem else ""
    return f"the output has no {name} in {unit} that can be read{because}"


def unlike_counts(name: str, sizes: int, values: int) -> str:
    """Return that a metric has more or fewer values than sizes."""
    return f"{name} has {sizes} sizes but {values} values"


def other_unit(name: str, unit: str | None, expected: str) -> str:
    """Return that a metric was read in another unit than declared."""
    return f"{name} is in {unit or 'no unit'}, expected {expected}"


def unsorted_sizes(name: str) -> str:
    """Return that sizes do not rise."""
    return f"{name} has sizes that are not in rising order"


def not_finite(what: str, value: float | None) -> str:
    """Return that a value is missing, infinite or NaN; ``what``: the metric, at its size."""
    return f"{what} is {'missing' if value is None else str(value)}, expected a finite number"


def not_above_0(what: str, value: float, unit: str) -> str:
    """Return that a value is 0 or less; ``what``: the metric, at its size."""
    return f"{what} is {value:g} {unit}, expected more than 0"


def look_at_headings() -> str:
    """Return what to look at if a metric cannot be read."""
    return "the benchmark's output: whether its headings and rows are whole, and as its release prints them"


def look_at_check() -> str:
    """Return what to look at if a check has no metric."""
    return "the check's metrics"


#: A message size in B, and the time in us or the value that belongs to it.
Point = tuple[int, float]


def dip(metric: str, at: Point, times: float, beside: Sequence[Point]) -> str:
    """Return that a message takes longer than both of its neighbours would; all points are times in us."""
    neighbours = ", ".join(f"{number(time)} us at {message_size(size)}" for size, time in beside)
    return (
        f"an outlier: a message of {message_size(at[0])} takes {number(at[1])} us ({metric}), {number(times, 3)} times "
        f"as long as at the rate of its slower neighbour ({neighbours})"
    )


@dataclass(frozen=True, slots=True)
class Steepest:
    """Between which two sizes most of a fall happens, and by which share of the bandwidth."""

    share: float
    before_bytes: int
    behind_bytes: int

    @property
    def words(self) -> str:
        """``, by 40.0 % between 1 MiB and 2 MiB``."""
        edges = f"{message_size(self.before_bytes)} and {message_size(self.behind_bytes)}"
        return f", by {percent(self.share)} between {edges}"


@dataclass(frozen=True, slots=True)
class Fall:
    """From where to where a curve falls, and by which share of its bandwidth.

    ``is_peak``: the fall begins at the highest value. ``rises``: where the curve is high again; None: nowhere.
    """

    share: float
    top: Point
    low: Point
    is_peak: bool
    steepest: Steepest | None
    rises: Point | None


def fall(metric: str, unit: str, is_bandwidth: bool, found: Fall) -> str:
    """Return that a curve falls; a time falls by its bandwidth."""
    what = f"{metric} falls" if is_bandwidth else f"the bandwidth of {metric} falls"
    peak = ", its peak," if found.is_peak else ""
    most = "" if found.steepest is None else found.steepest.words
    again = "" if found.rises is None else f", and rises again to {_point(found.rises, unit)}"
    down = f"from {_point(found.top, unit)}{peak} to {_point(found.low, unit)}"
    return f"{what} by {percent(found.share)}: {down}{most}{again}"


def _point(point: Point, unit: str) -> str:
    return f"{number(point[1])} {unit} at {message_size(point[0])}"


def slower(metric: str, at: Point, larger: Point) -> str:
    """Return that a message takes longer than a larger one; both are times in us."""
    return (
        f"an outlier: a message of {message_size(at[0])} takes {number(at[1])} us ({metric}), and one of "
        f"{message_size(larger[0])} only {number(larger[1])} us: {number(at[1] / larger[1], 3)} times less"
    )


def step(metric: str, at: Point, larger: Point, usual: float) -> str:
    """Return that a time rises too steeply to the next size; ``usual``: how many times at most."""
    return (
        f"a step that is too high ({metric}): a message of {message_size(at[0])} takes {number(at[1])} us, and one of "
        f"{message_size(larger[0])} {number(larger[1])} us, {number(larger[1] / at[1], 3)} times as long; at most "
        f"{number(usual, 3)} times are usual where an eager protocol ends"
    )
