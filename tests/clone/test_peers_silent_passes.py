"""docs/reference/peers-silent-passes.md, and the program that makes it, with stand-ins of the peers."""

import csv
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from railyard.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "benchmarks" / "silent_passes.py"

#: A suite of ReFrame that finds the last size, and has a reference for it.
_SUITE = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, sanity_function


class _Base(rfm.RunOnlyRegressionTest):
    @sanity_function
    def has_the_last_size(self):
        return sn.assert_found("4194304", self.stdout)

    @performance_function("any")
    def figure(self):
        return sn.extractsingle(r"4194304 +([0-9.]+)", self.stdout, 1, float)


class OSUBandwidth(_Base):
    reference = {"*": {"figure": (24000, -0.1, None, "any")}}


class OSULatency(_Base):
    reference = {"*": {"figure": (180, None, 0.1, "any")}}
"""
#: As much of superbenchmark as the program asks for: its diagnosis knows return codes alone.
_PACKAGE = {
    "benchmarks/__init__.py": """\
from types import SimpleNamespace
BenchmarkType = SimpleNamespace(MICRO="micro")
ReturnCode = SimpleNamespace(
    SUCCESS=SimpleNamespace(value=0), MICROBENCHMARK_RESULT_PARSING_FAILURE=SimpleNamespace(value=31)
)
""",
    "benchmarks/result.py": """\
class BenchmarkResult:
    def __init__(self, name, kind, code):
        self.result = {"return_code": [0]}
""",
    "benchmarks/micro_benchmarks/__init__.py": "import torch.nn\n",
    "benchmarks/micro_benchmarks/cuda_nccl_bw_performance.py": """\
class CudaNcclBwBenchmark:
    def __init__(self, name): ...
    def _process_raw_result(self, index, text):
        self._result.result["allreduce_8_busbw"] = [1.0]
        return "busbw" in text
""",
    "benchmarks/micro_benchmarks/ib_validation_performance.py": """\
class IBBenchmark:
    def __init__(self, name): ...
    def _process_raw_result(self, index, text):
        return len(text.splitlines()) == 1 + len(self._IBBenchmark__config)
""",
    "analyzer/__init__.py": """\
import json
class DataDiagnosis:
    def run(self, results, rules, baseline, folder, form):
        nodes = [json.loads(line) for line in open(results)]
        bad = [one for one in nodes if any(value for key, value in one.items() if key.endswith("return_code"))]
        with open(folder + "/diagnosis_summary.jsonl", "w") as file:
            file.writelines(json.dumps({"index": one["node"], "Category": "Failed"}) + "\\n" for one in bad)
""",
}


def start(*words: str | Path, results: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(PROGRAM), *map(str, words), "--results", str(results)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write_suite(folder: Path, text: str) -> None:
    """Write a module of checks to where the suite of cscs has its own."""
    file = folder / "checks/microbenchmarks/mpi/osu/osu_run.py"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


def verdicts(path: Path) -> dict[tuple[str, str, str], str]:
    """Return the stored verdicts by peer, case and form."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = {(row["peer"], row["case"], row["form"]): row["verdict"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return benchmarks/silent_passes.py, which is in no package."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import silent_passes

    return silent_passes


def test_the_page_is_of_the_stored_verdicts(program: ModuleType) -> None:
    assert program.PAGE.read_text(encoding="utf-8") == program.page(program.read_results(program.RESULTS))


def test_each_peer_has_a_verdict_of_each_output_that_it_reads(program: ModuleType) -> None:
    assert len(program.CASES) == 1 + 30
    assert set(program.JUDGES) == set(program.TOOLS)
    of = {
        (name, case.name, form)
        for name, (forms, _) in program.JUDGES.items()
        for case in program.CASES
        for form in case.forms
        if form in forms
    }
    assert set(verdicts(program.RESULTS)) == of


def test_the_healthy_outputs_pass_everywhere(program: ModuleType) -> None:
    stored = verdicts(program.RESULTS)
    assert {verdict for (_, case, _), verdict in stored.items() if case == "healthy"} == {"passes"}


def test_no_broken_output_is_the_healthy_one(program: ModuleType) -> None:
    healthy = program.CASES[0]
    same = {
        case.name
        for case in program.CASES[1:]
        for form in case.forms
        if case.text(form, validated=True) == healthy.text(form, validated=True)
    }
    # Nothing but the exit code, the number of rails and the counters of a live run tells these from it.
    assert same == {"exit-code", "idle-rail", "stale"}


def test_railyard_still_says_what_is_stored(
    program: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = []
    for (peer, name, form), stored in verdicts(program.RESULTS).items():
        if peer != "railyard":
            continue
        case = next(case for case in program.CASES if case.name == name)
        output = tmp_path / "output.txt"
        output.write_text(case.text(form, validated=True), encoding="utf-8")
        code = main(["judge", str(output), *program.words_of_judge(case, form)])
        if (code == 0) != (stored == "passes"):
            changed.append((name, form, stored, code))
    capsys.readouterr()
    assert not changed, "run benchmarks/silent_passes.py railyard again"


def test_a_suite_of_reframe_judges_what_is_replayed(tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    write_suite(tmp_path, _SUITE)
    done = start("cscs-uenv", tmp_path, "--commit", "abc", results=results)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {(case, form): verdict for (_, case, form), verdict in verdicts(results).items()}
    assert found["healthy", "osu_bw"] == found["healthy", "osu_latency"] == "passes"
    assert found["half", "osu_bw"] == found["empty", "osu_latency"] == "fails"
    assert found["dip", "osu_bw"] == found["exit-code", "osu_bw"] == "passes"


def test_a_suite_that_fails_before_it_judges_gives_no_verdict(tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    hook = (
        "    @run_before('run')\n    def stop(self):\n        raise ValueError('no such node')\n\n    @sanity_function"
    )
    text = _SUITE.replace("    @sanity_function", hook).replace(
        "performance_function, ", "performance_function, run_before, "
    )
    write_suite(tmp_path, text)
    done = start("cscs-uenv", tmp_path, "--commit", "abc", results=results)
    assert done.returncode == 1 and not results.exists()
    assert done.stderr.startswith("Probe_osu_bw %case=healthy: run: ") and "no such node" in done.stderr


def test_a_peer_that_fails_the_healthy_output_is_an_error(tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    write_suite(tmp_path, _SUITE.replace("24000", "48000"))
    done = start("cscs-uenv", tmp_path, "--commit", "abc", results=results)
    assert done.returncode == 1 and done.stderr.startswith("a healthy output does not pass")
    assert not results.exists()


def test_superbenchmark_is_asked_through_its_parsers_and_its_diagnosis(tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    for name, text in _PACKAGE.items():
        file = tmp_path / "superbench" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tmp_path / "superbench" / "__init__.py").touch()
    done = start("superbenchmark", tmp_path, "--commit", "abc", results=results)
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(results)
    assert found["superbenchmark", "healthy", "pairs"] == found["superbenchmark", "half", "nccl"] == "passes"
    assert found["superbenchmark", "empty", "nccl"] == "fails"


def test_the_documented_threshold_of_clusterkit(tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    assert start("clusterkit", "-", "--commit", "2.24", results=results).returncode == 0
    assert set(verdicts(results).items()) == {
        (("clusterkit", "healthy", "pairs"), "passes"),
        (("clusterkit", "one-pair", "pairs"), "fails"),
        (("clusterkit", "all-pairs", "pairs"), "passes"),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("eessi",), "eessi needs CHECKOUT, a clone of EESSI/test-suite"),
        (("eessi", "nowhere"), "nowhere is no clone of git: say which commit it is with --commit"),
        (("nobody",), "argument peer: invalid choice: 'nobody'"),
    ],
)
def test_a_mistake_of_the_user_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = start(*words, results=tmp_path / "results.tsv")
    assert done.returncode == 2 and said in done.stderr
