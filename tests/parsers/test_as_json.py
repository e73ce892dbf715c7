"""The JSON form has all that was read, and no control code of an output."""

from railyard.cli.commands.parse import FORMAT, to_json
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParsedOutput, Remark, Table

RED = "\x1b[31mred\x1b[0m"


def test_every_text_is_cleaned_and_every_number_kept() -> None:
    table = Table(
        tool="osu",
        version=RED,
        benchmark=RED,
        columns=("size", RED),
        units=("B", None),
        rows=((1, 0.1 + 0.2), (2, None), (3, True)),
        line=4,
        complete=False,
        context={"device": RED, "pairs": 4},
    )
    port = PortState(node=RED, port=1, rate=100.0, counters={"SymbolErrorCounter": 3}, line=9)
    assert to_json(ParsedOutput((table,), (Remark(1, RED),), (Remark(2, RED),), (port,)), file=RED) == {
        "format": FORMAT,
        "file": "red",
        "tables": [
            {
                "tool": "osu",
                "version": "red",
                "benchmark": "red",
                "context": {"device": "red", "pairs": 4},
                "columns": ["size", "red"],
                "units": ["B", None],
                "rows": [[1, 0.30000000000000004], [2, None], [3, True]],
                "line": 4,
                "complete": False,
            }
        ],
        "fabric": [{"node": "red", "port": 1, "rate": 100, "counters": {"SymbolErrorCounter": 3}, "line": 9}],
        "failures": [{"line": 1, "text": "red"}],
        "remarks": [{"line": 2, "text": "red"}],
    }


def test_what_is_absent_has_no_key() -> None:
    assert to_json(ParsedOutput()) == {"format": 1, "tables": [], "failures": [], "remarks": []}
