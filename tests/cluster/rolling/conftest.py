"""A site of sixteen nodes on four leaf switches, under a Slurm of our own making."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cluster.rolling import run
from railyard.job import clients
from railyard.site.site import Site, site_at
from tests.made import fake_slurm

NODES = [f"n{number:02}" for number in range(1, 17)]
SYSTEM = """\
system: made
description: Sixteen nodes on four leaf switches, made for this test
scheduler: slurm-nodb
launcher: srun
access: [--mem=0]
jobs: {account: abc, exclusive: true}
nodes: {names: [NODES]}
report_only: made for this test
fabrics:
  eth:
    description: Two rails of Ethernet
    kind: tcp
    link: eth-50
    leaf_switches: {leaf1: "n[01-04]", leaf2: "n[05-08]", leaf3: "n[09-12]", leaf4: "n[13-16]"}
    rails:
      - {device: eth1, counters: netdev}
      - {device: eth2, counters: netdev}
  management:
    description: What jobs are started over
    kind: tcp
    link: eth-1
    rails:
      - {device: eth0, counters: netdev}
stacks:
  openmpi: {modules: [openmpi/5.0], benchmarks: {pairs: "{home}/railyard-pairs"}}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "site"
    (home / "systems").mkdir(parents=True)
    (home / "references").mkdir()
    (home / "systems/made.yaml").write_text(SYSTEM.replace("NODES", ", ".join(NODES)), encoding="utf-8")
    (home / "railyard-pairs").write_text("#!/bin/sh\n", encoding="ascii")
    (home / "railyard-pairs").chmod(0o755)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setattr(run, "LOOK_S", 0.0)
    monkeypatch.setattr(run, "SEEN_WITHIN_S", 0.0)
    return home


@pytest.fixture
def site(home: Path) -> Site:
    return site_at(home, "made")


@pytest.fixture
def slurm(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return what makes a Slurm on PATH, with what is planted, and returns its folder."""

    def make_bed(busy: dict[str, int] | None = None, **planted: Any) -> Path:
        bed = home.parent / "bed"
        for name, value in fake_slurm.make(bed, NODES, ["eth1", "eth2"], busy, **planted).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(clients, "client_end", lambda words: fake_slurm.answer(bed, words))
        return bed

    return make_bed
