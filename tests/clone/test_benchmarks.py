"""Every program of benchmarks/ still runs, with the smallest work: rules that come later may refuse what it makes."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.benchmarks.model import Figure
from railyard.provision.testbed.boot import namespaces_refused
from railyard.results.record.file import FILE_NAME, append_record
from tests.made.records import made_record

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"

#: Program -> words for the smallest work that gives a result, and how the last line of the result begins. ``FOLDER`` is
#: the test's own.
BRIEF = {
    "blame": ("--draws 1 --jobs 1", ""),
    "bounds": ("", "| netpipe/"),
    "fuzz": ("--inputs 20 --processes 1", ""),
    "gpu_pairs": ("--draws 1", ""),
    "hostile_records": ("--records 50 --processes 1", "50 records, seed 1: 0 kinds of findings"),
    "judge": ("--repeats 1 --megabytes 0.01", "railyard gate, this host"),
    "pairs": ("--draws 1 --nodes 128", ""),
    "parsers": ("--tools hpl --repeats 1", "hpl "),
    "reader": ("--repeats 1 --cards 1", ""),
    "screening": ("--draws 1 --nodes 512", ""),
    "steadiness": ("", ""),
    "listing": ("--repeats 1 --cases 10 --shapes single", "single  -lC"),
    "capture": ("--made --captures 5 --runs 5", "heavy-tailed"),
    # Of the peers it is the one without a clone; test_peers_silent_passes.py has stand-ins of the others.
    "silent_passes": ("clusterkit - --commit 2.24 --results FOLDER/results.tsv", "clusterkit: 2 of 3 outputs pass"),
}
#: The same for those that take about five seconds or more even so.
LONG = {
    "failing_writes": ("--steps 2 --draws 2", "seed 1: 4 runs with writes that fail: 0 with a finding"),
    "kills": ("--kinds replay --kills 2", "seed 22: 2 kills of runs of replay: 0 with a problem"),
    "node_files": ("--nodes 4", ""),
    "overhead": ("--repeats 1 --tests 2", "above bare "),
    "report": ("--repeats 1", ""),
    "scale": ("--sizes 64 --days 60", ""),
}
#: The same for those that make network namespaces.
LIVE = {
    "jumbo": ("--repeats 1 --mebibytes 1", "times "),
    "testbed": ("--repeats 1", "railyard testbed down "),
}
#: Program -> what it needs besides words; each has a test of its own.
NEEDY = {
    "history": "stored runs of a site, at least ten",
    "spack": "a Spack on PATH, which builds what is not installed yet",
}
#: What the programs share.
SHARED = {"resume", "sidebyside", "silent_pass_cases", "silent_passes_page"}


def start(program: str, words: str) -> list[str]:
    """Return the lines that a program prints; fails with its errors if it does not end with 0."""
    command = [sys.executable, str(FOLDER / f"{program}.py"), *words.split()]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FOLDER.parent)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout.splitlines()


def test_every_benchmark_is_started_or_has_a_reason_why_not() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*BRIEF, *LONG, *LIVE, *NEEDY, *SHARED}


@pytest.mark.parametrize("program", BRIEF)
def test_a_benchmark_gives_its_result(program: str, tmp_path: Path) -> None:
    words, last = BRIEF[program]
    lines = start(program, words.replace("FOLDER", str(tmp_path)))
    assert lines and lines[-1].startswith(last)


@pytest.mark.full
@pytest.mark.parametrize("program", LONG)
def test_a_long_benchmark_gives_its_result(program: str) -> None:
    words, last = LONG[program]
    lines = start(program, words)
    assert lines and lines[-1].startswith(last)


@pytest.mark.full
@pytest.mark.parametrize("words", ["--inputs 20000 --seed 43", "--inputs 3000 --seed 43 --judge"])
def test_a_short_series_of_broken_outputs_has_no_finding(words: str) -> None:
    assert start("fuzz", f"--processes 1 {words}")[-1] == "0 findings of 0 kinds"


@pytest.mark.full
@pytest.mark.measures
@pytest.mark.parametrize("program", LIVE)
def test_a_live_benchmark_gives_its_result(program: str) -> None:
    refused = namespaces_refused()
    if refused is not None:
        pytest.skip(refused)
    words, last = LIVE[program]
    lines = start(program, words)
    assert lines and lines[-1].startswith(last)


@pytest.mark.full
def test_the_trial_of_histories_finds_a_large_drop_in_made_runs(tmp_path: Path) -> None:
    draw = random.Random(1)
    scatter = {"least": 0.001, "less": 0.003, "more": 0.01, "most": 0.03}
    for day in range(1, 11):
        run = f"202611{day:02}T060000Z-ab12"
        figures = tuple(Figure(name, 47.8 * (1 + draw.gauss(0, share)), "MB/s", 1) for name, share in scatter.items())
        record = made_record(run=run, time=f"2026-11-{day:02}T06:00:12Z", figures=figures)
        append_record(tmp_path / ".railyard" / "runs" / run / FILE_NAME, record)
    lines = start("history", f"--home {tmp_path} --histories 1 --way railyard")
    found = {tuple(line.split()[1:3]): line for line in lines if line.startswith("railyard ")}
    assert {key for key in found if key[1] == "none"} == {(name, "none") for name in scatter}
    assert "100.0 / 100.0 / 100.0 %" in found["least", "-10%"]


@pytest.mark.full
@pytest.mark.skipif(shutil.which("spack") is None, reason=NEEDY["spack"])
def test_the_cost_of_a_build_with_spack_is_measured() -> None:
    lines = start("spack", "--tests 1 --theirs 1 --repeats 1")
    assert lines[-1].startswith("added to Spack's own calls")


@pytest.mark.parametrize("program", [*LIVE, *NEEDY])
def test_a_benchmark_that_needs_more_says_how_it_is_used(program: str) -> None:
    assert start(program, "--help")[0].startswith(f"usage: {program}.py")


def test_the_page_of_bounds_is_of_the_references_as_they_are() -> None:
    lines = start("bounds", "")
    assert lines == (FOLDER / "results/bounds.md").read_text(encoding="utf-8").splitlines()
    # A bound that a run at two thirds of a quiet one passes has its reason in the references.
    assert not [line for line in lines if "no reason is given" in line]
