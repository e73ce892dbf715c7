"""What nodes and GPUs are called in the tests of several logs: the same node and GPU, the same name."""

from collections.abc import Sequence
from dataclasses import replace

from railyard.base.hostlist import label
from railyard.parsers.nccl_said import Rank
from railyard.verdict.blame.search.paths import Test
from railyard.verdict.wording import gpu_pairs as words


def one_name_a_node(tests: Sequence[tuple[Test, tuple[Rank, ...]]]) -> list[tuple[Test, tuple[Rank, ...]]]:
    """Return the tests with one name for a node that some logs call n01 and some n01.cluster."""
    alike: dict[str, set[str]] = {}
    for test, _ in tests:
        for node in test.nodes:
            alike.setdefault(label(node), set()).add(node)
    short = {
        name: own
        for names in alike.values()
        if len(names) == 2 and not any(names == set(test.nodes) for test, _ in tests)
        for own in names
        if "." not in own
        for name in names
    }
    return [
        (replace(test, nodes=(short.get(test.nodes[0], test.nodes[0]), short.get(test.nodes[1], test.nodes[1]))), ranks)
        for test, ranks in tests
    ]


def name_gpus(
    tests: Sequence[tuple[Test, tuple[Rank, ...]]],
) -> tuple[tuple[Test, ...], dict[tuple[str, str], str], int]:
    """Return tests whose GPUs are named by their place in a node, if each node has a log with all of its GPUs.

    Also the name of each GPU in words, and how many a node has.

    If not, they are named by their bus addresses, which are only the same in nodes of one kind.
    """
    full: dict[str, tuple[str, ...]] = {}
    seen: dict[str, set[str]] = {}
    for test, _ in tests:
        for node, own in zip(test.nodes, test.gpus, strict=True):
            seen.setdefault(node, set()).update(own)
            if len(own) > len(full.get(node, ())):
                full[node] = own
    most = max((len(own) for own in full.values()), default=0)
    by_place = all(len(own) == most and seen[node] == set(own) for node, own in full.items())
    names: dict[tuple[str, str], str] = {}
    made = []
    for test, _ in tests:
        gpus = []
        for node, own in zip(test.nodes, test.gpus, strict=True):
            places = tuple(str(full[node].index(bus)) if by_place else bus for bus in own)
            for place, bus in zip(places, own, strict=True):
                names[node, place] = words.gpu_name(place, bus if by_place else None)
            gpus.append(places)
        made.append(replace(test, gpus=(gpus[0], gpus[1])))
    return tuple(made), names, most
