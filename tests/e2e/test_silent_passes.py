"""What ReFrame 4.10.4 silently lets pass: each case passes there, and fails with the guards of this package.

The checks are tiny (`echo`), are written to a temporary folder, and run in the real `reframe`: all rows of a table in
one call without the guards and in one with them. docs/reference/silent-passes.md is the same table in prose.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.results.record.form import Record, VerdictRecord
from railyard.results.report.files import junit
from railyard.results.report.summary import count_line
from railyard.rfm.run import output as reframe_output
from railyard.rfm.run.reframe import promised_cases, settle
from railyard.rfm.versions import VERSION
from railyard.site.reframe_versions import (
    ABSOLUTE_BOUNDS,
    CHOSEN_PARAMETERS,
    EXPECTED_FAILURES,
    OTHER_REFERENCES,
    POLLING,
    Feature,
    has,
)
from tests.made.records import made_record

pytestmark = pytest.mark.e2e

CLONE = Path(__file__).parents[2]
REFRAME = str(Path(sys.executable).with_name("reframe"))
PLAIN = "rfm.RunOnlyRegressionTest"
GUARDED = "InitErrorCarrier, GuardedFigures, rfm.RunOnlyRegressionTest"

#: A site with one system that matches any host; `ours` takes everything but that system from railyard.siteconfig.
SETTINGS = """\
from pathlib import Path

from railyard.site.systems.load import load_systems
from railyard.siteconfig import configuration

# Our sections are for the systems that they are made with: here for this one, in place of a shipped one.
site_configuration = configuration(Path(__file__).parent, {"tiny": load_systems(Path(SYSTEMS))["local"]}) if OURS else {
    "general": [{"remote_detect": False}],
    "logging": [{"level": "info", "handlers_perflog": [], "handlers": [
        {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}]}],
}
site_configuration["general"][0] |= POLLING
site_configuration["environments"] = [{"name": "gnu"}]
site_configuration["systems"] = [{
    "name": "tiny", "hostnames": [HOSTS], "modules_system": "nomod", "prefix": str(Path(__file__).parent / "out"),
    "partitions": [{"name": "net", "scheduler": "local", "launcher": "local", "environs": ["gnu"],
                    "processor": {"num_cpus": 1}, "max_jobs": 1}],
}]
"""

HEAD = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import *  # as in the body of a class: also xfail, which ReFrame has from 4.9 on

from railyard.rfm.guards import InitErrorCarrier, GuardedFigures
from railyard.rfm.versions import typed_parameter


class Echo(BASES):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["rate: 47.5 MB/s"]

    @sanity_function
    def ended(self):
        return sn.assert_found("rate", self.stdout)


class Measured(Echo):
    @performance_function("MB/s")
    def rate(self):
        return sn.extractsingle(r"rate: (\\S+)", self.stdout, 1, float)
"""


@dataclass(frozen=True)
class Answer:
    """How a `reframe` ended, what it printed, and the last entry of each test in its report."""

    code: int
    text: str
    report: Path

    @property
    def tests(self) -> Mapping[str, Mapping[str, Any]]:
        runs = json.loads(self.report.read_text(encoding="utf-8"))["runs"]
        return {entry["display_name"]: entry for run in runs for entry in run["testcases"]}


@dataclass(frozen=True)
class Site:
    """A folder with settings and checks for the real `reframe`."""

    folder: Path
    settings: Path
    checks: Path

    def command(self, *options: str) -> list[str]:
        return [REFRAME, "-C", str(self.settings), "-c", str(self.checks), *options]

    def reframe(self, *options: str) -> Answer:
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        words = self.command("--nocolor", "--exec-policy=serial", f"--report-file={report}", *options)
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        return Answer(done.returncode, done.stdout + done.stderr, report)

    def promise(self, *options: str) -> tuple[list[str], tuple[str, ...]]:
        """Return the names of the cases that `railyard run` would promise, and its problems."""
        cases, problems = promised_cases(self.command(*options), dict(os.environ))
        return [case.name for case in cases], problems


def site(folder: Path, checks: Mapping[str, str], *, bases: str = PLAIN, ours: bool = False, hosts: str = ".*") -> Site:
    """Write a site: each check file gets the common head, unless it begins with its own import."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings.py"
    polling = {"poll_rate_min": 50, "poll_rate_max": 100} if has(VERSION, POLLING) else {}
    values = {"OURS": ours, "HOSTS": hosts, "SYSTEMS": str(CLONE / "systems"), "POLLING": polling}
    settings.write_text(re.sub("|".join(values), lambda found: repr(values[found[0]]), SETTINGS), encoding="utf-8")
    for name, text in checks.items():
        file = folder / "checks" / name
        file.parent.mkdir(exist_ok=True)
        head = "" if text.startswith("import") else HEAD.replace("BASES", bases)
        file.write_text(head + text if name.endswith(".py") else text, encoding="utf-8")
    return Site(folder, settings, folder / "checks")


def class_text(name: str, body: str, base: str = "Measured") -> str:
    return f"\n\n@rfm.simple_test\nclass {name}({base}):\n{indent(body or 'pass', '    ')}\n"


# --- rows that a check's own base classes catch: plain and guarded, one reframe call each ---------------------------

Outcome = tuple[str, str | None, str | None] | None
PASSES: Outcome = ("pass", None, None)
GONE: Outcome = None


@dataclass(frozen=True)
class Row:
    """A check's class body, and (result, stage, reason) in ReFrame's report without and with the guards."""

    body: str
    guarded: Outcome
    plain: Outcome = PASSES
    base: str = "Measured"
    #: What ReFrame must be able to do for it.
    needs: Feature | None = None

    @staticmethod
    def of(reference: str, guarded: Outcome, plain: Outcome = PASSES, needs: Feature | None = None) -> "Row":
        """Return a row for a healthy measurement with this reference of `rate`, on every system."""
        return Row(f'reference = {{"*": {{"rate": {reference}}}}}', guarded, plain, needs=needs)

    @property
    def is_possible(self) -> bool:
        """Whether this release of ReFrame can do what the row needs."""
        return self.needs is None or has(VERSION, self.needs)


def run_failure(sentence: str) -> Outcome:
    """Fails before the job is submitted."""
    return ("fail", "run", f"reframe error: {sentence}")


def performance_failure(sentence: str) -> Outcome:
    """Fails when the figures are judged."""
    return ("fail", "performance", f"performance error: {sentence}")


GOOD = '(47.5, -0.05, 0.05, "MB/s")'
REFERENCE = f'reference = {{"*": {{"rate": {GOOD}}}}}\n'
NO_REFERENCE = performance_failure(
    "performance variable 'rate' = 47.5 has no reference on tiny:net: "
    "state one with a bound, or name it in reported_figures"
)
NOT_PRODUCED = performance_failure(
    "performance variable 'rate' was not produced: its function raised or found nothing in the output"
)
NO_BOUND = run_failure("reference of 'rate': found no bound, expected a lower or an upper one (nothing is asserted)")


def returning(value: str) -> str:
    return f'@performance_function("MB/s")\ndef rate(self):\n    return {value}\n'


ROWS: Mapping[str, Row] = {
    "no-reference": Row("", NO_REFERENCE),
    "reference-of-another-system": Row(f'reference = {{"edrsys:edr": {{"rate": {GOOD}}}}}', NO_REFERENCE),
    "misspelt-variable": Row(
        f'reference = {{"*": {{"rates": {GOOD}}}}}',
        (
            "fail",
            "performance",
            "reframe error: reference of 'rates': no such performance variable, expected one of: rate",
        ),
    ),
    "index-miss": Row(
        f'reference = {{"$index": ("$system",), "edrsys": {{"rate": {GOOD}}}}}', NO_REFERENCE, needs=OTHER_REFERENCES
    ),
    "reference-file-without-the-test": Row(
        'reference = {"$ref": "references.yaml"}', NO_REFERENCE, needs=OTHER_REFERENCES
    ),
    "reference-file-missing": Row(
        'reference = {"$ref": "nosuch.yaml"}',
        (
            "fail",
            "setup",
            "reframe error: ReferenceFileMissing was not initialised: "
            "FileNotFoundError: [Errno 2] No such file or directory: 'CHECKS/nosuch.yaml'",
        ),
        GONE,
        needs=OTHER_REFERENCES,
    ),
    "performance-function-raises": Row(REFERENCE + returning('float("fast")'), NOT_PRODUCED),
    "pattern-finds-nothing": Row(REFERENCE + returning('sn.extractsingle(r"Rate=(.*)", self.stdout, 1)'), NOT_PRODUCED),
    "every-performance-function-raises": Row(
        f'reference = {{"*": {{"rate": {GOOD}, "latency": (1.0, None, 0.1, "us")}}}}\n'
        + returning('float("fast")')
        + '@performance_function("us")\ndef latency(self):\n    raise KeyError("t")',
        NOT_PRODUCED,
    ),
    "never-produced": Row(
        f'reference = {{"*": {{"rate": {GOOD}, "latency": (1.0, None, 0.1, "us")}}}}',
        (
            "fail",
            "performance",
            "reframe error: reference of 'latency': no such performance variable, expected one of: rate",
        ),
    ),
    "no-bounds": Row.of('(47.5, None, None, "MB/s")', NO_BOUND),
    "zero-without-bounds": Row.of('(0, None, None, "MB/s")', NO_BOUND),
    "other-unit": Row.of(
        '(47.5, -0.05, 0.05, "GB/s")',
        run_failure(
            "reference of 'rate': found unit 'GB/s', expected 'MB/s', which the check measures; "
            "ReFrame would compare the bare numbers"
        ),
    ),
    "other-unit-of-a-late-variable": Row(
        'reference = {"*": {"late": (47.5, -0.05, 0.05, "GB/s")}}\n@run_before("performance")\ndef figures(self):\n'
        '    self.perf_variables = {"late": sn.make_performance_function(sn.defer(47.5), "MB/s")}',
        (
            "fail",
            "performance",
            "reframe error: reference of 'late': found unit 'GB/s', expected 'MB/s', which the check measures; "
            "ReFrame would compare the bare numbers",
        ),
    ),
    "upper-bound-in-per-cent": Row.of(
        '(47.5, None, 5, "MB/s")',
        run_failure("reference of 'rate': found upper bound 5, expected a fraction, 0 to 1 (meant as per cent?)"),
    ),
    "lower-bound-above-zero": Row.of(
        '(47.5, 0.1, None, "MB/s")',
        run_failure("reference of 'rate': found lower bound 0.1, expected a fraction, -1 to 0"),
        ("fail", "performance", "value error: invalid low threshold value: 0.1"),
    ),
    "lower-bound-in-per-cent": Row.of(
        '(47.5, -10, None, "MB/s")',
        run_failure("reference of 'rate': found lower bound -10, expected a fraction, -1 to 0 (meant as per cent?)"),
        ("fail", "performance", "value error: invalid low threshold value: -10"),
    ),
    "lower-bound-of-zero-above-it": Row.of(
        '(0, 40, None, "MB/s")',
        run_failure("reference of 'rate': found lower bound 40, expected a distance from 0, -inf to 0"),
        ("fail", "performance", "value error: invalid low threshold value: 40"),
    ),
    "infinite-bound": Row.of(
        '(47.5, None, float("inf"), "MB/s")',
        run_failure("reference of 'rate': found upper bound inf, expected a finite number"),
    ),
    "true-as-reference": Row.of(
        '(True, None, 60, "MB/s")', run_failure("reference of 'rate': found value True, expected a finite number")
    ),
    "infinite-value": Row(
        'reference = {"*": {"rate": (47.5, -0.05, None, "MB/s")}}\n' + returning('float("inf")'),
        performance_failure("performance variable 'rate' is inf, expected a finite number"),
    ),
    "true-as-value": Row(
        'reference = {"*": {"rate": (1, -0.05, 0.05, "MB/s")}}\n' + returning("True"),
        performance_failure("performance variable 'rate' is True, expected a finite number"),
    ),
    "nan-value": Row(
        REFERENCE + returning('float("nan")'),
        performance_failure("failed to meet reference(s): rate=nan MB/s, expected 47.5 (l=45.125, u=49.875)"),
        performance_failure("failed to meet reference(s): rate=nan MB/s, expected 47.5 (l=45.125, u=49.875)"),
    ),
    "strict-check-off": Row(
        'strict_check = False\nreference = {"*": {"rate": (100, -0.05, None, "MB/s")}}',
        performance_failure(
            "performance variable 'rate' = 47.5 misses its reference 100 (lower -0.05, upper None), "
            "and strict_check is off: ReFrame would pass it"
        ),
    ),
    "job-exit-code": Row(
        REFERENCE + 'postrun_cmds = ["exit 3"]', ("fail", "sanity", "sanity error: job exited with exit code 3")
    ),
    "init-hook-raises": Row(
        REFERENCE + '@run_after("init")\ndef choose(self):\n    self.devices = int("two")',
        (
            "fail",
            "setup",
            "reframe error: InitHookRaises was not initialised: "
            "ValueError: invalid literal for int() with base 10: 'two'",
        ),
        GONE,
    ),
    # Healthy cases next to each rule, which must still pass.
    "healthy": Row.of(GOOD, PASSES),
    "healthy-narrowest-scope": Row(
        f'reference = {{"*": {{"rate": (1, -2, 7, "GB/s")}}, "tiny:net": {{"rate": {GOOD}}}}}', PASSES
    ),
    "healthy-index-hit": Row(
        f'reference = {{"$index": ("$system",), "tiny": {{"rate": {GOOD}}}}}', PASSES, needs=OTHER_REFERENCES
    ),
    "healthy-reported": Row('reported_figures = ("rate",)', PASSES),
    "healthy-widest-fractions": Row.of('(47.5, -1, 1, "MB/s")', PASSES),
    "healthy-absolute-bounds": Row.of('(0, None, 60, "MB/s")', PASSES, needs=ABSOLUTE_BOUNDS),
    "healthy-without-unit": Row.of("(47.5, -0.05, 0.05)", PASSES),
    "healthy-whole-number": Row(REFERENCE + returning("48"), PASSES),
    "healthy-late-variable": Row(
        'reference = {"*": {"late": (47.5, -0.05, 0.05, "MB/s")}}\n@run_before("performance")\ndef figures(self):\n'
        '    self.perf_variables = {"late": sn.make_performance_function(sn.defer(47.5), "MB/s")}',
        PASSES,
    ),
    "healthy-no-figures": Row("", PASSES, base="Echo"),
    "skip-in-init": Row(REFERENCE + '@run_after("init")\ndef choose(self):\n    self.skip("not here")', GONE, GONE),
    "skip-after-setup": Row(
        REFERENCE + '@run_after("setup")\ndef choose(self):\n    self.skip("not here")',
        ("skip", None, None),
        ("skip", None, None),
    ),
    "expected-failure": Row.of(
        'xfail("slow switch", (100, -0.05, None, "MB/s"))',
        ("xfail", None, None),
        ("xfail", None, None),
        EXPECTED_FAILURES,
    ),
}


POSSIBLE = {name: row for name, row in ROWS.items() if row.is_possible}


def class_name(row: str) -> str:
    return "".join(word.capitalize() for word in row.split("-"))


def figures_site(folder: Path, bases: str, ours: bool) -> Site:
    classes = "".join(class_text(class_name(name), row.body, row.base) for name, row in POSSIBLE.items())
    references = "SomeOtherTest:\n  '*':\n    rate: [47.5, -0.05, 0.05, MB/s]\n"
    return site(folder, {"figures.py": classes, "references.yaml": references}, bases=bases, ours=ours)


@pytest.fixture(scope="module")
def plain_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return figures_site(tmp_path_factory.mktemp("plain"), PLAIN, ours=False)


@pytest.fixture(scope="module")
def guarded_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return figures_site(tmp_path_factory.mktemp("guarded"), GUARDED, ours=True)


@pytest.fixture(scope="module")
def plain(plain_site: Site) -> Mapping[str, Mapping[str, Any]]:
    return plain_site.reframe("-r").tests


@pytest.fixture(scope="module")
def guarded_tests(guarded_site: Site) -> Mapping[str, Mapping[str, Any]]:
    return guarded_site.reframe("-r").tests


def outcome(tests: Mapping[str, Mapping[str, Any]], row: str) -> Outcome:
    entry = tests.get(class_name(row))
    if entry is None:
        return None
    reason = entry["fail_reason"]
    return (
        entry["result"],
        entry["fail_phase"],
        reason and reason.replace(str(Path(entry["filename"]).parent), "CHECKS"),
    )


def release_words(expected: Outcome) -> Outcome:
    """Return an outcome in the words of this release of ReFrame: before 4.9 it has others for a missed reference."""
    if expected is None or expected[2] is None or has(VERSION, EXPECTED_FAILURES):
        return expected
    result, stage, reason = expected
    said = str(reason).replace("reference(s)", "references")
    return (
        result,
        stage,
        said.replace("value error: invalid low", "performance error: failed to meet references: invalid low"),
    )


@pytest.mark.parametrize("row", ROWS)
def test_figure(
    row: str, plain: Mapping[str, Mapping[str, Any]], guarded_tests: Mapping[str, Mapping[str, Any]]
) -> None:
    needs = ROWS[row].needs
    if needs is not None and not has(VERSION, needs):
        pytest.skip(f"ReFrame {VERSION} has no {needs.name}")
    assert outcome(plain, row) == release_words(ROWS[row].plain)
    assert outcome(guarded_tests, row) == release_words(ROWS[row].guarded)


NEVER_RUN = [row for row in ROWS if row.startswith("lower-bound")]


@pytest.mark.parametrize("row", NEVER_RUN)
def test_a_bad_bound_fails_before_the_benchmark_runs(
    row: str, plain: Mapping[str, Mapping[str, Any]], guarded_tests: Mapping[str, Mapping[str, Any]]
) -> None:
    output = "rfm_job.out"
    assert (Path(plain[class_name(row)]["stagedir"]) / output).read_text(encoding="utf-8") == "rate: 47.5 MB/s\n"
    assert not (Path(guarded_tests[class_name(row)]["stagedir"]) / output).exists()


@pytest.mark.parametrize("stage", ["sanity", pytest.param("performance", marks=pytest.mark.full)])
def test_a_skipped_stage(stage: str, plain_site: Site, guarded_site: Site) -> None:
    options = ("-r", "-n", "^Healthy$", f"--skip-{stage}-check")
    passed = plain_site.reframe(*options)
    assert (passed.code, outcome(passed.tests, "healthy")) == (0, PASSES)
    failed = guarded_site.reframe(*options)
    sentence = f"not all was checked: the {stage} stage was skipped; leave out --skip-{stage}-check"
    assert (failed.code, outcome(failed.tests, "healthy")) == (1, ("fail", "cleanup", f"performance error: {sentence}"))


def test_a_disabled_guard(guarded_site: Site) -> None:
    options = ("-r", "-n", "^NoReference$", "--disable-hook=demand_every_figure")
    refused = guarded_site.reframe(*options)
    assert refused.code == 1
    assert (
        "ERROR: run session stopped: reframe error: --disable-hook=demand_every_figure: found a hook that NoReference "
        "is judged by, expected a hook of the check's own; leave it out"
    ) in refused.text.splitlines()


# --- rows that only `railyard run` can catch: nothing ran in which a base class could report --------------------------

HEALTHY = class_text(
    "Healthy", REFERENCE + "rails = typed_parameter([1, 2], type=int, loggable=True)\nextra = variable(int, value=0)"
)


@dataclass(frozen=True)
class LostFile:
    """A check file that ReFrame drops with a warning, and the sentences that name what was lost."""

    text: str
    sentences: tuple[str, ...]


FIXTURE = """

class Binary(Echo):
    @run_after("init")
    def choose(self):
        self.compiler = int("two")
"""

LOST: Mapping[str, LostFile] = {
    "import-error": LostFile(
        "import reframe as rfm\n\nimport nosuchmodule\n\n\n"
        "@rfm.simple_test\nclass Imported(rfm.RunOnlyRegressionTest):\n    pass\n",
        (
            "import-error.py: this file was not loaded, and with it Imported: "
            "module not found error: No module named 'nosuchmodule' (line 3)",
        ),
    ),
    "class-body": LostFile(
        class_text("Body", 'num_nodes = int("two")'),
        (
            "class-body.py: this file was not loaded, and with it Body: "
            "value error: invalid literal for int() with base 10: 'two' (line 28, in Body)",
        ),
    ),
    "variable-type": LostFile(
        class_text("Typed", 'num_tasks = "two"') + class_text("AlsoLost", REFERENCE),
        (
            "variable-type.py: this file was not loaded, and with it Typed, AlsoLost: "
            "type error: failed to set variable 'num_tasks': 'two' is not of type 'int|NoneType' (line 27, in Typed)",
        ),
    ),
    "parameter": LostFile(
        class_text("Parametrized", "rails = parameter(3)"),
        (
            "parameter.py: this file was not loaded, and with it Parametrized: "
            "type error: 'int' object is not iterable (line 28, in Parametrized)",
        ),
    ),
    "no-parameter-value": LostFile(
        class_text("Empty", "rails = parameter()"),
        ("no-parameter-value.py: Empty was not loaded: the following parameters are undefined: rails",),
    ),
    "fixture-declaration": LostFile(
        class_text("Declared", 'binary = fixture(int, scope="environment")'),
        (
            "fixture-declaration.py: this file was not loaded, and with it Declared: "
            "value error: 'int' must be a derived class from 'RegressionTest' (line 28, in Declared)",
        ),
    ),
    "fixture": LostFile(
        FIXTURE + class_text("Dependent", 'binary = fixture(Binary, scope="environment")'),
        (
            "fixture.py: Binary was not loaded: value error: invalid literal for int() with base 10: 'two' "
            "(line 29, in Binary)",
            "fixture.py: Dependent @tiny:net+gnu was dropped: it depends on Binary, which is not there",
        ),
    ),
    "dependency": LostFile(
        class_text("First", REFERENCE + '@run_after("init")\ndef order(self):\n    self.depends_on("NoSuchTest")'),
        ("dependency.py: First @tiny:net+gnu was dropped: it depends on NoSuchTest, which is not there",),
    ),
    "no-systems": LostFile(
        "import reframe as rfm\n\n\n"
        "@rfm.simple_test\nclass Nowhere(rfm.RunOnlyRegressionTest):\n    executable = 'echo'\n",
        ("no-systems.py: Nowhere was not loaded: 'valid_systems' not defined",),
    ),
    "not-copyable": LostFile(
        class_text(
            "Streaming", REFERENCE + '@run_after("init")\ndef sizes(self):\n    self.sizes = (n for n in range(3))'
        ),
        (
            "not-copyable.py: Streaming was not loaded: its attribute 'sizes' cannot be copied; "
            "set it in a hook after setup, not after init",
        ),
    ),
}


@pytest.fixture(scope="module")
def lossy_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    files = {f"{name}.py": lost.text for name, lost in LOST.items()}
    return site(tmp_path_factory.mktemp("lossy"), {**files, "healthy.py": HEALTHY})


@pytest.fixture(scope="module")
def lossy_run(lossy_site: Site) -> Answer:
    return lossy_site.reframe("-r")


@pytest.fixture(scope="module")
def problems(lossy_site: Site) -> Sequence[str]:
    cases, found = lossy_site.promise()
    assert sorted(cases) == ["Healthy %rails=1", "Healthy %rails=2"]
    return [sentence.replace(f"{lossy_site.checks}/", "") for sentence in found]


def test_reframe_passes_without_the_lost_checks(lossy_run: Answer) -> None:
    assert lossy_run.code == 0
    assert {name: entry["result"] for name, entry in lossy_run.tests.items()} == {
        "Healthy %rails=1": "pass",
        "Healthy %rails=2": "pass",
    }


@pytest.mark.parametrize("name", LOST)
def test_a_lost_check_is_named(name: str, problems: Sequence[str]) -> None:
    assert [sentence for sentence in problems if sentence.startswith(f"{name}.py")] == list(LOST[name].sentences)


def test_no_other_problem_is_reported(problems: Sequence[str]) -> None:
    assert sorted(problems) == sorted(sentence for lost in LOST.values() for sentence in lost.sentences)


@pytest.fixture(scope="module")
def healthy_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site(tmp_path_factory.mktemp("healthy"), {"healthy.py": HEALTHY}, bases=GUARDED, ours=True)


NOTHING = "nothing was selected: no check fits these options; type: railyard matrix --why"


def refusal(site: Site, *options: str) -> list[str]:
    with pytest.raises(RailyardError) as refused:
        site.promise(*options)
    return str(refused.value).splitlines()


def test_nothing_matches(healthy_site: Site) -> None:
    passed = healthy_site.reframe("-r", "-n", "Unhealthy")
    assert passed.code == 0
    assert "Ran 0/0 test case(s)" in passed.text
    assert refusal(healthy_site, "-n", "Unhealthy") == [NOTHING]


def test_a_check_file_that_is_not_there(healthy_site: Site) -> None:
    missing = healthy_site.checks / "nosuch.py"
    absent = Site(healthy_site.folder, healthy_site.settings, missing)
    passed = absent.reframe("-r")
    assert passed.code == 0
    assert "Ran 0/0 test case(s)" in passed.text
    assert refusal(absent) == [NOTHING, f"-c {missing}: found no such file or folder, expected checks"]


def test_a_file_wide_error_alone(tmp_path: Path) -> None:
    alone = site(tmp_path, {"class-body.py": LOST["class-body"].text})
    passed = alone.reframe("-r")
    assert passed.code == 0
    assert "Ran 0/0 test case(s)" in passed.text
    assert refusal(alone) == [NOTHING, f"{alone.checks}/{LOST['class-body'].sentences[0]}"]


IGNORED = "expected a variable or parameter of at least one; ReFrame ignores such a word and selects everything"


ONLY_VARIABLES = (
    "expected one: before 4.9 ReFrame chooses no parameter by -P, ignores such a word and selects everything; "
    "write -n 'CHECK%{0}=VALUE' or -E '{0} == VALUE'"
)


def test_options_that_name_nothing(healthy_site: Site) -> None:
    options = ("-S", "nosuch=3", "-S", "rails=2", "-P", "nobody=2")
    passed = healthy_site.reframe("-r", *options)
    assert passed.code == 0
    assert sorted(passed.tests) == ["Healthy %rails=1", "Healthy %rails=2"]
    assert refusal(healthy_site, *options) == [
        f"-S nosuch: found no check that has 'nosuch', {IGNORED}",
        f"-S rails: found no check that has 'rails', {IGNORED}",
        f"-P nobody: found no check that has 'nobody', {IGNORED}"
        if has(VERSION, CHOSEN_PARAMETERS)
        else f"-P nobody: found no variable 'nobody', {ONLY_VARIABLES.format('nobody')}",
    ]


def test_options_that_name_something(healthy_site: Site) -> None:
    assert healthy_site.promise("-S", "extra=3", "-E", "rails == 2") == (["Healthy %rails=2"], ())
    if not has(VERSION, CHOSEN_PARAMETERS):
        assert refusal(healthy_site, "-P", "rails=2") == [
            f"-P rails: found no variable 'rails', {ONLY_VARIABLES.format('rails')}"
        ]
        return
    assert healthy_site.promise("-S", "extra=3", "-P", "rails=2") == (["Healthy %rails=2"], ())


def test_a_variable_of_one_class(healthy_site: Site) -> None:
    options = ("-S", "Helthy.extra=3", "-SHealthy.xtra=3", "--setvar=Healthy.extra=3")
    listing = healthy_site.reframe("-lC", *options)
    assert listing.code == 0
    cases = reframe_output.listed_cases(listing.text)
    assert sorted(case.name for case in cases) == ["Healthy %rails=1", "Healthy %rails=2"]
    assert reframe_output.unlisted_names(listing.text, cases, options) == (
        f"-S xtra: found no check that has 'xtra', {IGNORED}",
        '-S Helthy.extra: found no selected check "Helthy", expected one of them; did you mean "Healthy"?',
    )


def test_a_word_without_a_value(healthy_site: Site) -> None:
    passed = healthy_site.reframe("-r", "-S", "extra")
    assert passed.code == 0
    assert healthy_site.promise("-S", "extra")[1] == ("-S extra: found no '=', expected NAME=VALUE",)


def test_a_comparison_is_no_run(healthy_site: Site) -> None:
    assert refusal(healthy_site, "--performance-compare=now-1d:now/now-1d:now/mean:/") == [
        "reframe could not list its tests: reframe: error: argument -l/--list: not allowed with argument "
        "--performance-compare"
    ]


# --- rows that are caught when promises are compared with what ran ----------------------------------------------------


def record(case: str) -> Record:
    """The record of a check that found nothing wrong."""
    name = case.split(" @")[0]
    return made_record(
        run="r", time="2026-11-21T06:00:00Z", case=case, check=name.split()[0], system="tiny", fabric="net",
        stack="gnu", rails=1, benchmark="echo", state="pass", verdict=VerdictRecord("all five rules hold"),
    )  # fmt: skip


def settle_answer(site: Site, answer: Answer, passed: Sequence[str]) -> tuple[Record, ...]:
    promised, _ = promised_cases(site.command(), dict(os.environ))
    ran = reframe_output.ran_cases(answer.report, answer.text)
    return settle(promised, ran, [record(case) for case in passed], run="r", time="2026-11-21T06:00:00Z")


def test_a_pass_on_a_retry(tmp_path: Path) -> None:
    body = (
        f'executable = "mkdir"\nexecutable_opts = ["{tmp_path}/been-here && echo rate: 1 || echo rate: 47.5"]\n'
        + REFERENCE
    )
    flaky = site(tmp_path, {"flaky.py": class_text("Flaky", body)}, bases=GUARDED, ours=True)
    passed = flaky.reframe("-r", "--max-retries=1")
    assert (passed.code, passed.tests["Flaky"]["result"]) == (0, "pass")
    (final,) = settle_answer(flaky, passed, ["Flaky @tiny:net+gnu"])
    assert (final.found.state, final.found.verdict.text) == (
        "fail",
        "passed only on a retry: run 2 of 2 passed, an earlier one failed",
    )


XFAIL = has(VERSION, EXPECTED_FAILURES)
BUILD = """

class Binary(rfm.CompileOnlyRegressionTest):
    build_system = "CustomBuild"

    @run_before("compile")
    def break_it(self):
        self.build_system.commands = ["echo no compiler >&2; exit 1"]
"""
STATES = (
    BUILD
    + class_text("Built", REFERENCE + 'binary = fixture(Binary, scope="environment")')
    + class_text("Skipped", REFERENCE + '@run_after("setup")\ndef choose(self):\n    self.skip("no second rail here")')
    + (
        class_text("Expected", 'reference = {"*": {"rate": xfail("slow switch", (100, -0.05, None, "MB/s"))}}')
        if XFAIL
        else ""
    )
    + class_text("Sound", REFERENCE)
)


@pytest.fixture(scope="module")
def states_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site(tmp_path_factory.mktemp("states"), {"states.py": STATES}, bases=GUARDED, ours=True)


@pytest.fixture(scope="module")
def states_run(states_site: Site) -> Answer:
    return states_site.reframe("-r", f"--report-junit={states_site.folder / 'junit.xml'}")


@pytest.fixture(scope="module")
def final(states_site: Site, states_run: Answer) -> tuple[Record, ...]:
    passed = ["Expected @tiny:net+gnu"] if XFAIL else []
    return settle_answer(states_site, states_run, [*passed, "Sound @tiny:net+gnu"])


def outcomes(xml: str) -> dict[str, list[str]]:
    return {
        case.get("name", ""): [o.tag for o in case if o.tag != "properties"]
        for case in ElementTree.fromstring(xml).iter("testcase")
    }


def test_skips_and_dependents_in_junit(states_site: Site, states_run: Answer, final: tuple[Record, ...]) -> None:
    assert outcomes((states_site.folder / "junit.xml").read_text(encoding="utf-8")) == {
        "Binary ~tiny:net+gnu @tiny:net+gnu": ["failure"],
        "Built @tiny:net+gnu": [] if XFAIL else ["failure"],  # 4.9 has both, expected failures and dependents apart
        "Skipped @tiny:net+gnu": [],
        **({"Expected @tiny:net+gnu": []} if XFAIL else {}),
        "Sound @tiny:net+gnu": [],
    }
    assert outcomes(junit(final)) == {
        "Built @tiny:net+gnu": ["error"],
        "Skipped @tiny:net+gnu": ["skipped"],
        **({"Expected @tiny:net+gnu": ["skipped"]} if XFAIL else {}),
        "Sound @tiny:net+gnu": [],
    }


def test_each_state_has_its_sentence(final: tuple[Record, ...]) -> None:
    assert {entry.test.check: (entry.found.state, entry.found.verdict.text) for entry in final} == {
        "Built": (
            "fail",
            "not run, since what it depends on failed: build error: build job failed with exit code: 1",
        ),
        "Skipped": ("not-tested", "skipped: no second rail here"),
        **({"Expected": ("xfail", "expected failure: slow switch")} if XFAIL else {}),
        "Sound": ("pass", "all five rules hold"),
    }


@pytest.mark.skipif(not XFAIL, reason=f"ReFrame {VERSION} has no {EXPECTED_FAILURES.name}")
def test_an_expected_failure_is_counted_apart(final: tuple[Record, ...], tmp_path: Path) -> None:
    alone = site(tmp_path, {"states.py": STATES})
    passed = alone.reframe("-r", "-n", "Expected")
    assert passed.code == 0
    assert "[  PASSED  ] Ran 1/1 test case(s)" in passed.text
    assert count_line(final) == "4 tests: 1 pass, 1 fail, 0 disturbed, 0 report-only, 1 expected failure, 1 not tested"


# --- rows that the settings catch -------------------------------------------------------------------------------------


def selected_system(text: str) -> str:
    found = re.search(r"^  selected system: +'(.*)'$", text, re.MULTILINE)
    assert found, text
    return found[1]


def test_an_unknown_host(tmp_path: Path) -> None:
    foreign = site(tmp_path, {"healthy.py": HEALTHY}, hosts="(?!)")
    passed = foreign.reframe("-r", "-n", "Healthy")
    assert (passed.code, selected_system(passed.text)) == (0, "generic")
    ours = Site(tmp_path, CLONE / "reframe_settings.py", foreign.checks)
    assert selected_system(ours.reframe("-l").text) == "local"


@pytest.fixture
def clone_site(tmp_path: Path) -> Path:
    """A copy of the clone's own settings, systems and references, to break."""
    for folder in ("systems", "references"):
        shutil.copytree(CLONE / folder, tmp_path / folder)
    shutil.copy(CLONE / "reframe_settings.py", tmp_path)
    (tmp_path / "checks").mkdir()
    return tmp_path


BROKEN = {
    "system-file": (
        "systems/virtual.yaml",
        "\nprovider: testbed\n",
        "\nprovidr: testbed\n",
        'found the unknown field "providr", expected a known field; did you mean "provider"?',
    ),
    "reference-file": (
        "references/virtual.yaml",
        "\n    metric: bandwidth\n",
        "\n    metrik: bandwidth\n",
        'found the unknown field "metrik", expected a known field; did you mean "metric"?',
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_stops_plain_reframe(name: str, clone_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, right, wrong, sentence = BROKEN[name]
    monkeypatch.delenv("RAILYARD_HOME", raising=False)
    ours = Site(clone_site, clone_site / "reframe_settings.py", clone_site / "checks")
    assert sentence not in ours.reframe("-l").text
    text = (clone_site / file).read_text(encoding="utf-8")
    assert right in text
    (clone_site / file).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    stopped = ours.reframe("-l", "--system", "virtual")
    assert stopped.code == 1
    assert "Traceback" not in stopped.text
    assert sentence in stopped.text


def test_references_that_are_missing_stop_plain_reframe(clone_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAILYARD_HOME", raising=False)
    (clone_site / "references/virtual.yaml").unlink()
    ours = Site(clone_site, clone_site / "reframe_settings.py", clone_site / "checks")
    stopped = ours.reframe("-l", "--system", "virtual")
    assert stopped.code == 1
    assert "Traceback" not in stopped.text
    assert "systems/virtual.yaml: report_only: found no references/virtual.yaml, expected references" in stopped.text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("-c", "checks", "-R", "-r"), "-c checks: found no such file or folder, expected checks; leave out -c"),
        (("-n", "Nosuch", "-r"), "no check fits these options; type: railyard matrix --system local --why"),
        pytest.param(
            ("-n", "Nosuch", "--dry-run"),
            "no check fits these options; type: railyard matrix --system local --why",
            marks=pytest.mark.full,  # as with -r
        ),
    ],
)
def test_plain_reframe_that_selects_nothing(
    options: tuple[str, ...], sentence: str, clone_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAILYARD_HOME", raising=False)
    (clone_site / "checks").rmdir()
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "reframe_settings.py", *options],
        cwd=clone_site, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert f"nothing was selected, so nothing was measured: {sentence}" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "Ran 0/0" not in done.stdout


def test_an_empty_run_of_another_suites_system_is_not_ours(plain_site: Site, clone_site: Path) -> None:
    options = ("-C", str(clone_site / "reframe_settings.py"), "-r", "-n", "Nosuch")
    assert plain_site.reframe(*options, "--system", "local").code == 1
    assert plain_site.reframe(*options, "--system", "tiny").code == 0


# --- `railyard run` itself --------------------------------------------------------------------------------------------

SYSTEM = """\
system: tiny
description: This host, without a network
provider: nodes
scheduler: local
launcher: local
nodes: {names: [localhost]}
report_only: nothing is measured here
fabrics:
  net:
    description: Nothing at all
    kind: tcp
    link: {name: none, data_rate_gbit_s: null, source: nothing is measured here}
    rails: [{device: lo, counters: none}]
stacks:
  openmpi:
    prefix: .
    benchmarks: {imb: /bin/true}
time_limit: 20s
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = site(tmp_path_factory.mktemp("home"), {"healthy.py": HEALTHY, "fixture.py": LOST["fixture"].text}).folder
    shutil.copy(CLONE / "reframe_settings.py", folder)
    (folder / "references").mkdir()
    (folder / "systems").mkdir()
    (folder / "systems/tiny.yaml").write_text(SYSTEM, encoding="utf-8")
    return folder


def railyard_run(home: Path, *options: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "railyard", "run", "--system", "tiny", *options],
        env={**os.environ, "RAILYARD_HOME": str(home)}, cwd=home, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


UNJUDGED = "found an option that switches verdicts off, expected every test to be judged; leave it out"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("-n", "Unhealthy"),
            '-n Unhealthy: found no check "Unhealthy", expected the class of a check; did you mean "Healthy"?',
        ),
        (("-S", "nosuch=3"), f"-S nosuch: found no check that has 'nosuch', {IGNORED}"),
        (("--skip-sanity-check",), f"--skip-sanity-check: {UNJUDGED}"),
        (("--skip-performance-check",), f"--skip-performance-check: {UNJUDGED}"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_front_refuses(options: tuple[str, ...], sentence: str, home: Path) -> None:
    code, out, err = railyard_run(home, *options)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"railyard: {sentence}"


def test_the_front_fails_a_run_with_lost_checks(home: Path) -> None:
    code, out, err = railyard_run(
        home, *(("-P", "rails=1") if has(VERSION, CHOSEN_PARAMETERS) else ("-E", "rails == 1"))
    )
    assert (code, err) == (1, "")
    lost = [f"checks/{sentence.replace('+gnu', '+openmpi')}" for sentence in LOST["fixture"].sentences]
    assert [line for line in out.splitlines() if line.startswith("warning: ")] == [f"warning: {line}" for line in lost]
    # The check passed in ReFrame, but nobody judged it.
    assert "1 test: 0 pass, 1 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested" in out.splitlines()


# --- the table in the documentation -----------------------------------------------------------------------------------


def test_the_documentation_names_tests_that_exist() -> None:
    table = (CLONE / "docs/reference/silent-passes.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+(?:\[[^\]`]+\])?)`", table))
    cases = {
        "test_figure": ROWS,
        "test_a_lost_check_is_named": LOST,
        "test_a_broken_file_stops_plain_reframe": BROKEN,
        "test_a_skipped_stage": ("sanity", "performance"),
    }
    functions = {name for name in globals() if name.startswith("test_")}
    assert sorted(named - functions - {f"{name}[{case}]" for name, names in cases.items() for case in names}) == []
    rows = {f"test_figure[{row}]" for row in ROWS if not row.startswith("healthy")}
    rows |= {f"test_a_lost_check_is_named[{name}]" for name in LOST}
    assert sorted(rows - named) == []
    assert sorted(functions - {name.partition("[")[0] for name in named}) == [
        "test_the_documentation_names_tests_that_exist"
    ]
