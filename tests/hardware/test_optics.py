"""What a module's readings are by its own thresholds, and what is never judged."""

import math

import pytest

from railyard.hardware.optics import NO_LIGHT_DBM, Values, dbm_of, limits_of, name_of, report_of, unused_lanes

#: An SR4 module that is well.
WELL: dict[str, str | float] = {
    "identifier": "QSFP28",
    "vendor": "EXAMPLE",
    "part": "Q28-SR4-X",
    "serial": "X000456",
    "temperature_c": 40.0,
    **{f"temperature_c_{limit}": value for limit, value in zip(("low_alarm", "high_alarm"), (-5.0, 75.0), strict=True)},
    **{f"bias_ma_lane{lane}": 7.0 for lane in (1, 2, 3, 4)},
    **{f"rx_power_dbm_lane{lane}": -1.0 for lane in (1, 2, 3, 4)},
    "rx_power_dbm_low_alarm": -12.0,
    "rx_power_dbm_low_warning": -10.0,
    "rx_power_dbm_high_warning": 3.0,
    "rx_power_dbm_high_alarm": 4.0,
}


def test_a_module_that_is_well_has_no_finding_and_says_what_has_no_thresholds() -> None:
    found = report_of(WELL)
    assert (found.findings, found.inside) == ((), 5)
    assert found.unjudged == (
        "voltage: it is not shown",
        "laser bias current: the module states no thresholds",
        "transmitted power: it is not shown",
    )
    assert found.name == "QSFP28, EXAMPLE Q28-SR4-X, serial X000456"


@pytest.mark.parametrize(
    ("change", "level", "found", "expected"),
    [
        ({"rx_power_dbm_lane2": -12.01}, "alarm", "received power of lane 2 -12.01 dBm", "at least -12 dBm"),
        ({"rx_power_dbm_lane2": -40.0}, "alarm", "received power of lane 2 no light", "at least -12 dBm"),
        ({"rx_power_dbm_lane2": -11.0}, "warning", "received power of lane 2 -11 dBm", "at least -10 dBm"),
        ({"rx_power_dbm_lane3": 3.5}, "warning", "received power of lane 3 3.5 dBm", "at most 3 dBm"),
        ({"rx_power_dbm_lane3": 4.5}, "alarm", "received power of lane 3 4.5 dBm", "at most 4 dBm"),
        ({"temperature_c": 75.1}, "alarm", "temperature 75.1 C", "at most 75 C"),
        ({"temperature_c": -6.0}, "alarm", "temperature -6 C", "at least -5 C"),
    ],
)
def test_a_reading_outside_is_an_alarm_or_a_warning_of_its_lane(
    change: Values, level: str, found: str, expected: str
) -> None:
    (one,) = report_of({**WELL, **change}).findings
    assert (one.level, one.found) == (level, found)
    assert one.expected.startswith(f"{expected} (the module's own ")


@pytest.mark.parametrize("value", [-12.0, -10.0, 3.0])
def test_a_reading_at_its_threshold_is_not_beyond_it(value: float) -> None:
    levels = [one.level for one in report_of({**WELL, "rx_power_dbm_lane1": value}).findings]
    assert levels == (["warning"] if value == -12.0 else [])


@pytest.mark.parametrize("nothing", [0.0, NO_LIGHT_DBM])
def test_thresholds_of_zeros_are_none(nothing: float) -> None:
    limits: dict[str, str | float] = {
        key: nothing for key in WELL if key.startswith("rx_power_dbm_") and "lane" not in key
    }
    found = report_of({**WELL, **limits, "rx_power_dbm_lane1": -30.0})
    assert found.findings == ()
    assert "received power: the module states no thresholds" in found.unjudged


def test_a_low_threshold_of_zero_is_one_beside_others() -> None:
    values = {"bias_ma_low_alarm": 0.0, "bias_ma_high_alarm": 15.0}
    assert limits_of(values, "bias_ma") == {"low_alarm": 0.0, "high_alarm": 15.0}


def test_a_reading_whose_thresholds_are_in_the_wrong_order_is_not_judged_and_the_others_are() -> None:
    wrong_order = {**WELL, "rx_power_dbm_low_alarm": 5.0, "flag_rx_power_dbm_high_alarm_lane1": "on"}
    found = report_of({**wrong_order, "temperature_c": 99.0})
    assert [(one.level, one.reading) for one in found.findings] == [("alarm", "temperature_c")]
    assert (found.inside, report_of(wrong_order).inside) == (0, 1)
    (why,) = set(found.unjudged) - set(report_of(WELL).unjudged)
    wrong = "low alarm 5 dBm, low warning"
    assert why.startswith(f"received power: the module's thresholds contradict each other ({wrong}")


def test_a_flag_says_nothing_of_a_reading_whose_thresholds_contradict_each_other() -> None:
    flag = {"flag_rx_power_dbm_low_alarm_lane1": "on"}
    assert [one.level for one in report_of({**WELL, **flag}).findings] == ["warning"]
    assert report_of({**WELL, **flag, "rx_power_dbm_low_warning": -40.0}).findings == ()


def test_a_module_whose_thresholds_are_all_in_the_wrong_order_has_nothing_that_is_inside() -> None:
    values = {"voltage_v": 3.3, "voltage_v_low_alarm": 3.6, "voltage_v_high_alarm": 3.0}
    found = report_of(
        {**values, "temperature_c": 40.0, "temperature_c_low_alarm": 75.0, "temperature_c_high_alarm": 75}
    )
    assert (found.findings, found.inside) == ((), 0)
    assert "temperature: the module's thresholds contradict each other (all are 75 C)" in found.unjudged


def test_passive_copper_is_not_judged_and_that_is_said() -> None:
    zeros = {"temperature_c": 0.0, "temperature_c_low_alarm": 0.0, "temperature_c_high_alarm": 0.0}
    found = report_of({"technology": "Copper cable, passive, unequalized", **zeros, "rx_power_dbm_lane1": 0.0})
    assert (found.findings, found.unjudged) == ((), ("passive copper: it has no light and no thresholds",))


def test_a_cable_of_copper_with_thresholds_is_judged() -> None:
    values: Values = {"technology": "Copper cable, active", "temperature_c": 80.0, "temperature_c_high_alarm": 75.0}
    assert [one.level for one in report_of(values).findings] == ["alarm"]


def eight(dark: set[int], **change: float) -> dict[str, float]:
    """Return a module of eight lanes with these dark."""
    values = {f"bias_ma_lane{lane}": 0.0 if lane in dark else 80.0 for lane in range(1, 9)}
    for reading in ("tx_power_dbm", "rx_power_dbm"):
        values |= {f"{reading}_lane{lane}": NO_LIGHT_DBM if lane in dark else 0.5 for lane in range(1, 9)}
        values |= {f"{reading}_low_alarm": -8.0, f"{reading}_high_alarm": 5.0}
    return {**values, "bias_ma_low_alarm": 10.0, "bias_ma_high_alarm": 130.0, **change}


@pytest.mark.parametrize(
    ("dark", "unused", "alarms"),
    [
        ({5, 6, 7, 8}, (5, 6, 7, 8), 0),
        ({3, 4, 5, 6, 7, 8}, (3, 4, 5, 6, 7, 8), 0),
        ({8}, (), 3),
        ({3, 5, 6, 7, 8}, (5, 6, 7, 8), 3),
        ({1, 2, 3, 4}, (), 12),
        (set(range(1, 9)), (), 24),
    ],
)
def test_lanes_are_unused_only_as_whole_upper_halves(dark: set[int], unused: tuple[int, ...], alarms: int) -> None:
    values = eight(dark)
    assert unused_lanes(values) == unused
    assert len(report_of(values).alarms) == alarms


def test_a_lane_with_a_bias_and_no_light_is_not_unused() -> None:
    assert unused_lanes(eight({5, 6, 7, 8}, bias_ma_lane5=80.0)) == ()


def test_a_dead_lane_of_four_is_an_alarm() -> None:
    values = {f"tx_power_dbm_lane{lane}": NO_LIGHT_DBM if lane > 2 else 0.0 for lane in (1, 2, 3, 4)}
    assert len(report_of({**values, "tx_power_dbm_low_alarm": -8.0, "tx_power_dbm_high_alarm": 5.0}).alarms) == 2


def test_a_flag_of_a_reading_that_is_inside_again_is_a_warning() -> None:
    (one,) = report_of({**WELL, "flag_rx_power_dbm_low_alarm_lane3": "on"}).findings
    assert (one.level, one.found) == (
        "warning",
        "received power of lane 3 -1 dBm, and the module's flag of a low alarm",
    )
    assert report_of({**WELL, "flag_bias_ma_low_alarm_lane1": "on"}).findings == ()  # it has no thresholds
    (one,) = report_of({**WELL, "flag_rx_power_dbm_low_alarm_lane3": "on", "rx_power_dbm_lane3": -13.0}).findings
    assert one.level == "alarm"  # said once


def test_a_module_without_readings_says_so() -> None:
    assert report_of({"identifier": "SFP"}).unjudged == ("the module shows no readings",)
    assert name_of({}) == "a module"


def test_a_reading_that_is_not_shown_where_thresholds_are_is_said() -> None:
    values = {key: value for key, value in WELL.items() if not key.startswith("rx_power_dbm_lane")}
    assert "received power: it is not shown" in report_of(values).unjudged


@pytest.mark.parametrize(("side", "other"), [("low", "high"), ("high", "low")])
def test_a_reading_with_one_alarm_of_two_is_not_inside(side: str, other: str) -> None:
    values = {key: value for key, value in WELL.items() if key != f"rx_power_dbm_{side}_alarm"}
    found = report_of(values)
    assert (found.inside, f"received power: its {side} alarm is not shown" in found.unjudged) == (1, True)
    beyond = report_of({**values, "rx_power_dbm_lane2": {"low": -13.0, "high": 5.0}[other]})
    assert [one.level for one in beyond.findings] == ["alarm"]


def test_a_dark_lane_of_a_module_whose_low_alarm_is_no_light_is_not_inside() -> None:
    none = {f"rx_power_dbm_low_{level}": NO_LIGHT_DBM for level in ("alarm", "warning")}
    found = report_of({**WELL, **none, "rx_power_dbm_lane3": NO_LIGHT_DBM})
    assert (found.findings, found.inside) == ((), 4)
    assert "received power of lane 3: no light, and the module states no low alarm above it" in found.unjudged


def test_a_lane_that_one_reading_lacks_is_said() -> None:
    values = {key: value for key, value in WELL.items() if key != "rx_power_dbm_lane4"}
    assert "received power of lane 4: it is not shown" in report_of(values).unjudged


@pytest.mark.parametrize(("milliwatt", "dbm"), [(1.0, 0.0), (0.5, -3.0103), (0.0, -40.0), (0.00001, -40.0)])
def test_milliwatts_are_dbm_down_to_no_light(milliwatt: float, dbm: float) -> None:
    assert math.isclose(dbm_of(milliwatt), dbm, abs_tol=1e-4)
