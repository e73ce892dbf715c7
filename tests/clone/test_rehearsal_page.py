"""docs/reference/rehearsals.md shows exactly the rehearsals that the tests run."""

from dataclasses import replace

import pytest

from railyard.provision.rehearsal.faults import GRAMMAR, plant_faults
from railyard.provision.rehearsal.nodes import site_nodes
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.load import load_system
from tests.e2e import rehearsals

HOW_TO = rehearsals.CLONE / "docs/howto/rehearsal.md"


def test_the_tables_of_the_page_are_those_of_the_files() -> None:
    page = rehearsals.PAGE.read_text(encoding="utf-8")
    assert rehearsals.with_tables(page) == page, "type: python -m tests.e2e.rehearsals"


def test_each_rehearsed_system_is_a_file_and_each_fault_can_be_planted_in_it() -> None:
    files = [path for site in rehearsals.SITES for path in (site / "systems").glob("*.yaml")]
    slurm = {path.stem for path in files if is_slurm(load_system(path).scheduler)}
    synthetic = {path.stem for path in files if path.is_relative_to(rehearsals.SITES[0])}
    assert synthetic <= set(rehearsals.systems()) <= slurm
    for one in rehearsals.all_rehearsals():
        system = load_system(rehearsals.file_of(one.system, "systems"))
        plant_faults([one.fault] if one.fault else [], system, site_nodes(system))


def test_each_form_of_a_fault_has_its_plain_words() -> None:
    for form in GRAMMAR:
        assert rehearsals.Rehearsed("any", fault=form, says="x", nobody="y").kind


def test_the_how_to_has_a_row_of_each_form_of_a_fault() -> None:
    rows = [line for line in HOW_TO.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for form in GRAMMAR:
        subject, what = form.partition("=")[0], form.partition(",")[2] or "fallback=tcp"
        assert any(line.startswith(f"| `{subject}=") and f"{what}` |" in line for line in rows), form


def test_a_rehearsal_that_could_not_fail_is_refused() -> None:
    fine = rehearsals.Rehearsed("any", fault="fallback=tcp", says="x", nobody="y")
    for wrong in ({"says": ""}, {"nobody": ""}, {"tests": 3}, {"fault": ""}):
        with pytest.raises(ValueError, match=r"planted/any\.yaml"):
            replace(fine, **wrong)
