"""A simulated job whose nodes a preflight checks: every launch and every round takes time, by Railyard's own estimates.

A launch with a node whose rail carries nothing does not end by itself: it is ended at its limit, and the round that
hangs gives nothing, as with real nodes. A slow pair makes its round last longer, since all nodes wait for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from railyard.cluster.preflight.answer import Answer, Fault, Findings
from railyard.cluster.preflight.job import ask_seconds, default_limit_s, reduce_seconds
from railyard.cluster.preflight.rounds import (
    Ground,
    LaunchValues,
    RailLaunch,
    RailsFound,
    Wave,
    WaveResult,
    measure_rails,
)
from railyard.job import probe_job
from railyard.verdict.blame.search.model import Part, Step, Value
from tests.made.fat_tree import Noise, Tree
from tests.made.simulated_rails import HEAVY, Nodes, RailNetwork, Sick

Routes = Literal["destination", "random"]
RAILS, RATE_MB_S, SIZE_BYTES = 4, 12_000.0, 1 << 20


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """What launches and rounds take, as Railyard estimates it for cards of one rate."""

    words: tuple[str, ...] = tuple(probe_job.words(SIZE_BYTES, probe_job.WINDOW, probe_job.EXCHANGES, RATE_MB_S))

    def launch_s(self, nodes: int) -> float:
        return probe_job.launch_seconds(nodes)

    def round_s(self, nodes: int) -> float:
        return probe_job.round_seconds(self.words, RATE_MB_S, nodes)


@dataclass(frozen=True, slots=True)
class PlantedFaults:
    """What is planted: the sick parts of the network, nodes that do not answer, and nodes with a link that is down."""

    sick: Sick = field(default_factory=Sick)
    dead: frozenset[int] = frozenset()
    down: frozenset[int] = frozenset()


@dataclass
class SimulatedJob:
    """The job and its clock: seconds used, and each wave's purpose with the seconds that it took.

    ``there`` are the nodes that the rounds are made with, by their index in the network.
    """

    network: RailNetwork
    limit_s: float
    there: tuple[int, ...]
    used_s: float = 0.0
    waves: list[tuple[str, float]] = field(default_factory=list)
    costs: SimulatedCosts = SimulatedCosts()

    def measure(self) -> RailsFound:
        """Return what the rounds of pairs say of the rails."""
        layout, rails = self.network.tree.layout(), range(self.network.nodes.rails)
        names = tuple(layout.nodes[node] for node in self.there)
        leaves = tuple(layout.sides[node] for node in self.there)
        ground = Ground(
            names, tuple(f"rail{n}" for n in rails), self.costs, {}, leaves, reduce_seconds(len(self.there))
        )
        asking = measure_rails(ground, self.limit_s - self.used_s)
        result: WaveResult | None = None
        while True:
            try:
                wave = next(asking) if result is None else asking.send(result)
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

    def _launch(self, launch: RailLaunch, limit_s: float) -> tuple[LaunchValues, float]:
        cut = LaunchValues((), f"ended after {limit_s:.0f} s")
        if any(self._carries_nothing(self.there[node], launch.rail) for node in launch.nodes):
            return cut, limit_s
        count, rate = len(launch.nodes), self.network.tree.rate_mb_s / self.network.nodes.rails
        seconds = self.costs.launch_s(count)
        values: list[Value] = []
        for each in launch.rounds:
            real = tuple((self.there[a], self.there[b]) for a, b in each)
            step = Step("rails", (real,), 1, "", Part("rail", launch.rail))
            given = [value for _, _, value in self.network.measure(step).values]
            slowest = min((value or 0.0 for value in given), default=rate)
            seconds += self.costs.round_s(count) * max(1.0, rate / slowest if slowest else limit_s)
            if seconds > limit_s:
                return LaunchValues(tuple(values), cut.why), limit_s
            values += [(a, b, value) for (a, b), value in zip(each, given, strict=True)]
        return LaunchValues(tuple(values)), seconds

    def _carries_nothing(self, node: int, rail: str) -> bool:
        sick = self.network.sick
        return sick.nodes.get(node) == 0 or sick.rails.get((node, int(rail.removeprefix("rail")))) == 0


def play(
    nodes: int,
    planted: PlantedFaults,
    routes: Routes = "destination",
    seed: int = 1,
    noise: Noise = HEAVY,
    rails: int = RAILS,
) -> Answer:
    """Return what a preflight of so many nodes says, with the seconds that it took."""
    tree = Tree(nodes, 16 if nodes <= 64 else 32, routes=routes, rate_mb_s=rails * RATE_MB_S)
    names, found = tree.layout().nodes, Findings()
    for node in sorted(planted.dead):
        found.faults.append(Fault(names[node], f"{names[node]} did not answer in a step of the job, others did"))
    for node in sorted(planted.down):
        found.faults.append(Fault(names[node], f"{names[node]}: rail0: it is down"))
    there = tuple(node for node in range(nodes) if node not in planted.dead | planted.down)
    job = SimulatedJob(RailNetwork(tree, Nodes(rails), planted.sick, seed, noise), default_limit_s(nodes), there)
    job.used_s = ask_seconds(nodes) * (5 if planted.dead else 1)  # a step that waits for a node ends at its limit
    found.checked.append("links")
    found.note_rails([names[node] for node in there], job.measure(), None)
    need_s = reduce_seconds(len(there))
    if job.limit_s - job.used_s >= need_s:
        job.used_s += need_s
        found.checked.append("allreduce")
    else:
        found.late["allreduce"] = f"no time: {job.limit_s - job.used_s:.0f} s were left, {need_s:.0f} s are needed"
    return Answer(names, found, job.used_s, job.limit_s)


#: What is planted in each row of the page, in words: in a job of 64 nodes with four rails each, and of 512.
CASES: Mapping[str, PlantedFaults] = {
    "nothing": PlantedFaults(),
    "one rail of one node at 80 % of its rate": PlantedFaults(Sick(rails={(7, 1): 0.8})),
    "one rail of one node at half of its rate (lost lanes)": PlantedFaults(Sick(rails={(7, 1): 0.5})),
    "one rail of one node at 5 % of its rate (lost packets)": PlantedFaults(Sick(rails={(7, 1): 0.05})),
    "one rail of one node carries nothing": PlantedFaults(Sick(rails={(7, 1): 0.0})),
    "all rails of a node at half of their rate": PlantedFaults(Sick(nodes={9: 0.5})),
    "rails of three nodes at 50, 70 and 80 %": PlantedFaults(Sick(rails={(7, 1): 0.5, (40, 2): 0.7, (41, 2): 0.8})),
    "two nodes, each with a rail that carries nothing": PlantedFaults(Sick(rails={(7, 1): 0.0, (40, 2): 0.0})),
    "a node does not answer": PlantedFaults(dead=frozenset({5})),
    "the link of one rail is down": PlantedFaults(down=frozenset({5})),
    "two good nodes at half of the rate with each other": PlantedFaults(Sick(pairs={(2, 3): 0.5})),
    "a leaf switch lost half of its up-links": PlantedFaults(Sick(leaves={1: 0.5})),
}
