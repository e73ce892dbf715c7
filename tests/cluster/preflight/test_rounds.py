"""The rounds of a preflight: who is named from simulated values, what is said in time, and who is not blamed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from railyard.cluster.preflight.rounds import (
    Ground,
    LaunchValues,
    RailLaunch,
    RailsFound,
    Wave,
    WaveResult,
    measure_rails,
    plan_sample,
    sample_rounds,
)
from railyard.verdict.blame.search.model import Value
from tests.made.simulated_preflight import PlantedFaults, Routes, play
from tests.made.simulated_rails import Sick

#: MB/s of a healthy rail.
RATE = 12_000.0


@dataclass(frozen=True)
class Costs:
    """A launch takes 5 s, and a round 0.2 s."""

    def launch_s(self, nodes: int) -> float:
        return 5.0

    def round_s(self, nodes: int) -> float:
        return 0.2


@dataclass
class Job:
    """A job without noise. ``share`` says what a pair gets of the rate over a rail; None: the launch does not end."""

    share: Callable[[str, int, int], float | None]
    waves: list[Wave] = field(default_factory=list)
    failures: int = 0

    def run(
        self, nodes: int, rails: Sequence[str] = ("a", "b"), left_s: float = 60.0, least: float | None = None
    ) -> RailsFound:
        """Return what the preflight finds on so many nodes."""
        names = tuple(f"n{number}" for number in range(nodes))
        asking = measure_rails(Ground(names, tuple(rails), Costs(), dict.fromkeys(rails, least)), left_s)
        result: WaveResult | None = None
        while True:
            try:
                wave = next(asking) if result is None else asking.send(result)
            except StopIteration as end:
                found: RailsFound = end.value
                return found
            self.waves.append(wave)
            took = max(5.0 + 0.2 * len(launch.rounds) for launch in wave.launches)
            left_s -= took
            result = WaveResult(tuple(map(self._launch, wave.launches)), left_s)

    def _launch(self, launch: RailLaunch) -> LaunchValues:
        if self.failures:
            self.failures -= 1
            return LaunchValues((), "exit code 1: no such program")
        pairs = [(a, b) for a in launch.nodes for b in launch.nodes if a < b]
        if any(self.share(launch.rail, a, b) is None for a, b in pairs):
            return LaunchValues((), "ended after 9 s")
        values: list[Value] = [
            (a, b, RATE * (self.share(launch.rail, a, b) or 0.0)) for each in launch.rounds for a, b in each
        ]
        return LaunchValues(tuple(values))

    @property
    def purposes(self) -> list[str]:
        """What its waves were for."""
        return [wave.purpose for wave in self.waves]


def with_rails(slow: Mapping[tuple[str, int], float | None]) -> Job:
    """Return a job in which some rails of nodes give this share; a pair gives that of its slower end."""

    def share(rail: str, a: int, b: int) -> float | None:
        ends = [slow.get((rail, node), 1.0) for node in (a, b)]
        return None if None in ends else min(each for each in ends if each is not None)

    return Job(share)


def named_rails(found: RailsFound) -> set[tuple[str, str, tuple[int, ...]]]:
    return {(one.kind, one.rail, one.nodes) for one in found.sick}


@pytest.mark.parametrize("nodes", range(3, 18))
@pytest.mark.parametrize("far", [False, True])
def test_each_node_meets_both_neighbours_once_and_never_two_at_a_time(nodes: int, far: bool) -> None:
    rounds = sample_rounds(range(nodes), far)
    for each in rounds:
        there = [node for pair in each for node in pair]
        assert len(there) == len(set(there))
    met = {pair for each in rounds for pair in each}
    assert {tuple(sorted((node, (node + 1) % nodes))) for node in range(nodes)} <= met
    assert len(rounds) == 2 + nodes % 2 + (far and nodes > 3)


def test_healthy_rails_name_nobody_and_take_one_launch_each() -> None:
    job = with_rails({})
    found = job.run(8)
    assert (named_rails(found), found.doubts, found.unmeasured) == (set(), [], {})
    assert found.level == {"a": RATE, "b": RATE}
    assert job.purposes == ["sample", "sample"]


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 33])
def test_a_slow_rail_is_named_with_its_node_and_no_partner(nodes: int) -> None:
    job = with_rails({("b", 1): 0.5})
    found = job.run(nodes)
    assert named_rails(found) == {("rail", "b", (1,))}
    assert found.sick[0].said.startswith("b of n1 gives at most 6000 MB/s with n")
    assert found.sick[0].said.endswith("50.0 % of what other nodes give (12000)")
    assert job.purposes == ["sample", "sample", "alone"]


def test_two_slow_neighbours_are_both_named() -> None:
    assert named_rails(with_rails({("a", 3): 0.5, ("a", 4): 0.6}).run(12)) == {("rail", "a", (3,)), ("rail", "a", (4,))}


def test_a_rail_a_little_below_the_others_is_good() -> None:
    assert named_rails(with_rails({("b", 1): 0.87}).run(8)) == set()


def test_a_node_below_the_reference_is_named_although_it_is_near_the_others() -> None:
    found = with_rails({("b", 1): 0.90}).run(8, least=0.95 * RATE)
    assert named_rails(found) == {("rail", "b", (1,))}


def test_a_pair_of_good_nodes_is_named_as_a_pair() -> None:
    job = Job(lambda rail, a, b: 0.5 if (rail, a, b) == ("a", 2, 3) else 1.0)
    found = job.run(8)
    assert named_rails(found) == {("pair", "a", (2, 3))}
    assert found.sick[0].said == "a between n2-n3 gives 6000 MB/s alone; both nodes give 12000 with others"


def test_of_two_nodes_nobody_knows_which_end_is_slow() -> None:
    found = with_rails({("a", 1): 0.5}).run(2, least=0.85 * RATE)
    assert named_rails(found) == {("pair", "a", (0, 1))}
    assert "with two nodes nothing tells which end is at fault" in found.sick[0].said


def test_two_nodes_without_a_reference_are_compared_by_their_rails() -> None:
    assert named_rails(with_rails({("a", 1): 0.5}).run(2, rails=("a", "b", "c"))) == {("pair", "a", (0, 1))}


def test_two_nodes_with_one_rail_and_no_reference_are_not_judged() -> None:
    found = with_rails({}).run(2, rails=("a",))
    assert found.unmeasured == {"a": "two nodes, one rail and no reference: there is nothing to compare with"}


def test_a_rail_that_is_slow_everywhere_names_no_node() -> None:
    found = Job(lambda rail, a, b: 0.5).run(8, rails=("a",), least=0.85 * RATE)
    assert named_rails(found) == {("all", "a", tuple(range(8)))}
    assert "no single node" in found.sick[0].said


def test_a_rail_that_is_slow_only_while_all_send_is_undecided() -> None:
    sent: list[int] = []

    def share(rail: str, a: int, b: int) -> float:
        sent.append(a)
        return 0.5 if len(job.waves) == 1 else 1.0

    job = Job(share)
    found = job.run(8, rails=("a",), least=0.85 * RATE)
    assert named_rails(found) == set()
    assert "the network between the nodes is too slow or shared" in found.doubts[0]


@pytest.mark.parametrize("nodes", [4, 8, 64, 65])
def test_a_rail_that_carries_nothing_is_found_in_ever_smaller_groups(nodes: int) -> None:
    job = with_rails({("a", 3): None})
    found = job.run(nodes, rails=("a",), left_s=90)
    assert named_rails(found) == {("rail", "a", (3,))}
    assert found.silent == {3}
    # The others are measured once more, without it.
    assert job.purposes[0] == "sample"
    assert job.purposes[-1] == "sample"
    assert 3 not in job.waves[-1].launches[0].nodes
    assert found.level == {"a": RATE}


def test_of_two_silent_nodes_nobody_knows_which() -> None:
    found = with_rails({("a", 1): None}).run(2, rails=("a",))
    assert named_rails(found) == set()
    assert "with two nodes nothing tells which end is at fault" in found.doubts[0]


def test_if_nobody_answers_nobody_is_named() -> None:
    found = Job(lambda rail, a, b: None).run(8, rails=("a",))
    assert named_rails(found) == set()
    assert "no pair of nodes answers (ended after 9 s)" in found.doubts[0]


def test_a_launch_that_failed_once_is_repeated() -> None:
    job = with_rails({("a", 2): 0.5})
    job.failures = 1
    found = job.run(8, rails=("a",))
    assert job.purposes == ["sample", "silent", "sample", "alone"]
    assert named_rails(found) == {("rail", "a", (2,))}


def test_rails_are_measured_at_once_if_the_time_is_short() -> None:
    rails = tuple("abcdefgh")
    ground = Ground(tuple(f"n{number}" for number in range(8)), rails, Costs())
    plans = [plan_sample(ground, left_s) for left_s in (120.0, 45.0, 14.0, 6.0, 2.0)]
    assert [plan.at_once for plan in plans] == [1, 2, 8, 8, 0]
    job = with_rails({("f", 5): 0.5})
    assert named_rails(job.run(8, rails, left_s=45)) == {("rail", "f", (5,))}
    assert [len(wave.launches) for wave in job.waves] == [2, 2, 2, 2, 1]


def test_what_has_no_time_is_named_and_not_passed() -> None:
    found = with_rails({}).run(8, left_s=3)
    assert found.unmeasured == dict.fromkeys(("a", "b"), "no time: 3 s were left, 5 s are needed")
    assert found.level == {}


def test_a_suspect_that_could_not_be_measured_again_is_undecided() -> None:
    found = with_rails({("a", 3): 0.5}).run(8, rails=("a",), left_s=6)
    assert named_rails(found) == set()
    assert found.doubts[0].startswith("a: n3 is slow, but there was no time to measure again (")


@pytest.mark.parametrize("routes", ["destination", "random"])
@pytest.mark.parametrize("nodes", [64, 512])
def test_a_simulated_slow_rail_is_named_within_the_time(nodes: int, routes: Routes) -> None:
    answer = play(nodes, PlantedFaults(Sick(rails={(7, 1): 0.5})), routes, seed=3)
    assert answer.found.sick == ("n0007",)
    assert [fault.rail for fault in answer.found.faults] == ["rail1"]
    assert answer.seconds <= answer.limit_s


@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("routes", ["destination", "random"])
def test_noise_and_collisions_alone_name_nobody(routes: Routes, seed: int) -> None:
    answer = play(64, PlantedFaults(), routes, seed)
    assert answer.found.faults == []
    assert answer.found.doubts == []
    assert answer.seconds <= answer.limit_s
