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
