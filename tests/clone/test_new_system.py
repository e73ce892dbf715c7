"""A trial: a new cluster needs only two YAML files, and all tests of the clone still pass."""

import re
import socket
from pathlib import Path

import pytest

from tests.made.clone import copy_of_clone, run_module

#: As a site would write it: two NDR rails, Slurm, one stack from a module and one that Spack builds; this host is one
#: of its hosts.
SYSTEM = """\
# yaml-language-server: $schema=schema.json
system: rivendell
description: 64 nodes with two NDR cards each, under Slurm
hostnames: [{host}]
scheduler: slurm
launcher: srun
jobs: {{account: ops, partition: batch, max_pending: 2h}}
nodes: {{count: 64, exclusive: true}}
report_only: false
fabrics:
  ndr:
    description: Two ConnectX-7 a node, each to a plane of its own
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    rails:
      - {{device: mlx5_0, port: 1, counters: mlx5}}
      - {{device: mlx5_1, port: 1, counters: mlx5}}
  eth:
    description: Management
    kind: tcp
    link: eth-25
    rails:
      - {{device: eno1, counters: netdev}}
stacks:
  openmpi: {{prefix: /apps/openmpi/5.0.6, benchmarks: {{osu: /apps/osu/mpi}}}}
  hpcx: {{prefix: /apps/hpcx/2.20, spack: {{benchmarks: [osu, imb]}}}}
disabled:
  - {{fabric: eth, reason: the management network carries no MPI}}
time_limit: 15m
"""
REFERENCES = """\
# yaml-language-server: $schema=schema.json
system: rivendell
sources:
  acceptance: {document: acceptance protocol, date: 2026-09-14, hardware: 64 nodes with two ConnectX-7 each}
  sheet: {document: the vendor's data sheet, date: 2026-05-01, hardware: ConnectX-7}
entries:
  - {id: one-rail, fabric: ndr, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s, kind: contract,
     floor: 46000, sizes: {from: 1M}, source: {of: acceptance, at: section 4.2}}
  - {id: two-rails, fabric: ndr, rails: 2, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s, kind: contract,
     value: 94200, tolerance: {low: 0.04}, sizes: {from: 4M}, source: {of: acceptance, at: section 4.3}}
  - {id: latency, fabric: ndr, rails: 1, benchmark: osu/osu_latency, metric: latency, unit: us, kind: published,
     value: 1.35, tolerance: {high: 0.15}, sizes: {to: 8}, source: {of: sheet, at: table 2}}
"""
#: A test that looks at every system's file, whatever its name.
EVERY_SYSTEM = re.compile(
    r'load_systems\((?:ROOT / "systems"|find_home\(.*)\)(?:\.values\(\)|$)|ROOT\.glob\("systems', re.MULTILINE
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clone with two more files."""
    clone = copy_of_clone(tmp_path_factory.mktemp("trial"))
    (clone / "systems/rivendell.yaml").write_text(SYSTEM.format(host=f'"{re.escape(socket.gethostname())}"'))
    (clone / "references/rivendell.yaml").write_text(REFERENCES)
    return clone


def test_its_files_are_without_problem(clone: Path) -> None:
    done = run_module(clone, "railyard", "lint", "--system", "rivendell")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("3 entries of 1 system: 0 files refused, 0 problems, ")


def test_its_tests_are_those_of_its_rails_and_stacks(clone: Path) -> None:
    done = run_module(clone, "railyard", "matrix", "--why", "--system", "rivendell")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^OsuBandwidth +1 2", done.stdout, re.MULTILINE)
    assert "\nstriping over several rails: openmpi" in done.stdout
    assert "disabled: the management network carries no MPI (" in done.stdout
    listed = run_module(clone, "railyard", "run", "--system", "rivendell", "-l", "-n", "OsuBandwidth")
    assert "OsuBandwidth %rails=1" in listed.stdout and "OsuBandwidth %rails=2" in listed.stdout, listed


@pytest.mark.full  # reads and runs what a contributor would run: seconds
def test_no_test_of_the_clone_turns_red(clone: Path) -> None:
    every = [
        str(path.relative_to(clone))
        for path in sorted((clone / "tests").rglob("test_*.py"))
        if EVERY_SYSTEM.search(path.read_text(encoding="utf-8")) and "e2e" not in path.parts
    ]
    assert {"tests/site/test_published.py", "tests/rfm/test_settings.py", "tests/job/test_launch.py"} <= set(every)
    done = run_module(clone, "pytest", "-q", "-p", "no:cacheprovider", *every)
    assert done.returncode == 0, done.stdout
