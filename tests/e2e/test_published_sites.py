"""The systems of tests/sites/published: eleven clusters, from their public documentation.

``scripts`` has what each one's scheduler, environment and launcher get, line by line as the machine's expert reads it.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import RAILYARD
from tests.e2e.published_scripts import SITE, SYSTEMS, scripts, site_at

pytestmark = pytest.mark.e2e

#: What `make test` has of them: each scheduler, and a site that exports no variables.
EVERYDAY = ("gadi", "snellius")
CASES = [pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.full) for name in SYSTEMS]


def call(site: Path, *words: str) -> str:
    """Return what a command prints in a site; it must end well."""
    ran = subprocess.run(
        (*RAILYARD, *words), cwd=site, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_lint_finds_nothing_in_any_of_them(tmp_path: Path) -> None:
    assert len(SYSTEMS) == 11
    said = call(site_at(tmp_path / "site"), "lint")
    assert said == "0 entries of 11 systems: 0 files refused, 0 problems, 0 remarks\n"


@pytest.mark.parametrize("system", CASES)
def test_every_stack_has_tests_over_all_its_rails(tmp_path: Path, system: str) -> None:
    cells = json.loads(call(site_at(tmp_path / "site"), "matrix", "--system", system, "--json"))
    text = (SITE / f"systems/{system}.yaml").read_text(encoding="utf-8")
    stacks = re.findall(r"^  (\w+):$", text.partition("\nstacks:\n")[2], re.MULTILINE)
    run = [cell for cell in cells if cell["reason"] is None]
    rails = len(re.findall(r"\{device: ", text))
    assert {
        cell["stack"]: max(c["rails"] for c in run if c["stack"] == cell["stack"]) for cell in run
    } == dict.fromkeys(stacks, rails)


@pytest.mark.parametrize("system", CASES)
def test_the_job_scripts_are_the_golden_ones(tmp_path: Path, system: str) -> None:
    expected = (SITE / f"scripts/{system}.txt").read_text(encoding="utf-8")
    assert scripts(system, tmp_path / "site") == expected


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_line_with_a_fact_names_its_source_or_is_assumed(system: str) -> None:
    """Each number in brackets is one of the sources at the top, and each of those is used."""
    head, _, body = (SITE / f"systems/{system}.yaml").read_text(encoding="utf-8").partition("\nsystem: ")
    listed = re.findall(r"^# \[(\d)\] ", head, re.MULTILINE)
    comments = [line.partition("  # ")[2] for line in body.splitlines()]
    used = {number for comment in comments for number in re.findall(r"\[(\d)\]", comment)}
    assert listed == [str(number) for number in range(1, len(listed) + 1)]
    assert used == set(listed)
    assert "\n# Assumed: " in head
