"""Readings of counters, and what a soak says about them: each rule with a bad and a good case."""

from collections.abc import Mapping

import pytest

from railyard.cluster.soak import Reading, SoakedRail, duration, ended_early, findings, is_error, soaked_rails

#: Ten seconds at 47 MB/s.
STEP = 470_000_000


def readings(changes: Mapping[int, Mapping[str, int]] | None = None, count: int = 7) -> list[Reading]:
    """Return readings every 10 s of a rail that sends and receives; ``changes`` are added from one reading on."""
    found = []
    for number in range(count):
        counters = {
            "tx_bytes": number * STEP,
            "rx_bytes": number * STEP,
            "tx_packets": number * 300_000,
            "rx_crc_errors": 4,
            "rx_dropped": 2,
            "carrier_changes": 2,
        }
        for since, more in (changes or {}).items():
            for name, amount in more.items():
                counters[name] += amount if number >= since else 0
        found.append(Reading(number * 10.0, {("vn1", "hsn0"): counters}))
    return found


def soak_sentences(found: list[Reading]) -> list[tuple[str, str]]:
    """Return the findings of a rail whose partner is well."""
    partner = [{("vn2", "hsn0"): each.values["vn1", "hsn0"]} for each in readings(count=len(found))]
    both = [Reading(one.at_s, {**one.values, **other}) for one, other in zip(found, partner, strict=True)]
    return [(one.weight, one.sentence) for one in findings(soaked_rails(both), [("vn1", "vn2", "hsn0")])]


def test_a_rail_that_no_load_reached_or_nobody_read_is_no_good_rail() -> None:
    """A load that did not run, and a node that wrote nothing, once left a soak without any problem."""
    idle = [
        Reading(number * 10.0, {("vn1", "hsn0"): {"tx_bytes": number * 2000, "rx_bytes": number * 900}})
        for number in range(7)
    ]
    found = findings(soaked_rails(idle), [("vn1", "vn2", "hsn0"), ("vn2", "vn1", "hsn0")])
    assert [(one.weight, one.sentence) for one in found] == [
        (
            "problem",
            "vn1 hsn0: it carried no load, so nothing is known of it; see the soak's folder: what the load of this "
            "rail printed",
        ),
        (
            "problem",
            "vn2 hsn0: it was not read twice, so nothing is known of it; see the soak's folder: what its node printed",
        ),
    ]


def test_a_soak_that_ended_early_is_a_problem_and_one_short_of_its_last_reading_is_not() -> None:
    (early,) = ended_early(10.0, 8 * 3600, 10.0)
    assert (early.weight, early.sentence.partition(";")[0]) == (
        "problem",
        "the soak: it ended after 10 s of 8 h 0 min, so what its rails do in the rest is not known",
    )
    assert list(ended_early(595.0, 600.0, 10.0)) == []
    assert list(ended_early(25.0, 30.0, 10.0)) == []


def test_a_rail_that_was_not_read_for_long_is_a_problem_and_for_one_reading_a_remark() -> None:
    whole = readings(count=20)
    for silent, weight in ((1, "remark"), (15, "problem")):
        cut = [Reading(one.at_s, one.values if number < 20 - silent else {}) for number, one in enumerate(whole)]
        (found,) = findings(soaked_rails(cut), [("vn1", "vn2", "hsn0")][:0])
        assert (found.weight, found.sentence.startswith(f"vn1 hsn0: it is not in {silent} reading")) == (weight, True)


def test_a_rail_that_is_well_has_its_rates_and_nothing_else() -> None:
    (rail,) = soaked_rails(readings())
    assert rail == SoakedRail("vn1", "hsn0", 47.0, 47.0, 47.0, 0.0, {}, {}, 0, None, 0)
    assert soak_sentences(readings()) == []


@pytest.mark.parametrize(
    ("changes", "weight", "sentence"),
    [
        (
            {3: {"carrier_changes": 2}},
            "problem",
            "vn1 hsn0: its link went up or down 2 times, first seen after 30 s; change the cable or transceiver, then "
            "the port: a link under load stays up",
        ),
        (
            {3: {"rx_crc_errors": 1}},
            "problem",
            "vn1 hsn0: errors per hour grew: rx_crc_errors 60; change the cable or transceiver, then the port",
        ),
        (
            {5: {"rx_dropped": 3}},
            "remark",
            "vn1 hsn0: errors per hour grew: rx_dropped 180; a signal of load: compare the rails with each other",
        ),
        (
            {3: {"tx_bytes": -400_000_000, "rx_bytes": -300_000_000}},
            "problem",
            "vn1 hsn0: it stalled both ways from 20 s on: 7.0 MB/s at worst, usually 47.0 MB/s; check what else "
            "happened then: the logs of node and switch, other jobs",
        ),
    ],
)
def test_one_fault_is_one_sentence(changes: Mapping[int, Mapping[str, int]], weight: str, sentence: str) -> None:
    assert soak_sentences(readings(changes)) == [(weight, sentence)]


def test_what_a_link_that_went_down_did_not_carry_is_not_said_twice() -> None:
    fallen = readings({3: {"carrier_changes": 1, "tx_bytes": -400_000_000, "rx_bytes": -400_000_000}})
    assert [sentence.split(";")[0] for _, sentence in soak_sentences(fallen)] == [
        "vn1 hsn0: its link went up or down 1 time, first seen after 30 s"
    ]


def test_somewhat_less_is_no_stall_and_packets_are_no_errors() -> None:
    assert soak_sentences(readings({3: {"tx_bytes": -200_000_000, "rx_bytes": -200_000_000}})) == []
    assert [is_error(name) for name in ("rx_crc_errors", "tx_dropped", "tx_packets", "multicast")] == [
        True,
        True,
        False,
        False,
    ]


RING = [("vn1", "vn2", "hsn0"), ("vn2", "vn3", "hsn0"), ("vn3", "vn1", "hsn0")]
SLOW = -400_000_000


def ring(*changes: Mapping[str, int]) -> list[str]:
    """Return the findings for three nodes in a ring, each changed from its fourth reading on."""
    each = [readings({3: more}) for more in changes]
    together = [
        Reading(
            same[0].at_s,
            {(f"vn{number}", "hsn0"): reading.values["vn1", "hsn0"] for number, reading in enumerate(same, start=1)},
        )
        for same in zip(*each, strict=True)
    ]
    return [one.sentence.split(";")[0] for one in findings(soaked_rails(together), RING)]


def test_partners_of_a_rail_that_is_sick_are_not_blamed() -> None:
    both = {"tx_bytes": SLOW, "rx_bytes": SLOW}
    assert ring({"tx_bytes": SLOW}, both, {"rx_bytes": SLOW}) == [
        "vn2 hsn0: it stalled both ways from 20 s on: 7.0 MB/s at worst, usually 47.0 MB/s"
    ]
    assert ring({"tx_bytes": SLOW}, {**both, "carrier_changes": 2}, {"rx_bytes": SLOW}) == [
        "vn2 hsn0: its link went up or down 2 times, first seen after 30 s"
    ]


def test_a_stream_that_stalls_between_two_rails_that_are_well_is_named_once() -> None:
    assert ring({"tx_bytes": SLOW}, {"rx_bytes": SLOW}, {}) == [
        "vn1 hsn0: what it sends vn2 stalled from 20 s on, and nothing else on the two rails stalled"
    ]
    assert ring({"tx_bytes": SLOW}, {}, {}) == [], "what was sent and not received is no stall of the stream"


def test_a_reading_that_lacks_a_rail_is_counted_and_its_gap_is_one_interval() -> None:
    found = readings()
    found[3] = Reading(30.0, {})
    (rail,) = soaked_rails(found)
    assert (rail.sent_mb_s, rail.unread) == (47.0, 1)
    assert soak_sentences(found) == [
        ("remark", "vn1 hsn0: it is not in 1 reading; its counters could not be read then")
    ]


def test_one_reading_says_nothing() -> None:
    assert soaked_rails(readings(count=1)) == ()


def test_readings_of_one_second_have_no_rate_between_them_and_lose_no_counter() -> None:
    """A busy node is read late, and then again at once: a job's clock counts whole seconds."""
    first, *others, last = readings({6: {"rx_crc_errors": 3}})
    at_once = [Reading(0.0, others[0].values), *others, Reading(50.0, last.values)]
    (rail,) = soaked_rails([first, *at_once])
    assert (rail.sent_mb_s, rail.unread) == (47.0, 0)
    assert rail.errors == {"rx_crc_errors": pytest.approx(3 / (50 / 3600))}
    assert soaked_rails([first, Reading(0.0, others[0].values)]) == ()


def test_times_as_people_say_them() -> None:
    assert [duration(seconds) for seconds in (42.4, 310, 25_380)] == ["42 s", "5 min 10 s", "7 h 3 min"]
