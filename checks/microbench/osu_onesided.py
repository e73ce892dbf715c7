"""OSU's one-sided benchmarks between two nodes: one rank puts into the other's memory, or gets from it.

A low osu_put_bw with a good osu_bw means the stack: it emulates puts with messages, or the window is not registered
with the card. A low osu_get_bw with a good osu_put_bw means reads: how many the card has outstanding, or its slot.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.microbench import BANDWIDTH, OsuCheck


class OsuOneSided(OsuCheck):
    """Windows that MPI allocates, and a flush after each window of operations: OSU's own choice, made explicit."""

    extended = True
    can_validate = False

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [*super().arguments(sizes), "-w", "allocate", "-s", "flush"]


@rfm.simple_test
class OsuPutBandwidth(OsuOneSided):
    """A window of puts one way."""

    benchmark = "osu_put_bw"
    fewest, own = Amounts(1, 1, window=8), BANDWIDTH


@rfm.simple_test
class OsuGetBandwidth(OsuOneSided):
    """A window of gets: the bytes come the other way."""

    benchmark = "osu_get_bw"
    fewest, own = Amounts(1, 1, window=8), BANDWIDTH


@rfm.simple_test
class OsuPutLatency(OsuOneSided):
    """One put until it is complete at the target: a message and its acknowledgement, not half of a round trip."""

    benchmark = "osu_put_latency"
    fewest = Amounts(8, 1)


@rfm.simple_test
class OsuGetLatency(OsuOneSided):
    """One get: a request there and the bytes back."""

    benchmark = "osu_get_latency"
    fewest = Amounts(8, 1)
