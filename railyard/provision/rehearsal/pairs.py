"""What railyard-pairs prints about rounds of pairs of nodes, and what each pair moves."""

from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal import model, traffic
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest
from railyard.provision.rehearsal.moves import Moves
from railyard.provision.rehearsal.traffic import Flow, Network

_EXCHANGE_BYTES = 8
#: Within a node, through its memory: MB/s of a stream, us of half a round trip.
_MEMORY_MB_S, _MEMORY_US = 12_000.0, 0.4


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
        return model.MANAGEMENT_MB_S, model.MANAGEMENT_US
    (stream_us,) = model.times(network.crew.site, test, (size,), flow.taken.from_bytes)
    latency_us = model.latency_us(network.crew.site.system.fabrics[test.fabric].link)
    return size / stream_us * network.share(flow, size), latency_us + network.waits_us(flow)
