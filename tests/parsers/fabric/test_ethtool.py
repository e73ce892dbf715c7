"""ethtool -m and mlxlink -m: modules of one, four and eight lanes, as text and JSON. The samples are our own."""

import re
from pathlib import Path

import pytest

from railyard.hardware.optics import LIMITS, OpticReport, report_of
from railyard.parsers.detect import parse as detect
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.output import ParseError

HERE = Path(__file__).parent


def text(name: str) -> str:
    return (HERE / "samples" / f"{name}.txt").read_text(encoding="utf-8")


def module(name: str) -> dict[str, object]:
    (port,) = FABRIC_PARSERS[name.partition("-")[0]](text(name)).fabric
    return dict(port.module)


def optic_report(name: str) -> OpticReport:
    return report_of(module(name))  # type: ignore[arg-type]


def findings_of(report: OpticReport) -> list[tuple[str, str]]:
    return [(one.level, one.found) for one in report.findings]


def test_an_sfp_has_one_lane_with_all_four_thresholds() -> None:
    values = module("ethtool-sfp")
    assert (values["identifier"], values["serial"], values["temperature_c"]) == ("SFP", "X000123", 41.5)
    assert (values["bias_ma_lane1"], values["tx_power_dbm_lane1"], values["rx_power_dbm_lane1"]) == (
        7.125,
        -2.15,
        -16.0,
    )
    assert [values[f"rx_power_dbm_{limit}"] for limit in LIMITS] == [-16.99, -15.23, 0.41, 1.46]
    assert values["flag_bias_ma_low_alarm_lane1"] == "on"
    assert "flag_bias_ma_high_alarm_lane1" not in values  # Off


def test_a_weak_light_is_a_warning_and_a_flag_that_is_over_too() -> None:
    assert findings_of(optic_report("ethtool-sfp")) == [
        ("warning", "received power of lane 1 -16 dBm"),
        ("warning", "laser bias current of lane 1 7.125 mA, and the module's flag of a low alarm"),
    ]


def test_a_dead_laser_and_no_light_are_alarms_of_their_lanes() -> None:
    found = optic_report("ethtool")
    assert found.name == "QSFP28, EXAMPLE Q28-SR4-X, serial X000456"
    assert findings_of(found) == [
        ("alarm", "laser bias current of lane 4 0 mA"),
        ("alarm", "transmitted power of lane 4 no light"),
        ("alarm", "received power of lane 2 no light"),
    ]


def test_a_module_of_eight_lanes_that_uses_four_is_judged_by_these() -> None:
    found = optic_report("ethtool-cmis")
    assert findings_of(found) == [("warning", "temperature 74.5 C")]
    assert found.unjudged == ("lanes 5 to 8: no bias and no light either way, as lanes that are not used",)
    # ethtool prints the flags of other lanes
    assert not any(key.startswith("flag_rx") for key in module("ethtool-cmis"))


def test_json_is_read_with_keys_that_stand_twice() -> None:
    values = module("ethtool-json")
    assert (values["temperature_c"], values["temperature_c_high_alarm"]) == (38.25, 78.0)
    assert (values["serial"], values["rx_power_dbm_lane2"], values["rx_power_dbm_lane1"]) == ("X000456", -40.0, -0.97)
    assert findings_of(optic_report("ethtool-json")) == [("alarm", "received power of lane 2 no light")]


def test_newer_json_has_a_key_of_its_own_for_what_is_measured() -> None:
    newer = text("ethtool-json")
    for name in ("temperature", "voltage"):
        newer = newer.replace(f'"module_{name}": 3', f'"module_{name}_measurement": 3', 1)
    assert newer != text("ethtool-json")
    (port,) = FABRIC_PARSERS["ethtool"](newer).fabric
    assert dict(port.module) == module("ethtool-json")


def test_mlxlink_has_alarms_only_and_prints_no_light_as_minus_40() -> None:
    (port,) = FABRIC_PARSERS["mlxlink"](text("mlxlink-module")).fabric
    assert (port.module["serial"], port.module["voltage_v"], port.extra["raw_physical_ber"]) == (
        "X000999",
        3.2612,
        3e-9,
    )
    assert findings_of(optic_report("mlxlink-module")) == [
        ("alarm", "transmitted power of lane 3 5.1 dBm"),
        ("alarm", "received power of lane 2 no light"),
    ]


@pytest.mark.parametrize("stated", ["N/A", "0 [0..0]"])
def test_mlxlink_of_passive_copper_is_not_judged(stated: str) -> None:
    copper = text("mlxlink-module").replace("850 nm VCSEL", "Copper cable, passive, unequalized")
    for line in text("mlxlink-module").splitlines():
        if " [" in line and ".." in line:
            copper = copper.replace(line, f"{line.partition(' :')[0]} : {stated}")
    (port,) = FABRIC_PARSERS["mlxlink"](copper).fabric
    found = report_of(port.module)
    assert (found.findings, found.unjudged) == ((), ("passive copper: it has no light and no thresholds",))


def test_mlxlink_as_json_has_the_same_module() -> None:
    lines = [line.partition(" : ") for line in text("mlxlink-module").splitlines() if " : " in line]
    fields = ", ".join(f'"{key.strip()}": "{value.strip()}"' for key, _, value in lines)
    document = (
        f'{{"result": {{"output": {{"Operational Info": {{{fields}}}}}}}, "status": {{"code": 0, "message": ""}}}}'
    )
    (port,) = FABRIC_PARSERS["mlxlink"](document).fabric
    assert dict(port.module) == module("mlxlink-module")


def test_two_modules_in_one_text_are_two() -> None:
    both = FABRIC_PARSERS["ethtool"](text("ethtool") + text("ethtool-sfp")).fabric
    assert [port.module["serial"] for port in both] == ["X000456", "X000123"]


@pytest.mark.parametrize("name", ["ethtool", "ethtool-json"])
def test_the_prompt_and_the_command_may_stand_above(name: str) -> None:
    (port,) = FABRIC_PARSERS["ethtool"](f"[root@n1 ~]# ethtool -m eth1\n{text(name)}").fabric
    assert dict(port.module) == module(name)


def test_each_document_of_json_is_read_and_what_follows_them_too() -> None:
    other = text("ethtool-json").replace("88,48,48,48,52,53,54", "89")
    error = "netlink error: Operation not supported\n"
    parsed = FABRIC_PARSERS["ethtool"](f"{text('ethtool-json')}{other}{error}{text('ethtool-sfp')}")
    assert [port.module["serial"] for port in parsed.fabric] == ["X000456", "Y", "X000123"]
    assert [failure.text for failure in parsed.failures] == [error.strip()]


def test_a_second_document_that_is_cut_is_a_failure() -> None:
    parsed = FABRIC_PARSERS["ethtool"](text("ethtool-json") + text("ethtool-json")[:400])
    assert len(parsed.fabric) == 1
    assert "expected a whole JSON document" in parsed.failures[0].text


def test_lanes_that_are_counted_from_0_are_lanes_from_1() -> None:
    from_0 = re.sub(r"(Channel|Chan) ([1-4])", lambda said: f"{said[1]} {int(said[2]) - 1}", text("ethtool"))
    (port,) = FABRIC_PARSERS["ethtool"](from_0).fabric
    assert dict(port.module) == module("ethtool")


def test_a_lane_of_mlxlink_that_shows_nothing_hides_no_other() -> None:
    (port,) = FABRIC_PARSERS["mlxlink"](text("mlxlink-module").replace("1.886,-40,2.281", "-inf,N/A,2.281")).fabric
    lanes = {key: value for key, value in port.module.items() if key.startswith("rx_power_dbm_lane")}
    assert lanes == {"rx_power_dbm_lane1": -40.0, "rx_power_dbm_lane3": 2.281, "rx_power_dbm_lane4": 1.976}
    assert port.module["rx_power_dbm_low_alarm"] == -10.41


def test_an_sfp_of_passive_copper_is_known_by_its_line() -> None:
    copper = (
        "\tIdentifier                                : 0x03 (SFP)\n"
        "\tPassive Cu cmplnce.                       : 0x01 (SFF-8431 appendix E) [SFF-8472 rev10.4 only]\n"
    )
    (port,) = FABRIC_PARSERS["ethtool"](copper).fabric
    assert report_of(port.module).unjudged == ("passive copper: it has no light and no thresholds",)


def test_json_may_name_thresholds_apart() -> None:
    apart = re.sub(r'"(laser|module)_(\w+)": \{"high_alarm', r'"\1_\2_threshold": {"high_alarm', text("ethtool-json"))
    assert apart.count('_threshold":') > text("ethtool-json").count('_threshold":')
    (port,) = FABRIC_PARSERS["ethtool"](apart.replace("_alarm_threshold", "_alarm")).fabric
    assert dict(port.module) == module("ethtool-json")


def test_mlxlink_may_print_the_unit_of_the_temperature() -> None:
    (port,) = FABRIC_PARSERS["mlxlink"](text("mlxlink-module").replace("54 [-5..75]", "88C [-5C..75C]")).fabric
    assert ("alarm", "temperature 88 C") in findings_of(report_of(port.module))


def test_a_mailer_that_broke_lines_loses_no_value() -> None:
    broken = text("ethtool-cmis").replace(" degrees F", "\ndegrees F")
    (port,) = FABRIC_PARSERS["ethtool"](broken).fabric
    assert dict(port.module) == module("ethtool-cmis")


@pytest.mark.parametrize("name", ["ethtool", "ethtool-sfp", "ethtool-cmis", "ethtool-json"])
def test_the_tool_is_recognised_by_what_it_prints(name: str) -> None:
    assert [dict(port.module) for port in detect(text(name)).fabric] == [module(name)]


@pytest.mark.parametrize("words", ["", "hello\n", '[ {"identifier": 17, "vendor'])
def test_a_text_of_none_of_it_is_an_error(words: str) -> None:
    with pytest.raises(ParseError, match="expected output of ethtool"):
        FABRIC_PARSERS["ethtool"](words)


@pytest.mark.parametrize(
    "line",
    [
        "ethtool: netlink error: Operation not supported",
        "netlink error: Invalid argument",
        "Cannot get module EEPROM information: Operation not supported",
        "Cannot get Module EEPROM information: Input/output error",
    ],
)
def test_what_ethtool_says_in_place_of_a_module_is_a_failure(line: str) -> None:
    parsed = FABRIC_PARSERS["ethtool"](f"{line}\n")
    assert (parsed.fabric, [failure.text for failure in parsed.failures]) == ((), [line])
