"""One run of a rehearsal, decided for its first rank: what is printed, and what every node's counters move.

``python -m railyard.provision.rehearsal.play WORK RANKS STACK TOOL PROGRAM [WORD]...`` is started by ``standin.sh`` in
the job's folder. It waits for all ranks and writes WORK/moves-RANK for the first rank of each node. Then it waits until
these ranks have moved the counters, and prints the output last. If it cannot do something, it prints one sentence and
ends with an exit code other than 0.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.base.whole_file import write_whole
from railyard.benchmarks.apps import least_traffic
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import key_on
from railyard.provision.rehearsal import (
    applications,
    collectives,
    form,
    gpu_copies,
    model,
    pairs,
    recorded_run,
    traffic,
)
from railyard.provision.rehearsal.benchmark_request import parse_words, program_of
from railyard.provision.rehearsal.crew import Crew, first_ranks, gather
from railyard.provision.rehearsal.moves import Moves
from railyard.provision.rehearsal.rank_ports import LibraryError, Port
from railyard.provision.rehearsal.traffic import Network
from railyard.provision.replay import reference_outputs
from railyard.provision.replay.texts import text_of
from railyard.site.site import Site, site_at

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
        return Output(gpu_copies.play_copies(system, node, crew.rehearsal.faults, words, said))
    found = parse_words(tool, program, words, folder)
    network = Network(crew)
    if tool == "pairs":
        recorded_run.say_made(crew.rehearsal, folder, "it names its nodes, which recordings hide")
        return Output(pairs.play_pairs(network, found, folder, sentence(network), moves))
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
    rate, wait, reference = model.MANAGEMENT_MB_S, model.MANAGEMENT_US, None
    test = network.test(key, flows) if flows else None
    healthy = crew.computing_share == 1.0
    if test is not None and network.place is not None:
        shares = [network.share(flow, 1 << 20) for flow in flows]
        if not any(network.is_fallback(flow) for flow in flows):
            rate = model.rate_mb_s(network.place.fabric, test.rails) * min(shares)
            wait = model.latency_us(network.place.fabric.link) + max(network.waits_us(flow) for flow in flows)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
