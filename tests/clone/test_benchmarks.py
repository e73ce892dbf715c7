"""Every program of benchmarks/ still runs, with the smallest work: rules that come later may refuse what it makes."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"

#: Program -> words for the smallest work that gives a result, and how the last line of the result begins.
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
#: Program -> why no test can start it with anything but --help.
NOT_HERE = {
    "history": "reads the stored runs of a site",
    "jumbo": "makes network namespaces",
    "silent_passes": "needs a clone of another tool; test_peers_silent_passes.py starts it with stand-ins",
    "spack": "needs a Spack on PATH",
    "testbed": "brings the virtual cluster up and down",
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
    assert {path.stem for path in FOLDER.glob("*.py")} == {*BRIEF, *LONG, *NOT_HERE, *SHARED}


@pytest.mark.parametrize("program", BRIEF)
def test_a_benchmark_gives_its_result(program: str) -> None:
    words, last = BRIEF[program]
    lines = start(program, words)
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


@pytest.mark.parametrize("program", NOT_HERE)
def test_a_benchmark_that_needs_more_says_how_it_is_used(program: str) -> None:
    assert start(program, "--help")[0].startswith(f"usage: {program}.py")


def test_the_page_of_bounds_is_of_the_references_as_they_are() -> None:
    lines = start("bounds", "")
    assert lines == (FOLDER / "results/bounds.md").read_text(encoding="utf-8").splitlines()
    # A bound that a run at two thirds of a quiet one passes has its reason in the references.
    assert not [line for line in lines if "no reason is given" in line]
