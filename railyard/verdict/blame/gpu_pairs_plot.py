"""How a picture of all pairs of nodes shows a judgement of logs between GPUs."""

from railyard.base.wording import count_of
from railyard.results.report.plots import Panel
from railyard.verdict.blame.gpu_pairs import PairsVerdict
from railyard.verdict.blame.search.paths import Layer


def panels(found: PairsVerdict) -> list[Panel]:
    """Return a panel for each layer, the most GPUs first; if a pair was measured twice, the worse test counts."""
    layers = sorted({test.layer for test in found.recorded.tests}, key=lambda one: (one.benchmark, -one.gpus))
    return [_panel(found, layer) for layer in layers]


def order_nodes(found: PairsVerdict) -> list[str]:
    """Return the nodes, those of the largest named part first, so that the part shows as a block."""
    first = max((one.nodes for one in found.named_parts if one.kind != "pair"), key=len, default=())
    return sorted(found.recorded.nodes, key=lambda node: (node not in first, node))


def named_nodes(found: PairsVerdict) -> set[str]:
    """Return the nodes that are named, by themselves or by their GPUs."""
    return {node for one in found.named_parts if one.kind != "pair" for node in one.nodes}


def title(found: PairsVerdict) -> str:
    """Return the picture's title: how many nodes and logs it shows, and what red names mean."""
    named = named_nodes(found)
    red = f"; red names: {count_of(len(named), 'node')} with a part that is named" if named else ""
    return f"{count_of(len(found.recorded.nodes), 'node')}, {count_of(len(found.recorded.logs), 'log')}{red}"


def _panel(found: PairsVerdict, layer: Layer) -> Panel:
    shares: dict[tuple[str, str], float] = {}
    gone = set()
    for test in found.recorded.tests:
        if test.layer != layer:
            continue
        if found.states[test] == "none":
            gone.add(test.pair)
        elif test in found.shares:
            shares[test.pair] = min(found.shares[test], shares.get(test.pair, 1.0))
    worst = min(shares, key=lambda pair: shares[pair], default=None)
    below = [] if worst is None else [f"lowest: {worst[0]} and {worst[1]}, {100 * shares[worst]:.0f} %"]
    below += [f"{count_of(len(gone), 'pair')} without a result"] if gone else []
    level = max((one.value or 0.0 for one in found.levels if one.layer == layer), default=0.0)
    words = f"{layer.benchmark}, {count_of(layer.gpus, 'GPU')} per node; 100 % is {level / 1000:.2f} GB/s"
    return Panel(words, shares, gone, below)
