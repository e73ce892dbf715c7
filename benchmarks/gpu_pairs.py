"""Small clusters with planted faults, judged from logs between GPUs: what is named, and what is named falsely.

    .venv/bin/python benchmarks/gpu_pairs.py --draws 1000

A draw has 5 to 12 nodes and up to three faults (a node, a GPU, a dead GPU, a pair, a rail or a leaf switch of several
nodes; at 10, 50, 70 or 85 % of the healthy rate). It has logs with 8, 4 and 1 GPUs or some of these; sometimes a tenth
of the logs is missing. The columns: draws; draws in which some log is slow or without a result; of these, how many name
somebody; how many name nobody with exit code 0; and how many name a part that is not at fault.
"""

import argparse
import collections
import random
from collections.abc import Sequence

from railyard.verdict.blame import gpu_pairs
from railyard.verdict.blame.search.explanations import BlamedPart
from tests.made.nccl_pair_logs import BUSES, End, Rate, healthy, logs, names, node, slow

KINDS = ("node", "gpu", "dead GPU", "pair", "rail", "leaf")
LAYERS = ((8,), (8, 4), (8, 4, 1), (4, 1), (4,), (1,), (8, 1))
#: What is at fault: some ends, or two nodes; both are empty if there is no fault.
Fault = tuple[frozenset[End], frozenset[str]]


def plant_fault(chance: random.Random, nodes: Sequence[str]) -> tuple[Rate, Fault]:
    """Return one fault: what each path gives, and what is at fault."""
    kind, share = chance.choice(KINDS), chance.choice((0.1, 0.5, 0.7, 0.85))
    if kind == "pair":
        both = frozenset(chance.sample(nodes, 2))
        given = chance.choice((share, None))
        return (lambda a, b: given if {a[0], b[0]} == both else 1.0), (frozenset(), both)
    gpu, one = chance.randrange(len(BUSES)), chance.choice(nodes)
    some = sorted(chance.sample(nodes, chance.randint(2, len(nodes) // 2)))
    ends = {
        "node": node(one),
        "gpu": ((one, gpu),),
        "dead GPU": ((one, gpu),),
        "rail": tuple((name, gpu) for name in some),
        "leaf": tuple(end for name in some for end in node(name)),
    }[kind]
    rate = slow(None if kind == "dead GPU" else share, *ends, good_together=kind in ("rail", "leaf"))
    return rate, (frozenset(ends), frozenset())


def is_true(one: BlamedPart, faults: Sequence[Fault], nodes: Sequence[str]) -> bool:
    """Return whether each named group has a GPU at fault on every one of its nodes; a named pair must be a planted one.

    The nodes on the other side of a planted leaf have the same border; logs cannot always tell the two sides.
    """
    if one.kind == "pair":
        return any(both == frozenset(one.nodes) for _, both in faults)
    sick = {end for ends, _ in faults for end in ends}
    groups = [{int(gpu) if gpu.isdigit() else BUSES.index(gpu[5:7]) for gpu in group} for group in one.gpus]
    if all(any((name, gpu) in sick for gpu in group) for group in groups for name in one.nodes):
        return True
    return any({name for name, _ in ends} == set(nodes) - set(one.nodes) for ends, _ in faults)


def draw(seed: int) -> tuple[dict[str, bool], str]:
    """Return which statements are true for a draw, and in words what was named falsely."""
    chance = random.Random(seed)
    nodes, gpus = names(chance.choice((5, 7, 9, 12))), chance.choice(LAYERS)
    made = [plant_fault(chance, nodes) for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))]
    faults = [fault for _, fault in made]
    rates = [rate for rate, _ in made] or [healthy]

    def all_(a: End, b: End) -> float | None:
        shares = [rate(a, b) for rate in rates]
        return None if None in shares else min(share for share in shares if share is not None)

    kept = [one for one in logs(nodes, all_, gpus, seed) if chance.random() > chance.choice((0, 0, 0.1))]
    found = gpu_pairs.judge(gpu_pairs.read_tests((one.name, one.text) for one in kept))
    sick = any(state in ("slow", "none") for state in found.states.values())
    false = [one for one in found.named_parts if not is_true(one, faults, nodes)]
    words = "; ".join(f"{one.kind} {', '.join(one.nodes)} {one.gpus} {one.sure}" for one in false)
    said = {
        "sick": sick,
        "named": sick and bool(found.named_parts),
        "passed": sick and found.is_good,
        "false": bool(false),
    }
    return said, f"seed {seed}, {len(faults)} faults, {gpus} GPUs: {words}"


def main() -> int:
    """Judge all draws and print the results."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--draws", type=int, default=200)
    asked.add_argument("--first", type=int, default=0)
    given = asked.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(given.first, given.first + given.draws):
        said, words = draw(seed)
        counts.update(["draws", *(name for name, true in said.items() if true)])
        if said["false"]:
            print(words)
    print(", ".join(f"{name} {counts[name]}" for name in ("draws", "sick", "named", "passed", "false")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
