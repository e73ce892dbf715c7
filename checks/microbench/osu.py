"""OSU micro-benchmarks between nodes: latency, windowed bandwidth one way and both ways, and a collective.

A high osu_latency with a good osu_bw is latency (placement, power states, the wrong provider); both bad is the path: a
fallback to TCP raises small-message latency tenfold. A good osu_bw with a low osu_bibw is the card or its slot.
"""

import reframe as rfm
from reframe.core.builtins import variable

from railyard.check import InterconnectCheck
from railyard.movedbytes import Repetitions
from railyard.parsers import osu


class OsuCheck(InterconnectCheck):
    """OSU with fixed repetitions and warm-ups, so that the bytes a run must move are known: OSU prints neither."""

    tool = "osu"
    tags = {"microbench", "osu"}  # noqa: RUF012  # ReFrame's own variable, not a class attribute
    parse = staticmethod(osu.parse)
    probe_key = "osu/osu_latency"
    probe_program = "osu_latency"
    repetitions = variable(int, value=2)
    warm_up = variable(int, value=1)

    @property
    def program(self) -> str:
        """The executable: OSU has one a benchmark."""
        return str(self.benchmark)

    @property
    def fixed_repetitions(self) -> Repetitions:
        """What OSU is told, since it prints no repetitions."""
        return Repetitions(self.repetitions, self.warm_up)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        window = ["-W", str(self.window)] if self.window > 1 else []
        return ["-m", f"{sizes[0]}:{sizes[-1]}", "-i", str(self.repetitions), "-x", str(self.warm_up), *window]

    def probe_arguments(self, size: int) -> list[str]:
        return ["-m", f"{size}:{size}", "-i", "5", "-x", "1"]


@rfm.simple_test
class OsuLatency(OsuCheck):
    """Half the round trip of one message."""

    benchmark = "osu_latency"
    #: Ranks that poll on few cores stall now and then, and OSU prints the mean: a stall of 8 ms in ten passes at 1 MiB.
    repetitions = 10


@rfm.simple_test
class OsuBandwidth(OsuCheck):
    """A window of messages one way: what a rail, or several, can stream."""

    benchmark = "osu_bw"
    window = 16


@rfm.simple_test
class OsuBidirectional(OsuCheck):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "osu_bibw"
    window = 8


@rfm.simple_test
class OsuAllreduce(OsuCheck):
    """A reduction over four nodes: every node's rails at once."""

    benchmark = "osu_allreduce"
    num_nodes = 4
    repetitions = 3
    #: OSU reduces floats of 4 bytes.
    smallest = 4
