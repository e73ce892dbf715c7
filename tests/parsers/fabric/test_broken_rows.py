"""A re-flowed output of a fabric's tool gives a failure with its line, or the right ports."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.parsers.detect import parse
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParsedOutput, ParseError
from tests.parsers.test_broken_lines import WAYS, at_blanks, break_lines, fold_words, name_of, text_of
from tests.parsers.test_joined_lines import fill_paragraphs

HERE = Path(__file__).parent


def samples_of(*tools: str) -> list[Path]:
    folders = (HERE / "samples", HERE.parent / "made")
    return [path for folder in folders for tool in tools for path in sorted(folder.glob(f"{tool}*.txt"))]


SAMPLES = samples_of("iblinkinfo", "ibnetdiscover", "rdma_link")
#: One item in each line: the rest of a broken one looks like noise.
ITEMS = samples_of("ibportstate", "mlxlink", "ibqueryerrors", "ibstatus", "perfquery")


def filled_to_one_blank(text: str, width: int) -> str:
    return fill_paragraphs(text, width, keeps_blanks=False)


def ports_of(parsed: ParsedOutput) -> list[PortState]:
    return [port._replace(line=0) for port in parsed.fabric]


def is_wrong(text: str, ports: list[PortState]) -> bool:
    """Return whether a re-flowed text shows no failure, and its ports are others than those of the whole text."""
    try:
        parsed = parse(text)
    except ParseError as error:
        return error.line_number < 1
    return not parsed.failures and ports_of(parsed) != ports


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
@pytest.mark.parametrize("way", [*WAYS, fill_paragraphs, filled_to_one_blank])
@pytest.mark.parametrize("apart", [12, pytest.param(3, marks=pytest.mark.full)])
def test_no_value_of_a_port_changes_without_a_word(path: Path, way: Callable[[str, int], str], apart: int) -> None:
    text = text_of(path)
    whole = parse(text)
    assert not whole.failures
    assert [width for width in range(40, 201, apart) if is_wrong(way(text, width), ports_of(whole))] == []


@pytest.mark.parametrize("path", ITEMS, ids=name_of)
@pytest.mark.parametrize("way", [*WAYS, fill_paragraphs, filled_to_one_blank])
@pytest.mark.parametrize("apart", [11, pytest.param(1, marks=pytest.mark.full)])
def test_no_value_of_an_item_changes_without_a_word(path: Path, way: Callable[[str, int], str], apart: int) -> None:
    text = text_of(path)
    ports = ports_of(parse(text))
    assert [width for width in range(40, 121, apart) if is_wrong(way(text, width), ports)] == []


def test_a_line_of_noise_between_items_is_no_rest_of_one() -> None:
    for path in (path for path in ITEMS if not text_of(path).lstrip().startswith("{")):
        text = text_of(path)
        whole = parse(text)
        lines = text.split("\n")
        shortest = min((number for number, line in enumerate(lines) if ":" in line), key=lambda at: len(lines[at]))
        lines.insert(shortest + 1, "some other program said this")
        parsed = parse("\n".join(lines))
        assert (ports_of(parsed), len(parsed.failures)) == (ports_of(whole), len(whole.failures)), path.name


@pytest.mark.parametrize(
    ("name", "way", "width", "line", "found"),
    [
        ("samples/iblinkinfo", break_lines, 88, 7, "2 8[ ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 18 1[ ] "),
        ("samples/iblinkinfo-l", at_blanks, 56, 1, "0x00aa000000000001"),
        ("samples/iblinkinfo-old", break_lines, 45, 1, "Switch 0x00aa000000000002 old leaf of a vendo"),
        ("samples/ibnetdiscover-p", fill_paragraphs, 200, 1, "CA 17 1"),
        ("samples/rdma_link", fold_words, 112, 2, "netdev ib0"),
        ("made/rdma_link-two-links", break_lines, 102, 2, "U"),
        ("samples/mlxlink", at_blanks, 62, 14, "Enabled Link Speed : 0x000000f1"),
        ("made/ibstatus-one-port", break_lines, 41, 2, "default gid: fe80:0000:0000:0000:b859:9"),
    ],
)
def test_the_failure_names_the_line(
    name: str, way: Callable[[str, int], str], width: int, line: int, found: str
) -> None:
    folder, _, stem = name.partition("/")
    path = (HERE if folder == "samples" else HERE.parent) / folder / f"{stem}.txt"
    first = parse(way(text_of(path), width)).failures[0]
    assert first.line == line, first
    assert first.text.startswith(f'a row that cannot be read: found "{found}'), first


def test_a_row_that_is_broken_at_a_blank_is_read() -> None:
    text = text_of(HERE / "samples" / "iblinkinfo.txt")
    parsed = parse(fold_words(text, 112))
    assert not parsed.failures
    assert ports_of(parsed) == ports_of(parse(text))
