"""Which rails repeated probes name as slow, which they do not, and how many probes it takes."""

from collections.abc import Callable, Mapping

import pytest

from railyard.base.bounds import PROBE_MARGIN, PROBE_ROUNDS_LEAST, PROBE_ROUNDS_MOST, PROBE_TIME
from railyard.verdict.blame.slow_rails import chance, find, findings, in_turn, reach
from railyard.verdict.blame.suspects import Findings, Probe, RailProbe, plan_probes
from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY
from railyard.verdict.wording import blame as blame_words
from railyard.verdict.wording.blame import none_slow, not_measured

NODES = ("vn1", "vn2", "vn3", "vn4")
GOOD, EXPECTED = 47.8, 48.0
#: The value of a probe of this pair and rail in its round, None for no result.
Network = Callable[[str, str, int], float | None]


def probe_findings(
    network: Network,
    *,
    rails: tuple[str, ...] = ("hsn1",),
    nodes: tuple[str, ...] = NODES,
    starved: float | None = 0.0,
    seconds: float = 0.7,
    expected: float = EXPECTED,
) -> Findings:
    """Return the findings in a network where each probe takes this many seconds."""
    clock = [0.0]

    def measure(probe: Probe, turn: int) -> RailProbe:
        clock[0] += seconds
        value = network(f"{probe.node_a}-{probe.node_b}", probe.rail, turn)
        return RailProbe(probe.node_a, probe.node_b, probe.rail, value, expected, turn, starved)

    planned = plan_probes((nodes[0], nodes[1]), nodes[2:], rails)
    return find(planned, measure, NODES[:2], lambda: clock[0])


def slow(values: Mapping[str, float | None], rail: str = "hsn1") -> Network:
    """Return a network whose pairs are slow on a rail if one of these texts is in their names."""

    def probe_value(pair: str, on: str, turn: int) -> float | None:
        return next((value for name, value in values.items() if name in pair and on == rail), GOOD)

    return probe_value


def blamed_parts(found: Findings) -> list[tuple[str, str | None, str | None]]:
    return [(one.kind, one.node, one.rail) for one in found.suspects]


def test_a_slow_rail_of_a_node_is_named_after_the_least_rounds() -> None:
    found = probe_findings(slow({"vn2": 24.0}), rails=("hsn0", "hsn1"))
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]
    assert len(found.probes) == 12 * PROBE_ROUNDS_LEAST.value
    assert found.sentence == found.suspects[0].reason
    values = [f"24.00 MB/s with {partner}" for partner in ("vn1", "vn3", "vn4")]
    assert found.sentence.startswith(f"hsn1 of vn2 is slow {WITH_EVERY}: at best ")
    assert all(value in found.sentence for value in values)
    assert "; the same rail carried at least 47.80 MB/s between " in found.sentence
    assert found.sentence.endswith(f" in the same seconds ({blame_words.margin(0.03, PROBE_MARGIN.name)})")


def test_the_sentence_of_a_slow_rail_is_whole() -> None:
    probes = [
        RailProbe(pair[:3], pair[4:], "hsn1", 43.0 + turn / 100 if "vn2" in pair else GOOD, EXPECTED, turn)
        for turn in (1, 2)
        for pair in ("vn1-vn2", "vn3-vn4", "vn1-vn3", "vn2-vn4", "vn2-vn3", "vn1-vn4")
    ]
    assert findings(probes, NODES).sentence == (
        f"hsn1 of vn2 is slow {WITH_EVERY}: at best 43.02 MB/s with vn1, 43.02 MB/s with vn4 and 43.02 MB/s with "
        "vn3; the same rail carried at least 47.80 MB/s between vn3 and vn4, vn1 and vn3, vn1 and vn4 in the same "
        f"seconds ({blame_words.margin(0.03, PROBE_MARGIN.name)})"
    )


def test_a_slow_rail_has_its_own_values_then_those_of_its_controls_as_evidence() -> None:
    (suspect,) = probe_findings(slow({"vn2-vn3": None, "vn2": 24.0}), rails=("hsn0", "hsn1")).suspects
    assert [(one.nodes, one.value, one.unit, one.rail, one.is_control) for one in suspect.evidence] == [
        (("vn1", "vn2"), 24.0, "MB/s", "hsn1", False),
        (("vn2", "vn3"), None, "MB/s", "hsn1", False),
        (("vn2", "vn4"), 24.0, "MB/s", "hsn1", False),
        *((pair, GOOD, "MB/s", "hsn1", True) for pair in (("vn1", "vn3"), ("vn1", "vn4"), ("vn3", "vn4"))),
    ]


@pytest.mark.parametrize(("share", "named"), [(0.9, True), (0.95, True), (0.975, False), (1.0, False)])
def test_a_rail_is_named_from_the_least_margin_on(share: float, named: bool) -> None:
    assert blamed_parts(probe_findings(slow({"vn2": share * GOOD}))) == ([("rail", "vn2", "hsn1")] if named else [])


def test_the_margin_follows_from_the_spread() -> None:
    def spread(pair: str, rail: str, turn: int) -> float:
        return (43.0 if "vn2" in pair else GOOD) - 0.5 * (turn % 2) - 0.25 * ("vn4" in pair)

    found = probe_findings(spread)
    # of six values 43.00 is the best and 42.25 the sixth: 3.2135 times 0.75 of 47.55
    assert len(found.probes) == 12
    assert found.sentence.endswith(f"({blame_words.margin(0.051, PROBE_MARGIN.name)})")

    def wide(pair: str, rail: str, turn: int) -> float:
        return (43.0 if "vn2" in pair else GOOD) - 2.0 * (turn % 2)

    # after two rounds a spread of 2 MB/s may hide a healthy rail, after three it may not
    assert [len(probe_findings(each).probes) for each in (wide, spread)] == [18, 12]
    assert blamed_parts(probe_findings(wide)) == [("rail", "vn2", "hsn1")]


def test_good_rails_are_done_with_after_the_least_rounds_and_blame_nobody() -> None:
    found = probe_findings(slow({}), rails=("hsn0", "hsn1"))
    assert (found.suspects, found.sentence) == ((), none_slow(24, None))


def test_a_rail_that_is_decided_is_measured_no_more() -> None:
    def unsteady(pair: str, rail: str, turn: int) -> float:
        return 30.0 if rail == "hsn1" and pair == "vn1-vn3" and turn < 4 else GOOD

    found = probe_findings(unsteady, rails=("hsn0", "hsn1"))
    assert (found.suspects, found.sentence) == ((), none_slow(36, None))
    assert {probe.rail for probe in found.probes if probe.turn > 2} == {"hsn1"}


def test_a_node_that_is_good_once_is_not_named() -> None:
    def late_value(pair: str, rail: str, turn: int) -> float:
        return 10.0 + turn if "vn2" in pair and turn < 2 else GOOD

    assert probe_findings(late_value).sentence == none_slow(12, None)


def test_values_that_scatter_blame_nobody_and_the_sentence_says_how_long_the_processes_waited() -> None:
    def scattered_value(pair: str, rail: str, turn: int) -> float:
        place = ("vn1-vn2", "vn2-vn3", "vn2-vn4").index(pair) if "vn2" in pair else 0
        return 46.0 - 5.0 * ((turn + place) % 5) - 0.3 * turn if "vn2" in pair else GOOD

    found = probe_findings(scattered_value, starved=0.34)
    assert found.suspects == ()
    assert len(found.probes) == 6 * PROBE_ROUNDS_MOST.value
    assert found.sentence.startswith("hsn1 is undecided after 48 probes in 8 rounds: at best 4")
    assert found.sentence.endswith(
        f", others 47.80 MB/s; {NOBODY_BLAMED} for that; the probes' processes waited for a processor 34 % of the time"
    )


def test_one_round_names_nobody() -> None:
    every = probe_findings(slow({"vn2": 4.7}))
    first = findings([probe for probe in every.probes if probe.turn == 1], NODES)
    assert first.suspects == ()
    assert first.sentence.startswith("hsn1 is undecided after 6 probes in 1 round: at best 4.700 MB/s between ")


def test_slow_values_without_good_ones_beside_them_in_time_name_nobody() -> None:
    """The suspect's probes run one after the other, so a burst of some seconds may hit them all."""
    made = probe_findings(slow({"vn2": 24.0})).probes
    apart = sorted(made, key=lambda probe: "vn2" in (probe.node_a, probe.node_b))
    assert findings(apart, NODES).suspects == ()


def test_two_slow_nodes_of_one_pair_are_both_named() -> None:
    found = probe_findings(slow({"vn1": 30.0, "vn2": 20.0}))
    assert sorted(blamed_parts(found)) == [("rail", "vn1", "hsn1"), ("rail", "vn2", "hsn1")]


def test_a_slow_pair_is_named_and_neither_of_its_nodes() -> None:
    found = probe_findings(slow({"vn1-vn2": 24.0}))
    assert blamed_parts(found) == [("pair", None, "hsn1")]
    assert len(found.probes) == 36
    assert found.sentence.startswith(
        "hsn1 is slow only between vn1 and vn2: at best 24.00 MB/s, and carried at least 47.80 MB/s between "
    )
    between = f" in the same seconds ({blame_words.margin(0.03, PROBE_MARGIN.name)}): the path between them"
    assert found.sentence.endswith(between)


def test_a_slow_pair_that_the_run_did_not_use_explains_nothing() -> None:
    found = probe_findings(slow({"vn2-vn3": 24.0}))
    assert found.suspects == ()
    assert found.sentence.endswith(blame_words.unused_pair(""))


def test_a_rail_that_gives_no_result_is_not_called_slow() -> None:
    found = probe_findings(slow({"vn2": None}), rails=("hsn0", "hsn1"))
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]
    assert found.sentence.startswith("hsn1 of vn2 gives no result with any partner: none of 6 probes with vn")
    assert "; the same rail carried at least 47.80 MB/s between " in found.sentence
    assert "slow" not in found.sentence


def test_a_rail_that_gives_a_result_now_and_then_is_slow() -> None:
    def lossy(pair: str, rail: str, turn: int) -> float | None:
        return GOOD if "vn2" not in pair else 8.0 if pair == "vn2-vn4" else None

    found = probe_findings(lossy)
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]
    assert "no result with vn1" in found.sentence and "8.000 MB/s with vn4" in found.sentence


def test_a_dead_rail_is_named_before_the_time_is_up() -> None:
    """Two rounds with three probes: the first of 20 s, and the others of 6 s, since others gave a result in 1 s."""
    spent = [0.0]

    def measure(probe: Probe, turn: int) -> RailProbe:
        is_dead = probe.rail == "hsn1" and "vn2" in (probe.node_a, probe.node_b)
        spent[0] += 1.0 if not is_dead else 20.0 if spent[0] < 20.0 else 6.0
        return RailProbe(probe.node_a, probe.node_b, probe.rail, None if is_dead else GOOD, EXPECTED, turn)

    found = find(plan_probes(NODES[:2], NODES[2:], ("hsn0", "hsn1")), measure, NODES, lambda: spent[0])
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]
    assert spent[0] < PROBE_TIME.value


def test_no_result_at_all_blames_nobody_and_is_not_measured_again() -> None:
    found = probe_findings(lambda *_: None, rails=("hsn0", "hsn1"))
    assert (found.suspects, found.sentence) == ((), blame_words.no_result_at_all(12, None))


@pytest.mark.parametrize("value", [None, 0.0], ids=["none", "zero"])
@pytest.mark.parametrize("rails", [("hsn1",), ("hsn0", "hsn1")], ids=["one rail", "two rails"])
@pytest.mark.fault("session", "a wrapper that breaks the probes too", f"of single rails gave a result: {NOBODY_BLAMED}")
def test_probes_that_all_break_make_no_switch_slow(value: float | None, rails: tuple[str, ...], promise: str) -> None:
    found = probe_findings(lambda *_: value, rails=rails)
    assert (found.suspects, found.sentence) == ((), f"none of {6 * len(rails)} probes {promise}")


@pytest.mark.fault("session", "a wrapper that breaks all probes but one", "is undecided after")
def test_one_result_among_broken_probes_makes_no_switch_slow(promise: str) -> None:
    found = probe_findings(lambda pair, rail, turn: 20.0 if (pair, turn) == ("vn1-vn2", 1) else None)
    assert found.suspects == ()
    assert promise in found.sentence
    # In runs of all pairs, a dead pair's value is 0, and a round may lack the only result.
    made = [probe for probe in found.probes if probe.turn > 1]
    dead = [RailProbe(one.node_a, one.node_b, one.rail, 0.0, EXPECTED, one.turn, 0.0) for one in made]
    assert findings([*dead, RailProbe("vn1", "vn2", "hsn0", 1e-9, EXPECTED)], NODES).suspects == ()


def test_what_a_broken_probe_printed_is_quoted() -> None:
    probes = [RailProbe("vn1", "vn2", "hsn1", None, EXPECTED, said="sh: IMB-MPI1: not found")]
    assert findings(probes, NODES).sentence == (
        f'none of 1 probe of single rails gave a result, the first printed "sh: IMB-MPI1: not found": {NOBODY_BLAMED}'
    )


def latency_probes(us: dict[str, float], rail: str = "hsn1", size: int = 1024) -> list[RailProbe]:
    """Return two rounds of probes of small messages; their times in us depend on texts in the pair's name."""
    pairs = ("vn1-vn2", "vn3-vn4", "vn1-vn3", "vn2-vn4", "vn2-vn3", "vn1-vn4")
    return [
        RailProbe(
            pair[:3], pair[4:], rail,
            size / next((value + turn for name, value in us.items() if name in pair), 61.0 + turn), 0.0, turn,
            size_bytes=size,
        )
        for turn in (1, 2)
        for pair in pairs
    ]  # fmt: skip


@pytest.mark.fault("rail", "a delay of 2 ms on one rail of a node", f"hsn1 of vn2 has a delay {WITH_EVERY}: at best")
def test_a_rail_with_a_delay_is_named_with_microseconds(promise: str) -> None:
    found = findings(latency_probes({"vn2": 2060.0}), NODES)
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]
    assert found.sentence == (
        f"{promise} 2061 us for 1 KiB with vn1, 2061 us for 1 KiB with vn4 and 2061 us for 1 KiB with vn3; the "
        "same rail took at most 62.00 us for 1 KiB between vn3 and vn4, vn1 and vn3, vn1 and vn4 in the same "
        "seconds (margin 50.0 %, probe-delay-margin)"
    )


@pytest.mark.parametrize("us", [61.0, 110.0], ids=["as late as all", "more switches away"])
def test_rails_without_a_delay_blame_nobody(us: float) -> None:
    found = findings(latency_probes({"vn2": us}), NODES)
    assert (found.suspects, found.is_clear) == ((), True)
    assert found.sentence == f"no rail was slow alone in 12 probes of 1 KiB: {NOBODY_BLAMED}"


def test_no_probe_begins_when_the_time_is_up() -> None:
    found = probe_findings(lambda *_: None, rails=("hsn0", "hsn1"), seconds=40.0)
    assert len(found.probes) == 3
    assert found.sentence == f"none of 3 probes of single rails gave a result: {NOBODY_BLAMED}"


def test_a_rail_that_is_slow_everywhere_is_its_switch_where_another_rail_is_good() -> None:
    found = probe_findings(slow({"vn": 24.0}), rails=("hsn0", "hsn1"))
    assert blamed_parts(found) == [("switch", None, "hsn1")]
    assert found.sentence.startswith(
        "hsn1 is slow between all 6 pairs measured: at best 24.00 MB/s, expected 48.00 MB/s (bound 85.0 %, "
        "probe-slow-share); hsn0 carried at least 47.80 MB/s between "
    )
    assert found.sentence.endswith(" in the same seconds: its switch or its whole network")


def test_a_rail_that_gives_no_result_anywhere_is_its_switch_where_another_rail_is_good() -> None:
    found = probe_findings(slow({"vn": None}), rails=("hsn0", "hsn1"))
    assert blamed_parts(found) == [("switch", None, "hsn1")]
    assert found.sentence.startswith(
        "hsn1 gives no result between all 6 pairs measured: none of 12 probes; hsn0 carried"
    )


@pytest.mark.parametrize(("starved", "is_blamed"), [(0.02, True), (0.3, False), (None, False)])
def test_a_single_rail_that_is_slow_everywhere_is_its_switch_where_nothing_waited(
    starved: float | None, is_blamed: bool
) -> None:
    found = probe_findings(slow({"vn": 24.0}), starved=starved)
    assert blamed_parts(found) == ([("switch", None, "hsn1")] if is_blamed else [])
    assert ("is undecided" in found.sentence) is not is_blamed


def test_rails_that_are_all_slow_everywhere_blame_no_switch() -> None:
    found = probe_findings(lambda *_: 24.0, rails=("hsn0", "hsn1"))
    assert found.suspects == ()
    assert found.sentence.startswith("hsn0 is undecided after 48 probes in 8 rounds: ")


def test_an_expected_value_that_nobody_knows_makes_no_rail_slow() -> None:
    assert probe_findings(lambda *_: 24.0, expected=0.0).sentence == none_slow(12, None)


def test_without_partners_nobody_is_blamed() -> None:
    found = probe_findings(lambda *_: 24.0, nodes=NODES[:2])
    assert (found.suspects, found.sentence) == (
        (),
        "hsn1 is slow between vn1 and vn2: at best 24.00 MB/s, expected 48.00 MB/s (bound 85.0 %, probe-slow-share), "
        "but too few partners were measured to blame anybody",
    )
    assert findings([], NODES) == Findings((), not_measured())


def test_three_nodes_are_enough_to_name_one() -> None:
    assert blamed_parts(probe_findings(slow({"vn2": 24.0}), nodes=NODES[:3])) == [("rail", "vn2", "hsn1")]


def test_in_each_round_a_nodes_pairs_and_the_pairs_without_it_alternate() -> None:
    planned = plan_probes(NODES[:2], NODES[2:], ("hsn0", "hsn1"))
    rounds = [in_turn(planned, ("hsn0", "hsn1"), turn) for turn in range(1, 9)]
    assert all(sorted(map(repr, each)) == sorted(map(repr, planned)) for each in rounds)
    for each in rounds:
        of_rail = [{probe.node_a, probe.node_b} for probe in each if probe.rail == "hsn1"]
        assert all(not first & second for first, second in zip(of_rail[::2], of_rail[1::2], strict=True))
    assert len({tuple(each) for each in rounds}) == 8
    assert in_turn(planned, ("hsn0", "hsn1"), 3) == rounds[2]


def test_the_reach_is_wide_where_few_controls_were_measured_and_two_spreads_at_least() -> None:
    six = [float(value) for value in range(6, 0, -1)]
    assert chance(six, [7.0] * 6) == pytest.approx((0.5 / 7) ** 6)
    assert chance(six, [7.0] * 4 + [6.0, 1.0]) == pytest.approx((2.5 / 7) ** 6)
    assert chance(six, [7.0] * 3 + [6.0] * 4) == 1.0
    # (1 + 3.2135)^-5 times (0.5/7)^6 is 1e-10
    assert reach(2.0, (0.5 / 7) ** 6) == pytest.approx(2 * 3.2135, rel=1e-4)
    assert reach(2.0, 1e-12) == 4.0


def test_a_pair_that_was_lowered_as_often_as_others_might_be_is_not_named() -> None:
    """Two of five probes of every other pair are as low as all probes of this pair."""

    def low(pair: str, rail: str, turn: int) -> float:
        return 12.0 if pair == "vn1-vn2" or (turn + sum(map(ord, pair))) % 5 < 2 else GOOD

    found = probe_findings(low)
    assert found.suspects == ()
    assert "is undecided after 48 probes in 8 rounds: at best 12.00 MB/s between vn1 and vn2" in found.sentence
