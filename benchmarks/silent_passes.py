"""Give the broken outputs of silent_pass_cases.py to the verdict code of one peer, and write the page of all results.

    python benchmarks/silent_passes.py PEER CHECKOUT [--commit HASH]
    python benchmarks/silent_passes.py page

PEER is a name of ``JUDGES``; CHECKOUT is a clone of its repository, which stays where it is: nothing of it is copied
here. The verdicts replace those of the same peer in benchmarks/results/silent-passes.tsv. `page` writes
docs/reference/peers-silent-passes.md from that file. --commit is needed where CHECKOUT has no git of its own.

- Checks of ReFrame (cscs-uenv, cscs-cpe, eessi, excalibur) are run by a real `reframe -r`, the one beside this Python.
  A subclass of the peer's class prints the stored output in place of the benchmark; sanity, performance and
  references stay the peer's. In place of Spack a script runs that does nothing.
- superbenchmark: its parsers and its data diagnosis are imported, so this Python needs what they import (pandas,
  joblib, knack, colorlog, omegaconf, networkx, natsort, jsonlines, openpyxl, xlsxwriter, markdown, seaborn …).
- clusterkit: a program without sources, so its documented thresholds are applied; CHECKOUT is then `-`.
- railyard: `railyard judge` of CHECKOUT, by the link and, for collectives of GPUs, by the nodes.
"""

import argparse
import csv
import datetime
import importlib.abc
import importlib.machinery
import json
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from silent_pass_cases import CASES, LARGEST, Case, Form, pair_rates
from silent_passes_page import PAGE, RESULTS, TOOLS, page, read_results

_FIELDS = ("peer", "commit", "date", "case", "form", "verdict", "why")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a peer says of one output: "passes", "fails" or "not judged", and the stage or rule that says so."""

    case: str
    form: Form
    verdict: str
    why: str = ""


_OSU: tuple[Form, ...] = ("osu_bw", "osu_latency")
Judge = Callable[[Path, Sequence[tuple[Case, Form]]], Sequence[Verdict]]


# Checks of ReFrame

#: In place of the peer's benchmark the stored output is printed, whatever the peer's own hooks have set.
_PROBE_HEAD = """\
import importlib.util
import os
import sys

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, variable


def _load(path):
    spec = importlib.util.spec_from_file_location("peer_" + os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Replayed(rfm.RegressionMixin):
    form = variable(str)

    @run_before("run", always_last=True)
    def replay(self):
        self.executable = "sh"
        self.executable_opts = [os.path.join(FOLDER, self.case + "." + self.form + ".sh")]
        self.job.launcher.options = []


"""
_PROBE = """
@rfm.simple_test
class Probe_{form}(Replayed, {base}):
    case = parameter({cases})
    form = "{form}"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
{body}
"""
_CONFIG: Mapping[str, Any] = {
    "systems": [
        {
            "name": "peers",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "nodes",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["default"],
                    "features": ["remote"],
                    "max_jobs": 1,
                    "processor": {"num_cpus": 2, "num_sockets": 1, "num_cpus_per_socket": 2, "arch": "x86_64"},
                }
            ],
        }
    ],
    "environments": [{"name": "default", "features": ["osu-micro-benchmarks", "uenv", "mpi"]}],
    "logging": [{"level": "info", "handlers": [{"type": "file", "name": "reframe.log", "level": "info"}]}],
}


@dataclass(frozen=True, slots=True)
class ReframeChecks:
    """Where a suite has its classes for each form. ``body``: further lines of the probe's class."""

    file: str
    bases: Mapping[Form, str]
    body: str = ""
    validated: bool = False

    def __call__(self, checkout: Path, given: Sequence[tuple[Case, Form]]) -> Sequence[Verdict]:
        """Return what ReFrame says of each output. Raises SystemExit if ReFrame judged another number of them."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._write(folder, checkout.resolve(), given)
            verdicts = _run_reframe(folder, checkout.resolve())
        if len(verdicts) != len(given):
            raise SystemExit(f"{self.file}: ReFrame judged {len(verdicts)} outputs, expected {len(given)}")
        return verdicts

    def _write(self, folder: Path, checkout: Path, given: Sequence[tuple[Case, Form]]) -> None:
        """Write outputs, scripts that print them, the probe, a configuration, and the stand-in of Spack."""
        for case, form in given:
            output, script = folder / f"{case.name}.{form}.out", folder / f"{case.name}.{form}.sh"
            output.write_text(case.text(form, validated=self.validated), encoding="utf-8")
            script.write_text(f"cat {output}\nexit {case.exit_code}\n", encoding="utf-8")
        probe = _PROBE_HEAD + f"FOLDER = {str(folder)!r}\npeer = _load({str(checkout / self.file)!r})\n"
        for form, base in self.bases.items():
            cases = [case.name for case, of in given if of == form]
            kind = "bandwidth" if form == "osu_bw" else "latency"
            probe += _PROBE.format(form=form, base=base, cases=cases, body=self.body.format(name=form, metric=kind))
        (folder / "probe.py").write_text(probe, encoding="utf-8")
        (folder / "config.yaml").write_text(json.dumps(_CONFIG), encoding="utf-8")
        spack = folder / "bin" / "spack"
        spack.parent.mkdir()
        spack.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        spack.chmod(0o755)
        environment = folder / "environment" / "spack.yaml"
        environment.parent.mkdir()
        environment.write_text("spack: {specs: []}\n", encoding="utf-8")


def _run_reframe(folder: Path, checkout: Path) -> Sequence[Verdict]:
    environment = os.environ | {
        "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{checkout}:{checkout / 'benchmarks'}",
        "EXCALIBUR_SPACK_ENV": str(folder / "environment"),
    }
    command = ["reframe", "-C", "config.yaml", "-c", "probe.py", "-r", "--exec-policy=serial", "--prefix=stages"]
    command += ["--report-file=report.json", "--perflogdir=perflogs"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SystemExit(f"ReFrame ran nothing:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}") from None
    return [_of_testcase(testcase) for run in report["runs"] for testcase in run["testcases"]]


def _of_testcase(testcase: Mapping[str, Any]) -> Verdict:
    """Return the verdict of one test. Raises SystemExit if it failed before anything was judged."""
    name, _, case = testcase["name"].partition(" %")
    case = dict(word.lstrip("%").split("=", 1) for word in case.split() if "=" in word)["case"]
    form = name.partition("_")[2].split()[0]
    if testcase["result"] == "pass":
        return Verdict(case, form, "passes")
    if testcase["fail_phase"] not in ("sanity", "performance"):
        raise SystemExit(f"{testcase['name']}: {testcase['fail_phase']}: {testcase['fail_reason']}")
    return Verdict(case, form, "fails", testcase["fail_phase"])


# superbenchmark

#: As in the example of its documentation, but with every size where that has the largest alone.
_RULES = """\
version: v0.12
superbench:
  rules:
    failed:
      function: failure_check
      criteria: 'lambda x:x>0'
      categories: Failed
      metrics:
        - {benchmark}/return_code
    slow:
      function: variance
      criteria: 'lambda x:x<-0.05'
      categories: Slow
      metrics:
        - {benchmark}/{metric}
"""


#: Its benchmarks are all imported together with the two that judge here, but these need none of it.
_NOT_NEEDED = (
    "torch",
    "torchvision",
    "transformers",
    "onnxruntime",
    "tcping",
    "superbench.benchmarks.model_benchmarks",
)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty modules in place of those of ``_NOT_NEEDED``."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return where an empty module comes from, if it is one of them."""
        if not f"{fullname}.".startswith(tuple(f"{name}." for name in _NOT_NEEDED)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a module in which every name is an empty class."""
        module = types.ModuleType(spec.name)
        vars(module)["__getattr__"] = _empty_class
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


def _empty_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})


def _judge_by_superbenchmark(checkout: Path, given: Sequence[tuple[Case, Form]]) -> Sequence[Verdict]:
    """Return what its data diagnosis says, with each output as that of one node and the healthy one as the baseline."""
    sys.path.insert(0, str(checkout.resolve()))
    sys.meta_path.insert(0, _StandIns())
    package = importlib.import_module("superbench.benchmarks")
    # A registry that keeps nothing: the real one makes an object of every benchmark, and many need a GPU's software.
    vars(package)["BenchmarkRegistry"] = SimpleNamespace(register_benchmark=lambda *words, **named: None)
    found: list[Verdict] = []
    ways: tuple[tuple[Form, str, str, Callable[[Case, str], Mapping[str, float]]], ...] = (
        ("nccl", "nccl-bw", r"allreduce_\d+_busbw:0", _parse_nccl),
        ("pairs", "ib-traffic", r"ib_write_bw_.*", _parse_ib_traffic),
    )
    for form, benchmark, metric, parse in ways:
        cases = [case for case, of in given if of == form]
        metrics = {case.name: parse(case, benchmark) for case in cases}
        baseline = {key: value for key, value in metrics["healthy"].items() if not key.endswith("return_code")}
        with tempfile.TemporaryDirectory() as name:
            bad = _diagnose(Path(name), _RULES.format(benchmark=benchmark, metric=metric), metrics, baseline)
        for case in cases:
            why = bad.get(case.name)
            found.append(Verdict(case.name, form, "passes" if why is None else "fails", why or ""))
    return found


def _diagnose(
    folder: Path, rules: str, metrics: Mapping[str, Mapping[str, float]], baseline: Mapping[str, float]
) -> Mapping[str, str]:
    """Return the category of each node that is called defective."""
    from superbench.analyzer import DataDiagnosis

    (folder / "rules.yaml").write_text(rules, encoding="utf-8")
    (folder / "baseline.json").write_text(json.dumps(baseline), encoding="utf-8")
    lines = (json.dumps({"node": node, **of}) for node, of in metrics.items())
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    paths = (str(folder / name) for name in ("results.jsonl", "rules.yaml", "baseline.json"))
    DataDiagnosis().run(*paths, str(folder), "jsonl")
    written = (folder / "diagnosis_summary.jsonl").read_text(encoding="utf-8").splitlines()
    return {node["index"]: node["Category"] for node in map(json.loads, written)}


def _parse_nccl(case: Case, benchmark: str) -> Mapping[str, float]:
    from superbench.benchmarks.micro_benchmarks.cuda_nccl_bw_performance import CudaNcclBwBenchmark

    parser = CudaNcclBwBenchmark(benchmark)
    return _parse_with(parser, SimpleNamespace(operation="allreduce", in_place=False), case.text("nccl"), benchmark)


def _parse_ib_traffic(case: Case, benchmark: str) -> Mapping[str, float]:
    """Return what its parser reads of ib-traffic: one line for each round of pairs, in Gbit/s."""
    from superbench.benchmarks.micro_benchmarks.ib_validation_performance import IBBenchmark

    rates = pair_rates(case)
    text = "results from rank ROOT_RANK: \n" + "".join(f"{rate * 8 / 1000:.3f}\n" for rate in rates.values())
    parser = IBBenchmark(benchmark)
    parser._commands_ib_commands, parser._commands_direction = ["ib_write_bw"], ["cpu-to-cpu"]
    parser._commands_msg_size = [LARGEST]
    parser._IBBenchmark__config = [f"{one},{other}" for one, other in rates]
    return _parse_with(parser, SimpleNamespace(), text, benchmark)


def _parse_with(parser: Any, options: SimpleNamespace, text: str, benchmark: str) -> Mapping[str, float]:
    from superbench.benchmarks import BenchmarkType, ReturnCode
    from superbench.benchmarks.result import BenchmarkResult

    options.log_raw_data = False
    parser._args = options
    parser._result = BenchmarkResult(benchmark, BenchmarkType.MICRO, ReturnCode.SUCCESS)
    read = parser._process_raw_result(0, text)
    code = ReturnCode.SUCCESS if read else ReturnCode.MICROBENCHMARK_RESULT_PARSING_FAILURE
    results = {f"{benchmark}/{name}:0": value[0] for name, value in parser._result.result.items()}
    results.pop(f"{benchmark}/return_code:0", None)
    return results | {f"{benchmark}/return_code": code.value}


# ClusterKit, Railyard

#: Of the best pair; HPC-X 2.24, "Running ClusterKit". A pair below is tested again, and is then called bad.
_LEAST_OF_BEST = 0.93


def _judge_as_clusterkit(checkout: Path, given: Sequence[tuple[Case, Form]]) -> Sequence[Verdict]:
    return [_clusterkit(case, form) for case, form in given]


def _clusterkit(case: Case, form: Form) -> Verdict:
    rates = pair_rates(case)
    bad = sum(rate < _LEAST_OF_BEST * max(rates.values()) for rate in rates.values())
    return Verdict(case.name, form, "fails" if bad else "passes", f"{bad} of {len(rates)} ways" if bad else "")


def _judge_by_railyard(checkout: Path, given: Sequence[tuple[Case, Form]]) -> Sequence[Verdict]:
    with tempfile.TemporaryDirectory() as name:
        return [_railyard(checkout, Path(name), case, form) for case, form in given]


def _railyard(checkout: Path, folder: Path, case: Case, form: Form) -> Verdict:
    output = folder / "output.txt"
    output.write_text(case.text(form, validated=True), encoding="utf-8")
    command = [sys.executable, "-m", "railyard", "judge", str(output), *words_of_judge(case, form), "--json"]
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Verdict(case.name, form, "passes")
    if done.returncode == 2:
        return Verdict(case.name, form, "fails", "not an output")
    return Verdict(case.name, form, *_words_of(json.loads(done.stdout)))


def words_of_judge(case: Case, form: Form) -> Sequence[str]:
    """Return the options of `railyard judge` for an output: by what it is judged."""
    if form == "nccl":
        return ["--nodes-have", "gpus=4,nvlink=4,nics=4,link=slingshot-11"]
    by = ["--link", "slingshot-11", "--rails", str(case.rails)]
    return [*by, "--sizes", f"1:{LARGEST}"] if form in _OSU else by


def _words_of(judged: Mapping[str, Any]) -> tuple[str, str]:
    """Return the verdict of `railyard judge --json`, and the rule that says so."""
    rules = (rule for one in judged["judgements"] for rule in one["rules"] if rule["state"] in ("fail", "not-judged"))
    failed = [f"rule {rule['rule']} ({rule['name']})" for rule in rules if rule["state"] == "fail"]
    if judged["state"] == "fail":
        return "fails", failed[0] if failed else ""
    return "not judged", ""


_CPE_BODY = """
    benchmark_info = parameter([("mpi.pt2pt.standard.{name}", "{metric}")])

    @run_after("init")
    def take_reference_of_its_test(self):
        self.reference = peer.osu_pt2pt_check.allref[self.benchmark_info[0]]["cpu"]
"""
_EESSI_BODY = """
    benchmark_info = parameter([("mpi.pt2pt.{name}", "{metric}")])
"""
#: Peer -> what it reads, and how it is asked. The names are those of ``TOOLS``.
JUDGES: Mapping[str, tuple[tuple[Form, ...], Judge]] = {
    "railyard": ((*_OSU, "nccl", "pairs"), _judge_by_railyard),
    "cscs-uenv": (
        _OSU,
        ReframeChecks(
            "checks/microbenchmarks/mpi/osu/osu_run.py",
            {"osu_bw": "peer.OSUBandwidth", "osu_latency": "peer.OSULatency"},
        ),
    ),
    "cscs-cpe": (
        _OSU,
        ReframeChecks(
            "checks/microbenchmarks/mpi/osu/osu_tests.py",
            {"osu_bw": "peer.osu_benchmark", "osu_latency": "peer.osu_benchmark"},
            _CPE_BODY,
            validated=True,
        ),
    ),
    "eessi": (
        _OSU,
        ReframeChecks(
            "eessi/testsuite/hpctestlib/microbenchmarks/mpi/osu.py",
            {"osu_bw": "peer.osu_benchmark", "osu_latency": "peer.osu_benchmark"},
            _EESSI_BODY,
            validated=True,
        ),
    ),
    "excalibur": (
        _OSU,
        ReframeChecks("benchmarks/apps/omb/omb.py", {"osu_bw": "peer.Osu_bw", "osu_latency": "peer.Osu_latency"}),
    ),
    "superbenchmark": (("nccl", "pairs"), _judge_by_superbenchmark),
    "clusterkit": (("pairs",), _judge_as_clusterkit),
}


# Results


def main() -> None:
    """Run one peer over all outputs that it reads and store its verdicts, or write the page."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("peer", choices=[*JUDGES, "page"])
    reader.add_argument("checkout", type=Path, nargs="?")
    reader.add_argument("--commit", help="the commit of CHECKOUT; default: what its git says")
    reader.add_argument("--results", type=Path, default=RESULTS, help="default: the file of the page")
    asked = reader.parse_args()
    if asked.peer == "page":
        PAGE.write_text(page(read_results(asked.results)), encoding="utf-8")
        return
    if asked.checkout is None:
        reader.error(f"{asked.peer} needs CHECKOUT, a clone of {TOOLS[asked.peer].source}")
    commit = asked.commit or _commit_of(asked.checkout, reader)
    forms, judge = JUDGES[asked.peer]
    verdicts = judge(asked.checkout, [(case, form) for case in CASES for form in case.forms if form in forms])
    if any(one.case == CASES[0].name and one.verdict != "passes" for one in verdicts):
        sys.exit("a healthy output does not pass, so the other verdicts say nothing, and none is stored")
    _store(asked.results, asked.peer, commit, verdicts)
    print(f"{asked.peer}: {sum(one.verdict == 'passes' for one in verdicts)} of {len(verdicts)} outputs pass")


def _commit_of(checkout: Path, reader: argparse.ArgumentParser) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        reader.error(f"{checkout} is no clone of git: say which commit it is with --commit")
    return done.stdout.strip()


def _store(path: Path, peer: str, commit: str, verdicts: Sequence[Verdict]) -> None:
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rows = [row for row in read_results(path) if row["peer"] != peer]
    rows += [dict(zip(_FIELDS, (peer, commit, today, v.case, v.form, v.verdict, v.why), strict=True)) for v in verdicts]
    order = {case.name: number for number, case in enumerate(CASES)}
    rows.sort(key=lambda row: (list(TOOLS).index(row["peer"]), order.get(row["case"], -1), row["form"]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _FIELDS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
