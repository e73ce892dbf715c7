"""The check FabricState through ReFrame, on this host with a synthetic sysfs: its record, state and sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.results.record.file import FILE_NAME, read_records
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
HOST_SYSTEM = """\
system: made
description: One node with an EDR rail
nodes: {count: 1}
report_only: a synthetic system has no references
fabrics:
  edr:
    description: One card per node
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
stacks:
  openmpi: {prefix: /opt/openmpi, benchmarks: {osu: /opt/osu}}
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Make a site whose only system is this host, with a card for which sysfs shows an active EDR port and no slot."""
    clone = HERE.parents[1]
    shutil.copy(clone / "reframe_settings.py", tmp_path)
    for name in ("systems", "references", "checks/microbench", "sys/class/infiniband/mlx5_0/ports/1"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(clone / "checks/microbench/fabric.py", tmp_path / "checks/microbench")
    (tmp_path / "systems/made.yaml").write_text(HOST_SYSTEM, encoding="utf-8")
    write_port(tmp_path, "100 Gb/sec (4X EDR)")
    return tmp_path


def write_port(site: Path, rate: str) -> None:
    port = site / "sys/class/infiniband/mlx5_0/ports/1"
    texts = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": rate, "link_layer": "InfiniBand", "sm_lid": "0x1"}
    for name, text in texts.items():
        (port / name).write_text(f"{text}\n", encoding="utf-8")


def run_check(site: Path, *words: str) -> tuple[int, str, str | None, str]:
    """Return exit code, state, class and sentence of the one record of a run of FabricState."""
    environment = {**os.environ, "RAILYARD_HOME": str(site), "RAILYARD_SYSFS": str(site / "sys")}
    done = subprocess.run(
        [sys.executable, "-m", "railyard", "run", "--system", "made", "-n", "FabricState", *words],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment, cwd=site,
    )  # fmt: skip
    files = sorted((site / ".railyard/runs").glob(f"*/{FILE_NAME}"))
    assert files, done.stdout + done.stderr
    (record,) = read_records(files[-1]).records
    return done.returncode, record.found.state, record.found.verdict.class_, record.found.verdict.text


@pytest.mark.full
def test_the_check_passes_where_a_node_is_as_the_file_says(host: Path) -> None:
    assert run_check(host) == (
        *(0, "pass", None),
        "edr: 1 port of 1 node seen, 0 problems, 0 remarks: all as systems/made.yaml says",
    )


def test_the_check_fails_with_the_port_that_is_not(host: Path) -> None:
    write_port(host, "10 Gb/sec (4X SDR)")
    code, state, fault, sentence = run_check(host)
    assert (code, state, fault) == (1, "fail", "fabric")
    assert sentence.partition(";")[0].endswith(" mlx5_0 port 1: found 4X SDR (10 Gbit/s), expected 4X EDR (100 Gbit/s)")


@pytest.mark.full
def test_the_check_fails_where_a_node_shows_no_rail(host: Path) -> None:
    shutil.rmtree(host / "sys/class/infiniband/mlx5_0")
    code, state, fault, sentence = run_check(host)
    assert (code, state, fault) == (1, "fail", "fabric")
    assert sentence.startswith("edr: found no port of its rails in any reading, expected mlx5_0 port 1; ")


@pytest.mark.full
def test_of_very_many_nodes_each_writes_a_file_and_silence_is_no_pass(host: Path) -> None:
    """600 processes are asked for and one is started; the test waits a minute for the other files."""
    code, state, fault, sentence = run_check(host, "-S", "FabricState.nodes_read=600")
    assert (code, state, fault) == (1, "fail", "fabric")
    assert "found 1 node that showed a rail, expected 600 nodes" in sentence
    (kept,) = host.rglob("answers/*/*.out")
    assert kept.read_text(encoding="utf-8").startswith("railyard-file 1 ")
