"""Rules that hold for every fabric parser and any text: our own samples and recordings, cut, disturbed and enlarged."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.parsers.fabric import FABRIC_PARSERS, FABRIC_TOOLS
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParsedOutput, ParseError
from tests.parsers.test_joined_lines import fill_paragraphs

HERE = Path(__file__).parent
RECORDINGS = sorted((HERE / "recordings").glob("*.out"))
#: Small synthetic texts, one per form of a tool, named "tool-form": no line was printed by a real fabric.
SAMPLES = sorted((HERE / "samples").glob("*.txt"))
TEXTS = {path.stem: (path.stem.partition("-")[0], path.read_text(encoding="utf-8")) for path in (*SAMPLES, *RECORDINGS)}
PIECES = sorted({line for _, text in TEXTS.values() for line in text.split("\n")[:40]})
#: tests/parsers/test_properties.py puts other lines into the same texts, so `make test` needs only one here.
NOISE = (
    "warning: something of a library",
    *(
        pytest.param(noise, marks=pytest.mark.full)
        for noise in ("", "x" * 5000, "libibverbs: Warning: no userspace driver", "real 5.93")
    ),
)


def values(port: PortState) -> set[tuple[Any, ...]]:
    """Return every value of one port as (field, value), mappings and the partner field by field."""
    found: set[tuple[Any, ...]] = set()
    for name, value in port.as_json().items():
        if isinstance(value, dict):
            found |= {(name, key, one) for key, one in value.items()}
        elif isinstance(value, list):
            found |= {(name, one) for one in value}
        else:
            found.add((name, value))
    return found


def parse_or_none(tool: str, text: str) -> ParsedOutput | None:
    try:
        return FABRIC_PARSERS[tool](text)
    except ParseError:
        return None


def test_every_recording_has_a_row_in_the_index() -> None:
    rows = (HERE / "recordings" / "INDEX.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert sorted(row.partition("\t")[0] for row in rows) == [path.name for path in RECORDINGS]


def test_every_tool_has_a_text_and_a_parser() -> None:
    assert {tool for tool, _ in TEXTS.values()} == set(FABRIC_TOOLS) == set(FABRIC_PARSERS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_cut_at_any_byte_gives_no_value_that_the_whole_lacks(name: str) -> None:
    tool, text = TEXTS[name][0], TEXTS[name][1][:5000]  # beyond, a recording repeats itself
    whole = [values(port) for port in FABRIC_PARSERS[tool](text).fabric]
    step = 3 if len(text) < 2000 else 37
    for cut in sorted({*range(1, len(text), step), *range(max(1, len(text) - 200), len(text))}):
        part = parse_or_none(tool, text[:cut])
        for port, all_of_it in zip(part.fabric if part else (), whole, strict=False):
            assert values(port) <= all_of_it, f"cut at {cut}"
        assert part is None or len(part.fabric) <= len(whole)


@pytest.mark.parametrize("name", [name for name in TEXTS if not re.search("json|wrapped", name)])
@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_lines_changes_no_value(name: str, noise: str) -> None:
    tool, text = TEXTS[name][0], TEXTS[name][1][:3000]
    lines = text.split("\n")
    whole = [values(port) - {("line", port.line)} for port in FABRIC_PARSERS[tool](text).fabric]
    for place in range(0, min(len(lines), 60), 2):
        disturbed = FABRIC_PARSERS[tool]("\n".join([*lines[:place], noise, *lines[place:]]))
        found = [values(port) - {("line", port.line)} for port in disturbed.fabric]
        assert found == whole, f"before line {place + 1}"


@pytest.mark.parametrize("name", TEXTS)
def test_no_parser_reads_another_tools_text(name: str) -> None:
    tool, text = TEXTS[name]
    assert [other for other in FABRIC_PARSERS if other != tool and parse_or_none(other, text)] == []


@pytest.mark.parametrize(
    ("name", "change"),
    # a quoted JSON document is not JSON
    [(name, change) for name in TEXTS for change in ("\r\n", "> ") if change == "\r\n" or "json" not in name],
)
def test_carriage_returns_and_a_mails_marks_change_no_value(name: str, change: str) -> None:
    tool, text = TEXTS[name]
    changed = text.replace("\n", "\r\n") if change == "\r\n" else "> " + text.replace("\n", "\n> ")
    assert FABRIC_PARSERS[tool](changed).fabric == FABRIC_PARSERS[tool](text).fabric


@pytest.mark.parametrize("name", [name for name in TEXTS if "json" not in name])
@pytest.mark.parametrize("apart", [13, pytest.param(1, marks=pytest.mark.full)])
def test_a_row_that_lost_one_sign_or_blank_is_read_or_named(name: str, apart: int) -> None:
    """No port, slot or GID is lost in silence: what looks like a row of the tool is a failure with its line."""
    tool, text = TEXTS[name][0], TEXTS[name][1][:3000].rpartition("\n")[0] + "\n"
    whole, lines = FABRIC_PARSERS[tool](text), text.split("\n")
    for place, line in enumerate(lines[:40]):
        for sign in [found.start() for found in re.finditer(r"[^\w\s/]|\s", line)][place % apart :: apart]:
            changed = line[:sign] + line[sign + 1 :]
            found = parse_or_none(tool, "\n".join([*lines[:place], changed, *lines[place + 1 :]]))
            if found and _rows(found) < _rows(whole):
                assert len(found.failures) > len(whole.failures), f"line {place + 1}: {changed}"


@pytest.mark.parametrize(
    "name",
    [
        *("iblinkinfo", "iblinkinfo-old", "ibqueryerrors-counters", "ibstat-two", "ibstatus", "ibv_devinfo", "lspci"),
        *("nvidia_smi-topo", "rdma_link", "rdma_link-old", "rdma_statistic", "rdma_statistic-rxe"),
    ],
)
@pytest.mark.parametrize("width", range(60, 121, 12))
def test_lines_that_fmt_joined_lose_no_port_in_silence(name: str, width: int) -> None:
    tool, text = TEXTS[name]
    found, whole = parse_or_none(tool, fill_paragraphs(text, width)), FABRIC_PARSERS[tool](text)
    if found and _rows(found) < _rows(whole):
        assert len(found.failures) > len(whole.failures)


def _rows(parsed: ParsedOutput) -> int:
    return len(parsed.fabric) + sum(map(len, parsed.hardware.as_json().values()))


@pytest.mark.parametrize("tool", FABRIC_TOOLS)
@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES) | st.text(max_size=20)).map("\n".join)))
def test_any_text_gives_ports_or_a_parse_error(tool: str, text: str) -> None:
    found = parse_or_none(tool, text)
    assert found is None or found.fabric or found.failures or found.remarks or text
    for port in found.fabric if found else ():
        assert port.line <= text.count("\n") + 1
        assert all(isinstance(value, int) and 0 <= value < 10**20 for value in port.counters.values())


@pytest.mark.parametrize("tool", FABRIC_TOOLS)
@pytest.mark.parametrize(
    "line",
    [" " * 2**20, "1 " * 2**19, "[1]" * 2**18, "9" * 2**20, '"' * 2**20, "==(" * 2**18, "[" * 2**20, "{[" * 2**19],
)
def test_a_line_of_a_megabyte_is_read_to_its_end(tool: str, line: str) -> None:
    text = next(text for name, (other, text) in TEXTS.items() if other == tool and "json" not in name)
    whole = FABRIC_PARSERS[tool](text).fabric
    assert len(FABRIC_PARSERS[tool](f"{text}{line}\n{text}").fabric) == 2 * len(whole)


def test_no_pattern_repeats_without_bound_inside_a_repeat() -> None:
    modules = [
        importlib.import_module(f"railyard.parsers.fabric.{path.stem}")
        for path in Path(importlib.import_module("railyard.parsers.fabric").__file__ or "").parent.glob("[a-z]*.py")
    ]
    patterns = [value.pattern for module in modules for value in vars(module).values() if isinstance(value, re.Pattern)]
    assert len(patterns) > 25
    assert [pattern for pattern in patterns if re.search(r"\)[*+]", pattern)] == []
