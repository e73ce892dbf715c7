"""`railyard fabric` against a simulated InfiniBand fabric: the real diagnostics, a real subnet manager, planted faults.

ibsim replaces the hardware, and opensm runs the subnet. ibnetdiscover, iblinkinfo, ibqueryerrors and sminfo are the
packages' own; a library that is loaded first connects them to ibsim. Each fault is found and named by node and port,
and no neighbour is blamed.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.provision.testbed.boot import SEARCH_PATH
from tests.made.systems import EDR
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
#: From Debian's packages ibsim-utils, opensm and infiniband-diags.
TOOLS = ("ibsim", "opensm", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "sminfo")
HOST = "H-b8599f0300001010"  # vn1 mlx5_0: where diagnostics and manager are
#: The names of ibsim's sockets are the same for the whole machine, where other tests may have a subnet up.
NAMED = {"IBSIM_SOCKNAME": f"railyard-{os.getpid()}"}


def link_changes(leaf: str, port: int, node: str, link: str) -> list[tuple[str, str]]:
    """Return what to replace in the file to change a node's link at both of its ends."""
    guid = {"LeafA": "ec0d9a0300000100", "LeafB": "ec0d9a0300000200"}[leaf]
    far = f'"S-{guid}"[{port}]\t\t# lid 0 lmc 0 "{leaf}" lid 0'
    near = f'\t\t# "{node}" lid 0'
    return [(f"{end} 4xEDR", f"{end} {link}") for end in (near, far)]


def simulator_library() -> Path | None:
    found = sorted(Path("/usr/lib").glob("**/umad2sim/libumad2sim.so"))
    return found[0] if found else None


@dataclass
class Subnet:
    """A running simulated fabric: its folder, and ibsim's console."""

    folder: Path
    simulator: "subprocess.Popen[str]"
    said: int = 0

    def say(self, line: str) -> None:
        """Type a line into ibsim's console."""
        assert self.simulator.stdin is not None
        self.simulator.stdin.write(f"{line}\n")
        self.simulator.stdin.flush()
        self.said += 1
        self.wait_for_prompt()

    def wait_for_prompt(self) -> None:
        """Wait until ibsim has finished a command: then it prints its prompt; it prints the first one when it is up."""
        log = self.folder / "ibsim.log"
        wait_for(
            lambda: log.read_text(encoding="utf-8").count("sim> ") > self.said or self.simulator.poll() is not None,
            "ibsim's prompt",
        )
        assert self.simulator.poll() is None, log.read_text(encoding="utf-8")

    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, **NAMED, "PATH": path, "RAILYARD_HOME": str(self.folder), "COLUMNS": "200"}

    def ask(self, tool: str) -> subprocess.CompletedProcess[str]:
        """Run one diagnostic on the simulated fabric."""
        return subprocess.run(
            [self.folder / "bin" / tool], capture_output=True, text=True, check=False, timeout=PATIENCE_S,
            env=self.environment(), cwd=self.folder,
        )  # fmt: skip

    def fabric(self, *options: str, during: Callable[[], None] | None = None) -> tuple[int, list[str], str]:
        """Return the exit code of `railyard fabric`, the first lines of its problems, and its last line.

        ``during`` is called as soon as the command keeps a first reading of error counters.
        """
        with subprocess.Popen(
            [sys.executable, "-m", "railyard", "fabric", "--system", "made", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(), cwd=self.folder,
        ) as running:  # fmt: skip
            if during is not None:
                wait_for(lambda: any((self.folder / ".railyard/fabric").glob("*/ibqueryerrors.out")), "a first reading")
                during()
            out, err = running.communicate(timeout=PATIENCE_S)
        lines = out.splitlines()
        assert lines, err
        return running.returncode, [line for line in lines if line.startswith("problem: ")], lines[-1]


@pytest.fixture
def subnet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Subnet]:
    """Bring a fabric up, with pairs of words replaced in its file; skip, with the reason, if there is no ibsim."""
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
    (tmp_path / "systems/made.yaml").write_text(EDR, encoding="utf-8")
    _wrap(tmp_path / "bin", library)
    with (tmp_path / "ibsim.log").open("w", encoding="utf-8") as log:
        simulator = subprocess.Popen(
            [str(shutil.which("ibsim", path=SEARCH_PATH)), "-s", "fabric.net"],
            stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, cwd=tmp_path,
            env={**os.environ, **NAMED},
        )  # fmt: skip
    running = Subnet(tmp_path, simulator)
    manager = None
    try:
        running.wait_for_prompt()
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


@pytest.mark.parametrize("subnet", [link_changes("LeafB", 2, "vn3 mlx5_1", "1xEDR w=1")], indirect=True)
def test_a_narrow_link_is_named(subnet: Subnet) -> None:
    code, problems, last = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn3 mlx5_1 port 1: 1X EDR (25 Gbit/s)"])
    assert last == "edr: 8 ports of 4 nodes seen, 1 problem, 0 remarks"


@pytest.mark.parametrize("subnet", [link_changes("LeafA", 3, "vn2 mlx5_0", "4xQDR")], indirect=True)
def test_a_slow_link_is_named(subnet: Subnet) -> None:
    code, problems, _ = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn2 mlx5_0 port 1: 4X QDR (40 Gbit/s)"])


def test_an_unplugged_cable_is_named(subnet: Subnet) -> None:
    subnet.say('Unlink "H-b8599f0300001041"[1]')
    code, problems, last = subnet.fabric()
    assert (code, problems) == (1, ["problem: vn4 mlx5_1 port 1: no such port on the subnet"])
    assert last == "edr: 7 ports of 4 nodes seen, 1 problem, 0 remarks"


@pytest.mark.full
def test_a_counter_that_grew_between_two_saved_readings_is_named(subnet: Subnet, tmp_path: Path) -> None:
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


@pytest.mark.full
def test_a_counter_that_grows_while_it_is_watched_is_named(subnet: Subnet) -> None:
    counter = 'PerformanceSet "H-b8599f0300001030"[1] PortCounters.SymbolErrorCounter'
    subnet.say(f"{counter}=4000")  # since it was cleared: how long ago is unknown
    assert subnet.fabric("--again", "0.1")[:2] == (0, [])
    shutil.rmtree(subnet.folder / ".railyard/fabric")
    assert subnet.fabric("--again", "5", during=lambda: subnet.say(f"{counter}=4001"))[:2] == (
        1,
        ["problem: vn3 mlx5_0 port 1: SymbolErrorCounter +1 in the time between two readings"],
    )


@pytest.mark.full
def test_a_subnet_is_asked_from_the_rail_that_is_up(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> None:
    port = subnet.folder / "sys/class/infiniband/ibsim0/ports/1"
    port.mkdir(parents=True)
    for name, text in {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "link_layer": "InfiniBand"}.items():
        (port / name).write_text(f"{text}\n", encoding="utf-8")
    monkeypatch.setenv("RAILYARD_SYSFS", str(subnet.folder / "sys"))
    assert subnet.fabric() == (0, [], "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks")
    kept = {path.name for path in (subnet.folder / ".railyard/fabric").glob("*/*.out")}
    assert kept == {f"{tool}-ibsim0.out" for tool in ("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "sminfo")}


@pytest.mark.full
def test_a_file_that_contradicts_the_fabric_is_told_once(subnet: Subnet) -> None:
    file = subnet.folder / "systems/made.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("link: ib-edr", "link: ib-hdr"), encoding="utf-8")
    code, problems, _ = subnet.fabric()
    assert (code, problems) == (1, ["problem: the fabric: 4X EDR (100 Gbit/s) on all 8 ports of nodes"])


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
