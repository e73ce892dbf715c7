"""Synthetic runs of a synthetic system: six good runs over three pairs of nodes, and the changes of a test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.results.record.form import (
    BandRecord,
    CurveRecord,
    NodeGroup,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    VerdictRecord,
)
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.records import made_record

SITE = """\
system: site
description: A made cluster
modules_system: lmod
nodes: {count: 16}
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
TABLE = """\
# Of the vendor, and what we made of it.
system: site
entries:
  # what was signed
  - id: edr-bw
    fabric: edr
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: contract
    value: 12000
    sizes: {from: 4M}
    tolerance: {low: 0.02}
    source:
      document: the tender
      date: 2025-01-01

# the end
"""
SIZES = (1, 65536, 4194304)
RATES = (5.0, 11000.0, 12100.0)


def run(number: int, **changes: object) -> Record:
    """Return the record of one run: 0.1 % faster than the one before, on the next pair, two jobs a day."""
    pair = (("n1", "n2"), ("n3", "n4"), ("n5", "n6"))[number % 3]
    factor = 1 + (number - 2) / 1000
    made = made_record(
        run=f"2026110{1 + number // 2}T0{number}0000Z-aa{number:02}",
        time=f"2026-11-0{1 + number // 2}T0{number}:00:00Z",
        case="OsuBandwidth %rails=1 @site:edr+hpcx",
        check="OsuBandwidth",
        system="site",
        fabric="edr",
        stack="hpcx",
        benchmark="osu/osu_bw",
        verdict=VerdictRecord("bandwidth holds edr-bw"),
        policy="single",
        nodes=pair,
        curves=(CurveRecord("bandwidth", "MB/s", SIZES, tuple(rate * factor for rate in RATES)),),
        path_proof=PathProofRecord(
            "proven", "all on mlx5_0", 1, (NodeTraffic("n1", (RailTraffic("mlx5_0", True, 1, 1, 1.0),)),)
        ),
        environment={"mpi": "mpirun (Open MPI) 4.1.5"},
        scheduler="slurm",
        job_id=str(100 + number),
        benchmark_version="7.4",
        hardware=(
            NodeGroup(
                pair,
                {"kernel": "6.1.0", "processor": "EPYC 9354: 32 cores", "smt": "off"},
                {"mlx5_0": {"firmware": "20.31.1014", "driver": "mlx5_core", "driver_version": "5.8"}},
            ),
        ),
    )
    return made.with_fields(**changes)


RUNS = tuple(run(number) for number in range(6))


@pytest.fixture
def made_run() -> Callable[..., Record]:
    """Return a function that returns the run with a number, with these fields changed."""
    return run


@pytest.fixture
def made_runs() -> tuple[Record, ...]:
    """Six good runs."""
    return RUNS


@pytest.fixture
def bands() -> Callable[[str, float], tuple[CurveRecord, ...]]:
    """Return a function that returns the curves of a run, with one band of a kind and a floor."""

    def with_band(kind: str, low: float) -> tuple[CurveRecord, ...]:
        band = BandRecord("x", kind, "s", SIZES, (None, None, low), (None,) * 3)
        return (CurveRecord("bandwidth", "MB/s", SIZES, RATES, bands=(band,)),)

    return with_band


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site folder with the synthetic system and its table."""
    for name, text in (("systems", SITE), ("references", TABLE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "site.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def system(site: Path) -> System:
    return load_system(site / "systems" / "site.yaml")
