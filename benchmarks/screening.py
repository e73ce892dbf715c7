"""Whether a screening of 5,120 nodes within a budget finds planted faults, blames nobody else, and keeps its promises.

    .venv/bin/python benchmarks/screening.py [--draws 128] [--first 0] [--nodes 5120] [--minutes 15] [--jobs 2]
                                             [--keep FILE]

Nothing is measured: each draw is a simulated fat tree (``tests/made/simulated_rails.py``). The seed decides everything,
in turn: routes by destination or random static routes; noise with heavy tails or as real probes showed it; no sick
nodes, or 0.2, 1 or 5 % of them; and one rail per node, or four rails of four planes, with a GPU each. ``wanted`` says
what is planted in a draw. Three other methods run over the same network, written from their published descriptions
(``tests/made/peers.py``); they name only nodes. Each is given a bound below which a group has failed: 93 % of healthy,
which shows a node at 90 % but also each stream that shares a link, or 45 %, which shows neither.

It prints four tables. The first has the faults by class: how many were planted, found (named, or listed as undecided),
named by kind and place, and missed. The second has false blame, rounds and minutes, for each method. The third has what
was stated: the mean probability that the screening promised for a class, and the share of the planted faults that was
named. The fourth has the same by the stated probability: a promise was kept if no smaller share was named than stated.

Minutes are counted alike for all methods: to start a step or a test takes 15 s, and each of its rounds 2 s. With
``--keep FILE`` each draw is appended to the file as a line of JSON, and draws that the file already has are not made
again.
"""

import argparse
import json
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from railyard.verdict.blame.screening.model import Budget
from tests.made.fat_tree import Noise, Tree
from tests.made.peers import BOUNDS, WAYS
from tests.made.planted_screening import Fault, FaultCounts, Outcome, faulty_network, play
from tests.made.simulated_rails import HEAVY, Nodes, recorded_noise

#: Shares of the nodes that are sick.
RATES = (0.0, 0.002, 0.01, 0.05)
#: Seconds for a round, and for the start of a job or a step.
ROUND_S, LAUNCH_S = 2.0, 15.0
#: The other methods, each with the share of healthy below which a group has failed.
PEERS = tuple((name, bound) for name in WAYS for bound in BOUNDS)
#: Borders of the stated probabilities that are counted together.
BORDERS = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98, 1.0)


@dataclass
class Draw:
    """The result of one seed: by class what was planted, found, named and stated; by method what it cost."""

    seed: int
    what: str
    planted: dict[str, int] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    stated: dict[str, float] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)
    unclear: int = 0
    tests: int = 0
    rounds: int = 0
    steps: int = 0
    cpu_s: float = 0.0
    peers: dict[str, dict[str, float]] = field(default_factory=dict)


def plan_faults(nodes: int, leaves: int, rate: float, rails: int) -> FaultCounts:
    """Return what is planted if this share of the nodes is sick: all classes at once, and some nodes absent."""
    absent = nodes // 256
    if rate == 0:
        return FaultCounts(absent=absent)
    classes = 4 if rails == 1 else 7
    each = max(1, round(rate * nodes / classes))
    few = max(1, round(rate * leaves * 0.4))
    parts = {} if rails == 1 else {0.5: each, 0.0: each}
    return FaultCounts(
        {0.9: each, 0.75: each, 0.5: each, 0.0: each},
        parts,
        {0.5: each} if rails > 1 else {},
        {0.5: 20},
        {0.5: few},
        {0.5: few, 0.0: few},
        absent,
    )


def draw(seed: int, nodes: int, minutes: float) -> Draw:
    """Return one draw; its seed decides routes, noise, rate and rails in turn, and all places."""
    routes = ("destination", "random")[seed % 2]
    noise_name = ("heavy", "recorded")[seed // 2 % 2]
    rate = RATES[seed // 4 % 4]
    rails = (1, 4)[seed // 16 % 2]
    noise: Noise = HEAVY if noise_name == "heavy" else recorded_noise()
    tree = Tree(nodes, min(32, max(8, nodes // 16)), routes="random" if routes == "random" else "destination")
    built = Nodes(rails, rails > 1, rails > 1)
    planted = plan_faults(nodes, nodes // tree.leaf, rate, rails)
    network, faults = faulty_network(tree, built, planted, seed, noise)
    start = time.process_time()
    outcome = play(network.network(), network, faults, Budget(60 * minutes, ROUND_S, LAUNCH_S))
    found = Draw(seed, f"{routes}, {noise_name}, {100 * rate:g} %, {rails} rails", cpu_s=time.process_time() - start)
    _count_outcome(found, outcome)
    sick = sum(one.kind in ("node", "rail", "gpu path") for one in faults)
    for name, bound in PEERS:
        again, _ = faulty_network(tree, built, planted, seed, noise)
        blamed = WAYS[name](again, bound, max(1, sick), seed)
        by_class = _by_class(one for one in faults if set(one.members) & blamed.nodes)
        found.peers[_label(name, bound)] = {
            "false": len(blamed.nodes - _at_fault(faults)),
            "tests": blamed.tests,
            "rounds": blamed.rounds,
            **by_class,
        }
    return found


def tables(draws: list[Draw]) -> str:
    """Return the four tables."""
    return "\n".join((_faults(draws), _ways(draws), _promises(draws), _share_rows(draws)))


def _label(name: str, bound: float) -> str:
    return f"{name}, {100 * bound:.0f} %"


def _count_outcome(found: Draw, outcome: Outcome) -> None:
    verdict = outcome.verdict
    found.planted, found.found, found.named = (
        _by_class(each) for each in (outcome.planted, outcome.found, outcome.named)
    )
    found.stated = {
        f"{one.kind} {one.share:g}": one.probability for one in verdict.promises if one.probability is not None
    }
    found.false = [f"{one.kind} {one.members[:2]} {one.leaves} {one.part or ''}" for one in outcome.false]
    found.unclear = len(verdict.unclear)
    found.tests, found.rounds, found.steps = verdict.measurements, verdict.rounds, len(verdict.steps)


def _by_class(faults: Iterable[Fault]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in faults:
        counts[one.what] = counts.get(one.what, 0) + 1
    return counts


def _at_fault(faults: Iterable[Fault]) -> set[int]:
    return {node for one in faults if one.kind in ("node", "rail", "gpu path") for node in one.members}


def _sum(draws: list[Draw], name: str, what: str) -> int:
    return sum(getattr(each, name).get(what, 0) for each in draws)


def _classes(draws: list[Draw]) -> list[str]:
    return list(dict.fromkeys(what for each in draws for what in each.planted))


def _faults(draws: list[Draw]) -> str:
    names = [_label(*peer) for peer in PEERS]
    lines = [f"{'planted':<16}{'':>8}{'found':>8}{'named':>8}{'missed':>8}" + "".join(f"{name:>26}" for name in names)]
    for what in _classes(draws):
        planted, found, named = (_sum(draws, name, what) for name in ("planted", "found", "named"))
        others = [int(sum(each.peers[name].get(what, 0) for each in draws)) for name in names]
        counts = "".join(f"{count:26}" for count in others)
        lines.append(f"{what:<16}{planted:8}{found:8}{named:8}{planted - found:8}{counts}")
    return "\n".join(lines) + "\n"


def _ways(draws: list[Draw]) -> str:
    lines = [f"{'draws':<44}{'':>6}{'false':>7}{'rounds':>8}{'tests':>10}{'minutes':>9}{'CPU s':>7}"]
    for what in dict.fromkeys(each.what for each in draws):
        own = [each for each in draws if each.what == what]
        false = sum(len(each.false) for each in own)
        rounds, tests, steps, cpu = (
            sum(getattr(each, name) for each in own) / len(own) for name in ("rounds", "tests", "steps", "cpu_s")
        )
        minutes = (rounds * ROUND_S + steps * LAUNCH_S) / 60
        lines.append(f"{what:<44}{len(own):6}{false:7}{rounds:8.0f}{tests:10.0f}{minutes:9.1f}{cpu:7.1f}")
        for name in (_label(*peer) for peer in PEERS):
            false_, rounds, tests = (
                sum(each.peers[name][key] for each in own) / (1 if key == "false" else len(own))
                for key in ("false", "rounds", "tests")
            )
            minutes = rounds * (ROUND_S + LAUNCH_S) / 60
            lines.append(f"  {name:<42}{len(own):6}{false_:7.0f}{rounds:8.0f}{tests:10.0f}{minutes:9.1f}")
    return "\n".join(lines) + "\n"


def _promises(draws: list[Draw]) -> str:
    lines = [f"{'stated and named':<44}{'planted':>8}{'stated':>9}{'named':>9}"]
    for what in _classes(draws):
        for routes in ("destination", "random"):
            for noise in ("heavy", "recorded"):
                own = [each for each in draws if f"{routes}, {noise}" in each.what and what in each.stated]
                planted = _sum(own, "planted", what)
                if not planted:
                    continue
                stated = sum(each.planted.get(what, 0) * each.stated[what] for each in own) / planted
                share = _sum(own, "named", what) / planted
                name = f"{what}, {routes}, {noise}"
                lines.append(f"{name:<44}{planted:8}{100 * stated:8.2f}%{100 * share:8.2f}%")
    return "\n".join(lines) + "\n"


def _share_rows(draws: list[Draw]) -> str:
    lines = [f"{'stated between':<20}{'planted':>8}{'stated':>9}{'named':>9}"]
    cases = [
        (each.stated[what], each.planted[what], each.named.get(what, 0))
        for each in draws
        for what in each.planted
        if what in each.stated
    ]
    for low, high in pairwise(BORDERS):
        own = [case for case in cases if low <= case[0] < high or (high == 1.0 == case[0])]
        planted = sum(count for _, count, _ in own)
        if planted:
            stated = sum(share * count for share, count, _ in own) / planted
            named = sum(count for _, _, count in own) / planted
            lines.append(f"{low:>7.2f} and {high:<8.2f}{planted:8}{100 * stated:8.2f}%{100 * named:8.2f}%")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the draws that blamed somebody falsely, as they come, and the tables."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--draws", type=int, default=128)
    reader.add_argument("--first", type=int, default=0, help="the first seed")
    reader.add_argument("--nodes", type=int, default=5120, help="a multiple of 512")
    reader.add_argument("--minutes", type=float, default=15, help="the budget")
    reader.add_argument("--jobs", type=int, default=1)
    reader.add_argument("--keep", type=Path, help="a file of draws, which is read first and then extended")
    asked = reader.parse_args()
    if asked.nodes < 512 or asked.nodes % 512:
        reader.error(f"--nodes: {asked.nodes}: a multiple of 512")
    seeds = range(asked.first, asked.first + asked.draws)
    found = {each.seed: each for each in _read_draws(asked.keep) if each.seed in seeds}
    with ProcessPoolExecutor(asked.jobs) as pool:
        make = partial(draw, nodes=asked.nodes, minutes=asked.minutes)
        for each in pool.map(make, [seed for seed in seeds if seed not in found]):
            found[each.seed] = each
            if each.false:
                print(f"seed {each.seed} ({each.what}): falsely blamed {each.false}", flush=True)
            if asked.keep:
                with asked.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(each)) + "\n")
    print(tables([found[seed] for seed in seeds]))


def _read_draws(file: Path | None) -> list[Draw]:
    if file is None or not file.exists():
        return []
    return [Draw(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
