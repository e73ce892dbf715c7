"""The signs by which a parser is asked at all: no line by which it knows its tool may lack one. Texts are synthetic."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from railyard import parsers
from railyard.parsers import PARSERS, detect
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.lines import clean_text
from railyard.parsers.tool_signs import FABRIC_SIGNS, SIGNS, Form
from tests.parsers.samples import samples

EVERY_ONE = {**PARSERS, **FABRIC_PARSERS}
TEXTS = samples()
SAMPLES = [pytest.param(tool, text, id=name) for tool, name, text in TEXTS]
HERE = Path(parsers.__file__).parent
FORMS = [sign for signs in (*SIGNS.values(), *FABRIC_SIGNS.values()) for sign in signs if isinstance(sign, Form)]
#: Lines that no sample has.
LINES = (
    "Accepted connection from 192.0.2.7, port 41000\n",
    "srun: error: ./bin/ft.C.16: not found\n",
    "Waiving multinode_device_to_device_all_to_one_write_sm.\n",
    "# Size      Bandwidth (MB/s)\n",
    "[node1:12:0]  perftest.c:391  UCX  ERROR client failed\n",
)


def with_line(folder: Path, line: str) -> list[str]:
    """Return the modules of a folder that have this line, by name."""
    files = sorted(folder.glob("*.py"))
    return [path.stem for path in files if re.search(line, path.read_text(encoding="utf-8"), re.MULTILINE)]


@pytest.mark.parametrize(
    ("folder", "line", "table"),
    [
        pytest.param(HERE, "^TOOL = ", SIGNS, id="SIGNS"),
        pytest.param(HERE / "fabric", r" = .*tools_text\(| lines_of\(tools_text\(", FABRIC_SIGNS, id="FABRIC_SIGNS"),
    ],
)
def test_each_parser_has_its_signs(folder: Path, line: str, table: dict[str, object]) -> None:
    tools = with_line(folder, line)
    assert len(tools) > 10
    missing = sorted({*tools} - {*table})
    assert missing == [], f"nobody asks these: add a line to railyard/parsers/tool_signs.py for each of {missing}"
    assert list(table) == tools, "a line without a parser, or not in the order of names"


def parts_of(text: str, most: int) -> list[str]:
    """Return a text, about ``most`` groups of its lines, and the text cut after each of them."""
    lines = text.splitlines(keepends=True)
    step = max(1, len(lines) // most)
    groups = ["".join(lines[place : place + step]) for place in range(0, len(lines), step)]
    return [text, *groups, *("".join(lines[:place]) for place in range(step, len(lines), step))]


def ask_without_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each parser read each text, whatever signs it has."""
    for module in ("detect", "lines"):
        monkeypatch.setattr(f"railyard.parsers.{module}.can_be_of", lambda tool, text: True)


@pytest.mark.parametrize("most", [10, pytest.param(40, marks=pytest.mark.full)])
@pytest.mark.parametrize(("tool", "text"), SAMPLES)
def test_no_part_of_an_output_is_turned_away_for_want_of_a_sign(
    tool: str, text: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, own = parts_of(text, most), {tool: EVERY_ONE[tool]}
    signed = [detect.read_by_tool(part, own) for part in parts]
    ask_without_signs(monkeypatch)
    assert signed == [detect.read_by_tool(part, own) for part in parts]


@pytest.mark.parametrize("place", range(0, len(TEXTS), 3))
def test_outputs_of_two_tools_quoted_or_coloured_are_recognised_as_without_signs(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other = TEXTS[place][2][:20_000], TEXTS[place - 7][2][:20_000]
    forms = [
        f"{text}\n{other}",
        f"{other[: len(other) // 2]}\n{text[: len(text) // 2]}",
        *("".join(f"{mark}{line}\n" for line in text.split("\n")) for mark in ("> ", "\x1b[K", "\x1b[31m")),
        text.upper(),
    ]
    signed = [detect.read_by_tool(form, EVERY_ONE) for form in forms]
    ask_without_signs(monkeypatch)
    assert signed == [detect.read_by_tool(form, EVERY_ONE) for form in forms]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.pattern)
def test_a_form_has_its_word_wherever_its_pattern_is_found(form: Form) -> None:
    texts = [clean_text(text) for text in (*(text for _, _, text in TEXTS), *LINES)]
    found = [text.folded_text for text in texts if re.search(form.pattern, f"\n{text.lower()}")]
    assert found
    assert all(form.word in text and re.search(form.pattern, text) for text in found)


def test_rows_of_numbers_hide_no_guid_without_a_letter() -> None:
    assert list(detect.read_by_tool("0002903000012345\n0002903000012346\n", EVERY_ONE)) == ["ibstat"]


def test_only_parsers_with_a_sign_in_the_text_are_imported() -> None:
    program = (
        "import sys\nfrom railyard.parsers.detect import parse\n"
        "parse('# OSU MPI Latency Test v7.4\\n# Size  Latency (us)\\n1   1.50\\n')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = {*done.stdout.split()}
    assert {f"railyard.parsers.{tool}" for tool in SIGNS} & modules == {"railyard.parsers.osu"}
    assert {f"railyard.parsers.fabric.{tool}" for tool in FABRIC_SIGNS} & modules == set()
