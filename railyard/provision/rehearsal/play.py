"""One run of a rehearsal, decided for its first rank: what is printed, and what every node's counters gain.

``python -m railyard.provision.rehearsal.play WORK RANKS STACK TOOL PROGRAM [WORD]...`` is started by ``standin.sh`` in
the job's folder. It waits for all ranks and writes WORK/moves-RANK for the first rank of each node. Then it waits until
these ranks have moved the counters, and prints the output last. If it cannot do something, it prints one sentence and
ends with an exit code other than 0.

Source of the form: output.cpp and inline_common.h of NVIDIA/nvbandwidth, v0.8.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.base.files import write_whole
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.benchmarks.apps import least_traffic
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import key_on
from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.hardware.links import SLOTS
from railyard.provision.rehearsal import applications, collectives, form, recorded_run, traffic
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest, parse_words, program_of
from railyard.provision.rehearsal.crew import Crew, Moves, first_ranks, gather
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.rank_ports import LibraryError, Port
from railyard.provision.rehearsal.traffic import Flow, Network
from railyard.provision.replay import reference_outputs
from railyard.provision.replay.texts import NO_GPU, bus_of, text_of
from railyard.site.gpu_shape import limit_within
from railyard.site.site import Site, site_at
from railyard.site.systems.model import System
from railyard.site.systems.parts import Gpus

#: The share of the rate of a slot or an NVLink that healthy copies reach. Published (``railyard.site.gpu_shape``):
#: slots 82 to 92 %, NVLink 88 %.
_EFFICIENCY: Mapping[str, float] = {"slot": 0.90, "gpu-link": 0.88}
_DESCRIPTIONS = {
    "host_to_device_memcpy_ce": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
    "device_to_host_memcpy_ce": "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
    "device_to_device_memcpy_read_ce": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
    "device_to_device_memcpy_write_ce": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
}
#: By how much the copies of one node differ, by their place: no two GPUs print the same digits.
_SPREAD = 0.004
_EXCHANGE_BYTES = 8
#: Within a node, through its memory: MB/s of a stream, us of half a round trip.
_MEMORY_MB_S, _MEMORY_US = 12_000.0, 0.4
PATIENCE_VARIABLE = "RAILYARD_REHEARSAL_PATIENCE"
PATIENCE_S = 120.0
#: Applications whose output is a file, and what they print as well.
_FILES = {"hpcc": ("hpccoutf.txt", ""), "wrf": ("rsl.error.0000", " starting wrf task            0  of            1\n")}
#: What an application moves if nobody knows how much: enough to tell its rails from others.
_SOME_BYTES = 256_000_000
_MADE = "made by a rehearsal, not a measurement"


@dataclass(frozen=True, slots=True)
class Output:
    """What a run prints.

    ``file`` is where it goes instead of standard output, ``beside`` is what is printed in that case.
    """

    text: str
    file: str = ""
    beside: str = ""
    #: Lines that go to standard error: NetPIPE's rows.
    error: str = ""
    #: Time of all processors together that the real program would use, in seconds, if a check reads it.
    used_s: float = 0.0


def main(words: Sequence[str]) -> int:
    """Return the run's exit code."""
    work, ranks, stack, tool, program, *rest = words
    try:
        rehearsal, site = rehearsal_of(os.environ)
        crew = gather(Path(work), int(ranks), site, rehearsal, stack, os.environ, patience(os.environ))
        moves = Moves(site.system, rehearsal.faults)
        output = play_run(crew, tool, program_of(program), rest, Path.cwd(), moves)
        _have_moved(Path(work), crew, moves)
        if output.used_s:
            # standin.sh shows it in hundredths of a second, as the kernel counts them.
            Path(work, "used").write_text(f"{round(100 * output.used_s)}\n", encoding="ascii")
    except LibraryError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except RailyardError as error:
        print(f"rehearsal: {error}", file=sys.stderr)
        return 1
    _print(output)
    return 0


def rehearsal_of(variables: Mapping[str, str]) -> tuple[form.Rehearsal, Site]:
    """Return the rehearsal that a process belongs to, and its site. Raises RailyardError if it belongs to none."""
    folder = variables.get(REHEARSAL_VARIABLE)
    if not folder:
        raise SetupError(f"found no {REHEARSAL_VARIABLE}: a stand-in runs only in a rehearsal (railyard rehearse)")
    rehearsal = form.read(Path(folder))
    return rehearsal, site_at(Path(rehearsal.home), rehearsal.system)


def patience(variables: Mapping[str, str]) -> float:
    """Return how many whole seconds one part of a run waits for another."""
    said = variables.get(PATIENCE_VARIABLE, "")
    return float(said) if said.isdigit() else PATIENCE_S


def play_run(
    crew: Crew, tool: str, program: str, words: Sequence[str], folder: Path, moves: Moves
) -> Output:  # fmt: skip
    """Return what a run prints, and add what it moves.

    Raises LibraryError if its library ends it, RailyardError for a benchmark that has no stand-in.
    """
    if tool in crew.site.system.applications or tool in applications.KNOWN:
        recorded_run.say_made(
            crew.rehearsal, folder, "it is an application, and its figures depend on the processors too"
        )
        return _application(crew, tool, program, folder, moves)
    if tool == "nvbandwidth":
        recorded_run.say_made(crew.rehearsal, folder, "it runs on one node and uses no network")
        node, system = crew.nodes[0], crew.site.system
        said = f"{_MADE}: {system.system}, {crew.stack}"
        return Output(play_copies(system, node, crew.rehearsal.faults, words, said))
    found = parse_words(tool, program, words, folder)
    network = Network(crew)
    if tool == "pairs":
        recorded_run.say_made(crew.rehearsal, folder, "it names its nodes, which recordings hide")
        return Output(play_pairs(network, found, folder, sentence(network), moves))
    if tool == "nccl":
        recorded_run.say_made(crew.rehearsal, folder, "it names its nodes, which recordings hide")
        return Output(collectives.play_collective(network, found, sentence(network), moves))
    genuine = recorded_run.genuine(network, found, program, words, folder)
    if genuine is not None:
        text = genuine.text
        recorded_run.move(network, genuine, moves)
    else:
        text = text_of(traffic.make_output(network, found, sentence(network)))
        traffic.move(network, found, moves)
    if tool != "netpipe":
        return Output(text)
    rows = [line for line in text.splitlines(keepends=True) if line.lstrip()[:1].isdigit()]
    return Output("".join(line for line in text.splitlines(keepends=True) if line not in rows), error="".join(rows))


def sentence(network: Network) -> str:
    """Return the sentence that says that an output is synthetic, and from what it was made."""
    crew = network.crew
    return f"{_MADE}: {crew.site.system.system}, {crew.stack}, by its references and links"


def _application(crew: Crew, tool: str, program: str, folder: Path, moves: Moves) -> Output:
    several = len(crew.nodes) > 1
    network = Network(crew)
    flows = traffic.ring_flows(network) if several else []
    stated = tool in crew.site.system.applications
    key = f"installed/{tool}" if stated else applications.key_of(tool, program, folder)
    text = applications.text_of(tool, program, folder, _machine(network, key, flows, folder))
    for flow, moved in zip(flows, _bytes(crew, key, text, len(flows)), strict=True):
        for a, b, share in _lanes(crew, flow):
            moves.send(flow.first, a, flow.second, b, moved * share)
    if several:
        traffic.start_up(crew, moves)
    file, beside = _FILES.get(tool, ("", ""))
    return Output(text, file, beside, used_s=_used_s(crew, text) if tool == "hpl" else 0.0)


def _used_s(crew: Crew, text: str) -> float:
    """Return the processor time of an HPL run: each thread of each rank computes for as long as HPL prints."""
    tables = applications.parse("hpl", text).tables
    measured_s = sum(time for table in tables for time in table.column("time") if isinstance(time, float))
    return measured_s * len(crew.members) * crew.threads


def _machine(
    network: Network, key: str, flows: Sequence[traffic.Flow], folder: Path
) -> applications.Machine:  # fmt: skip
    crew, site = network.crew, network.crew.site
    nodes = len(crew.nodes)
    rate, wait, reference = traffic.MANAGEMENT_MB_S, traffic.MANAGEMENT_US, None
    test = network.test(key, flows) if flows else None
    healthy = crew.computing_share == 1.0
    if test is not None and network.place is not None:
        shares = [network.share(flow, 1 << 20) for flow in flows]
        if not any(network.is_fallback(flow) for flow in flows):
            rate = traffic.rate_mb_s(network.place.fabric, test.rails) * min(shares)
            wait = traffic.latency_us(network.place.fabric.link) + max(network.waits_us(flow) for flow in flows)
            healthy = healthy and min(shares) == 1.0
        else:
            healthy = False
        named = key if nodes == site.system.nodes.number else key_on(key, nodes)
        if healthy:
            reference = reference_outputs.figure(site, network.test(named, flows) or test)
    return applications.Machine(
        site, crew.nodes, len(crew.members), crew.per_node[crew.nodes[0]], crew.threads, crew.computing_share,
        rate, wait, f"{_MADE}: {site.system.system}, {crew.stack}", reference,
        applications.wrf_case(folder) if key.startswith("wrf/") else "",
    )  # fmt: skip


def _bytes(crew: Crew, key: str, text: str, flows: int) -> list[int]:
    """Return what each node sends to the next: a little more than its algorithm moves at least, or a fixed amount."""
    nodes, ranks = len(crew.nodes), crew.per_node[crew.nodes[0]]
    tool = key.partition("/")[0]
    tables = [table for table in applications.parse(tool, text).tables if table.tool == tool]
    found = least_traffic.least(key, tables, nodes, ranks, 0)
    if not found:
        return [0 if micro.find(key).too_little else _SOME_BYTES] * flows
    return [int(1.1 * max(max(one.sent_bytes, one.received_bytes) for one in found))] * flows


def _lanes(crew: Crew, flow: traffic.Flow) -> list[tuple[Port, Port, float]]:
    """Return the pairs of ports between two nodes, each with its share, over all ranks: each rank has its own ports."""
    mine = [taken for member, taken in zip(crew.members, crew.takes, strict=True) if member.node == flow.first]
    if any(taken.tcp != flow.taken.tcp for taken in mine):  # it has fallen back to TCP
        return [(a, b, share) for (a, b), share in zip(flow.lanes, flow.shares(1 << 62), strict=True)]
    other = [taken for member, taken in zip(crew.members, crew.takes, strict=True) if member.node == flow.second]
    there = {port.name: port for taken in other for port in taken.ports}
    found: dict[str, tuple[Port, Port, float]] = {}
    for taken in mine:
        for port, share in zip(taken.ports, taken.shares(1 << 62), strict=True):
            before = found[port.name][2] if port.name in found else 0.0
            found[port.name] = (port, there.get(port.name, flow.lanes[0][1]), before + share / len(mine))
    return list(found.values())


def _have_moved(work: Path, crew: Crew, moves: Moves) -> None:
    """Let each node's first rank move its counters, and wait for that."""
    firsts = first_ranks(crew)
    dying = {fault.node for fault in crew.rehearsal.faults if fault.kind == "dies"}
    for node, rank in firsts.items():
        lines = moves.lines(node) + (["die"] if dying & {node, form.EVERY_NODE} else [])
        write_whole(work / f"moves-{rank}", "".join(f"{line}\n" for line in lines))
    until = time.monotonic() + patience(os.environ)
    waiting = dict(firsts)
    while waiting:
        waiting = {node: rank for node, rank in waiting.items() if not (work / f"done-{rank}").exists()}
        if waiting and time.monotonic() > until:
            raise RailyardError(f"{', '.join(waiting)} stopped answering: their counters were not moved")
        time.sleep(0.02)


def _print(output: Output) -> None:
    if output.file:
        Path(output.file).write_text(output.text, encoding="utf-8")
    print(output.beside if output.file else output.text, end="", flush=True)
    print(output.error, end="", file=sys.stderr, flush=True)


def play_pairs(network: Network, asked: BenchmarkRequest, folder: Path, sentence: str, moves: Moves) -> str:
    """Return the program's output, and add what it moves.

    Raises RailyardError for a file that is not a file of rounds, or that names a rank that the job does not have.
    """
    crew, words = network.crew, asked.words
    rounds = _rounds(network, words["rounds"], folder)
    size, window, repeats = asked.sizes[0], asked.window or 1, asked.repetitions[0]
    exchanges = int(words["exchanges"])
    ranks = len(crew.members)
    rows: list[str] = []
    traffic.start_up(crew, moves)
    for number, pairs in enumerate(rounds, 1):
        for first, second in pairs:
            if not first < second < ranks:
                raise RailyardError(f"railyard-pairs: found the pair {first}-{second}, expected ranks below {ranks}")
            flow = network.flow(first, second)
            bandwidth, latency = _of(network, flow, asked.key, size)
            rows.append(f"{number} {first} {second} {bandwidth:.2f} {bandwidth * 0.999:.2f} {latency:.2f}\n")
            payload = size * window * (repeats + int(words["warm_up"]))
            traffic.add(moves, flow, size, payload, payload)
            traffic.add(moves, flow, _EXCHANGE_BYTES, *(exchanges * _EXCHANGE_BYTES,) * 2)
    hosts = "".join(f"# rank {member.rank} on {member.node}\n" for member in crew.members)
    return (
        f"# {sentence}\n# railyard-pairs 1 {words['name']}: {ranks} ranks, {len(rounds)} rounds\n"
        f"# size {size} window {window} repeats {repeats} warm-up {words['warm_up']} exchanges {exchanges} of "
        f"{_EXCHANGE_BYTES} bytes\n{hosts}# round first second forward_MB/s backward_MB/s latency_us\n"
        f"{''.join(rows)}# end: {len(rows)} pairs\n"
    )


def _rounds(network: Network, name: str, folder: Path) -> list[list[tuple[int, int]]]:
    if name == "node":
        crew = network.crew
        own = [[member.rank for member in crew.members if member.node == node] for node in crew.nodes]
        return [[(ranks[at], ranks[at + 1])] for ranks in own for at in range(0, len(ranks) - 1, 2)]
    try:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return [
            [(int(one), int(other)) for one, _, other in (word.partition("-") for word in line.split())]
            for line in lines
            if line.strip() and not line.startswith("#")
        ]
    except (OSError, ValueError):
        raise RailyardError(f"railyard-pairs: found no readable file of rounds: {name}") from None


def _of(network: Network, flow: Flow, key: str, size: int) -> tuple[float, float]:
    """Return the bandwidth of a pair one way in MB/s, and half a round trip of a small message in us."""
    if flow.within_node:
        return _MEMORY_MB_S, _MEMORY_US
    test = network.test(key, [flow])
    if test is None or network.is_fallback(flow):
        return traffic.MANAGEMENT_MB_S, traffic.MANAGEMENT_US
    (stream_us,) = traffic.times(network.crew.site, test, (size,), flow.taken.from_bytes)
    latency_us = traffic.latency_us(network.crew.site.system.fabrics[test.fabric].link)
    return size / stream_us * network.share(flow, size), latency_us + network.waits_us(flow)


def play_copies(system: System, node: str, faults: Sequence[Fault], words: Sequence[str], sentence: str) -> str:
    """Return the output of one copy of the program on a node.

    Raises RailyardError for a test that has no stand-in, and if the system's file does not say what carries it.
    """
    test = words[words.index("-t") + 1] if "-t" in words[:-1] else ""
    if test not in EVERY_NODE:
        known = ", ".join(EVERY_NODE)
        raise RailyardError(f"the rehearsal has no stand-in for nvbandwidth -t {test or '(none)'}: it has {known}")
    carries = EVERY_NODE[test]
    healthy = limit_within(system.gpus, carries)
    if system.gpus is None or healthy is None:
        raise RailyardError(f"nvbandwidth/{test}: found no {carries} of GPUs in systems/{system.system}.yaml")
    gpus = [gpu for gpu in range(system.gpus.per_node) if not _is(faults, "missing", node, gpu)]
    names = [f"Device {place}: {NO_GPU} (0000{bus_of(gpu)})" for place, gpu in enumerate(gpus)]
    head = [
        *("nvbandwidth Version: v0.8", "Built from Git version: v0.8", "", f"NOTE: {sentence}", ""),
        *("CUDA Runtime Version: 12080", "CUDA Driver Version: 12080", "Driver Version: 570.86.15", ""),
        *names,
        *("", f"Running {test}.", _DESCRIPTIONS[test], f" {''.join(f'{place:>10}' for place in range(len(gpus)))}"),
    ]
    best = healthy.value_mb_s * _EFFICIENCY[carries]
    if carries == "slot":
        cells: list[list[float | None]] = [
            [best * _lanes_left(system.gpus, faults, node, gpu) * (1 - _SPREAD * gpu / 8) for gpu in gpus]
        ]
    else:
        cells = [[None if a == b else best * (1 - _SPREAD * (a + b) / 16) for b in gpus] for a in gpus]
    rows = [
        f"{row:>2}{''.join(f'{_format_cell(cell):>10}' for cell in line)}" for row, line in enumerate(cells)
    ]  # fmt: skip
    total = sum(float(_format_cell(cell)) for line in cells for cell in line if cell is not None)
    return "\n".join([*head, *rows, "", f"SUM {test} {total:.2f}", ""])


def _is(faults: Sequence[Fault], kind: str, node: str, gpu: int) -> bool:
    return any(fault.kind == kind and fault.is_of_gpu(node, gpu) for fault in faults)


def _lanes_left(gpus: Gpus, faults: Sequence[Fault], node: str, gpu: int) -> float:
    """Return the share of the lanes of a GPU's slot that the planted faults leave."""
    lanes = [fault.lanes for fault in faults if fault.kind == "narrow" and fault.is_of_gpu(node, gpu)]
    return min(lanes) / SLOTS[gpus.slot].lanes if lanes and gpus.slot is not None else 1.0


def _format_cell(cell: float | None) -> str:
    return "N/A" if cell is None else f"{cell / 1000:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
