"""A sample of the pairs of nodes for ``blame.screening``: what to measure next, and who is named by all of it.

The outputs are those of railyard-pairs, as in ``blame.node_pairs``: the first is from the sample, each later one from
the step that ``next_step`` asked for. The same call judges a sample that was planned elsewhere (a nightly one, or
groups of nodes).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing
from railyard.benchmarks.node_pairs import hosts_of, is_sample, pairs_of
from railyard.parsers.output import Table
from railyard.parsers.pairs import ALONE, ONE_RAIL, SAMPLE
from railyard.results.record.form import Confidence, Suspect
from railyard.site.topology import Places
from railyard.verdict.blame.node_pairs import rounds_text, values_of
from railyard.verdict.blame.screening import screen
from railyard.verdict.blame.screening.model import Budget, Network, Results, ScreeningVerdict, Settings
from railyard.verdict.blame.screening.model import Suspect as Found
from railyard.verdict.blame.search.model import Layout, PairsError, Round, Step
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.wording import pair_search as search_words

_NOBODY: Mapping[int, str] = {}
_USUAL = Settings()


def network_of(
    hosts: Sequence[str],
    places: Places,
    expected_mb_s: float | None,
    rails: Sequence[str] = (),
    up_links: int | None = None,
) -> Network:
    """Return the nodes in their order with what is known of them; a node without a known leaf switch has "" for it.

    Groups only count if each node is in a known one.

    Raises ValueError for fewer than two nodes, or a node twice.
    """
    leaf_of, group_of = places.leaf_of, places.group_of
    sides = tuple(leaf_of.get(label(host), "") for host in hosts) if leaf_of else ()
    groups = tuple(group_of.get(label(host), "") for host in hosts)
    known = groups if all(groups) and all(sides) and 1 < len(set(groups)) < len(set(sides)) else ()
    layout = Layout(tuple(hosts), sides, expected=expected_mb_s, groups=known)
    return Network(layout, tuple(rails), up_links=up_links)


def hosts_of_sample(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the hosts of a sample in the order of the ranks. Raises ValueError if the first table is not a sample."""
    if not tables or not is_sample(tables[0]):
        raise ValueError("no sample of pairs first")
    return hosts_of(tables[0])


def sample_step(table: Table, network: Network) -> Step:
    """Return a sample as a step, by the rounds of its rows.

    Raises ValueError for a row without numbers.
    """
    places = {host: place for place, host in enumerate(network.layout.nodes)}
    rounds: dict[int, list[tuple[int, int]]] = {}
    for pair in pairs_of(table):
        first, second = sorted((places[pair.first], places[pair.second]))
        rounds.setdefault(pair.round, []).append((first, second))
    made: tuple[Round, ...] = tuple(map(tuple, rounds.values()))
    return Step("sample", made, 1, search_words.measured_pairs())


def first_step(network: Network, budget: Budget, settings: Settings = _USUAL) -> Step | ScreeningVerdict:
    """Return what to measure first. Raises BudgetError for a budget that is too small for it."""
    return screen.advance(network, budget, (), settings)


def next_step(
    tables: Sequence[Table],
    network: Network,
    budget: Budget,
    settings: Settings = _USUAL,
    *,
    planned_here: bool = True,
    absent: Mapping[int, str] = _NOBODY,
    not_made: int = 0,
) -> Step | ScreeningVerdict:
    """Return what to measure next, or the verdict, from the tables of the sample and of each step made so far.

    The next ``not_made`` steps were not measured and will not be.

    ``planned_here``: the sample is what ``first_step`` asked for, if its pairs agree; any other sample is taken as it
    was measured. Raises ValueError if the first table is not a sample, PairsError if a table is not from its step,
    BudgetError for a budget that is too small.
    """
    hosts_of_sample(tables)
    results = [Results(values_of(table, network.layout)) for table in tables] + [Results()] * not_made
    if planned_here:
        try:
            return screen.advance(network, budget, results, settings, absent=absent)
        except PairsError:
            if len(tables) > 1:
                raise
    return screen.advance(network, budget, results, settings, sample_step(tables[0], network), absent)


def step_text(step: Step) -> str:
    """Return a step's rounds as railyard-pairs reads them, below two lines that say how to launch it.

    ``# name sample``: the name that the program gives it; ``# over mlx5_0:1``: only over that rail.
    """
    name = SAMPLE if step.name in ("sample", "nightly") else ALONE if step.over is None else ONE_RAIL
    over = "" if step.over is None else f"# over {step.over.name}\n"
    return f"# name {name}\n{over}{rounds_text(step.rounds, step.repeats)}"


def findings(reached: ScreeningVerdict, network: Network, rail: str | None) -> Findings:
    """Return who is slow by a screening.

    ``rail`` is the rail of a run over one rail: a node's fault is then that rail's fault. Undecided suspects come last,
    with the confidence "open".
    """
    named = [
        replace(_suspect(one, network, rail, "shown"), brief=search_words.brief_slow(one.share))
        for one in reached.named
    ]
    open_ = [_suspect(one, network, rail, "open") for one in reached.unclear]
    next_look = search_words.look_at_places() if reached.shared and not named else None
    return Findings((*named, *open_), reached.sentence, look_at=next_look)


def _suspect(found: Found, network: Network, rail: str | None, confidence: Confidence) -> Suspect:
    nodes, why = network.layout.nodes, found.reason
    of = tuple(nodes[member] for member in found.members)
    if found.kind == "node":
        return Suspect("node" if rail is None else "rail", why, of[0], rail, confidence=confidence)
    if found.kind == "rail":
        return Suspect("rail", why, of[0], found.part, confidence=confidence)
    if found.kind == "gpu path":
        return Suspect("gpu", why, of[0], part=found.part, confidence=confidence)
    if found.kind == "pair":
        return Suspect("pair", why, network.layout.pair(*found.members[:2]), rail, confidence=confidence)
    if found.kind == "leaf":
        return Suspect("leaf", why, None, rail, listing(found.leaves), of, confidence)
    if found.kind == "up-link":
        number = f" {found.part}" if found.part else ""
        return Suspect("up-link", why, None, rail, f"{listing(found.leaves)}{number}", of, confidence)
    if found.kind == "path":
        return Suspect("switch", why, None, rail, search_words.between_sides(found.leaves), of, confidence)
    if found.kind == "group":
        return Suspect("switch", why, None, rail, f"group {listing(found.leaves)}", of, confidence)
    return Suspect("switch", why, None, rail, nodes=of, confidence=confidence)


def words_of(named: Iterable[Found], network: Network) -> list[str]:
    """Return the named in a few words each, as a person looks for them: ``node n17``, ``rail mlx5_0:1 of n17``."""
    nodes = network.layout.nodes
    said = []
    for one in named:
        of = listing([nodes[member] for member in one.members[:2]]) if one.kind in ("node", "pair") else ""
        if one.kind in ("rail", "gpu path"):
            of = f"{one.part} of {nodes[one.members[0]]}"
        elif one.leaves:
            of = search_words.between_sides(one.leaves) if one.kind == "path" else listing(one.leaves)
        said.append(f"{one.kind} {of or count_of(len(one.members), 'node')}")
    return said
