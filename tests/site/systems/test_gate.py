"""The section gate of a system's file: its defaults, and what is refused."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.systems import ETH


def read(folder: Path, gate: str = "") -> System:
    path = folder / "eth.yaml"
    path.write_text(f"{ETH}gate: {gate}\n" if gate else ETH, encoding="utf-8")
    return load_system(path)


def test_a_file_without_the_section_drains_and_sends_nothing_that_it_does_not_say(tmp_path: Path) -> None:
    gate = read(tmp_path).gate
    assert (gate.limit_s, gate.drain, gate.resume, gate.neighbours, dict(gate.counters)) == (50, (), (), (), {})
    assert (gate.loopback_mb_s, gate.memory_mb_s, gate.pair_mb_s) == (None, None, None)
    assert (gate.flaps_per_day, gate.quiet_s, gate.optics) == (2, 86_400, False)


def test_neighbours_may_be_ranges(tmp_path: Path) -> None:
    assert read(tmp_path, '{neighbours: "e[1-2]"}').gate.neighbours == ("e1", "e2")


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        (
            "{limit: 56s}",
            'limit: found "56s", expected a time from 5s to 55s; a gate may take a minute with start and end',
        ),
        (
            "{limit: 4s}",
            'limit: found "4s", expected a time from 5s to 55s; a gate may take a minute with start and end',
        ),
        (
            "{drain: [scontrol, update, State=DRAIN]}",
            "drain: found a command that names no node, expected {node} in one of its words; otherwise it would "
            "apply to every node",
        ),
        (
            '{drain: [drain, "{node}", "{raeson}"]}',
            'drain: found "{raeson}", expected no blanks but {node} and {reason}; did you mean "{reason}"?',
        ),
        (
            '{resume: [resume, "{node}", "a\\nb"]}',
            'resume: found "a\\nb", expected a word of a command, without control characters',
        ),
        (
            "{counters: {symbol_eror: 3}}",
            'counters.symbol_eror: found "symbol_eror", expected a counter of errors or a signal of '
            'docs/reference/counters.md; did you mean "symbol_error"?',
        ),
        ("{counters: {symbol_error: -1}}", "counters.symbol_error: found -1, expected greater than or equal to 0"),
        ("{flaps_per_day: -1}", "flaps_per_day: found -1, expected greater than or equal to 0"),
        ("{quiet: 1 day}", 'quiet: found "1 day", expected a time such as "60s" or "1h30m"'),
        ("{memory_mb_s: 0}", "memory_mb_s: found 0, expected greater than 0"),
        ("{neighbours: [e3]}", 'neighbours: found "e3", expected a node of eth; known: e1, e2'),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, gate: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, gate)
    assert f" gate.{sentence}" in str(caught.value)
