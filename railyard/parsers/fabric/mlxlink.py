"""mlxlink (MFT, mstflint), its console and its --json: one PortState per output; outputs may follow each other.

The device is not printed. ``state`` is that of the port's physical manager: Active, Polling, Disable ... ``speed`` is
InfiniBand's name (EDR) or Ethernet's as printed ("200G"). ``best_speed`` is the fastest that is both enabled and
supported by the cable; the partner may support less. HDR over "2x" is HDR100. N/A means unknown. With -c, ``counters``
have the printed names without blanks ("EffectivePhysicalErrors", "RawPhysicalErrorsLane0" for each lane); the two that
have standard names are under these. Bit error rates are in ``extra``: 15E-255 is mlxlink's zero. A status opcode other
than 0 is a failure, with mlxlink's recommendation. Source: ``operatingInfoPage``, ``supportedInfoPage``,
``troubInfoPage`` of mlxlink_commander.cpp (mstflint).

With -m, ``module`` has the section Module Info: "1.9,-40 [-10.4..6]" are the lanes' values with the module's own alarm
thresholds (register PDDR: "Alarm high RX Power threshold ... Taking only from channel 0"). mlxlink prints no warnings,
and "N/A" or "0 [0..0]" for a cable that states nothing. Source: ``prepareDDMSection``, ``getValueAndThresholdsStr`` and
register_access_table.adb (mstflint, May 2026).
"""

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from railyard.hardware.counters import full
from railyard.hardware.links import ethernet_gbit_s, fastest, rate_gbit_s, speed_name, width_of
from railyard.hardware.optics import NO_LIGHT_DBM
from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import LONGEST, Notes, documents, finish, lines_of, tools_text, without_broken_ports
from railyard.parsers.fabric.words import integer, known_value, physical_of, state_of
from railyard.parsers.output import ParsedOutput, ParseError

_TITLE = "Operational Info"
_EXPECTED = 'the section "Operational Info", or the JSON of --json'
# 0x000000f1 (NDR,HDR,EDR,FDR,SDR)
_LIST = re.compile(r"^0x[0-9a-fA-F]{1,16} ?\((?P<names>[^()]{0,500})\)$")
_BER = re.compile(r"^[0-9]{1,3}(?:\.[0-9]{1,6})?[eE]-?[0-9]{1,3}$")
_RULE = re.compile(r"^\s*-{3,200}\s*$")

_COUNTERS = MappingProxyType(
    {
        "Symbol Errors": "SymbolErrors",
        "Effective Physical Errors": "EffectivePhysicalErrors",
        "Link Down Counter": "LinkDownedCounter",
        "Link Error Recovery Counter": "LinkErrorRecoveryCounter",
    }
)
_PER_LANE = MappingProxyType({"Raw Physical Errors Per Lane": "RawPhysicalErrorsLane"})
_BERS = MappingProxyType(
    {
        "Raw Physical BER": "raw_physical_ber",
        "Effective Physical BER": "effective_physical_ber",
        "Symbol BER": "symbol_ber",
    }
)
_WORDS = MappingProxyType(
    {
        "FEC": "fec",
        "Loopback Mode": "loopback",
        "Auto Negotiation": "auto_negotiation",
        "Recommendation": "recommendation",
    }
)


#: Line of Module Info -> reading of the module, and what makes a printed value one in its unit.
_MODULE = MappingProxyType(
    {
        "Temperature [C]": ("temperature_c", 1.0),
        "Voltage [mV]": ("voltage_v", 0.001),
        "Bias Current [mA]": ("bias_ma", 1.0),
        "Rx Power Current [dBm]": ("rx_power_dbm", 1.0),
        "Tx Power Current [dBm]": ("tx_power_dbm", 1.0),
    }
)
_MODULE_WORDS = MappingProxyType(
    {
        "Identifier": "identifier",
        "Cable Technology": "technology",
        "Vendor Name": "vendor",
        "Vendor Part Number": "part",
        "Vendor Serial Number": "serial",
    }
)
_PER_LANE_READINGS = ("bias_ma", "rx_power_dbm", "tx_power_dbm")
_NUMBER = r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?(?:e-[0-9]{1,2})?"
_WORD = rf"(?:{_NUMBER}|-inf|N/A)"
# 1.886,-40 [-10.41..6]; a lane that shows nothing is N/A
_RANGE = re.compile(
    rf"^(?P<values>{_WORD}(?:, ?{_WORD}){{0,15}}) ?\[(?P<low>{_NUMBER}|N/A)\.\.(?P<high>{_NUMBER}|N/A)\]$"
)
#: 54C [0C..70C]
_DEGREES = re.compile(r"(?<=[0-9])C\b")


def parse(text: str) -> ParsedOutput:
    """Return one PortState per output of mlxlink, in the order of the text.

    Raises ParseError if the text has neither the section "Operational Info" nor mlxlink's JSON, nor a failure of it.
    """
    return without_broken_ports(text, _read)


def _read(text: str) -> ParsedOutput:
    text = tools_text(text, "mlxlink", _EXPECTED)
    notes = Notes()
    # JSON first: no line of the console begins with a brace
    is_json = text.lstrip()[:1] == "{" or "\n{" in text
    outputs: list[tuple[int, dict[str, str]]] = []
    if is_json:
        outputs = [(line, fields) for line, document in documents(text, _EXPECTED) for fields in _sections(document)]
    lines, cut = lines_of("" if outputs else text)
    for number, line in enumerate(lines, 1):
        key, colon, value = line.partition(":")
        key = key.strip()
        if key == _TITLE and not colon:
            outputs.append((number, {}))
        elif colon and outputs and value[:1] in ("", " ") and len(key) <= 60 and not key.startswith("-"):
            if number != cut:
                # a later section repeats "Speed" for its own purpose: the first one counts
                outputs[-1][1].setdefault(key, value.strip())
        elif not (outputs and (_RULE.match(line[:LONGEST]) or (line.strip() and _titles(lines, number)))):
            notes.foreign(number, line)
    for number, fields in outputs:
        _judge(number, fields, notes)
    ports = [_port(number, fields) for number, fields in outputs]
    return finish("mlxlink", ports, bool(outputs), notes, lines, _EXPECTED)


def _titles(lines: list[str], number: int) -> bool:
    """Return whether the line with this number is a section's title: a rule is under it."""
    return number < len(lines) and bool(_RULE.match(lines[number][:LONGEST]))


def _sections(document: Any) -> Iterable[dict[str, str]]:
    """Yield the fields of a --json document's sections as the console prints them; for a failed query its message."""
    if not isinstance(document, dict) or not {"result", "status"} & set(document):
        raise ParseError(1, str(document)[:LONGEST], f"output of mlxlink: {_EXPECTED}")
    result, status = document.get("result"), document.get("status")
    sections = result.get("output") if isinstance(result, dict) else None
    fields: dict[str, str] = {}
    for section in sections.values() if isinstance(sections, dict) else ():
        for key, value in section.items() if isinstance(section, dict) else ():
            fields.setdefault(key, _console_text(value))
    message = status.get("message") if isinstance(status, dict) else None
    if isinstance(status, dict) and status.get("code") not in (None, "0") and isinstance(message, str):
        fields["error"] = message
    yield fields


def _console_text(value: Any) -> str:
    """Return a JSON value as the console prints it: a list with its mask, or its members between commas."""
    if isinstance(value, dict):
        names = ",".join(str(one) for one in value.get("values") or ())
        return f"{value['mask']} ({names})" if isinstance(value.get("mask"), str) else names
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def _judge(number: int, fields: dict[str, str], notes: Notes) -> None:
    opcode, advice = fields.get("Status Opcode", "0"), fields.get("Recommendation", "")
    if opcode not in ("0", "N/A", ""):
        notes.note_failure(number, f"status opcode {opcode}: {advice}")
    if "error" in fields:
        notes.note_failure(number, fields["error"])


def _port(number: int, fields: dict[str, str]) -> PortState:
    printed = known_value(fields.get("Speed", "")) or ""
    speed, width = speed_name(printed), width_of(fields.get("Width", ""))
    is_infiniband = bool(speed) or printed.startswith("IB-")
    counters = _counters(fields)
    extra: dict[str, str | int | float] = {
        name: value for key, name in _WORDS.items() if (value := known_value(fields.get(key, "")))
    }
    for key, name in _BERS.items():
        if _BER.match(fields.get(key, "")[:40]):
            extra[name] = float(fields[key])
    opcode = integer(fields.get("Status Opcode", ""))
    if opcode is not None:
        extra["status_opcode"] = opcode
    best = _best(fields)
    return PortState(
        state=state_of(fields.get("State", "")),
        physical_state=physical_of(fields.get("Physical state", "")),
        rate=rate_gbit_s(width, speed) if speed else ethernet_gbit_s(printed),
        width=width,
        speed=speed or printed or None,
        best_speed=best,
        best_from="this end and its cable" if best else None,
        link_layer="InfiniBand" if is_infiniband else "Ethernet" if ethernet_gbit_s(printed) else None,
        firmware=known_value(fields.get("Firmware Version", "")),
        counters=MappingProxyType(counters),
        saturated=full(counters, 64),
        extra=MappingProxyType(extra),
        line=number,
        module=MappingProxyType(_module(fields)),
    )


def _module(fields: dict[str, str]) -> dict[str, str | float]:
    """Return what the section Module Info says; nothing without it."""
    values: dict[str, str | float] = {
        name: value for key, name in _MODULE_WORDS.items() if (value := known_value(fields.get(key, "")))
    }
    for key, (reading, factor) in _MODULE.items():
        text = fields.get(key, "")[:LONGEST]
        found = _RANGE.match(_DEGREES.sub("", text) if reading == "temperature_c" else text)
        if found is None:
            continue
        words = [word.strip() for word in found["values"].split(",")]
        numbers = {
            f"{reading}_lane{lane}" if reading in _PER_LANE_READINGS else reading: word
            for lane, word in enumerate(words, 1)
        }
        numbers |= {f"{reading}_{side}_alarm": found[side] for side in ("low", "high")}
        values |= {
            name: NO_LIGHT_DBM if word == "-inf" else round(float(word) * factor, 6)
            for name, word in numbers.items()
            if word != "N/A" and (word != "-inf" or reading.endswith("dbm"))
        }
    return values


def _counters(fields: dict[str, str]) -> dict[str, int]:
    counters = {name: value for key, name in _COUNTERS.items() if (value := integer(fields.get(key, ""))) is not None}
    for key, name in _PER_LANE.items():
        for lane, word in enumerate(fields.get(key, "")[:LONGEST].split(",")):
            value = integer(word.strip())
            if value is not None:
                counters[f"{name}{lane}"] = value
    return counters


def _supported_speeds(fields: dict[str, str], title: str) -> tuple[str, ...] | None:
    """Return the speeds of a line of the section Supported Info, with or without "(Ext.)"; None if it has none."""
    for key in (title, f"{title} (Ext.)"):
        found = _LIST.match(fields.get(key, "")[:LONGEST])
        if found:
            return tuple(speed_name(name.strip()) or name.strip() for name in found["names"].split(","))
    return None


def _best(fields: dict[str, str]) -> str | None:
    """Return the fastest speed that the port has enabled and the cable supports; None until both are printed."""
    enabled, cable = _supported_speeds(fields, "Enabled Link Speed"), _supported_speeds(fields, "Supported Cable Speed")
    if enabled is None or cable is None:
        return None
    return fastest(tuple(name for name in enabled if name in cable))
