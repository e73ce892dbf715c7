"""ethtool -m (--module-info), its console and its --json: one PortState per output, with the module's values.

The interface is not printed: only a file's name can say it. ``module`` is as railyard.hardware.optics describes it.
Modules by SFF-8472 (SFP) have one lane, by SFF-8636 (QSFP) four, by CMIS (QSFP-DD, OSFP) eight or more. Powers are
printed in mW and dBm, with "-inf" for no light; JSON has mW only.

ethtool masks the flags of a CMIS module's lanes with the lane's number and not with its bit (``page_11h[...] & chan``),
so those that it prints are of other lanes: they are not read, values and thresholds are.

JSON: up to 6.17 it has the keys of temperature and voltage twice, for the value and for its thresholds. Both are read.

Source: ethtool's cmis.c, qsfp.c, sfpdiag.c, sff-common.c and sff-common.h (PRINT_xX_PWR and others),
sff_show_thresholds and sff_show_thresholds_json; the patches "Add JSON output handling to --module-info" (2025) and
"module info: Fix duplicated JSON keys" (October 2025) on netdev. The forms of CMIS and of JSON are documented there; no
output of a card of ours has been seen.
"""

import json
import re
from types import MappingProxyType
from typing import Any

from railyard.hardware.optics import LIMITS, NO_LIGHT_DBM, dbm_of
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import LONGEST, Notes, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.output import ParsedOutput, ParseError

_EXPECTED = 'the line "Identifier : 0x11 (QSFP28)", or the JSON of --json'
_NUMBER = r"(?P<value>-?[0-9]{1,5}(?:\.[0-9]{1,4})?)"
# netlink error: Operation not supported     Cannot get module EEPROM information: Invalid argument
_ERROR = re.compile(r"^\s{0,9}(?:ethtool: )?(?:netlink error: |Cannot get [Mm]odule EEPROM information)")
_IDENTIFIER = re.compile(r"^0x(?P<code>[0-9a-f]{2})(?: \((?P<name>[^()]{1,60}))?")
#: Identifiers of modules with CMIS (SFF-8024, table 4-1): QSFP-DD, OSFP, SFP-DD, DSFP, QSFP+ with CMIS, SFP+ with CMIS.
_CMIS = frozenset((0x18, 0x19, 0x1A, 0x1B, 0x1E, 0x1F, 0x20))
# 0.6486 mW / -1.88 dBm     0.0000 mW / -inf dBm
_POWER = re.compile(rf"^-?[0-9.]{{1,9}} mW / (?:{_NUMBER}|-inf) dBm$")
_UNITS = {
    "bias_ma": re.compile(rf"^{_NUMBER} mA$"),
    "temperature_c": re.compile(rf"^{_NUMBER} degrees C(?: / -?[0-9.]{{1,9}})?(?: degrees F)?$"),
    "voltage_v": re.compile(rf"^{_NUMBER} V$"),
    "tx_power_dbm": _POWER,
    "rx_power_dbm": _POWER,
}
#: What a line's key begins with -> the reading. Values, thresholds and flags have words of their own for one reading.
_READINGS = {
    "laser tx bias current": "bias_ma",
    "laser bias current": "bias_ma",
    "laser output power": "tx_power_dbm",
    "laser tx power": "tx_power_dbm",
    "transmit avg optical power": "tx_power_dbm",
    "laser rx power": "rx_power_dbm",
    "receiver signal average optical power": "rx_power_dbm",
    "receiver signal oma": "rx_power_dbm",
    "rcvr signal avg optical power": "rx_power_dbm",
    "module temperature": "temperature_c",
    "module voltage": "voltage_v",
}
_KEY = re.compile(
    rf"^(?P<what>{'|'.join(_READINGS)})(?: +(?P<side>low|high) +(?P<level>alarm|warning))?(?P<threshold> +threshold)?"
    r" *(?:\((?:channel|chan) *(?P<lane>[0-9]{1,2})\))?$"
)
_WORDS = {
    "vendor name": "vendor",
    "vendor pn": "part",
    "vendor sn": "serial",
    "transmitter technology": "technology",
    "media interface technology": "technology",
    "passive cu cmplnce.": "technology",
}
_LANE = re.compile(r"_lane([0-9]{1,2})$")
_JSON_BEGIN = re.compile(r"^[ \t]{0,80}(?=\[\s{0,80}[{\]])", re.MULTILINE)
_ONE_LANE = ("bias_ma", "tx_power_dbm", "rx_power_dbm")
#: Key of --json -> reading; of a measured value, of its thresholds, or of both.
_JSON = {
    "laser_bias_current": "bias_ma",
    "laser_tx_bias_current": "bias_ma",
    "laser_output_power": "tx_power_dbm",
    "transmit_avg_optical_power": "tx_power_dbm",
    "laser_rx_power": "rx_power_dbm",
    "rx_power": "rx_power_dbm",
    "module_temperature": "temperature_c",
    "module_temperature_measurement": "temperature_c",
    "module_voltage": "voltage_v",
    "module_voltage_measurement": "voltage_v",
}
_JSON_WORDS = {
    "vendor_name": "vendor",
    "vendor_pn": "part",
    "vendor_sn": "serial",
    "identifier_description": "identifier",
    "transmitter_technology_description": "technology",
    "media_interface_technology_description": "technology",
}


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key that stands twice is not lost."""


def parse(text: str) -> ParsedOutput:
    """Return one PortState per output of ethtool -m, in the order of the text.

    Raises ParseError if the text has neither a line "Identifier" nor ethtool's JSON, nor a failure of it.
    """
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    text = tools_text(text, "ethtool", _EXPECTED)
    notes = Notes()
    documents, text = _documents(text, notes)
    ports = [_port(line, values) for line, values in documents]
    lines, cut = lines_of(text)
    found: list[tuple[int, int, dict[str, str | float]]] = []
    has_failed = False
    for number, line in enumerate(lines, 1):
        key, colon, value = line[:LONGEST].partition(" :")
        key, value = key.strip(), value.strip()
        if _ERROR.match(line[:LONGEST]):
            has_failed = True
            notes.note_failure(number, line)
            continue
        if not colon or number == cut:
            # what a mailer broke off: "degrees F"
            notes.foreign(number, line)
            continue
        if key == "Identifier" and (said := _IDENTIFIER.match(value)):
            found.append((number, int(said["code"], 16), {"identifier": (said["name"] or f"0x{said['code']}").strip()}))
        elif found:
            _take(found[-1][2], key.lower(), value, is_cmis=found[-1][1] in _CMIS)
    ports += [_port(number, _number_from_one(values)) for number, _, values in found]
    ports.sort(key=lambda port: port.line)
    return finish("ethtool", ports, bool(ports) or has_failed, notes, lines, _EXPECTED)


def _port(line: int, values: dict[str, str | float]) -> PortState:
    return PortState(module=MappingProxyType(values), line=line)


def _take(values: dict[str, str | float], key: str, value: str, *, is_cmis: bool) -> None:
    """Keep what one line says; leave out a line of another subject."""
    if key in _WORDS:
        # the line of an SFP says it by being there: "0x01 (SFF-8431 appendix E)"
        values.setdefault(_WORDS[key], "passive copper cable" if key.startswith("passive") else value)
        return
    said = _KEY.match(key)
    if said is None:
        return
    reading, limit = _READINGS[said["what"]], f"{said['side']}_{said['level']}"
    lane = said["lane"] or ("1" if reading in _ONE_LANE else None)
    if said["side"] and not said["threshold"]:
        if value.lower() == "on" and not (is_cmis and said["lane"]):
            values[f"flag_{reading}_{limit}{f'_lane{lane}' if lane else ''}"] = "on"
        return
    number = _value(reading, value)
    if number is None:
        return
    if said["threshold"]:
        values[f"{reading}_{limit}"] = number
    else:
        values[f"{reading}_lane{lane}" if lane else reading] = number


def _value(reading: str, text: str) -> float | None:
    found = _UNITS[reading].match(text)
    if found is None:
        return None
    if found["value"] is None:  # -inf
        return NO_LIGHT_DBM
    value = float(found["value"])
    return max(NO_LIGHT_DBM, value) if reading.endswith("dbm") else value


def _number_from_one(values: dict[str, str | float]) -> dict[str, str | float]:
    """Return the values with lanes from 1: some builds of ethtool print "Channel 0" to "Channel 3"."""
    if not any(key.endswith("_lane0") for key in values):
        return values
    return {_LANE.sub(lambda lane: f"_lane{int(lane[1]) + 1}", key): value for key, value in values.items()}


def _documents(text: str, notes: Notes) -> tuple[list[tuple[int, dict[str, str | float]]], str]:
    """Return (line, values) of each module in the JSON of a text, and the text without it; each line keeps its number.

    A document that is cut is a failure, or a ParseError if it is the first.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    modules: list[tuple[int, dict[str, str | float]]] = []
    rest, place = "", 0
    # not the prompt "[root@node1 ~]#"
    while begin := _JSON_BEGIN.search(text, place):
        number = text.count("\n", 0, begin.end()) + 1
        rest += text[place : begin.end()]
        try:
            document, after = decoder.raw_decode(text, begin.end())
        except (ValueError, RecursionError):
            line = text[begin.end() :].partition("\n")[0][:LONGEST]
            if not modules:
                raise ParseError(number, line, f"output of ethtool: {_EXPECTED}") from None
            notes.note_unread(number, line, "a whole JSON document: the rest of it is missing")
            return modules, rest
        modules += [
            (number, _of_json(module))
            for module in document
            if isinstance(module, _Pairs) and any(key == "identifier" for key, _ in module)
        ]
        rest += "\n" * text.count("\n", begin.end(), after)
        place = after
    return modules, rest + text[place:]


def _of_json(module: _Pairs) -> dict[str, str | float]:
    values: dict[str, str | float] = {}
    for key, value in module:
        if key in _JSON_WORDS:
            values[_JSON_WORDS[key]] = _words(value)
        elif key.startswith("passive_cu_cmplnce"):
            values["technology"] = "passive copper cable"
        reading = _JSON.get(key.removesuffix("_threshold"))
        if reading is None:
            continue
        if isinstance(value, _Pairs):
            inner = dict(value)
            for limit in LIMITS:
                number = _json_number(reading, inner.get(f"{limit}_threshold", inner.get(limit)))
                if number is not None:
                    values[f"{reading}_{limit}"] = number
            value = inner.get("values", inner.get("value"))
        each = value if isinstance(value, list) and not isinstance(value, _Pairs) else [value]
        for lane, one in enumerate(each, 1):
            number = _json_number(reading, one)
            if number is not None:
                values[f"{reading}_lane{lane}" if reading in _ONE_LANE else reading] = number
    return values


def _json_number(reading: str, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
        return None
    return round(dbm_of(value), 2) if reading.endswith("dbm") else float(value)


def _words(value: Any) -> str:
    """Return a word; some versions print a word as the numbers of its letters."""
    if isinstance(value, list) and all(isinstance(each, int) and 31 < each < 127 for each in value):
        return "".join(map(chr, value)).strip()
    return str(value).strip()[:LONGEST]
