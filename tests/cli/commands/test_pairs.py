"""`railyard pairs`: the next step, the rails, and the verdict, from files; and what is no such file."""

from pathlib import Path

import pytest

from railyard.cli.main import main

TEXT = (Path(__file__).parents[2] / "parsers/made/pairs-four-nodes.txt").read_text(encoding="utf-8")


def slow(text: str) -> str:
    """Return the output with n2 at 10 MB/s with everybody."""
    lines = [
        " ".join([*line.split()[:3], "10.00", "10.00", "30.00"])
        if line[:1].isdigit() and "1" in line.split()[1:3]
        else line
        for line in text.splitlines()
    ]
    return "\n".join([*lines, ""])


@pytest.fixture
def first(tmp_path: Path) -> Path:
    file = tmp_path / "first.out"
    file.write_text(slow(TEXT), encoding="utf-8")
    return file


def alone(rounds: str, rates: dict[str, str]) -> str:
    """Return what the program prints of these rounds of one pair each."""
    pairs = rounds.split()
    heading = (
        "\n".join(TEXT.splitlines()[:7]).replace("1 pairs:", "1 alone:").replace("3 rounds", f"{len(pairs)} rounds")
    )
    rows = []
    for number, pair in enumerate(pairs, start=1):
        a, b = pair.split("-")
        rate = rates["slow"] if "1" in (a, b) else rates["good"]
        rows.append(f"{number} {a} {b} {rate} {rate} 0.00")
    return "\n".join([heading, *rows, f"# end: {len(pairs)} pairs", ""])


def test_a_healthy_run_has_no_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.out").write_text(TEXT, encoding="utf-8")
    assert main(["pairs", "next", str(tmp_path / "good.out")]) == 0
    assert main(["pairs", "rails", str(tmp_path / "good.out")]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["pairs", "judge", str(tmp_path / "good.out")]) == 0


def test_a_slow_node_is_measured_alone_then_each_rail_then_judged(
    first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pairs", "next", "--repeats", "2", str(first)]) == 0
    rounds = capsys.readouterr().out
    assert sorted(set(rounds.split())) == ["0-1", "0-2", "1-2"]
    assert len(rounds.split()) == 6
    assert main(["pairs", "judge", "--repeats", "2", str(first)]) == 1
    assert capsys.readouterr().out.endswith("; measure what `railyard pairs next` prints\n")

    step = first.with_name("again-1.out")
    step.write_text(alone(rounds, {"slow": "10.00", "good": "47.80"}), encoding="utf-8")
    assert main(["pairs", "next", "--repeats", "2", str(first), str(step)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["pairs", "rails", "--repeats", "2", str(first), str(step)]) == 0
    assert sorted(set(capsys.readouterr().out.split())) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    assert main(["pairs", "judge", "--repeats", "2", str(first), str(step)]) == 1
    assert "n2 alone gives 10.00 with n1 and 10.00 with n3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello\n", "line 1: found 'hello', expected output of railyard-pairs: \"# railyard-pairs 1 NAME: … ranks\""),
        (TEXT[:-9], "a table that is cut"),
        (TEXT + TEXT, "2 tables"),
    ],
)
def test_what_is_no_whole_output_is_a_sentence(
    text: str, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.out"
    file.write_text(text, encoding="utf-8")
    assert main(["pairs", "next", str(file)]) == 2
    assert capsys.readouterr().err == f"railyard: {file}: found {found}, expected a whole output of railyard-pairs\n"


def test_no_file_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "judge", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/none: found no readable file (No such file or directory), "
        "expected a whole output of railyard-pairs\n"
    )
