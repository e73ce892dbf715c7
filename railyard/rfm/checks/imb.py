"""The base class of the Intel MPI Benchmarks' checks: fixed repetitions, and sizes from a file."""

from dataclasses import replace

from reframe.core.builtins import variable

from railyard.benchmarks.repetitions import Amounts, Pace, Work
from railyard.parsers import imb
from railyard.rfm.checks.groups import Probes
from railyard.rfm.checks.repeated_check import RepeatedCheck
from railyard.site.systems.measure import StatedAmounts

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
