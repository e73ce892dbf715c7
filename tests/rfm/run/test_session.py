"""One `railyard run`: which options only list, what is missing in a run, and the sentences before it starts."""

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.rfm.checks.catalogue import needs
from railyard.rfm.run import session as sessions
from railyard.rfm.run.options import LEFT_OUT
from railyard.rfm.run.session import Session, SessionOptions, pass_through
from railyard.site.matrix import Cell, Need, matrix
from railyard.site.references.load import references_of
from railyard.site.site import Site, site_at
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System
from railyard.site.test_id import TestId, of_name

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = SessionOptions(system=None, full=False, failed=False, reframe=())


@pytest.fixture(scope="module")
def virtual() -> Site:
    """The committed cluster: its references are those of the home."""
    return site_at(ROOT, "virtual")


# What the matrix promises and ReFrame does not


def promised_tests(system: System, *, parameter: str = "", named: bool = False) -> tuple[TestId, ...]:
    """Return a case for each cell that runs, with or without a named rail policy, as ReFrame lists them."""
    return tuple(
        of_name(
            f"{cell.test.check}{parameter} %rails={cell.test.rails}{f' %policy={cell.test.policy}' if named else ''}",
            *("0a1b2c3d", system.system, cell.test.fabric, cell.test.stack),
        )
        for cell in matrix_of(system)
        if cell.reason is None and cell.named == named
    )


def matrix_of(system: System) -> tuple[Cell, ...]:
    """Return the whole product of a system and the clone's checks."""
    return matrix(system, checks(), references_of(ROOT / "references", system).has_number)


@cache
def checks() -> tuple[Need, ...]:
    """Return what the clone's checks ask for; reading their files takes half a second."""
    return needs(ROOT / "checks")


def missing_cells(
    of: System, cases: tuple[TestId, ...], folder: Path, home: Path = ROOT, **options: Any
) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the problems, and the cells that were kept for the report."""
    made = Session(home, replace(OPTIONS, **options), echo=lambda text: None)
    problems, _ = made._missing_cells(of, folder, cases)
    kept = folder / "matrix.json"
    return problems, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []


def test_nothing_is_missing_where_every_cell_is_promised(virtual: Site, tmp_path: Path) -> None:
    cases = promised_tests(virtual.system)
    problems, cells = missing_cells(virtual.system, cases, tmp_path)
    assert problems == ()
    assert (len(cells), sum(cell["reason"] is None for cell in cells)) == (len(matrix_of(virtual.system)), len(cases))
    assert list(cells[0]) == ["fabric", "stack", "rails", "benchmark", "check", "reason"]


def test_a_check_that_reframe_passed_over_is_a_problem_a_cell(virtual: Site, tmp_path: Path) -> None:
    cases = tuple(case for case in promised_tests(virtual.system) if not case.name.startswith("Netpipe"))
    problems, cells = missing_cells(virtual.system, cases, tmp_path)
    assert len(problems) == 9
    assert problems[0] == (
        "NetpipePingPong with openmpi over 1 of hsn should run according to the matrix, but ReFrame did not load it"
    )
    # The report must miss them too: a reason would excuse them.
    assert sum(cell["reason"] is None and cell["check"].startswith("Netpipe") for cell in cells) == 9


def test_one_rail_count_that_is_missing_is_a_problem(virtual: Site, tmp_path: Path) -> None:
    lost = of_name("ImbUniband %rails=2", "0a1b2c3d", "virtual", "hsn", "mpich")
    cases = tuple(case for case in promised_tests(virtual.system) if case != lost)
    assert missing_cells(virtual.system, cases, tmp_path)[0] == (
        "ImbUniband with mpich over 2 of hsn should run according to the matrix, but ReFrame did not load it",
    )


def test_a_rail_policy_that_is_missing_is_a_problem(tmp_path: Path) -> None:
    """Names distinguish the tests of a policy from those that leave it to the stack."""
    qdr = load_systems(ROOT / "systems")["dual-rail-qdr"]
    unnamed = promised_tests(qdr)
    problems = missing_cells(qdr, unnamed, tmp_path)[0]
    assert {problem.partition(" of qdr")[2] for problem in problems} == {
        f" by {policy} should run according to the matrix, but ReFrame did not load it"
        for policy in ("round-robin", "striping-8K")
    }
    assert missing_cells(qdr, (*unnamed, *promised_tests(qdr, named=True)), tmp_path)[0] == ()
    # If a stack's own policy is requested by name, its cell is there.
    asked = tuple(replace(case, name=f"{case.name} %policy=striping") for case in unnamed if "%rails=2" in case.name)
    assert not any("over 2 of qdr should" in problem for problem in missing_cells(qdr, asked, tmp_path)[0])


def test_a_checks_own_parameters_hide_no_cell(virtual: Site, tmp_path: Path) -> None:
    cases = promised_tests(virtual.system, parameter=" %depth=3")
    assert missing_cells(virtual.system, cases, tmp_path)[0] == ()


@pytest.mark.parametrize("options", [{"reframe": ("-n", "Uniband")}, {"failed": True}, {"system": "virtual:eth"}])
def test_what_options_left_out_is_no_problem_and_says_so(
    virtual: Site, tmp_path: Path, options: dict[str, Any]
) -> None:
    cases = tuple(case for case in promised_tests(virtual.system) if case.name.startswith("ImbUniband"))
    problems, cells = missing_cells(virtual.system, cases, tmp_path, **options)
    assert problems == ()
    assert sum(cell["reason"] is None for cell in cells) == len(cases) == 6
    left = [cell["reason"] for cell in cells if cell["reason"] in ("not selected by this run's options", LEFT_OUT)]
    assert left.count("not selected by this run's options") >= 27
    assert len(left) == len(promised_tests(virtual.system)) + len(promised_tests(virtual.system, named=True)) - 6


def test_every_size_and_a_whole_system_leave_nothing_out(virtual: Site, tmp_path: Path) -> None:
    assert len(missing_cells(virtual.system, (), tmp_path, full=True, system="virtual")[0]) == 33


def test_a_check_file_that_does_not_import_is_a_problem(virtual: Site, tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    bad = tmp_path / "checks" / "bad.py"
    bad.write_text("import no_such_module\n", encoding="utf-8")
    assert missing_cells(virtual.system, (), tmp_path, home=tmp_path) == (
        (f"{bad}: found ModuleNotFoundError: No module named 'no_such_module', expected a check that imports",),
        [],
    )


# Before anything is started


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"system": "virtul"}, '--system: found "virtul", expected a file in systems/; did you mean "virtual"?'),
        ({"system": "virtual:hns"}, '--system: found fabric "hns", expected one of virtual; did you mean "hsn"?'),
        ({"system": "virtual:"}, '--system: found fabric "", expected one of virtual; known: eth, hsn'),
        (
            {"reframe": ("--skip-perf",), "system": "virtual"},
            "--skip-performance-check: found an option that switches verdicts off, expected every test to be judged; "
            "leave it out",
        ),
    ],
)
def test_wrong_options_are_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], sentence: str
) -> None:
    monkeypatch.delattr(sessions, "promised_cases")
    with pytest.raises(RailyardError) as caught:
        Session(ROOT, replace(OPTIONS, **options), echo=lambda text: None).run()
    assert str(caught.value) == sentence


def test_a_listing_of_an_unknown_system_is_refused() -> None:
    with pytest.raises(
        RailyardError, match=r'^--system: found "lokal", expected a file in systems/; did you mean "local"'
    ):
        pass_through(ROOT, replace(OPTIONS, system="lokal", reframe=("-l",)), lambda text: None)


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_variable_without_effect_is_refused_in_a_run_and_in_a_dry_run(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    cases = (of_name("Hpl %rails=1", "0a1b2c3d", "virtual", "veth", "openmpi"),)

    def list_cases(command: object, env: object) -> Any:
        return cases, ()

    def with_cases(command: object, env: object, echo: object, before: Any) -> Any:
        before(cases)

    monkeypatch.setattr(sessions, "promised_cases", list_cases)
    monkeypatch.setattr(sessions, "dry_run", with_cases)
    options = replace(OPTIONS, system="virtual", reframe=(*words, "-n", "^Hpl%", "-S", "window=64"))
    with pytest.raises(RailyardError, match=r"^-S window=64: found a variable that does not change Hpl, expected one"):
        if words:
            pass_through(ROOT, options, lambda text: None)
        else:
            Session(ROOT, options, echo=lambda text: None).run()


def test_failed_without_an_earlier_run_is_refused(tmp_path: Path) -> None:
    for folder in ("systems", "references"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    with pytest.raises(RailyardError, match="found no earlier run, expected one to repeat the failures of"):
        Session(tmp_path, replace(OPTIONS, system="local", failed=True), echo=lambda text: None).run()


def test_without_namespaces_the_host_stands_in_and_says_what_is_not_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    seen: list[list[str]] = []

    def stop(command: list[str], env: dict[str, str]) -> Any:
        seen.append(command)
        raise RailyardError("stop here")

    monkeypatch.setattr(sessions, "namespaces_refused", lambda: "the kernel refuses user namespaces")
    monkeypatch.setattr(sessions, "promised_cases", stop)
    with pytest.raises(RailyardError, match=r"^stop here$"):
        Session(ROOT, replace(OPTIONS, full=True), echo=said.append).run()
    assert said == [
        "no virtual cluster here: the kernel refuses user namespaces",
        "running the system local in its place: one node, so that rails, striping, path proof, failing rails and every "
        "bandwidth between nodes are NOT tested",
    ]
    assert seen[0][seen[0].index("--system") + 1 :] == ["local", "-S", "full=1", "-T", "^extended$"]


# Progress
