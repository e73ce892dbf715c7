"""`railyard history` from end to end: its text, JSON and page, its exit codes, and what it refuses."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from railyard.benchmarks.model import Figure
from railyard.cli.commands.history import command
from railyard.cli.main import main
from railyard.results.record.form import Record

Row = Callable[..., list[float]]
Made = Callable[..., tuple[Record, ...]]
Stored = Callable[[Sequence[Record]], Path]


@pytest.fixture
def site(row: Row, history: Made, stored_site: Stored) -> Path:
    """A site whose peak fell by 4 % with another kernel on the 26th day, and a latency that did not change."""
    fell = history(row(25) + row(6, 45.9, seed=2), 25, environment={"kernel": "6.8"})
    steady = tuple(
        _latency(one, value) for one, value in zip(history(row(31)), row(31, 11.5, 0.01, seed=3), strict=True)
    )
    return stored_site((*fell, *steady))


def _latency(record: Record, value: float) -> Record:
    return record.with_fields(
        case="ImbPingPong %rails=1 @virtual:hsn+mpich",
        check="ImbPingPong",
        benchmark="imb/PingPong",
        figures=(Figure("small_message_latency", value, "us", 1),),
        curves=(),
    )


def run(*words: str, code: int = 0) -> str:
    """The output of the command, which returned this exit code."""
    result = CliRunner().invoke(command, list(words), standalone_mode=False)
    if result.exception:
        raise result.exception
    assert result.return_value == code
    return result.stdout


def test_the_whole_text(site: Path) -> None:
    lines = run().splitlines()
    assert lines[0] == "imb/Uniband (virtual, hsn, mpich, 1 rail), peak: 1 change in 31 runs"
    told = " ".join(" ".join(lines).split())
    assert "fell by " in told
    assert "at the same time: kernel 6.1 before, 6.8 after" in told
    assert told.endswith(
        "2 figures of 2 tests: 1 changed, 1 without a change 1 change for the worse one in 1,000 figures without a "
        "change is reported as changed: of 2, about 0.002 by chance"
    )
    assert "small_message_latency" not in told
    assert "imb/PingPong (virtual, hsn, mpich, 1 rail), small_message_latency: no change in 31 runs" in run("--all")


def test_the_same_as_json(site: Path) -> None:
    found = json.loads(run("--json", "--figure", "peak"))
    (figure,) = found["figures"]
    assert (found["format"], found["alarm"], figure["figure"], figure["unit"]) == (1, 0.001, "peak", "MB/s")
    assert len(figure["runs"]) == 31
    (change,) = figure["changes"]
    assert (change["index"], change["kind"], change["nodes"]["kind"]) == (25, "worse", "same")
    assert change["between"] == ["20260125T060000Z-ab12", "20260126T060000Z-ab12"]
    assert change["low"] < change["shift"] < change["high"] < 0
    assert change["together"] == ["kernel 6.1 before, 6.8 after"]


def test_a_page_has_the_drawing_and_the_sentence(site: Path) -> None:
    page = site / "history.html"
    run("-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert '<h2 id="over-time">What changed over time</h2>' in text
    assert '<path class="step" d="M' in text
    assert "peak over 31 runs: " in text and "its level changed before run 26" in text
    assert text.count("fell by ") == 1


def test_exit_codes(site: Path) -> None:
    run("--fail-on-worse", code=1)
    run("--fail-on-worse", "--least", "10")
    run("--fail-on-worse", "--figure", "small_message_latency")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--system", "virtaul"), '--system: found no run of "virtaul", expected a system that ran; did you mean '),
        (("--rails", "7"), "found no stored test of this kind, expected some; leave an option out"),
        (("--figure", "peek"), '--figure: found "peek", expected a figure of these tests; did you mean "peak"?'),
        (("-o", "history.pdf"), '-o: found "history.pdf", expected a name that ends in .html'),
    ],
)
def test_a_mistake_is_a_sentence_and_exits_2(
    site: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["history", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, sentence in said.err, "Traceback" in said.err) == ("", True, False)


def test_a_store_without_measurements_says_so(
    stored_site: Stored, day: Callable[..., Record], capsys: pytest.CaptureFixture[str]
) -> None:
    home: Any = stored_site([])
    assert main(["history"]) == 2
    assert f"{home}/.railyard/runs: found no stored run, expected some" in capsys.readouterr().err
    stored_site([day(1, 47.8, replayed="replayed: recorded, not measured")])
    assert main(["history"]) == 2
    assert "found 1 stored tests and none that measured anything, expected some; " in capsys.readouterr().err
