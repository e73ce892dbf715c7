"""What a screening says that it would have found, against figures by hand and against what it did find."""

import math
from dataclasses import replace

import pytest

from railyard.verdict.blame.screening.model import Budget, Promise, ScreeningVerdict, Settings
from railyard.verdict.blame.search.model import Step
from railyard.verdict.wording import screening as screening_words
from railyard.verdict.wording.screening import leaves_unknown
from tests.made.fat_tree import Noise, Tree
from tests.made.planted_screening import FaultCounts, Outcome, faulty_network, play
from tests.made.screening import GOOD, network, play_screening
from tests.made.simulated_rails import HEAVY, Nodes, recorded_noise

LEAVES = "".join(letter * 8 for letter in "ABCDEFGH")


def promise_of(verdict: ScreeningVerdict, kind: str, share: float = 0.5) -> float:
    return next(one.probability or 0.0 for one in verdict.promises if (one.kind, one.share) == (kind, share))


def test_without_noise_a_pair_is_found_as_probably_as_it_is_measured() -> None:
    found = play_screening(network(LEAVES), rounds=200).verdict
    assert found.coverage.pairs.share is not None
    assert promise_of(found, "pair") == pytest.approx(found.coverage.pairs.share)
    assert promise_of(found, "node", 0.9) == pytest.approx(1.0)


def test_what_was_not_measured_is_not_promised() -> None:
    """A quarter of the nodes are absent: a sick node is among the others with a probability of three quarters."""
    absent = dict.fromkeys(range(0, 64, 4), "drained")
    found = play_screening(network(LEAVES), rounds=200, absent=absent).verdict
    assert promise_of(found, "node", 0.75) == pytest.approx(0.75)
    assert promise_of(found, "pair") == pytest.approx(found.coverage.pairs.share or 0)


def test_up_links_are_promised_by_the_model_of_static_routes() -> None:
    """One pair of each leaf in two rounds: four static routes, so an up-link of eight is used by 1 - (7/8)^4."""
    rounds = tuple(tuple((8 * leaf + at, 8 * leaf + 8 + at) for leaf in range(0, 8, 2)) for at in (0, 1))
    home = tuple(tuple((8 * leaf + at, 8 * leaf + at + 1) for leaf in range(8) for at in range(0, 8, 2)) for _ in "12")
    first = Step("sample", (*home, *rounds), 1, "by hand")
    found = play_screening(network(LEAVES, up_links=8), rounds=200, first=first).verdict
    assert promise_of(found, "up-link") == pytest.approx(1 - (7 / 8) ** 4)
    assert promise_of(found, "up-link", 0.0) == pytest.approx(1 - (7 / 8) ** 4)


@pytest.mark.parametrize(("count", "dead", "half"), [(2, 0.5, 0.75), (4, 0.75, 0.875), (8, 0.875, 0.9375)])
def test_a_rail_is_promised_by_the_least_that_it_can_cause(count: int, dead: float, half: float) -> None:
    found = play_screening(network(LEAVES, rails=count), rounds=400).verdict
    words = {one.share: one.basis for one in found.promises if one.kind == "rail"}
    assert words[0.0].startswith(f"a node at {100 * dead:.1f} % over all {count} rails, ")
    assert words[0.5].startswith(f"a node at {100 * half:.1f} % over all {count} rails, ")
    assert promise_of(found, "rail") == pytest.approx(1.0)
    # below what is looked at again nothing is found
    wide = play_screening(network(LEAVES, rails=count), rounds=400, settings=Settings(look_again=0.2)).verdict
    assert promise_of(wide, "rail") == (1.0 if half < 0.8 else 0.0)


def test_no_room_in_the_budget_is_no_promise() -> None:
    """All that the budget has went into a sample that was planned elsewhere."""
    sample = play_screening(network(LEAVES), rounds=200).steps[0]
    found = play_screening(network(LEAVES), rounds=len(sample.rounds), first=sample).verdict
    by_kind = {one.kind: one for one in found.promises if one.probability is not None}
    assert {kind: one.probability for kind, one in by_kind.items()} == {"node": 0, "pair": 0, "leaf": 0, "up-link": 0}
    assert by_kind["node"].basis.endswith("; the budget had no room for it")


def test_classes_that_cannot_be_seen_have_no_number_and_a_reason() -> None:
    found = play_screening(network("?" * 32), rounds=100).verdict
    reasons = {(one.kind, one.share): one.basis for one in found.promises if one.probability is None}
    assert reasons[("gpu path", 0.5)] == "it is not known which GPU paths a node has"
    assert reasons[("leaf", 0.5)] == leaves_unknown()
    one_leaf = play_screening(network("A" * 16), rounds=100).verdict
    reasons = {(one.kind, one.share): one.basis for one in one_leaf.promises if one.probability is None}
    assert reasons[("up-link", 0.5)] == screening_words.one_leaf()
    assert reasons[("leaf", 0.5)] == "fewer than three leaves of more than three nodes met others as a whole"
    none = play_screening(network("AABB", rails=0), rounds=100).verdict
    assert Promise("rail", 0.5, None, "it is not known which rails a node has") in none.promises


def play_faults(rounds: int, wanted: FaultCounts, seed: int, routes: str, noise: Noise) -> Outcome:
    tree = Tree(256, 16, routes="random" if routes == "random" else "destination")
    network_, faults = faulty_network(tree, Nodes(), wanted, seed, noise)
    return play(network_.network(), network_, faults, Budget(rounds, 1.0))


@pytest.mark.parametrize("routes", ["destination", "random"])
def test_fewer_rounds_promise_less(routes: str) -> None:
    for seed in range(2):
        found = [play_faults(rounds, FaultCounts(), seed, routes, HEAVY).verdict for rounds in (40, 80, 160, 640)]
        for kind in ("pair", "up-link"):
            stated = [promise_of(verdict, kind) for verdict in found]
            assert stated == sorted(stated)
            assert stated[0] < stated[-1]
        assert promise_of(found[0], "node", 0.9) <= promise_of(found[-1], "node", 0.9) + 0.01


def test_wider_noise_promises_less_of_a_node_that_is_a_little_slow() -> None:
    quiet, wide = (
        play_faults(200, FaultCounts(), 3, "destination", replace(HEAVY, body=body, hiccups=0.0)).verdict
        for body in (0.005, 0.05)
    )
    assert promise_of(quiet, "node", 0.9) > promise_of(wide, "node", 0.9)
    assert promise_of(wide, "node", 0.5) > 0.9


@pytest.mark.parametrize(
    ("routes", "noise"),
    [
        pytest.param("destination", HEAVY, id="destination-heavy"),
        pytest.param("random", recorded_noise(), id="random-recorded"),
        pytest.param("destination", recorded_noise(), id="destination-recorded", marks=pytest.mark.full),
        pytest.param("random", HEAVY, id="random-heavy", marks=pytest.mark.full),
    ],
)
def test_what_is_promised_is_kept(routes: str, noise: Noise) -> None:
    """Over twelve draws no class is named more rarely than was stated, but by three standard errors."""
    wanted = FaultCounts({0.9: 3, 0.75: 2, 0.5: 2}, pairs={0.5: 20}, leaves={0.5: 1}, up_links={0.5: 1, 0.0: 1})
    planted: dict[str, list[float]] = {}
    named: dict[str, int] = {}
    for seed in range(12):
        found = play_faults(200, wanted, seed, routes, noise)
        assert found.false == ()
        stated = {f"{one.kind} {one.share:g}": one.probability for one in found.verdict.promises}
        for one in found.planted:
            planted.setdefault(one.what, []).append(stated[one.what] or 0.0)
            named[one.what] = named.get(one.what, 0) + (one in found.named)
    assert set(planted) == {"node 0.9", "node 0.75", "node 0.5", "pair 0.5", "leaf 0.5", "up-link 0.5", "up-link 0"}
    for what, chances in planted.items():
        least = sum(chances) - 3 * math.sqrt(sum(chance * (1 - chance) for chance in chances)) - 1
        assert named[what] >= least, what


def test_a_promise_is_not_told_as_certain() -> None:
    found = play_screening(network(LEAVES), rounds=200).verdict
    assert promise_of(found, "node") == 1.0
    assert "a node at 50 % 99.9 %" in found.sentence
    assert GOOD == 48.0
