"""The lines of a job that measure suspects again: what the shell does with them, with fake programs."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.job import node_pair_steps


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stage folder; the Python of the job is a script that answers from files: next-1, next-2 …, rails."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nwhat=$4; echo "$*" >>asked\nif [ "$what" = rails ]; then cat rails; exit; fi\n'
        'n=$(grep -c " next " asked); cat "next-$n"\n',
        encoding="utf-8",
    )
    launch = tmp_path / "launch"
    launch.write_text(
        '#!/bin/sh\necho "$RAILS $*" >>launched\n[ ! -e fails ] || exit 1\necho measured\n', encoding="utf-8"
    )
    for script in (python, launch):
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(python))
    (tmp_path / "rails").write_text("0-1\n", encoding="ascii")
    return tmp_path


def run(stage: Path, rails: dict[str, str]) -> subprocess.CompletedProcess[str]:
    lines = node_pair_steps.lines(
        "rfm.out", "RAILS=all ./launch", ["prog", "alone"], ["4", "2"], rails, ["--repeats", "3"]
    )
    script = "\n".join(["trap 'exit $?' ERR", *lines])
    return subprocess.run(["bash", "-c", script], cwd=stage, capture_output=True, text=True, check=False)


def launched(stage: Path) -> list[str]:
    file = stage / "launched"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_a_healthy_run_asks_once_and_launches_nothing(stage: Path) -> None:
    (stage / "next-1").touch()
    (stage / "rails").write_text("", encoding="ascii")
    ran = run(stage, {"hsn0": "RAILS=hsn0 ./launch", "hsn1": "RAILS=hsn1 ./launch"})
    assert (ran.returncode, ran.stderr, launched(stage)) == (0, "", [])
    asked = (stage / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == [f"-m railyard pairs {word} --repeats 3 rfm.out" for word in ("next", "rails")]


def test_each_step_is_launched_until_nothing_is_asked_then_each_rail(stage: Path) -> None:
    for number, text in (("1", "0-1\n"), ("2", "1-2\n"), ("3", "")):
        (stage / f"next-{number}").write_text(text, encoding="ascii")
    ran = run(stage, {"hsn0": "RAILS=hsn0 ./launch", "mlx5_1:1": "RAILS=mlx5_1:1 ./launch"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert launched(stage) == [
        "all prog alone again-1.txt 4 2",
        "all prog alone again-2.txt 4 2",
        "hsn0 prog alone again-rails.txt 4 2",
        "mlx5_1:1 prog alone again-rails.txt 4 2",
    ]
    assert (stage / "asked").read_text(encoding="utf-8").splitlines()[2].endswith(" rfm.out again-1.out again-2.out")
    assert (stage / "again-1.out").read_text(encoding="utf-8") == "measured\n"
    assert (stage / node_pair_steps.rail_output("mlx5_1:1")).name == "again-mlx5_1.1.out"
    assert (stage / "again-mlx5_1.1.out").read_text(encoding="utf-8") == "measured\n"


def test_one_rail_is_not_measured_alone_once_more(stage: Path) -> None:
    (stage / "next-1").touch()
    assert run(stage, {"hsn0": "./launch"}).returncode == 0
    assert "rails" not in (stage / "asked").read_text(encoding="utf-8")


def test_what_fails_here_fails_nothing(stage: Path) -> None:
    (stage / "next-1").write_text("0-1\n", encoding="ascii")
    (stage / "fails").touch()
    assert run(stage, {"hsn0": "./launch", "hsn1": "./launch"}).returncode == 0
    for missing in ("python", "launch"):
        (stage / missing).unlink()
        assert run(stage, {"hsn0": "./launch", "hsn1": "./launch"}).returncode == 0


def test_the_variables_of_a_rail_alone_are_those_that_differ() -> None:
    job = {"PATH": "/opt/bin:$PATH", "DEVICES": "hsn0,hsn1", "RAILS": "2", "LEVEL": "a b"}
    alone = {"PATH": "/opt/bin:$PATH", "DEVICES": "hsn1", "LEVEL": "a b", "NEW": "x y"}
    assert node_pair_steps.env_words(job, alone) == "env -u RAILS DEVICES=hsn1 NEW='x y'"
    assert node_pair_steps.env_words(job, job) == ""
