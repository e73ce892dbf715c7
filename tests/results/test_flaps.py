"""What a gate keeps of flaps: what is a flap, what resets, when a port is good again, and that it stays bounded."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.values import utc_time
from railyard.results.flaps import (
    DAY_S,
    KEPT_S,
    MOST_FLAPS,
    Flap,
    FlapBounds,
    FlapReport,
    PortFlaps,
    PortReading,
    collect,
    follow,
    from_json,
    kept_by_site,
    read_folders,
    report_of,
    to_json,
)

HOUR = 3600.0
T0 = 1_800_000_000.0
#: An Ethernet port: more than two flaps in a day are too many. An InfiniBand port: each is.
ETHERNET, INFINIBAND = FlapBounds(), FlapBounds(between=0)


def look(
    kept: dict[str, PortFlaps], value: int, hours: float, bounds: FlapBounds = ETHERNET, boot: str | None = "a"
) -> dict[str, PortFlaps]:
    """Return what is kept after one more gate, so many hours after the first."""
    return follow(kept, {"p": PortReading("carrier_down_count", value, bounds)}, T0 + hours * HOUR, boot, "s")


def looks(*gates: tuple[float, int], bounds: FlapBounds = ETHERNET) -> PortFlaps:
    """Return a port after gates (hours, value)."""
    kept: dict[str, PortFlaps] = {}
    for hours, value in gates:
        kept = look(kept, value, hours, bounds)
    return kept["p"]


def report(port: PortFlaps) -> FlapReport:
    found = report_of(port)
    assert found is not None
    return found


def test_the_first_gate_takes_nothing_for_a_flap() -> None:
    assert report_of(looks((0, 7))) is None
    assert report_of(looks((0, 7), (1, 7))) is None


def test_growth_between_two_gates_is_that_many_flaps_with_the_time_of_the_first_and_the_last() -> None:
    found = report(looks((0, 7), (1, 8), (2, 8), (5, 10)))
    assert (found.state, found.count, found.per_day) == ("flapping", 3, 3.0)
    assert (found.first, found.last) == (T0 + HOUR, T0 + 5 * HOUR)
    assert found.good_from == T0 + 29 * HOUR


@pytest.mark.parametrize(("flaps", "state"), [(1, "seldom"), (2, "seldom"), (3, "flapping")])
def test_more_than_two_flaps_in_a_day_are_too_many_on_ethernet(flaps: int, state: str) -> None:
    assert report(looks((0, 0), (1, flaps))).state == state


def test_one_flap_is_too_many_where_a_counter_of_errors_counts_it() -> None:
    assert report(looks((0, 0), (1, 1), bounds=INFINIBAND)).state == "flapping"
    assert report(looks((0, 0), (1, 1), bounds=FlapBounds(between=1))).state == "seldom"


def test_single_flaps_that_each_gate_would_allow_are_too_many_in_a_day() -> None:
    port = looks(*((hour, hour) for hour in range(4)), bounds=FlapBounds(between=1))
    assert (report(port).state, report(port).per_day) == ("flapping", 3.0)


def test_flaps_over_several_days_are_spread_over_them() -> None:
    port = looks((0, 0), (96, 6))
    assert (report(port).state, report(port).per_day) == ("seldom", 1.5)
    assert report(looks((0, 0), (48, 6))).state == "flapping"


def test_three_flaps_in_just_three_days_are_not_more_than_one_a_day_by_rounding() -> None:
    port = looks((0, 0), (72, 3), bounds=FlapBounds(per_day=1))
    assert report(port).state == "seldom"


@pytest.mark.parametrize(("hours", "state"), [(28.9, "flapping"), (29, "good again")])
def test_a_port_is_good_again_after_a_day_without_a_flap(hours: float, state: str) -> None:
    found = report(looks((0, 0), (5, 3), (hours, 3)))
    assert (found.state, found.good_from) == (state, T0 + 29 * HOUR)


def test_quiet_time_that_no_gate_saw_does_not_count() -> None:
    assert report(looks((0, 0), (5, 3))).state == "flapping"  # whenever it is asked


def test_a_flap_in_the_quiet_time_begins_it_again() -> None:
    found = report(looks((0, 0), (1, 3), (20, 4), (26, 4)))
    assert (found.state, found.count, found.good_from) == ("flapping", 4, T0 + 44 * HOUR)


def test_a_single_flap_after_the_port_was_good_again_is_a_single_flap() -> None:
    found = report(looks((0, 0), (1, 3), (30, 3), (31, 4)))
    assert (found.state, found.count, found.good_from) == ("seldom", 4, None)


def test_a_boot_is_no_flap_hides_none_and_begins_the_quiet_time_again() -> None:
    kept = look(look({}, 0, 0), 3, 1)
    booted = look(kept, 9, 20, boot="b")
    found = report(booted["p"])
    assert (found.count, found.state, found.good_from) == (3, "flapping", T0 + 44 * HOUR)
    assert report(look(booted, 10, 21, boot="b")["p"]).count == 4


@pytest.mark.parametrize("boot", ["a", None])
def test_a_counter_that_was_cleared_is_no_flap_and_hides_none(boot: str | None) -> None:
    kept = look(look({}, 0, 0), 3, 1)
    cleared = look(kept, 1, 2, boot=boot)
    assert (report(cleared["p"]).count, report(cleared["p"]).quiet_since) == (3, T0 + 2 * HOUR)
    assert report(look(look(kept, 0, 2), 2, 3)["p"]).count == 5


def test_without_the_kernels_name_for_the_boot_no_growth_is_a_flap() -> None:
    assert report_of(look(look({}, 0, 0, boot=None), 9, 1, boot=None)["p"]) is None


def test_a_repair_is_no_reason_to_forget_later_flaps() -> None:
    kept = look(look({}, 0, 0), 3, 1)
    reading = {"p": PortReading("carrier_down_count", 3, ETHERNET)}
    repaired = follow(kept, reading, T0 + 2 * HOUR, "a", "s", forget=True)
    assert report_of(repaired["p"]) is None
    assert report(look(repaired, 6, 3)["p"]).count == 3


def test_a_clock_that_was_set_back_keeps_flaps_and_no_time_after_now() -> None:
    ahead = look(look({}, 0, 10_000), 3, 10_001)
    back = look(ahead, 3, 0)
    found = report(back["p"])
    assert (found.count, found.last, found.good_from) == (3, T0, T0 + 24 * HOUR)
    assert report(look(back, 3, 24)["p"]).state == "good again"


def test_flaps_on_many_days_are_not_many_on_one_because_the_clock_was_set_back() -> None:
    kept: dict[str, PortFlaps] = {}
    for day in range(10):
        kept = look(kept, day, 24 * day)
    back = report(look(kept, 9, -10_000)["p"])
    assert (back.state, back.count, back.per_day) == ("seldom", 9, 1.0)


@pytest.mark.parametrize("set_by", [-1_000_000.0, 1_000_000.0])
def test_within_a_boot_kept_times_follow_a_clock_that_is_set(set_by: float) -> None:
    kept = look(look({}, 0, 0), 3, 1)
    kept = {"p": replace(kept["p"], uptime=5000.0)}
    reading = {"p": PortReading("carrier_down_count", 3, ETHERNET)}
    later = follow(kept, reading, T0 + HOUR + 600 + set_by, "a", "s", uptime=5600.0)
    found = report(later["p"])
    assert (found.state, found.last) == ("flapping", T0 + HOUR + set_by)
    assert from_json(json.loads(json.dumps(to_json(later)))) == later


def test_a_clock_that_only_ran_a_little_fast_moves_nothing() -> None:
    kept = {"p": replace(look(look({}, 0, 0), 3, 1)["p"], uptime=5000.0)}
    reading = {"p": PortReading("carrier_down_count", 3, ETHERNET)}
    later = follow(kept, reading, T0 + HOUR + 700, "a", "s", uptime=5600.0)
    assert report(later["p"]).last == T0 + HOUR


def test_a_clock_of_1970_can_be_kept() -> None:
    kept = look(look(look({}, 0, 0), 3, 1), 3, -T0 / HOUR)
    assert from_json(json.loads(json.dumps(to_json(kept)))) == kept
    assert report(kept["p"]).words.startswith("its link went down 3 times")


def test_a_port_whose_interface_was_renamed_keeps_its_flaps_and_gets_none() -> None:
    kept = look(look({}, 0, 0), 3, 1)
    renamed = follow(kept, {"p": PortReading("carrier_down_count of hsn0", 9, ETHERNET)}, T0 + 2 * HOUR, "a", "s")
    assert (report(renamed["p"]).count, report(renamed["p"]).quiet_since) == (3, T0 + 2 * HOUR)


def test_a_port_that_is_never_seen_quiet_keeps_its_flaps_for_longer_than_a_month() -> None:
    kept = look(look({}, 0, 0), 3, 1)
    assert report(look(kept, 0, 2000, boot="b")["p"]).state == "flapping"


def test_a_rail_that_another_system_has_keeps_its_flaps() -> None:
    kept = look(look({}, 0, 0), 3, 1)
    other = follow(kept, {"q": PortReading("link_downed", 5, INFINIBAND)}, T0 + 2 * HOUR, "a", "t")
    assert (report(other["p"]).count, other["q"].system) == (3, "t")


def test_what_is_kept_stays_bounded_and_the_number_of_flaps_right() -> None:
    kept: dict[str, PortFlaps] = {}
    for gate in range(5 * MOST_FLAPS):
        kept = look(kept, gate, gate / 100)
    assert len(kept["p"].flaps) == MOST_FLAPS
    assert report(kept["p"]).count == 5 * MOST_FLAPS - 1
    assert len(json.dumps(to_json(kept))) < 4000
    late = 4 + KEPT_S / HOUR
    still = look(kept, 5 * MOST_FLAPS, late)
    assert report(still["p"]).state == "flapping"  # nobody saw it quiet
    assert look(still, 5 * MOST_FLAPS, late + 24)["p"].flaps[0].count == 1


def test_what_was_written_is_what_is_read() -> None:
    kept = look(look(look({}, 0, 0, INFINIBAND), 3, 1, INFINIBAND), 4, 2, INFINIBAND, boot="b")
    assert from_json(json.loads(json.dumps(to_json(kept)))) == kept


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": -1}, "no count: -1"),
        ({"seen": "now"}, "no time: 'now'"),
        ({"since": 1e300}, r"no time: 1e\+300"),
        ({"flaps": [[1, 2]]}, "not enough values"),
        ({"flaps": [[2, 1, 1]]}, "an event that ends before it begins"),
        ({"system": "a\nb"}, "no text"),
        ({"per_day": True}, "no count: True"),
        ({"value": 1 << 64}, "no count: 18446744073709551616"),
        ({"flaps": [[1, 9e9, 1]]}, "an event after the last gate"),
    ],
)
def test_what_is_no_such_port_is_refused(change: dict[str, object], said: str) -> None:
    told = to_json(look({}, 0, 0))
    with pytest.raises(ValueError, match=said):
        from_json({"p": {**told["p"], **change}})


def test_folders_give_the_newest_look_of_each_port_and_name_a_file_that_is_not_whole(tmp_path: Path) -> None:
    older, newer = looks((0, 0), (1, 3)), looks((0, 0), (1, 3), (2, 5))
    for folder, port in (("a", newer), ("b", older)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "n1.json").write_text(json.dumps({"ports": to_json({"p": port})}))
    (tmp_path / "b/n2.json").write_text("{")
    (tmp_path / "b/n3.json").write_text(json.dumps({"format": 1}))  # of a gate that kept no ports
    (tmp_path / "b/n4.json").write_text("[" * 100_000)
    copied = {"node": "n1", "ports": to_json({"p": newer})}
    (tmp_path / "b/n5.json").write_text(json.dumps(copied))
    found, problems = read_folders((tmp_path / "a", tmp_path / "b", tmp_path / "none"))
    assert [(one.node, one.rail, one.report.count) for one in found] == [("n1", "p", 5)]
    assert "n5.json: not what a gate keeps (it is that of node 'n1')" in problems[2]
    assert len(problems) == 3 and problems[0].startswith(f"{tmp_path}/b/n2.json: not what a gate keeps (")


def test_the_sentence_has_number_rate_times_and_when_it_is_good_again() -> None:
    flapping, again = looks((0, 0), (1, 3)), looks((0, 0), (1, 3), (25, 3))
    said = f"its link went down 3 times, 3 in 24 h (at {utc_time(T0 + HOUR)})"
    good = utc_time(T0 + 25 * HOUR)
    assert report(flapping).words == f"{said}; good again from {good}, if a gate sees no flap for 24 h"
    assert report(again).words == f"{said}; good again since {good}, after 24 h without a flap"
    once = report(looks((0, 0), (1, 1)))
    assert once.words == f"its link went down once (at {utc_time(T0 + HOUR)}), not more than 2 in 24 h"


def test_two_gates_at_the_same_second_share_nothing_with_other_times() -> None:
    flap = Flap(T0, T0, 2)
    assert (flap.share(T0 - DAY_S, T0), flap.share(T0 + 1, T0 + 2)) == (2.0, 0.0)
    assert report(replace(looks((0, 0)), flaps=(flap,))).count == 2


def test_answers_of_nodes_are_kept_where_the_site_is_read_and_a_wrong_one_is_said(tmp_path: Path) -> None:
    ports = to_json({"p": looks((0, 0), (1, 3))})
    answers: list[dict[str, Any]] = [{"node": "n1", "ports": ports}, {"node": "n2", "ports": {"p": 3}}, {"node": "n3"}]
    problems = collect(tmp_path, answers)
    assert [problem.partition(":")[0] for problem in problems] == ["n2"]
    found, _ = read_folders(kept_by_site(tmp_path))
    assert [(one.node, one.report.count) for one in found] == [("n1", 3)]
