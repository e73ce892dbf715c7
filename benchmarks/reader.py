"""What the counter reader costs per node and run: wall and processor time above the command alone, by number of cards.

    .venv/bin/python benchmarks/reader.py [--repeats 30] [--cards 1,4,8] [--shell sh]

Each tree is below a temporary folder and looks like a node's sysfs: a number of mlx5 cards (a port with 21 counters, 25
hardware counters with a lifespan, an interface with 24 statistics) beside an Ethernet card. The same command, `true`,
runs with and without the reader, in turn. Files on disk replace sysfs: the figures do not include the time that a
card's firmware takes to answer. With a lifespan of 10 ms the reader waits 20 ms, since the kernel's clock has steps of
10 ms; both are shown. Unlike wall time, processor time does not grow on a busy machine. Goal: at most 50 ms.
"""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from railyard.job.counters import parse, reader_script

PORT_COUNTERS = 21
HARDWARE_COUNTERS = 25
STATISTICS = 24


def main() -> None:
    """Print the median and the worst of all repeats, one line per tree."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=30)
    arguments.add_argument("--cards", default="1,4,8")
    arguments.add_argument(
        "--shell", default="sh", help="the shell that runs the reader: on many systems sh is bash, not dash"
    )
    asked = arguments.parse_args()
    print("cards  lifespan  above the command alone, ms: wall (median, worst), processor (median)")
    for cards in map(int, asked.cards.split(",")):
        for lifespan in (0, 10):
            with tempfile.TemporaryDirectory() as folder:
                costs = measure_reader(Path(folder), cards, lifespan, asked.repeats, asked.shell)
            wall, processor = zip(*costs, strict=True)
            shown = (statistics.median(wall), max(wall), statistics.median(processor))
            print(f"{cards:5}  {lifespan:5} ms  {' '.join(f'{cost:6.1f}' for cost in shown)}")


def measure_reader(root: Path, cards: int, lifespan: int, repeats: int, shell: str) -> list[tuple[float, float]]:
    """Return the reader's milliseconds above the command alone: wall and processor time of each repeat."""
    make_tree(root, cards, lifespan)
    meant = ",".join(f"mlx5_{card}:1" for card in range(cards))
    words = [shell, str(root / "reader.sh"), str(root / "out"), "tag", meant, "eth0", "--", "true"]
    environment = {
        "PATH": os.environ["PATH"],
        "RAILYARD_SYSFS": str(root / "sys"),
        "RAILYARD_PROC": str(root / "proc"),
        "MPI_LOCALRANKID": "0",
    }
    costs = []
    for _ in range(repeats):
        alone, read = seconds(["true"], environment), seconds(words, environment)
        costs.append((1000 * (read[0] - alone[0]), 1000 * (read[1] - alone[1])))
    drivers = {name: "mlx5" for name in meant.split(",")}
    reading = parse((root / "out/node1.counters").read_text(encoding="utf-8"), "tag", drivers)
    if reading.problem is not None or len(reading.devices) != 2 * cards + 1:
        raise SystemExit(f"{root}: the reader saw {len(reading.devices)} devices: {reading.problem}")
    return costs


def seconds(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return how long a command takes, and how long processors work for it and its children."""
    started, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, check=True)
    elapsed, then = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, then.ru_utime + then.ru_stime - used.ru_utime - used.ru_stime


def make_tree(root: Path, cards: int, lifespan: int) -> None:
    """Make the tree of a node, with the reader beside its output."""
    for card in range(cards):
        port = root / f"sys/class/infiniband/mlx5_{card}/ports/1"
        names = ["port_xmit_data", "port_rcv_data", *(f"counter_{n}" for n in range(PORT_COUNTERS - 2))]
        write_values(port / "counters", dict.fromkeys(names, 1234567890))
        hardware = dict.fromkeys((f"hardware_{n}" for n in range(HARDWARE_COUNTERS)), 1234567890)
        write_values(port / "hw_counters", {**hardware, "lifespan": lifespan})
        write_values(port, {"state": "4: ACTIVE", "link_layer": "InfiniBand"})
        interface(root, f"ib{card}")
        slot = root / f"sys/devices/card{card}"
        (slot / "net").mkdir(parents=True)
        (slot / "net" / f"ib{card}").symlink_to(root / f"sys/class/net/ib{card}")
        (port.parents[1] / "device").symlink_to(slot)
    interface(root, "eth0")
    write_values(root / "proc/sys/kernel", {"hostname": "node1"})
    (root / "proc/uptime").symlink_to("/proc/uptime")
    (root / "out").mkdir()
    (root / "reader.sh").write_text(reader_script(), encoding="utf-8")


def interface(root: Path, name: str) -> None:
    """Add a network interface."""
    folder = root / "sys/class/net" / name
    names = ["tx_bytes", "rx_bytes", *(f"statistic_{n}" for n in range(STATISTICS - 2))]
    write_values(folder / "statistics", dict.fromkeys(names, 1234567890))
    write_values(folder, {"carrier": 1, "mtu": 2044, "dev_port": 0})


def write_values(folder: Path, values: Mapping[str, int | str]) -> None:
    """Write one file per value."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
