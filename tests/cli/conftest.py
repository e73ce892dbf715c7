"""A made site with stored runs and outputs, for the examples of the commands and for what they answer."""

import json
import shutil
from pathlib import Path

import pytest

from railyard.base.numbers import powers_of_two
from railyard.base.paths import HOME_VARIABLE
from railyard.benchmarks.model import Figure
from railyard.parsers.pairs import parse
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import (
    CurveRecord,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    VerdictRecord,
)
from railyard.verdict.blame.node_pairs import next_step, rounds_text
from railyard.verdict.blame.search.model import Settings, Step
from tests.cli.commands.test_pairs import TEXT, one_pair_rounds, slow
from tests.made import nccl_pair_logs
from tests.made.records import made_record

ROOT = Path(__file__).parents[2]
MADE = ROOT / "tests" / "parsers" / "made"
SYSTEM = """\
system: mycluster
description: 16 nodes with EDR and FDR, made up for tests
scheduler: slurm
launcher: srun
modules_system: lmod
jobs: {exclusive: true}
nodes: {count: 16}
report_only: nobody has written its references yet
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5},
        {device: mlx5_1, counters: mlx5}]}
  fdr: {description: FDR, kind: ib, link: ib-fdr, rails: [{device: mlx4_0, counters: mlx4}]}
stacks:
  openmpi: {modules: [openmpi/5], benchmarks: {osu: /opt/osu}, spack: {benchmarks: [osu], use: asked}}
"""
#: A healthy osu_bw over EDR: n bytes take 0.2 us and n / 12400 MB/s, from 1 MiB on n / 12400 MB/s alone.
OSU_BW = "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{size:<10}{size / ((0 if size >= 1 << 20 else 0.2) + size / 12400):20.2f}\n" for size in powers_of_two(4 << 20)
)
SIZES = (1, 65536, 4194304)
#: MB/s at these sizes.
RATES = {"edr": (4.1, 11020.0, 12400.0), "fdr": (3.9, 5800.0, 6300.0)}


def record(run: str, number: int, fabric: str, rails: int) -> Record:
    """Return a good measurement of osu_bw, 0.1 % faster than that of the run before."""
    factor = rails * (1 + number / 1000)
    rates = tuple(rate * factor for rate in RATES[fabric])
    pair = (("n1", "n2"), ("n3", "n4"), ("n5", "n6"))[number % 3]
    return made_record(
        run=run,
        time=f"{run[:4]}-{run[4:6]}-{run[6:8]}T{run[9:11]}:00:00Z",
        case=f"OsuBandwidth %rails={rails} @mycluster:{fabric}+openmpi",
        check="OsuBandwidth",
        system="mycluster",
        fabric=fabric,
        stack="openmpi",
        rails=rails,
        policy="single" if rails == 1 else "striping",
        benchmark="osu/osu_bw",
        verdict=VerdictRecord("bandwidth holds all references"),
        nodes=pair,
        figures=(Figure("peak", rates[-1], "MB/s", SIZES[-1]),),
        curves=(CurveRecord("bandwidth", "MB/s", SIZES, rates),),
        path_proof=PathProofRecord(
            "proven", "all on mlx5_0", 1, (NodeTraffic("n1", (RailTraffic("mlx5_0", True, 1, 1, 1.0),)),)
        ),
        environment={"kernel": "6.1"},
        scheduler="slurm",
        job_id=str(100 + number),
        benchmark_version="7.4",
    )


def sweep(run: str, nodes: int, rate: float) -> Record:
    """Return one point of a sweep over nodes."""
    return record(run, 0, "edr", 1).with_fields(
        case=f"NpbScaling %kernel=FT %nodes={nodes} %rails=1 @mycluster:edr+openmpi",
        check="NpbScaling",
        benchmark=f"npb/FT/C/{nodes}-nodes",
        state="report-only",
        figures=(),
        curves=(CurveRecord("op_rate", "Mop/s", (0,), (rate,)),),
    )


def fill(home: Path) -> None:
    """Make a site with the system mycluster, the published one dell-c6320, ten runs, and outputs beside them."""
    for folder in ("systems", "references"):
        (home / folder).mkdir(parents=True)
        for name in ("dell-c6320", "survey-2004", "virtual"):
            if (ROOT / folder / f"{name}.yaml").exists():
                shutil.copy(ROOT / folder / f"{name}.yaml", home / folder)
    shutil.copytree(ROOT / "references" / "classes", home / "references" / "classes")
    shutil.copytree(ROOT / "recordings" / "dell-c6320", home / "recordings" / "dell-c6320")
    shutil.copy(ROOT / "reframe_settings.py", home)
    (home / "own").mkdir()
    shutil.copy(ROOT / "checks/microbench/osu.py", home / "own")
    (home / "systems" / "mycluster.yaml").write_text(SYSTEM, encoding="utf-8")
    runs = [f"202611{day}T{hour:02}0000Z-aa{hour:02}" for day in (14, 21) for hour in range(1, 6)]
    for number, run in enumerate(runs):
        kept = home / ".railyard" / "runs" / run / FILE_NAME
        for fabric, rails in (("edr", 1), ("edr", 2), ("fdr", 1)):
            append_record(kept, record(run, number, fabric, rails))
        for nodes, rate in ((1, 400.0), (2, 760.0), (4, 1400.0)):
            append_record(kept, sweep(run, nodes, rate))
    (home / "osu_bw.out").write_text(OSU_BW, encoding="utf-8")
    (home / "outputs").mkdir()
    (home / "outputs" / "osu_bw.out").write_text(OSU_BW, encoding="utf-8")
    shutil.copy(MADE / "nccl-json.txt", home / "nccl.log")
    shutil.copy(MADE / "ibstat-two-adapters.txt", home / "ibstat.txt")
    with (home / "november.json").open("w", encoding="utf-8") as out:
        json.dump({"format": 1, "records": [record("20261101T010000Z-aa01", 0, "edr", 1).to_json()]}, out)
    (home / "all.out").write_text(slow(TEXT), encoding="utf-8")
    step = next_step(parse(slow(TEXT)).tables, Settings(), None)
    assert isinstance(step, Step)
    rounds = rounds_text(step.rounds, step.repeats)
    (home / "step2.out").write_text(one_pair_rounds(rounds, {"slow": "10.00", "good": "40.00"}), encoding="utf-8")
    (home / "logs").mkdir()
    for log in nccl_pair_logs.logs(nccl_pair_logs.names(4), nccl_pair_logs.healthy, (8,)):
        (home / "logs" / log.name).write_text(log.text, encoding="utf-8")


@pytest.fixture(scope="module")
def filled_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a site, one for all tests of a module."""
    home = tmp_path_factory.mktemp("site")
    fill(home)
    return home


@pytest.fixture
def site(filled_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the site, which is the folder of the site and of the shell."""
    home = tmp_path / "site"
    shutil.copytree(filled_site, home)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.chdir(home)
    monkeypatch.setenv("NO_COLOR", "1")
    return home
