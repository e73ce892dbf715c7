"""Groups of 5,120 simulated nodes: the plan, what is merged, whom the screening names, and how many jobs that takes."""

import random
from collections.abc import Iterable, Sequence

import pytest

from railyard.benchmarks.node_pairs import merge_tables
from railyard.cluster.rolling.plan import Candidate, group_rounds, groups, groups_of_step
from railyard.parsers.output import Table
from railyard.parsers.pairs import COLUMNS, UNITS
from railyard.site.topology import Places
from railyard.verdict.blame.screening.model import Budget
from railyard.verdict.blame.search.model import Round
from railyard.verdict.node_pairs import SampleOrigin, screen_tables

NAMES = [f"n{number:04}" for number in range(5120)]
LEAVES = {name: f"leaf{place // 32:03}" for place, name in enumerate(NAMES)}
NODES = {"n0100": 0.9, "n2000": 0.75, "n3333": 0.5}


class Network:
    """Pairs of nodes at 48 GB/s, with 1 % of scatter; one value in a hundred is disturbed, down to half."""

    def __init__(self, pairs: Iterable[tuple[str, str]], seed: int) -> None:
        self._pairs, self._draw = {frozenset(pair) for pair in pairs}, random.Random(seed)

    def table(self, hosts: Sequence[str], rounds: Sequence[Round], name: str, repeats: int = 1) -> Table:
        """Return what railyard-pairs prints of these rounds, read."""
        rows = [
            (number, a, b, value := self._value(hosts[a], hosts[b]), value, 1.5)
            for number, each in enumerate([*rounds] * repeats, start=1)
            for a, b in each
        ]
        context: dict[str, str | int] = {
            "size": 4194304,
            "window": 8,
            "repeats": 4,
            "warm_up": 1,
            "exchanges": 20,
            "exchange_bytes": 8,
        }
        context |= {"hosts": " ".join(hosts), "rounds": len(rounds) * repeats}
        of_sample: dict[str, str | int] = {"sample": True} if name == "sample" else {}
        return Table(
            "pairs", "1", "pairs" if of_sample else name, COLUMNS, UNITS, tuple(rows), 1, True, context | of_sample
        )

    def _value(self, a: str, b: str) -> float:
        share = min(NODES.get(a, 1.0), NODES.get(b, 1.0), 0.5 if frozenset((a, b)) in self._pairs else 1.0)
        disturbed = self._draw.uniform(0.5, 1.0) if self._draw.random() < 0.01 else 1.0
        return 48_000 * share * disturbed * self._draw.lognormvariate(0, 0.01)


@pytest.mark.full
@pytest.mark.parametrize("seed", [7, 8])
def test_slow_nodes_and_a_slow_pair_of_5120_are_named_and_nobody_else(seed: int) -> None:
    made = groups([Candidate(name, LEAVES[name]) for name in NAMES], 16, seed)
    assert len(made) == 320
    pair = (made[5][0], made[5][7])
    network = Network([pair], seed)
    of_groups = [network.table(group, group_rounds(16), "sample") for group in made]
    tables = [merge_tables(of_groups, NAMES)]
    assert len(tables[0].rows) == 320 * 120
    how = SampleOrigin("rolling", Budget((320 * 15 + 400) * 0.3, 0.3), planned_here=False)
    jobs = 0
    while (came := screen_tables(tables, how, Places(LEAVES), None, (), 18)).open_step is not None:
        step = came.open_step
        of_step = []
        for nodes, rounds in groups_of_step(step.rounds, 16):
            place = {node: index for index, node in enumerate(nodes)}
            own = [tuple((place[a], place[b]) for a, b in each) for each in rounds]
            of_step.append(network.table([NAMES[node] for node in nodes], own, "alone", step.repeats))
        jobs += len(of_step)
        tables.append(merge_tables(of_step, NAMES))
        assert len(tables) < 12
    named = {tuple(NAMES[member] for member in one.members) for one in came.screened.named}
    assert named == {*((node,) for node in NODES), tuple(sorted(pair))}
    assert jobs < 100
    assert came.screened.coverage.nodes.used == 5120
