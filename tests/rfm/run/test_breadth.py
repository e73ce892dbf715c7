"""Tests of what an everyday run leaves out."""

import pytest

from railyard.rfm.run.breadth import everyday_words, leaves_out_extended
from railyard.site.systems.load import find_system
from railyard.site.systems.model import System
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def virtual() -> System:
    return find_system(ROOT / "systems", "virtual")


@pytest.mark.parametrize(
    "options",
    [[], ["-p", "mpich"], ["-P", "rails=2"], ["-S", "full=1"], ["-x", "ImbBiband"], ["--prgenv=openmpi"], ["-T", "no"]],
)
def test_a_run_that_names_no_test_leaves_the_extended_ones_out(virtual: System, options: list[str]) -> None:
    assert leaves_out_extended(virtual, options, extended=False)


@pytest.mark.parametrize(
    "options",
    [["-n", "Imb"], ["-nImb"], ["--name=Imb"], ["-t", "extended"], ["-textended"], ["--tag", "osu"], ["-E", "has_tag"],
     ["--restore-session=x.json", "--failed"]],
)  # fmt: skip
def test_a_run_that_names_tests_has_those_that_it_names(virtual: System, options: list[str]) -> None:
    assert not leaves_out_extended(virtual, options, extended=False)


def test_extended_has_all(virtual: System) -> None:
    assert not leaves_out_extended(virtual, [], extended=True)


def test_a_replay_has_all_since_it_costs_nothing(virtual: System) -> None:
    assert not leaves_out_extended(virtual.model_copy(update={"provider": "replay"}), [], extended=False)


def test_the_words_fit_that_one_tag_alone() -> None:
    assert everyday_words() == ["-T", "^extended$"]
