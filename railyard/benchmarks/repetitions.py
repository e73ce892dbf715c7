"""How often a benchmark repeats, and how many messages it has in flight, from the link's rate and the time limit.

Few repetitions suit a slow link, where each takes long. On a fast link a few would only measure start-up and the noise
of the processor: ``osu_latency -i 6`` at 0.8 us lasts 10 us.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

#: How long all sizes of a benchmark may take together, in seconds, unless the system's file says otherwise. It is about
#: as long as a job takes to be queued and started.
LASTING_S = 30.0
#: In MB/s. A rail slower than Gigabit Ethernet belongs to a virtual cluster: its checks say how little they measure, so
#: a run of all of them ends soon (benchmarks/results/steadiness.md, "Where the time goes").
SLOW_RAIL_MB_S = 125.0
#: The time that a message takes besides its bytes, in us; too much rather than too little: published half round trips
#: of 8 B take 0.6 to 7 us over RDMA, and 12.7 us or more over TCP (``railyard.hardware.limits``).
START_US = {"tcp": 20.0}
START_OVER_RDMA_US = 2.0
#: A message after another one of its window starts while that one is still on the way.
START_WITHIN_WINDOW = 0.25
#: How fast OSU fills and compares buffers with `-c`, in MB/s. OSU 7 fills the sender's and the receiver's buffer
#: element by element, and builds what it expects in the same way (``set_buffer_validation`` in its osu_util_mpi.c).
#: Measured: osu_latency 7.4 (GCC 12, -O2), two ranks on one core each of a Xeon of the fourth generation; the user
#: time of 22 repetitions less that of 2, with `-c` less without, gave 143 MB/s per rank at 1 MiB and 136 at 4 MiB.
CHECKED_MB_S = 140.0
#: A run in two launches: the share of its time that the small sizes may take, and the share of the large sizes' bytes
#: that they may move: small messages say nothing about the split over several rails, which is judged to 5 points. With
#: it sizes up to 8 KiB are small over EDR and NDR, as for OSU itself (``LARGE_MESSAGE_SIZE`` of its osu_util.h).
SMALL_SHARE, SMALL_BYTES = 0.25, 0.05
#: A second launch is worth its start if it has at least so many times the repetitions, at sizes up to at least so many
#: bytes; OSU itself makes 5 or 10 times as many.
SMALL_TIMES, SMALL_SIZES = 10, 1 << 10
#: What the second start takes, in seconds: 0.5 to 2 s of mpirun and srun over four nodes were seen.
SECOND_START_S = 2.0


@dataclass(frozen=True, slots=True)
class Amounts:
    """Repetitions per size, untimed ones before them, and messages in flight (1: there are no windows)."""

    repetitions: int
    warm_up: int = 0
    window: int = 1


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast messages go, and how much time there is for all sizes.

    ``rate_mb_s`` is the payload one way over all rails of the run, ``start_us`` a message's time besides its bytes.
    """

    rate_mb_s: float
    start_us: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """What one repetition of a benchmark does at each of its sizes.

    ``sizes`` are in bytes. ``messages`` follow one another; with windows, each is a window of messages. ``pairs`` of
    ranks share the rails. ``times``: how often everything is done (passes, trials). ``made`` gives how often a size is
    repeated with all warm-ups. ``checked``: the tool compares what arrived. ``volume_bytes``: at larger sizes the tool
    repeats less, so that it sends no more than this.
    """

    sizes: tuple[int, ...]
    messages: int
    pairs: int = 1
    times: int = 1
    made: Callable[[int], int] = int
    checked: bool = False
    volume_bytes: int | None = None

    def seconds(self, amounts: Amounts, pace: Pace) -> float:
        """Return how long all sizes take together, in seconds."""
        starts_s = pace.start_us * 1e-6 * (1 + START_WITHIN_WINDOW * (amounts.window - 1))
        total = 0.0
        for size in self.sizes:
            count = amounts.repetitions
            if self.volume_bytes is not None and size:
                count = min(count, max(1, self.volume_bytes // size))
            in_flight = size * amounts.window
            total += self.made(count) * self.messages * (starts_s + in_flight * self.pairs / (pace.rate_mb_s * 1e6))
            total += count * in_flight / (CHECKED_MB_S * 1e6) if self.checked else 0.0
        return total * self.times


@dataclass(frozen=True, slots=True)
class TwoLaunches:
    """Sizes up to ``small_up_to`` bytes with many repetitions, and all larger ones, each part in a launch of its own.

    Both have the same window.
    """

    small_up_to: int
    small: Amounts
    large: Amounts


def seconds_for(rail_mb_s: float, stated: int | None) -> float:
    """Return the time for all sizes, in seconds: as stated; else none over a slow rail, and ``LASTING_S`` otherwise."""
    if stated is not None:
        return float(stated)
    return LASTING_S if rail_mb_s >= SLOW_RAIL_MB_S else 0.0


def left_open(stated: Mapping[str, int], already: Amounts) -> dict[str, int]:
    """Return the stated numbers, by name, that a check has not set already: those that are 0, or -1 for warm-ups."""
    is_open = {"repetitions": not already.repetitions, "warm_up": already.warm_up < 0, "window": not already.window}
    return {name: number for name, number in stated.items() if is_open[name]}


def in_words(numbers: Mapping[str, int]) -> Iterable[str]:
    """Return numbers in words, each with what it counts."""
    return (f"{name.replace('_', '-')} {number}" for name, number in numbers.items())


def warm_ups(repetitions: int, fewest: Amounts, own: Amounts) -> int:
    """Return the warm-ups for so many repetitions: the same share as the tool's own, between fewest and own."""
    return max(fewest.warm_up, min(own.warm_up, repetitions * own.warm_up // max(1, own.repetitions)))


def fit_repetitions(work: Work, fewest: Amounts, own: Amounts, pace: Pace) -> Amounts:
    """Return the most repetitions that fit into the time, from ``fewest`` to the tool's ``own``.

    If the fewest repetitions fit with the tool's own window, that window is used. Warm-ups grow with the repetitions;
    their time is not counted.
    """
    wide = replace(fewest, window=max(fewest.window, own.window))
    chosen = wide if work.seconds(wide, pace) <= pace.seconds else fewest
    least, most = fewest.repetitions, max(fewest.repetitions, own.repetitions)
    while least < most:
        middle = (least + most + 1) // 2
        if work.seconds(replace(chosen, repetitions=middle), pace) <= pace.seconds:
            least = middle
        else:
            most = middle - 1
    return replace(chosen, repetitions=least, warm_up=warm_ups(least, fewest, own))


def fit_two_launches(work: Work, fewest: Amounts, own: Amounts, pace: Pace) -> TwoLaunches | None:
    """Return how a tool that has one number for all sizes measures them in two launches; None if one is enough.

    In one launch the largest message decides how often the smallest is repeated: 7 windows of 1 B take 0.2 ms over a
    link of NDR. So the small sizes, as many as fit into ``SMALL_SHARE`` of the time and ``SMALL_BYTES`` of the bytes,
    are repeated as often as the tool itself would; all others share the rest of the time. Together they take no longer
    than one launch may.
    """
    once = fit_repetitions(work, fewest, own, pace)
    often = replace(once, repetitions=own.repetitions, warm_up=warm_ups(own.repetitions, fewest, own))
    if not pace.seconds or SMALL_TIMES * once.repetitions > own.repetitions:
        return None
    most_s, sizes = SMALL_SHARE * pace.seconds, work.sizes
    fitting = [
        number
        for number in range(1, len(sizes))
        if sizes[number - 1] >= SMALL_SIZES
        and often.repetitions * sum(sizes[:number]) <= SMALL_BYTES * once.repetitions * sum(sizes[number:])
        and replace(work, sizes=sizes[:number]).seconds(often, pace) <= most_s
    ]
    if not fitting:
        return None
    small, large = (replace(work, sizes=each) for each in (sizes[: fitting[-1]], sizes[fitting[-1] :]))
    left_s = max(0.0, pace.seconds - small.seconds(often, pace) - SECOND_START_S)
    rest = replace(pace, seconds=left_s)
    of_large = fit_repetitions(large, replace(fewest, window=once.window), replace(own, window=once.window), rest)
    return TwoLaunches(small.sizes[-1], often, of_large)
