"""The ReFrame bases of the micro-benchmarks' checks, which set repetitions: OSU, Intel MPI Benchmarks, perftest.

The ReFrame base of the checks that set a tool's repetitions and its number of messages in flight.

The base class of OSU's checks: fixed repetitions, and OSU's own validation if its release has it.

The base class of the Intel MPI Benchmarks' checks: fixed repetitions, and sizes from a file.

The base class of perftest's checks: fixed iterations over all of its own sizes, by a client and a server.
"""

from dataclasses import replace

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import (
    Amounts,
    Pace,
    TwoLaunches,
    Work,
    fit_repetitions,
    fit_two_launches,
    in_words,
    left_open,
    warm_ups,
)
from railyard.benchmarks.table.micro import find
from railyard.benchmarks.table.micro import tool as tool_of
from railyard.benchmarks.table.perftest import BIDIRECTIONAL
from railyard.parsers import imb, osu, perftest
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, Probes, Start
from railyard.site.systems.measure import StatedAmounts, doubled


class RepeatedCheck(InterconnectCheck):
    """As many repetitions as the link has time for, from the check's ``fewest`` to the tool's ``own``.

    Numbers that the check, or `-S repetitions=…`, `-S window=…` and `-S warm_up=…`, set come first, then those of the
    system's file (``measure: benchmarks``). They are used unchanged.
    """

    #: Repetitions of each size; 0: what the link has time for.
    repetitions = variable(int, value=0)
    #: Untimed repetitions before those; -1: what goes with the repetitions.
    warm_up = variable(int, value=-1)
    #: If small sizes have a launch of their own: what both launches make.
    _two: TwoLaunches | None = None
    window = 0
    #: What a slow link gets.
    fewest = Amounts(2)
    #: The tool's own defaults.
    own = Amounts(1000)

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        warm_up, window = ["warm_up"] if cls.own.warm_up else [], ["window"] if cls.own.window > 1 else []
        return ("repetitions", *warm_up, *window)

    @property
    def fixed_repetitions(self) -> Repetitions | None:
        """The repetitions that it is given, if its tool is known to print none (``repetitions="told"``)."""
        is_told = tool_of(self.tool).repetitions == "told"
        return Repetitions(self.repetitions, self.warm_up) if is_told else None

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that the tool measures, in bytes; it may measure more than it is given."""
        return self.message_sizes

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        benchmark = find(self.key)
        has_sizes = benchmark.rows == "sizes" and benchmark.payload
        return tuple(sorted({*self.measured_sizes()})) if has_sizes else ()

    def work(self) -> Work:
        """Return what one repetition makes."""
        traffic, at_most = find(self.key).traffic, tool_of(self.tool).at_most
        if traffic is None:
            # a collective: no algorithm sends one rank's data more often
            messages = self.num_nodes * self.ranks_per_node
        else:
            messages = 1 if traffic.window is not None else traffic.forward + traffic.backward
        return Work(
            self.measured_sizes(),
            messages,
            pairs=self.pairs,
            times=self.passes * (1 if traffic is None else traffic.trials),
            made=lambda count: at_most(count, 0, None) or count,
            checked=self.validates,
        )

    def fit_amounts(self, pace: Pace | None, window: int) -> Amounts:
        """Return the numbers that the link has time for; ``window`` is 0 if none is set."""
        fewest, own = self.fewest, self.own
        if window:
            fewest, own = replace(fewest, window=window), replace(own, window=window)
        return fewest if pace is None or not pace.seconds else fit_repetitions(self.work(), fewest, own, pace)

    def fit_two_launches(self, pace: Pace, window: int) -> TwoLaunches | None:
        """Return the numbers of two launches; None for a tool that itself repeats large messages less often."""
        return None

    def choose_amounts(self, pace: Pace | None, stated: "StatedAmounts | None") -> None:
        self.refuse_others(stated)
        set_already = Amounts(self.repetitions, self.warm_up, self.window)
        of_file = {} if stated is None else left_open(stated.given_amounts, set_already)
        # The repetitions follow from the window that is really used.
        window = self.window or of_file.get("window", 0)
        is_open = not (self.repetitions or of_file.get("repetitions"))
        self._two = self.fit_two_launches(pace, window) if is_open and pace is not None else None
        chosen = self.fit_amounts(pace, window) if self._two is None else self._two.large
        self.window = self.window or of_file.get("window", chosen.window)
        self.repetitions = self.repetitions or of_file.get("repetitions", chosen.repetitions)
        if self.warm_up < 0:
            self.warm_up = of_file.get("warm_up", warm_ups(self.repetitions, self.fewest, self.own))
        self.remarks = (*self.remarks, *(f"{number} as the system's file says" for number in in_words(of_file)))


#: The option that came with OSU's validation; before it, "-c" is an error.
VALIDATION_OPTION = "validation-warmup"
#: Warm-ups before each measured repetition if data are checked: after filling buffers and a barrier the two sides are
#: apart in time, and the first message would pay for that.
VALIDATION_WARM_UP = 1

#: OSU's own defaults at sizes up to 8 KiB (source: osu_util.h of OSU 5 and 7). Above 8 KiB it makes a tenth of these
#: for latencies and collectives, a fifth for bandwidths. Earlier releases made 200 warm-ups.
LATENCY, BANDWIDTH, COLLECTIVE = Amounts(10_000, 100), Amounts(100, 10, window=64), Amounts(1000, 100)

#: The type that reductions add, as in every release without this option. By default 7.4 adds characters, and their sums
#: overflow: Open MPI 4.1.4 keeps them at their largest (op/avx), OSU expects them to wrap, so its validation fails for
#: 16 B and more.
FLOATS = "mpi_float"


def words_of(
    sizes: tuple[int, ...], told: Repetitions, window: int, *, validates: bool, datatype: str = ""
) -> list[str]:
    """Return OSU's options: sizes from and to, which it doubles, repetitions, window, validation and datatype."""
    size, numbers = f"{sizes[0]}:{sizes[-1]}", ["-i", str(told.measured), "-x", str(told.warm_up)]
    windowed = ["-W", str(window)] if window > 1 else []
    checked = ["-c", "-u", str(VALIDATION_WARM_UP)] if validates else []
    return ["-m", size, *numbers, *windowed, *checked, *(["-T", datatype] if datatype else [])]


def moved_repetitions(told: Repetitions, *, validates: bool) -> Repetitions:
    """Return how often each size's bytes move: with validation each repetition has its own warm-ups."""
    times = 1 + VALIDATION_WARM_UP if validates else 1
    small = None if told.small is None else moved_repetitions(told.small, validates=validates)
    return Repetitions(told.measured * times, told.warm_up * times, small, told.small_up_to)


class OsuCheck(RepeatedCheck):
    """OSU with fixed repetitions and warm-ups, so that the bytes a run must move are known: OSU prints neither.

    Without a number OSU repeats large messages less often, and its releases differ in this. With `-i` it has one number
    for all sizes (``set_num_iterations`` of its osu_util.c sets both of its own). So if the largest message has time
    for few, a launch of its own repeats the small ones as often as OSU itself would (``fit_two_launches``).

    With `-c` OSU fills the buffers before each repetition, makes ``VALIDATION_WARM_UP`` untimed ones (`-u`), then the
    one that it times, and checks what arrived. So each repetition moves its bytes twice, and `-x` is 0 if nobody sets
    it.
    """

    tool = "osu"
    start = Start(program_per_benchmark=True)
    parse = staticmethod(osu.parse)
    probes = Probes(ping_pong="osu/osu_latency", program="osu_latency", one_way="osu/osu_bw", one_way_program="osu_bw")
    fewest = Amounts(2, 1)
    own = LATENCY
    #: Whether this benchmark has a validation in the releases that have one; `-S can_validate=0` does without.
    can_validate = variable(typ.Bool, value=True)
    #: Whether the ranks' data are added up.
    reduces = variable(typ.Bool, value=False)

    @property
    def validates(self) -> bool:
        """Whether OSU checks what arrived: if this benchmark can, and the installed release has the option."""
        return bool(self.can_validate) and self.runner.knows(self, VALIDATION_OPTION)

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that OSU doubles through."""
        return doubled(self.message_sizes[0], self.message_sizes[-1])

    def work(self) -> Work:
        work = super().work()
        told = moved_repetitions(Repetitions(1, 0), validates=work.checked)
        return replace(work, made=lambda count: count * told.measured)

    def choose_amounts(self, pace: Pace | None, stated: StatedAmounts | None) -> None:
        is_open = self.warm_up < 0 and (stated is None or stated.warm_up is None)
        super().choose_amounts(pace, stated)
        if is_open and self.validates:
            self.warm_up = 0

    def fit_two_launches(self, pace: Pace, window: int) -> TwoLaunches | None:
        fewest, own = self.fewest, self.own
        if window:
            fewest, own = replace(fewest, window=window), replace(own, window=window)
        return fit_two_launches(self.work(), fewest, own, pace)

    @property
    def launches(self) -> tuple[tuple[int, ...], ...]:
        """The small sizes with many repetitions, then the large ones; all in one launch if there is time for them."""
        sizes, two = self.measured_sizes(), self._two
        if two is None:
            return (self.message_sizes,)
        small = tuple(size for size in sizes if size <= two.small_up_to)
        return small, sizes[len(small) :]

    @property
    def _repetitions(self) -> Repetitions:
        large, two = Repetitions(self.repetitions, self.warm_up), self._two
        if two is None:
            return large
        # Without warm-ups if somebody said so, or if each repetition has its own.
        small = Repetitions(two.small.repetitions, two.small.warm_up if self.warm_up else 0)
        return replace(large, small=small, small_up_to=two.small_up_to)

    @property
    def fixed_repetitions(self) -> Repetitions:
        """The repetitions that OSU is given, since it prints none."""
        return moved_repetitions(self._repetitions, validates=self.validates)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        known = self.reduces and self.runner.knows(self, FLOATS)
        return words_of(
            sizes,
            self._repetitions.of_size(sizes[-1]),
            self.window,
            validates=self.validates,
            datatype=FLOATS if known else "",
        )

    def probe_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(5, 1), 1, validates=False)

    def one_way_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(3, 1), 8, validates=False)


#: The volume for one size: IMB's own 40 MB (its default is "-iter 1000,40"), and less over a slow link.
VOLUME_MB, SLOW_VOLUME_MB = 40, 24
SIZES_FILE = "sizes.txt"
PROBE_SIZE_FILE = "probe-size.txt"
#: Ranks of a short measurement of one rail alone, one per node. The run itself may have more, as with a NIC per rank.
PROBE_RANKS = 2
#: The window of a short stream one way: 8 MiB with what IMB sends before, 0.6 s over one rail of the virtual cluster.
ONE_WAY_WINDOW = 4


class ImbCheck(RepeatedCheck):
    """IMB-MPI1 with fixed repetitions, so that the bytes a run must move are known."""

    tool = "imb"
    parse = staticmethod(imb.parse)
    probes = Probes(ping_pong="imb/PingPong", one_way="imb/Uniband")
    fewest = Amounts(3)
    #: The most that one size may move, in MB: large messages get fewer repetitions. 0: chosen with the repetitions.
    volume = variable(int, value=0)
    #: Megabytes of last-level cache that the buffers leave with each repetition (``-off_cache``); 0: one warm buffer.
    cold_cache_mb = variable(float, value=0.0)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        file = SIZES_FILE if sizes == self.message_sizes else PROBE_SIZE_FILE
        named = str(self.benchmark).partition("/")[0]
        words = self._words([named] * self.passes, file, self.num_tasks, self.repetitions, self.window)
        return [*words, *(["-off_cache", f"{self.cold_cache_mb:g}"] if self.cold_cache_mb else [])]

    def work(self) -> Work:
        return replace(super().work(), volume_bytes=(self.volume or VOLUME_MB) << 20)

    def choose_amounts(self, pace: Pace | None, stated: StatedAmounts | None) -> None:
        super().choose_amounts(pace, stated)
        if not self.volume:
            self.volume = VOLUME_MB if self.repetitions > self.fewest.repetitions else SLOW_VOLUME_MB

    def probe_arguments(self, size: int) -> list[str]:
        return self._words(["PingPong"], PROBE_SIZE_FILE, PROBE_RANKS, 5, self.window)

    def one_way_arguments(self, size: int) -> list[str]:
        return self._words(["Uniband"], PROBE_SIZE_FILE, PROBE_RANKS, 1, ONE_WAY_WINDOW)

    def probe_files(self, size: int) -> dict[str, str]:
        return {PROBE_SIZE_FILE: f"{size}\n"}

    def _words(self, benchmarks: list[str], sizes_file: str, ranks: int, repetitions: int, window: int) -> list[str]:
        return [*benchmarks, "-npmin", str(ranks), "-msglen", sizes_file, "-time", "20",
                "-iter", f"{repetitions},{self.volume}", "-iter_policy", "off",
                "-window_size", str(window)]  # fmt: skip

    def input_files(self) -> dict[str, str]:
        # Every IMB can read its sizes from a file; 2021.7 has no option for them.
        return {SIZES_FILE: "".join(f"{size}\n" for size in self.message_sizes)}


class ImbExtended(ImbCheck):
    """What everyday checks show in less detail: more partners at once, and messages both ways one at a time."""

    extended = True
    #: If ranks poll on few cores, one may stall: the median of three passes leaves that out.
    passes = 3
    fewest = Amounts(1)


#: Iterations of a probe after a failure. On a slow link it makes no more than the test, or it would not end in time.
PROBE_ITERATIONS = 200
#: perftest's -u for Soft-RoCE: without an answer a queue pair sends again after 4.096 us * 2^18, 1.07 s (source:
#: ibv_modify_qp(3)). With perftest's own 14, 67 ms, it would do so while its packets still wait to leave: up to 64 wait
#: (source: RXE_INFLIGHT_SKBS_PER_QP_HIGH of Linux), which takes 107 ms on a link of 20 Mbit/s, and the processor has
#: other work too.
SOFT_ROCE_TIMEOUT = 18
#: Queue pairs of a bandwidth test over a rail of 200 Gbit/s or more (``-q``): one alone may not fill it. Sources:
#: ngc_rdma_test.sh of Mellanox/ngc_multinode_perf, which gives ib_write_bw two; linux-rdma/perftest issue 252, where
#: perftest's maintainer asks for several on a card of 200 Gbit/s.
QUEUE_PAIRS, MANY_FROM_GBIT_S = 2, 200.0


def queue_pairs_of(data_rate_gbit_s: float | None) -> int:
    """Return how many queue pairs a rail of this rate needs; one if its rate is not known."""
    return QUEUE_PAIRS if data_rate_gbit_s is not None and data_rate_gbit_s >= MANY_FROM_GBIT_S else 1


class PerftestCheck(RepeatedCheck):
    """One program of perftest over all of its own sizes (2 B to 8 MiB), with fixed iterations."""

    start = Start(client_and_server=True, program_per_benchmark=True)
    tool = "perftest"
    extended = True
    parse = staticmethod(perftest.parse)
    probes = Probes(ping_pong="perftest/ib_write_bw", program="ib_write_bw")
    fewest, own = Amounts(5), Amounts(1000)
    smallest = 2
    largest = 8 << 20
    accepts = Accepts(sizes=())
    #: Queue pairs of a bandwidth test; 0: what its link needs. Each makes all repetitions, and perftest prints the sum.
    queue_pairs = variable(int, value=0)

    @property
    def asked_queue_pairs(self) -> int:
        """How many queue pairs each process has. A latency test has one: perftest refuses more."""
        if not str(self.benchmark).partition("/")[0].endswith("_bw"):
            return 1
        link = self.site.system.fabrics[self.current_partition.name].link
        return int(self.queue_pairs) or queue_pairs_of(link.data_rate_gbit_s)

    def work(self) -> Work:
        work, pairs = super().work(), self.asked_queue_pairs
        return replace(work, made=lambda count: pairs * count)

    def choose_amounts(self, pace: Pace | None, stated: "StatedAmounts | None") -> None:
        super().choose_amounts(pace, stated)
        if self.asked_queue_pairs > 1:
            self.remarks = (*self.remarks, f"{self.asked_queue_pairs} queue pairs (-q)")

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        both_ways = ["-b"] if str(self.benchmark).endswith(f"/{BIDIRECTIONAL}") else []
        return ["-a", "-n", str(self.repetitions), *self._queue_pairs(), *self._timeout(), *both_ways]

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that perftest doubles through."""
        return doubled(int(self.smallest), int(self.largest))

    def fit_amounts(self, pace: Pace | None, window: int) -> Amounts:
        # For a recording, or a link of unknown rate: perftest's own number is too much only for slow links.
        return self.own if pace is None else super().fit_amounts(pace, window)

    def _queue_pairs(self) -> list[str]:
        return ["-q", str(self.asked_queue_pairs)] if self.asked_queue_pairs > 1 else []

    def _timeout(self) -> list[str]:
        rails = self.site.system.fabrics[self.current_partition.name].rails
        return ["-u", str(SOFT_ROCE_TIMEOUT)] if any(rail.counters == "rxe" for rail in rails) else []

    def probe_arguments(self, size: int) -> list[str]:
        return ["-s", str(size), "-n", str(min(PROBE_ITERATIONS, self.repetitions)), *self._timeout()]
