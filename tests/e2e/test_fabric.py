"""`railyard fabric` against a simulated InfiniBand fabric: the real diagnostics, a real subnet manager, planted faults.

ibsim stands in for the hardware, opensm runs the subnet, and ibnetdiscover, iblinkinfo, ibqueryerrors and sminfo are
the packages' own, told of ibsim by a library that is loaded before theirs. Each fault is found and named by node and
port, and no neighbour with it.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.record import FILE_NAME, read_records
from railyard.testbed.needs import SEARCH_PATH

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
#: Of Debian's packages ibsim-utils, opensm and infiniband-diags.
TOOLS = ("ibsim", "opensm", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "sminfo")
HOST = "H-b8599f0300001010"  # vn1 mlx5_0: where diagnostics and manager are
PATIENCE_S = 60
SYSTEM = """\
system: made
description: Four nodes with two EDR rails
nodes: {names: [vn1, vn2, vn3, vn4]}
report_only: a made system has no references
fabrics:
  edr:
    description: Two cards a node
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
stacks:
  openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu}}
"""


def changed(leaf: str, port: int, node: str, link: str) -> list[tuple[str, str]]:
    """Return what to replace in the file so that a node's link is another, at both of its ends."""
    guid = {"LeafA": "ec0d9a0300000100", "LeafB": "ec0d9a0300000200"}[leaf]
    far = f'"S-{guid}"[{port}]\t\t# lid 0 lmc 0 "{leaf}" lid 0'
    near = f'\t\t# "{node}" lid 0'
    return [(f"{end} 4xEDR", f"{end} {link}") for end in (near, far)]


def simulator_library() -> Path | None:
    found = sorted(Path("/usr/lib").glob("**/umad2sim/libumad2sim.so"))
    return found[0] if found else None


@dataclass
class Subnet:
    """A simulated fabric that runs: its folder, and ibsim's console."""

    folder: Path
    simulator: "subprocess.Popen[str]"

    def say(self, line: str) -> None:
        """Type a line into ibsim's console."""
        assert self.simulator.stdin is not None
        self.simulator.stdin.write(f"{line}\n")
        self.simulator.stdin.flush()
        time.sleep(0.5)  # it answers nothing that could be waited for

    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "RAILYARD_HOME": str(self.folder), "COLUMNS": "200"}

    def ask(self, tool: str) -> subprocess.CompletedProcess[str]:
        """Run one diagnostic on the simulated fabric."""
        return subprocess.run(
            [self.folder / "bin" / tool], capture_output=True, text=True, check=False, timeout=PATIENCE_S,
            env=self.environment(), cwd=self.folder,
        )  # fmt: skip

    def fabric(self, *options: str) -> tuple[int, list[str], str]:
        """Return exit code, the problems and their lines, and the last line, of `railyard fabric`."""
        done = subprocess.run(
            [sys.executable, "-m", "railyard", "fabric", "--system", "made", *options],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=self.environment(), cwd=self.folder,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        return done.returncode, [line for line in lines if line.startswith("problem: ")], lines[-1]


@pytest.fixture
def subnet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Subnet]:
    """Bring a fabric up, with pairs of words replaced in its file; skip, with the reason, where there is no ibsim."""
    missing = [tool for tool in TOOLS if shutil.which(tool, path=SEARCH_PATH) is None]
    library = simulator_library()
    if missing or library is None:
        lacking = ", ".join(missing) or "libumad2sim.so"
        pytest.skip(f"no {lacking} here: apt-get install ibsim-utils libumad2sim0 opensm infiniband-diags")
    text = (HERE / "fabric.net").read_text(encoding="utf-8")
    for old, new in getattr(request, "param", ()):
        assert old in text, old
        text = text.replace(old, new)
    (tmp_path / "fabric.net").write_text(text, encoding="utf-8")
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/made.yaml").write_text(SYSTEM, encoding="utf-8")
    _wrap(tmp_path / "bin", library)
    with (tmp_path / "ibsim.log").open("w", encoding="utf-8") as log:
        simulator = subprocess.Popen(
            [str(shutil.which("ibsim", path=SEARCH_PATH)), "-s", "fabric.net"],
            stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, cwd=tmp_path,
        )  # fmt: skip
    running = Subnet(tmp_path, simulator)
    manager = None
    try:
        time.sleep(0.7)
        manager = _manage(running)
        yield running
    finally:
        for process in (manager, simulator):
            if process is not None:
                process.kill()
                process.communicate(timeout=PATIENCE_S)


def _wrap(folder: Path, library: Path) -> None:
    """Write a script for each tool that loads ibsim's library into the real one."""
    folder.mkdir()
    for tool in TOOLS[1:]:
        real = shutil.which(tool, path=SEARCH_PATH)
        script = folder / tool
        script.write_text(f'#!/bin/sh\nexec env LD_PRELOAD={library} SIM_HOST={HOST} {real} "$@"\n', encoding="utf-8")
        script.chmod(0o755)


def _manage(running: Subnet) -> "subprocess.Popen[str]":
    """Start opensm and return it once the subnet is up: all ports have LIDs."""
    folder = running.folder / "osm"
    folder.mkdir()
    environment = {**running.environment(), "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
    with (folder / "stdout").open("w", encoding="utf-8") as log:
        manager = subprocess.Popen(
            [running.folder / "bin/opensm", "-f", str(folder / "opensm.log"), "-s", "3"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True, env=environment, cwd=running.folder,
        )  # fmt: skip
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if "Initialize" not in (links := running.ask("iblinkinfo").stdout) and "Active" in links:
            return manager
        time.sleep(0.3)
    manager.kill()
    pytest.fail(f"opensm brought no subnet up: {(folder / 'stdout').read_text(encoding='utf-8')[-500:]}")


def test_a_healthy_fabric_gives_nothing(subnet: Subnet) -> None:
    assert subnet.fabric() == (0, [], "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks")


@pytest.mark.parametrize("subnet", [changed("LeafB", 2, "vn3 mlx5_1", "1xEDR w=1")], indirect=True)
def test_a_narrow_link_is_named(subnet: Subnet) -> None:
    code, problems, last = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn3 mlx5_1 port 1: 1X EDR (25 Gbit/s)"])
    assert last == "edr: 8 ports of 4 nodes seen, 1 problem, 0 remarks"


@pytest.mark.parametrize("subnet", [changed("LeafA", 3, "vn2 mlx5_0", "4xQDR")], indirect=True)
def test_a_slow_link_is_named(subnet: Subnet) -> None:
    code, problems, _ = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn2 mlx5_0 port 1: 4X QDR (40 Gbit/s)"])


def test_an_unplugged_cable_is_named(subnet: Subnet) -> None:
    subnet.say('Unlink "H-b8599f0300001041"[1]')
    code, problems, last = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn4 mlx5_1 port 1: no such port on the subnet"])
    assert last == "edr: 7 ports of 4 nodes seen, 1 problem, 0 remarks"


def test_a_counter_that_grows_is_named(subnet: Subnet, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    counter = 'PerformanceSet "H-b8599f0300001030"[1] PortCounters.SymbolErrorCounter'
    subnet.say(f"{counter}=4")
    for file in ("iblinkinfo.out", "ibqueryerrors.out"):
        (saved / file).write_text(subnet.ask(Path(file).stem).stdout, encoding="utf-8")
    assert subnet.fabric("--from", str(saved))[:2] == (0, [])
    subnet.say(f"{counter}=6")
    (saved / "ibqueryerrors-later.out").write_text(subnet.ask("ibqueryerrors").stdout, encoding="utf-8")
    assert subnet.fabric("--from", str(saved))[:2] == (
        1,
        ["problem: vn3 mlx5_0 port 1: SymbolErrorCounter +2 in the time between two readings"],
    )


@pytest.mark.parametrize("subnet", [[('"vn4 mlx5_', '"login9 mlx5_')]], indirect=True)
def test_a_missing_node_and_an_unknown_host_are_named(subnet: Subnet) -> None:
    code, problems, _ = subnet.fabric()
    assert (code, problems) == (
        1,
        [
            "problem: vn4: none of its ports on the subnet",
            "problem: login9: an unknown host at LeafB port 3, LeafB port 4",
        ],
    )


# The check, through ReFrame, on this host with a made tree of sysfs

HOST_SYSTEM = SYSTEM.replace("nodes: {names: [vn1, vn2, vn3, vn4]}", "nodes: {count: 1}").replace(
    "      - {device: mlx5_1, port: 1, counters: mlx5}\n", ""
)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Make a site whose one system is this host, with a card of which sysfs shows an active EDR port and no slot."""
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


def run_check(site: Path) -> tuple[int, str, str | None, str]:
    """Return exit code, state, class and sentence of the one record of a run of FabricState."""
    environment = {**os.environ, "RAILYARD_HOME": str(site), "RAILYARD_SYSFS": str(site / "sys")}
    done = subprocess.run(
        [sys.executable, "-m", "railyard", "run", "--system", "made", "-n", "FabricState"],
        capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment, cwd=site,
    )  # fmt: skip
    files = sorted((site / ".railyard/runs").glob(f"*/{FILE_NAME}"))
    assert files, done.stdout + done.stderr
    (record,) = read_records(files[-1]).records
    return done.returncode, record.state, record.verdict.class_, record.verdict.sentence


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
