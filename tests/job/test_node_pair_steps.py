"""The lines of a job that measure suspects again: what the shell does with them, with fake programs."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.job import probe_job


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
    lines = probe_job.lines("rfm.out", "RAILS=all ./launch", ["prog", "alone"], ["4", "2"], rails, ["--repeats", "3"])
    script = "\n".join(["trap 'exit $?' ERR", *lines])
    return subprocess.run(["bash", "-c", script], cwd=stage, capture_output=True, text=True, check=False)


def launch_lines(stage: Path) -> list[str]:
    file = stage / "launched"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_a_healthy_run_asks_once_and_launches_nothing(stage: Path) -> None:
    (stage / "next-1").touch()
    (stage / "rails").write_text("", encoding="ascii")
    ran = run(stage, {"hsn0": "RAILS=hsn0 ./launch", "hsn1": "RAILS=hsn1 ./launch"})
    assert (ran.returncode, ran.stderr, launch_lines(stage)) == (0, "", [])
    asked = (stage / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == [f"-m railyard pairs {word} --repeats 3 rfm.out" for word in ("next", "rails")]


def test_each_step_is_launched_until_nothing_is_asked_then_each_rail(stage: Path) -> None:
    for number, text in (("1", "0-1\n"), ("2", "1-2\n"), ("3", "")):
        (stage / f"next-{number}").write_text(text, encoding="ascii")
    ran = run(stage, {"hsn0": "RAILS=hsn0 ./launch", "mlx5_1:1": "RAILS=mlx5_1:1 ./launch"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert launch_lines(stage) == [
        "all prog alone again-1.txt 4 2",
        "all prog alone again-2.txt 4 2",
        "hsn0 prog alone again-rails.txt 4 2",
        "mlx5_1:1 prog alone again-rails.txt 4 2",
    ]
    assert (stage / "asked").read_text(encoding="utf-8").splitlines()[2].endswith(" rfm.out again-1.out again-2.out")
    assert (stage / "again-1.out").read_text(encoding="utf-8") == "measured\n"
    assert (stage / probe_job.rail_output("mlx5_1:1")).name == "again-mlx5_1.1.out"
    assert (stage / "again-mlx5_1.1.out").read_text(encoding="utf-8") == "measured\n"


def test_a_job_whose_output_is_kept_elsewhere_until_its_end_reads_it_there(stage: Path) -> None:
    """As PBS does: rfm.out is not there yet, or it is one of an earlier measurement."""
    (stage / "next-1").touch()
    (stage / "rfm.out").write_text("earlier\n", encoding="ascii")
    python = stage / "python"
    python.write_text('#!/bin/sh\nfor file in "$@"; do :; done; cp "$file" read\n', encoding="utf-8")
    lines = ["echo first", *probe_job.lines("rfm.out", "./launch", ["prog"], ["4"], {"hsn0": "./launch"}, [])]
    with (stage / "spool").open("w", encoding="ascii") as spool:
        subprocess.run(["bash", "-c", "\n".join(lines)], cwd=stage, stdout=spool, check=True)
    assert (stage / "read").read_text(encoding="ascii") == "first\n"


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
    assert probe_job.env_words(job, alone) == "env -u RAILS DEVICES=hsn1 NEW='x y'"
    assert probe_job.env_words(job, job) == ""


# --- a sample


def run_sample(stage: Path, rails: dict[str, str], budget_s: float = 900) -> subprocess.CompletedProcess[str]:
    made = probe_job.Sample(
        "RAILS=all ./launch", rails, "prog", ["full"], ["half"], ["--budget", "900s"], budget_s
    )  # fmt: skip
    script = "\n".join(["trap 'exit $?' ERR", *made.after("rfm.out")])
    return subprocess.run(["bash", "-c", script], cwd=stage, capture_output=True, text=True, check=False)


def test_a_sample_is_planned_for_the_nodes_that_the_job_has(stage: Path) -> None:
    (stage / "next-1").write_text("# name sample\n0-1\n", encoding="ascii")
    lines = probe_job.plan_sample(["--budget", "900s"], "printf 'n1\\nn2\\n'")
    assert subprocess.run(["bash", "-c", "\n".join(lines)], cwd=stage, check=False).returncode == 0
    assert (stage / probe_job.NODES).read_text(encoding="ascii") == "n1\nn2\n"
    assert (stage / probe_job.ROUNDS).read_text(encoding="ascii") == "# name sample\n0-1\n"
    assert (stage / "asked").read_text(encoding="utf-8") == (
        "-m railyard pairs next --sample --budget 900s --first sample-nodes.txt\n"
    )


def test_a_sample_that_cannot_be_planned_ends_the_job(stage: Path) -> None:
    (stage / "python").unlink()
    lines = [*probe_job.plan_sample([], None), "echo measured >rows"]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=stage, capture_output=True, check=False)
    assert done.returncode == 65
    assert not (stage / "rows").exists()


def test_each_step_of_a_sample_is_launched_as_its_heading_says(stage: Path) -> None:
    texts = ["# name sample\n0-1\n", "# name alone\n1-2\n", "# name onerail\n# over hsn1\n1-2\n", ""]
    for number, text in enumerate(texts, start=1):
        (stage / f"next-{number}").write_text(text, encoding="ascii")
    (stage / "again-9.out").write_text("of an earlier measurement\n", encoding="ascii")
    ran = run_sample(stage, {"hsn0": "RAILS=hsn0 ./launch", "hsn1": "RAILS=hsn1 ./launch"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert launch_lines(stage) == [
        "all prog sample again-1.txt full",
        "all prog alone again-2.txt half",
        "hsn1 prog onerail again-3.txt half",
    ]
    assert (stage / "asked").read_text(encoding="utf-8").splitlines()[-1] == (
        "-m railyard pairs next --sample --budget 900s rfm.out again-1.out again-2.out again-3.out"
    )
    assert not (stage / "again-9.out").exists()


def test_a_step_over_a_rail_that_nobody_launches_ends_the_steps_and_fails_nothing(stage: Path) -> None:
    (stage / "next-1").write_text("# name onerail\n# over hsn7\n1-2\n", encoding="ascii")
    assert run_sample(stage, {"hsn0": "./launch"}).returncode == 0
    assert launch_lines(stage) == []


def test_after_its_budget_a_sample_asks_nothing_more(stage: Path) -> None:
    (stage / "next-1").write_text("# name alone\n0-1\n", encoding="ascii")
    assert run_sample(stage, {}, budget_s=0).returncode == 0
    assert not (stage / "asked").exists()


def test_a_round_lasts_for_two_streams_and_what_its_ranks_wait_for_one_another() -> None:
    words = probe_job.words(4 << 20, 8, 20, 12_500.0)
    # 37 windows of 33.6 MB are 1.24 GB, 0.1 s at 12.5 GB/s.
    assert words == ["4194304", "8", "37", "1", "20"]
    streams_s = 2 * (37 * 8 + 1) * 4194304 / 12.5e9
    assert probe_job.round_seconds(words, 12_500.0, 2) == pytest.approx(streams_s + 4 * (0.0005 + 2 * 2e-6))
    assert probe_job.words(4 << 20, 8, 20, None)[2] == "1"
