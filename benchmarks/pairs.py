"""Whether the search over all pairs finds planted faults and blames nobody else, in seeded draws; and what it costs.

    .venv/bin/python benchmarks/pairs.py [--draws 1000] [--first 0] [--nodes 1024] [--jobs 2] [--every 200]

Nothing is measured: each draw is a simulated fat tree (``tests/made/fat_tree.py`` describes it and its noise). Every
second one has random static routes, in which most pairs of a full round collide. Draws take their planted faults in
turn from PLANTS; the first entry has none. A draw of 1,024 nodes takes some seconds. The columns: draws, faults
planted, found, blamed falsely; the medians of rounds (with repeats), of pairs measured alone, and of the seconds that
the rounds would take with 16 MiB per pair each way at 12 GB/s and 2 ms more per round; the largest of these; and the
seconds of CPU that the search took on this machine, including the simulation.
"""

import argparse
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from tests.made.fat_tree import Tree
from tests.made.planted_faults import PLANTS, plant, play


@dataclass(frozen=True)
class Draw:
    """The result of one seed."""

    seed: int
    what: str
    planted: int
    missed: list[str]
    false: list[str]
    rounds: int
    alone: int
    seconds: float
    cpu_s: float


def draw(seed: int, nodes: int) -> Draw:
    """Return one draw; its seed determines routes, faults, places and noise."""
    tree = Tree(nodes, min(32, max(4, nodes // 16)), routes="random" if seed // len(PLANTS) % 2 else "destination")
    what = PLANTS[seed % len(PLANTS)]
    planted = plant(what, tree, seed)
    start = time.process_time()
    found = play(tree, planted, seed)
    taken = time.process_time() - start
    missed, false = (
        [f"{kind} {members[0]}…{members[-1]}" for kind, members in each] for each in (found.missed, found.false)
    )
    cost = found.cost
    return Draw(
        seed,
        f"{tree.routes}: {what.name}",
        len(planted.blame),
        missed,
        false,
        cost.rounds,
        found.alone,
        cost.seconds,
        taken,
    )


def table(draws: Iterable[Draw]) -> str:
    """Return one row per kind of draw, and their sum."""
    by_kind: dict[str, list[Draw]] = {}
    for each in draws:
        by_kind.setdefault(each.what, []).append(each)
    every = [each for kind in by_kind.values() for each in kind]
    head = f"{'routes: planted':<45}draws planted  found  false  rounds  alone  seconds  at most  CPU s\n"
    return head + "".join(_row(kind, found) for kind, found in (*sorted(by_kind.items()), ("all", every)))


def _row(kind: str, draws: list[Draw]) -> str:
    planted = sum(each.planted for each in draws)
    found = planted - sum(len(each.missed) for each in draws)
    false = sum(len(each.false) for each in draws)
    rounds, alone, seconds, cpu = (
        statistics.median(getattr(each, name) for each in draws) for name in ("rounds", "alone", "seconds", "cpu_s")
    )
    most = max(each.seconds for each in draws)
    counts = f"{len(draws):5}{planted:8}{found:7}{false:7}{rounds:8.0f}{alone:7.0f}"
    return f"{kind:<45}{counts}{seconds:9.1f}{most:9.1f}{cpu:7.1f}\n"


def main() -> None:
    """Print the draws that went wrong, as they occur, and the table."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--draws", type=int, default=1000)
    reader.add_argument("--first", type=int, default=0, help="the first seed")
    reader.add_argument("--nodes", type=int, default=1024, help="a multiple of 64 from 128 on")
    reader.add_argument("--jobs", type=int, default=1)
    reader.add_argument("--every", type=int, default=200, help="print the table so far after this many draws")
    asked = reader.parse_args()
    if asked.nodes < 128 or asked.nodes % 64:
        reader.error(f"--nodes: {asked.nodes}: a multiple of 64 from 128 on")
    found = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for each in pool.map(partial(draw, nodes=asked.nodes), range(asked.first, asked.first + asked.draws)):
            found.append(each)
            if len(found) % asked.every == 0:
                print(table(found), flush=True)
            if each.missed or each.false:
                print(f"seed {each.seed} ({each.what}): missed {each.missed}, falsely blamed {each.false}", flush=True)
    print(table(found))


if __name__ == "__main__":
    main()
