"""A simulated job whose nodes a preflight checks: every launch and every round takes time, by the same estimates.

A launch with a node whose rail carries nothing does not end by itself: it is ended at its limit, and the round that
hangs gives nothing, as with real nodes. A slow pair makes its round last longer, since all nodes wait for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.cluster.preflight.rounds import (
    Ground,
    Measured,
    RailLaunch,
    RailsFound,
    Wave,
    WaveResult,
    measure_rails,
)
from railyard.job import node_pair_steps
from railyard.verdict.blame.search.model import Part, Step, Value
from tests.made.simulated_rails import RailNetwork

#: What the whole preflight is given for so many nodes, in seconds.
LIMITS_S: Mapping[int, int] = {64: 60, 512: 90}


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """What launches and rounds take, as Railyard estimates it for cards of this rate."""

    rate_mb_s: float
    words: tuple[str, ...]

    def launch_s(self, nodes: int) -> float:
        return node_pair_steps.launch_seconds(nodes)

    def round_s(self, nodes: int) -> float:
        return node_pair_steps.round_seconds(self.words, self.rate_mb_s, nodes)


@dataclass
class SimulatedJob:
    """The job's clock, and what was launched: seconds used, and each wave's purpose with the seconds that it took."""

    network: RailNetwork
    ground: Ground
    limit_s: float
    used_s: float = 0.0
    waves: list[tuple[str, float]] = field(default_factory=list)

    def run(self) -> RailsFound:
        """Return what the preflight says of the rails."""
        asking = measure_rails(self.ground, self.limit_s - self.used_s)
        result: WaveResult | None = None
        while True:
            try:
                wave = asking.send(result) if result is not None else next(asking)
            except StopIteration as end:
                found: RailsFound = end.value
                return found
            result = self._measure(wave)

    def _measure(self, wave: Wave) -> WaveResult:
        measured, longest_s = [], 0.0
        for launch in wave.launches:
            one, seconds = self._launch(launch, wave.limit_s)
            measured.append(one)
            longest_s = max(longest_s, seconds)
        self.used_s += longest_s
        self.waves.append((wave.purpose, longest_s))
        return WaveResult(tuple(measured), self.limit_s - self.used_s)

    def _launch(self, launch: RailLaunch, limit_s: float) -> tuple[Measured, float]:
        count = len(launch.nodes)
        seconds = self.ground.costs.launch_s(count)
        hangs = any(self._carries_nothing(node, launch.rail) for node in launch.nodes)
        rate = self.network.tree.rate_mb_s / self.network.nodes.rails
        values: list[Value] = []
        for each in () if hangs else launch.rounds:
            result = self.network.measure(Step("rails", (each,), 1, "", Part("rail", launch.rail)))
            own = list(result.values)
            slowest = min((value or 0.0 for _, _, value in own), default=rate)
            seconds += self.ground.costs.round_s(count) * max(1.0, rate / slowest if slowest else limit_s)
            if seconds > limit_s:
                return Measured(tuple(values), f"ended after {limit_s:.0f} s"), limit_s
            values += own
        return (Measured((), f"ended after {limit_s:.0f} s"), limit_s) if hangs else (Measured(tuple(values)), seconds)

    def _carries_nothing(self, node: int, rail: str) -> bool:
        sick = self.network.sick
        return sick.nodes.get(node) == 0 or sick.rails.get((node, int(rail.removeprefix("rail")))) == 0
