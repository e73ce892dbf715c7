"""To which rail of which node a change belongs: from the path, from the shares, and from the suspects."""

from collections.abc import Callable, Mapping

from railyard.results.history import judge, rail_words
from railyard.results.record.form import (  # fmt: skip
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    Suspect,
    VerdictRecord,
)
from railyard.results.series import series_of
from tests.results.history.conftest import MADE, noisy

Made = Callable[..., tuple[Record, ...]]


def proof(shares: Mapping[str, Mapping[str, float]]) -> PathProofRecord:
    """A path with these shares, node by node, and a management network that carried almost nothing."""
    nodes = tuple(
        NodeTraffic(node, (*(RailTraffic(rail, True, 1, 1, share) for rail, share in rails.items()),
                           RailTraffic("eth0", False, 1, 1)))
        for node, rails in shares.items()
    )  # fmt: skip
    return PathProofRecord("proven", "so", 1, nodes)


def runs(*shares: Mapping[str, Mapping[str, float]]) -> list[Record]:
    return [MADE.with_fields(path_proof=proof(one)) for one in shares]


EVEN = {"vn1": {"hsn0": 0.5, "hsn1": 0.5}, "vn2": {"hsn0": 0.5, "hsn1": 0.5}}
ONE = {"vn1": {"hsn1": 1.0}, "vn2": {"hsn1": 1.0}}


def test_a_change_on_one_rail_is_that_rails() -> None:
    assert rail_words(runs(ONE, ONE), runs(ONE)) == ("over hsn1",)


def test_other_rails_than_before_are_said() -> None:
    other = {node: {"hsn0": 1.0} for node in ONE}
    assert rail_words(runs(ONE), runs(other)) == ("over hsn1 before, hsn0 after",)


def test_the_rail_that_carries_less_is_named_with_its_node() -> None:
    worse = [EVEN | {"vn2": {"hsn0": 0.5 + part, "hsn1": 0.5 - part}} for part in (0.04, 0.05, 0.06)]
    assert rail_words(runs(EVEN, EVEN), runs(*worse)) == (
        "over hsn0 and hsn1",
        "hsn0 of vn2 carried 50.0 % of its bytes before, 55.0 % after",
        "hsn1 of vn2 carried 50.0 % of its bytes before, 45.0 % after",
    )


def test_shares_that_overlap_or_hardly_move_name_nobody() -> None:
    at = [{"vn1": {"hsn0": share, "hsn1": 1 - share}} for share in (0.45, 0.55, 0.50, 0.60, 0.505, 0.509)]
    assert rail_words(runs(*at[:2]), runs(*at[2:4])) == ("over hsn0 and hsn1",)
    assert rail_words(runs(at[2]), runs(*at[4:])) == ("over hsn0 and hsn1",)


def test_a_rail_that_was_found_slow_alone_is_named() -> None:
    slow = VerdictRecord("so", rule=5, suspects=(
        Suspect("rail", "alone it is slow", "vn2", "hsn1"), Suspect("node", "both its rails", "vn1"),
    ))  # fmt: skip
    before, after = runs(EVEN, EVEN), [one.with_fields(verdict=slow) for one in runs(EVEN, EVEN, EVEN)]
    named = "hsn1 of vn2 was a suspect in 3 of 3 runs after, "
    assert rail_words(before, after)[1:] == (f"{named}none before",)
    assert rail_words([before[0], after[0]], after)[1:] == (f"{named}1 of 2 before",)
    assert rail_words(after, after)[1:] == ()


def test_runs_without_a_path_say_nothing_of_rails() -> None:
    assert rail_words([MADE], [MADE]) == ()


def test_a_change_says_its_rail_between_its_nodes_and_what_came_with_it(history: Made) -> None:
    values = noisy(25) + noisy(6, 45.9, seed=2)
    (series,) = series_of(history(values, 0, path_proof=proof(ONE)))
    (change,) = judge(series).changes
    assert change.rails == ("over hsn1",)
    assert "; on the same nodes (vn1+vn2); over hsn1; nothing else that is recorded changed then" in change.sentence
