"""HPL's problem from a system's file, and the sentences if the file does not have it."""

from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.hpl import SHARE_OF_LIMIT, Times, Wish, plan, plan_size, stated_hardware
from railyard.hardware.node import NodeHardware
from railyard.site.site import site_at
from railyard.site.systems.jobs import SchedulerSettings
from railyard.site.systems.model import System
from railyard.verdict.applications import ceiling_of_nodes, peak_gflop_s
from railyard.verdict.wording.run_rules import Ceiling

ROOT = Path(__file__).resolve().parents[3]


def share_of_limit(system: System) -> float:
    """Return the seconds that a check of HPL takes if none are given."""
    return SHARE_OF_LIMIT * system.limit_s("app")


def test_the_virtual_cluster_solves_within_an_eighth_of_its_limit() -> None:
    virtual = site_at(ROOT, "virtual").system
    made = plan(stated_hardware(virtual.nodes.hardware, "virtual"), 4, 1, budget_s=share_of_limit(virtual))
    assert (made.order, made.rows, made.columns, made.bound) == (4416, 2, 2, "time")
    assert made.sentence == (
        "N 4416 by a time budget of 15.00 s at 4.000 Gflop/s (the memory would allow 21888), on a grid of 2x2, NB 192"
    )


def test_the_limit_is_that_of_applications() -> None:
    limits = SchedulerSettings.model_validate({"time_limits": {"micro": "1m", "app": "16m"}})
    found = site_at(ROOT, "virtual").system.model_copy(update={"jobs": limits})
    nodes = NodeHardware(cores=1, memory=1 << 30)
    assert "by a time budget of 120.0 s" in plan(nodes, 4, 1, budget_s=share_of_limit(found)).sentence


def test_a_clock_says_how_fast_it_will_be() -> None:
    fast = NodeHardware(cores=1, memory=1 << 30, base_ghz=2.0, flop_per_cycle=16)
    assert plan(fast, 4, 1, budget_s=15.0).sentence.startswith("N 11136 by a time budget of 15.00 s at 64.00 Gflop/s ")
    assert plan(fast, 4, 1, budget_s=1.0, wish=Wish(64, order=384, grid="1x4")).sentence == (
        "N 384 as asked, on a grid of 1x4, NB 64"
    )


@pytest.mark.parametrize(
    ("usual_s", "budget_s", "predicted_s", "limit_s"),
    [(120, 20.0, 19.3, 0), (120, 50.0, 43.7, 240), (600, 200.0, 185.5, 0), (600, 280.0, 280.0, 720)],
)
def test_a_run_at_half_its_speed_has_time_to_start_too(
    usual_s: float, budget_s: float, predicted_s: float, limit_s: int
) -> None:
    """Before, a usual limit of 120 s was enough for a prediction of 60 s, of which a slow run takes all of it."""
    nodes = NodeHardware(cores=1, memory=64 << 30)
    found = plan_size("quick", nodes, 1, 1, times=Times(budget_s, usual_s))
    assert found.predicted_s == pytest.approx(predicted_s, rel=0.01)
    assert found.limit_s == limit_s


def test_without_memory_there_is_no_problem() -> None:
    with pytest.raises(RailyardError) as caught:
        stated_hardware(None, "virtual")
    assert str(caught.value) == (
        "systems/virtual.yaml: nodes.hardware: found none, expected cores and memory of a node, which decide HPL's "
        "problem"
    )


@pytest.mark.parametrize("grid", ["2", "2x", "x2", "0x4", "2 x 2", "2x2x1"])
def test_a_grid_that_is_none_is_named(grid: str) -> None:
    with pytest.raises(RailyardError) as caught:
        plan(NodeHardware(cores=1, memory=1 << 30), 4, 1, budget_s=15.0, wish=Wish(grid=grid))
    assert str(caught.value) == f'HPL: found a grid of "{grid}", expected P and Q such as 2x3'


def test_a_peak_is_at_the_base_clock_and_the_most_at_the_highest() -> None:
    hardware = NodeHardware(cores=32, memory=1 << 37, base_ghz=2.0, turbo_ghz=3.5, flop_per_cycle=32)
    assert peak_gflop_s(hardware, 2) == 2 * 32 * 32 * 2.0
    assert ceiling_of_nodes(hardware, 2, "here") == Ceiling(
        2 * 32 * 32 * 3.5, "Gflop/s", "2 nodes of 32 cores x 32 flop x 3.5 GHz (turbo)", "here"
    )
    cards = hardware.model_copy(update={"accelerator_gflop_s": 9700.0})
    assert peak_gflop_s(cards, 1) == 2048.0 + 9700.0
    found = ceiling_of_nodes(cards, 1, "here")
    assert found is not None
    assert found.terms == "1 node of 32 cores x 32 flop x 3.5 GHz (turbo) + 9700 Gflop/s"


@pytest.mark.parametrize("lacking", ["turbo_ghz", "flop_per_cycle"])
def test_what_is_not_stated_bounds_nothing(lacking: str) -> None:
    stated: dict[str, Any] = {"cores": 1, "memory": 1 << 30, "base_ghz": 2.0, "turbo_ghz": 3.0, "flop_per_cycle": 8}
    assert ceiling_of_nodes(NodeHardware(**{**stated, lacking: None}), 4, "here") is None
    assert ceiling_of_nodes(None, 4, "here") is None
    assert peak_gflop_s(None, 4) is None
