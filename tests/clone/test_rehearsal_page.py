"""docs/reference/rehearsals.md shows exactly the rehearsals that the tests run, and each of these chooses tests."""

import re
from dataclasses import replace
from functools import cache

import pytest

from railyard.provision.rehearsal.form import GRAMMAR, plant_faults
from railyard.provision.rehearsal.nodes import SCHEDULERS, choose, site_nodes
from railyard.provision.testbed.lifecycle import ON_TESTBEDS
from railyard.rfm.checks.catalogue import needs
from railyard.rfm.run.options import leaves_out_extended, read
from railyard.site.matrix import RDMA_PORTS, Cell, matrix, partition_features
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.e2e import rehearsals

HOW_TO = rehearsals.CLONE / "docs/howto/rehearsal.md"
PLANTED_RAIL = re.compile(r"rail=[^:]+:(?P<device>[^,]+),")


@cache
def system_of(name: str) -> System:
    return load_system(rehearsals.file_of(name, "systems"))


@cache
def cells_of(name: str, nodes: int) -> tuple[Cell, ...]:
    """The cells that run on so many nodes of a system."""
    system = system_of(name)
    there = {"names": choose(system, 100_000, nodes).nodes, "count": None}
    smaller = system.model_copy(update={"nodes": system.nodes.model_copy(update=there)})
    return tuple(cell for cell in matrix(smaller, needs(rehearsals.CLONE / "checks")) if cell.reason is None)


def chosen_cells(one: rehearsals.RehearsalRow) -> list[Cell]:
    """The cells that a rehearsal's options choose, as ReFrame does: a name has rails, policy and own parameters."""
    words = read(one.run)
    everyday = leaves_out_extended(system_of(one.system), words, extended=one.extended)
    found = []
    for cell in cells_of(one.system, one.nodes):
        check, _, own = cell.test.check.partition(" ")
        policy = f"%policy={cell.test.policy}" if cell.named else ""
        name = f"{check}%rails={cell.test.rails}{policy}{own.replace(' ', '')}"
        fits = not words.name or any(re.search(pattern, name) for pattern in words.name)
        fits = fits and all(re.search(stack, cell.test.stack) for stack in words.prgenv)
        fits = fits and all(f"%{given}%" in f"{name}%" for given in words.parameterize)
        if fits and not (everyday and cell.extended):
            found.append(cell)
    return found


def states_of(one: rehearsals.RehearsalRow) -> int:
    """How many tests a rehearsal has of the state of ports, which are in no cell of the matrix: one for each fabric."""
    system = system_of(one.system)
    is_chosen = one.is_whole or any("FabricState" in name for name in read(one.run).name)
    return sum(RDMA_PORTS in partition_features(system, fabric) for fabric in system.fabrics) if is_chosen else 0


def test_the_tables_of_the_page_are_those_of_the_files() -> None:
    page = rehearsals.PAGE.read_text(encoding="utf-8")
    assert rehearsals.with_tables(page) == page, "type: python -m tests.e2e.rehearsals"


def test_each_rehearsed_system_is_a_file_and_each_fault_can_be_planted_in_it() -> None:
    files = [path for site in rehearsals.SITES for path in (site / "systems").glob("*.yaml")]
    able = {path.stem for path in files if load_system(path).scheduler in SCHEDULERS}
    assert set(rehearsals.systems()) == able, "each system, synthetic or published, has a file in planted/"
    assert {FAMILIES[system_of(name).scheduler] for name in able} == set(ON_TESTBEDS)
    for name in able:
        of_system = rehearsals.of_system(name)
        assert any(one.fault for one in of_system) and any(not one.fault for one in of_system), name
    for one in rehearsals.all_rehearsals():
        system = load_system(rehearsals.file_of(one.system, "systems"))
        plant_faults([one.fault] if one.fault else [], system, site_nodes(system))


def test_each_rehearsal_chooses_tests_that_its_system_has_and_that_meet_its_fault() -> None:
    """A name that no test has would be found only at night."""
    for one in rehearsals.all_rehearsals():
        cells = chosen_cells(one)
        assert cells, f"{one.system}: {' '.join(one.run)} chooses no test"
        if one.tests is not None:
            assert len(cells) + states_of(one) == one.tests, f"{one.system}: {' '.join(one.options)}"
        if found := PLANTED_RAIL.match(one.fault):
            fabrics = system_of(one.system).fabrics
            used = {
                rail.name
                for cell in cells
                for rail in fabrics[cell.test.fabric].used_rails(cell.test.rails, cell.test.policy)
            }
            assert any(name.partition(":")[0] == found["device"] or name == found["device"] for name in used), one


def test_each_form_of_a_fault_has_its_plain_words() -> None:
    for form in GRAMMAR:
        assert rehearsals.RehearsalRow("any", fault=form, says="x", nobody="y").kind


def test_the_how_to_has_a_row_of_each_form_of_a_fault() -> None:
    rows = [line for line in HOW_TO.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for form in GRAMMAR:
        subject, what = form.partition("=")[0], form.partition(",")[2] or "fallback=tcp"
        assert any(line.startswith(f"| `{subject}=") and f"{what}` |" in line for line in rows), form


def test_a_rehearsal_that_could_not_fail_is_refused() -> None:
    fine = rehearsals.RehearsalRow("any", fault="fallback=tcp", says="x", nobody="y")
    for wrong in ({"says": ""}, {"nobody": ""}, {"tests": 3}, {"fault": ""}):
        with pytest.raises(ValueError, match=r"planted/any\.yaml"):
            replace(fine, **wrong)
