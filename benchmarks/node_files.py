"""What it costs to read the answers of thousands of nodes, one file per node: time and memory.

    .venv/bin/python benchmarks/node_files.py [--nodes 64 512 5120] [--rails 4] [--folder DIR]

For each size it makes the files of all nodes, as `doctor.sh`, `railyard gate --json`, `railyard fabric --own` and
`soak.sh` (six readings) write them, spread over folders as nodes spread them. A separate process then reads and
judges each kind with the code that reads real answers. It prints seconds of a processor, the largest memory of that
process (ru_maxrss, Python and Railyard included), the bytes that it read, and how the time grew from the size before.
With ``--folder`` you choose the file system to measure (default: a temporary folder). The files were just written, so
caches are warm.

The column before the last shows what one launcher would print instead of the files: the number of lines, and how many
of them srun would cut, because they are longer than 1,024 bytes.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from railyard.job import node_files
from tests.cluster.doctor.conftest import block
from tests.made.systems import HDR

#: One node in a hundred has lost half of a slot.
_SICK = 100


def doctor_text(number: int, rails: int) -> str:
    """Return what doctor.sh prints on a node."""
    text = block("hdr", f"n{number:05}", number, rails)
    return text.replace("slot_width 16", "slot_width 8") if number % _SICK == 7 else text


def gate_text(number: int, rails: int) -> str:
    """Return what a gate prints for a node with --json."""
    from railyard.cluster.gate.model import Fault, Gap, Look, decide_answer

    faults = (Fault(f"mlx5_{rails - 1} slot: found 8 lanes, expected 16", "reseat the card"),)
    gaps = tuple(Gap(f"counters of mlx5_{rail}:1", "no gate of this boot to compare with") for rail in range(rails))
    looks = [
        Look("links", True),
        Look("slots", True, faults if number % _SICK == 7 else ()),
        Look("counters", gaps=gaps),
        *(Look(part, gaps=(Gap(part, "no --traffic"),)) for part in ("loopback", "memory", "pair")),
    ]
    return json.dumps(decide_answer(f"n{number:05}", looks).as_json(), ensure_ascii=False) + "\n"


def fabric_text(number: int, rails: int) -> str:
    """Return what `railyard fabric --own` prints on a node."""
    from railyard.cluster.fabric.model import Card, SlotState
    from railyard.cluster.fabric.own_json import lines_of
    from railyard.hardware.counters import DRIVERS
    from railyard.parsers.fabric.port import PortState

    counters = {name: 0 for name in DRIVERS["mlx5"].errors}
    node = f"n{number:05}"
    ports = tuple(
        PortState(
            node=node, kind="CA", device=f"mlx5_{rail}", port=1, state="Active", physical_state="LinkUp", rate=200.0,
            width="4X", speed="HDR", lid=number, sm_lid=1, guid=f"0x{number:012x}{rail:04x}",
            link_layer="InfiniBand", mtu_bytes=4096, firmware="20.35.1012", counters=counters,
        )
        for rail in range(rails)
    )  # fmt: skip
    width = 8 if number % _SICK == 7 else 16
    slot = SlotState("0000:c1:00.0", "16.0 GT/s PCIe", width, "16.0 GT/s PCIe", 16, 256, 512)
    cards = tuple(Card(node, f"mlx5_{rail}", "mlx5_core", "20.35.1012", slot=slot) for rail in range(rails))
    return lines_of(node, ports, cards) + "\n"


def soak_text(number: int, rails: int) -> str:
    """Return six readings of a node's rails as soak.sh appends them."""
    from railyard.hardware.counters import DRIVERS

    row = DRIVERS["mlx5"]
    names = [*row.tx.split("+"), *row.rx.split("+"), *row.errors, *row.signals, "carrier_changes"]
    lines = []
    for turn in range(6):
        counts = [f"mlx5_{rail}:1 {name} {turn * 1000 + number}" for rail in range(rails) for name in names]
        lines += [f"at {1000 + 10 * turn}.50", *counts, "end"]
    return "\n".join(lines) + "\n"


TEXTS: Mapping[str, Callable[[int, int], str]] = {
    "doctor": doctor_text,
    "gate": gate_text,
    "fabric": fabric_text,
    "soak": soak_text,
}


def generate(what: str, folder: Path, nodes: int, rails: int) -> tuple[int, int]:
    """Write the files of all nodes; return how many lines a launcher would print, and how many of them srun cuts."""
    asking = node_files.prepare_folder(folder, "made", nodes)
    if what == "soak":
        from railyard.cluster.soak_job import READINGS, READINGS_FOLDER

        for rank in range(nodes):
            own = folder / READINGS_FOLDER / str(rank % asking.folders) if asking.folders else folder
            own.mkdir(parents=True, exist_ok=True)
            (own / f"n{rank:05}{READINGS}").write_text(soak_text(rank, rails), encoding="utf-8")
        return 0, 0
    lines = cut = 0
    for rank in range(nodes):
        text = TEXTS[what](rank, rails)
        listed = f"n[00000-{nodes - 1:05}]" if rank < 3 else "-"
        above = f"railyard-file 1 {asking.tag} n{rank:05} {rank} {nodes} {listed}\n{text}\n"
        own = folder / str(rank % asking.folders) if asking.folders else folder
        end = f"railyard-file end 0 {len(above.encode())}\n"
        (own / f"n{rank:05}.{rank}.out").write_text(above + end, encoding="utf-8")
        lines += text.count("\n")
        cut += sum(len(line) > 1023 for line in text.split("\n"))
    return lines, cut


def read(what: str, folder: Path, nodes: int, rails: int) -> str:
    """Read and judge the answers as the commands do; return the result in words."""
    from railyard.site.systems.load import load_system

    file = folder.parent / "hdr.yaml"
    rail = "      - {device: mlx5_0, port: 1, counters: mlx5}\n"
    more = "".join(rail.replace("mlx5_0", f"mlx5_{number}") for number in range(2, rails))
    text = HDR.replace("count: 8", f"count: {nodes}").replace("stacks:", f"{more}stacks:")
    file.write_text(text, encoding="utf-8")
    system = load_system(file)
    asking = node_files.AnswerFolder(folder, "made", nodes)
    if what == "doctor":
        from railyard.cluster.doctor.judge import of_nodes
        from railyard.cluster.doctor.node_block import parse

        blocks = node_files.gather(asking, lambda one: parse(one.text), ended_well=True)
        found = of_nodes([node for of_it in blocks.values for node in of_it], system)
        return f"{len(blocks.answers)} answers, {len(found)} findings"
    if what == "gate":
        from railyard.cluster.gate.on_nodes import read_answer, worst

        told = node_files.gather(asking, lambda one: read_answer(one.text), ended_well=True)
        return f"{len(told.answers)} answers, exit code {worst([one for one in told.values if one is not None])}"
    if what == "soak":
        from railyard.cluster.soak_job import SoakJob, _WrittenLines

        drivers = {f"mlx5_{rail}:1": "mlx5" for rail in range(rails)}
        names = tuple(f"n{rank:05}" for rank in range(nodes))
        written = _WrittenLines(folder, SoakJob(system, names, drivers, (), (), 60, 10, (), {}))
        return f"{sum(1 for _ in written.look(is_over=False))} readings of {nodes} nodes"
    from railyard.cluster.fabric.judge import judge
    from railyard.cluster.fabric.model import Readings, expected_fabric
    from railyard.cluster.fabric.own_json import own_answer, readings_of

    ports, cards, _ = readings_of(node_files.gather(asking, own_answer, ended_well=True))
    report = judge(expected_fabric(system, "hdr"), Readings(own=ports, cards=cards, counters=ports))
    return f"{report.nodes} nodes, {len(report.problems)} problems"


def _measure_reader(what: str, folder: Path, nodes: int, rails: int) -> tuple[float, float, str]:
    """Return the seconds, the MiB and the result of a process that reads."""
    words = [sys.executable, __file__, "--read", what, "--nodes", str(nodes), "--rails", str(rails)]
    done = subprocess.run([*words, "--folder", str(folder)], capture_output=True, text=True, check=True)
    seconds, mebibytes, said = done.stdout.strip().split(" ", 2)
    return float(seconds), float(mebibytes), said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[64, 512, 5120])
    parser.add_argument("--rails", type=int, default=4)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--read", choices=TEXTS, help="used by this program itself: read the files")
    given = parser.parse_args()
    if given.read:
        begun = time.process_time()
        said = read(given.read, given.folder, given.nodes[0], given.rails)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{time.process_time() - begun:.3f} {most:.1f} {said}")
        return
    print(
        f"{'answers':8} {'nodes':>6} {'s':>8} {'MiB':>7} {'MB read':>8} {'growth':>7}  launcher's lines (cut)   result"
    )
    for what in TEXTS:
        before = None
        for nodes in given.nodes:
            with tempfile.TemporaryDirectory(dir=given.folder) as name:
                folder = Path(name) / "answers"
                lines, cut = generate(what, folder, nodes, given.rails)
                size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
                seconds, mebibytes, said = _measure_reader(what, folder, nodes, given.rails)
            growth = "" if before is None else f"{seconds / before:.1f} x"
            before = seconds
            told = f"{lines:,} ({cut:,})"
            print(f"{what:8} {nodes:6} {seconds:8.3f} {mebibytes:7.1f} {size:8.2f} {growth:>7}  {told:24} {said}")


if __name__ == "__main__":
    main()
