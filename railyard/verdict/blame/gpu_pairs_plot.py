"""How a picture of all pairs of nodes shows a judgement of logs between GPUs."""

from railyard.results.report.plots import Panel
from railyard.verdict.blame.gpu_pairs import PairsVerdict
from railyard.verdict.blame.search.paths import Layer
from railyard.verdict.wording import gpu_pairs as words


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
    return words.picture_title(len(found.recorded.nodes), len(found.recorded.logs), len(named_nodes(found)))


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
    below = [] if worst is None else [words.lowest_pair(*worst, shares[worst])]
    below += [words.pairs_without_result(len(gone))] if gone else []
    level = max((one.value or 0.0 for one in found.levels if one.layer == layer), default=0.0)
    return Panel(words.panel_title(layer.benchmark, layer.gpus, level), shares, gone, below)
