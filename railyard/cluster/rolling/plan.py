"""The plan of a run in groups: which nodes of a system can be tested, their groups, and the pairs of each group.

A group is a job that waits until all of its nodes are free. So nodes that are free now are in groups of their own.
Busy nodes are grouped with others whose jobs end at about the same time. A group has several nodes of each of several
leaf switches: it then has pairs within a leaf and pairs across leaves, which cross up-links.
"""

import math
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from pathlib import Path

from railyard import __version__
from railyard.base.errors import SetupError, did_you_mean
from railyard.base.hostlist import expand_names, label
from railyard.base.wording import listing
from railyard.cluster.rolling.under_scheduler import (
    PAIRS,
    SAMPLE,
    Jobs,
    KeptGroup,
    KeptRun,
    KeptStep,
    jobs,
    keep,
    pairs_text,
    runs_in,
    seconds_of,
)
from railyard.job import clients, probe_job
from railyard.parsers.slurm import WORDS, free_in
from railyard.site import topology
from railyard.site.matrix import DEFAULT, policy_of, tool_reason
from railyard.site.site import Site
from railyard.site.systems.jobs import FAMILIES, is_slurm, why_not_by_name
from railyard.site.systems.measure import largest_allowed
from railyard.stacks import ask
from railyard.verdict.blame.search.model import Round, rounds

#: Busy nodes are dealt into so many groups at a time, in the order in which they become free. With more, a group may
#: wait for a node that becomes free much later than its others; with fewer, a group has few leaves.
GROUPS_DEALT_TOGETHER = 4
#: Two leaf switches, and how often pairs of nodes between them were measured recently.
Used = Mapping[frozenset[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that can be tested; ``leaf`` is its leaf switch, empty if it is not known.

    ``free_in_s`` is how long its job may still run, in seconds; 0 if the node is free, None if that is not known.
    """

    name: str
    leaf: str = ""
    free_in_s: float | None = 0.0


def groups(
    candidates: Sequence[Candidate], size: int, seed: int = 0, used: Used | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each group. The group that can begin first comes first; nodes keep the given order.

    A group has at most ``size`` nodes, or one more if a node would otherwise be alone. ``seed`` decides which nodes of
    a leaf meet which leaves. Leaves that met least often (``used``) meet first. Raises SetupError for groups of fewer
    than two nodes.
    """
    if size < 2:
        raise SetupError(f"pairs --group: found {size}, expected 2 nodes or more, since a pair needs two")
    if len(candidates) < 2:
        found = ", ".join(one.name for one in candidates) or "no node"
        raise SetupError(f"pairs: found {found} that can be tested, expected two nodes or more, since a pair needs two")
    place = {one.name: number for number, one in enumerate(candidates)}
    free_in = {one.name: math.inf if one.free_in_s is None else one.free_in_s for one in candidates}
    made: list[tuple[str, ...]] = []
    deal = _Deal(random.Random(seed), Counter(used or {}))
    for wave in _waves(candidates, size):
        made += [tuple(sorted(group, key=place.__getitem__)) for group in deal.groups(wave, size)]
    # A single free node waits with busy ones, so its wave has groups of both kinds.
    return tuple(sorted(made, key=lambda group: max(free_in[name] for name in group)))


def group_rounds(nodes: int, at_most: int | None = None) -> tuple[Round, ...]:
    """Return the rounds of a group of so many nodes: all its pairs, or so many of the rounds, evenly spread."""
    every = rounds(nodes)
    if at_most is None or at_most >= len(every):
        return every
    return tuple(every[number * len(every) // at_most] for number in range(at_most))


def groups_of_step(rounds: Sequence[Round], size: int) -> tuple[tuple[tuple[int, ...], tuple[Round, ...]], ...]:
    """Return the groups in which these rounds can be measured, each with its nodes and its own part of the rounds.

    Nodes that meet, directly or through others, are in one group, however many they are. Small groups are joined, up
    to ``size`` nodes.
    """
    leader: dict[int, int] = {}

    def of(node: int) -> int:
        while leader.setdefault(node, node) != node:
            leader[node] = node = leader[leader[node]]
        return node

    for pair in (pair for each in rounds for pair in each):
        leader[of(pair[0])] = of(pair[1])
    parts: dict[int, list[int]] = {}
    for node in sorted(leader):
        parts.setdefault(of(node), []).append(node)
    bins: list[list[int]] = []
    for nodes in sorted(parts.values(), key=len, reverse=True):
        room = next((one for one in bins if len(one) + len(nodes) <= size), None)
        if room is None:
            bins.append(list(nodes))
        else:
            room += nodes
    found = []
    for nodes in bins:
        there = set(nodes)
        own = [tuple(pair for pair in each if pair[0] in there) for each in rounds]
        found.append((tuple(sorted(nodes)), tuple(each for each in own if each)))
    return tuple(found)


def _waves(candidates: Sequence[Candidate], size: int) -> list[list[Candidate]]:
    """Return the candidates that are dealt into groups together; each wave has at least two."""
    free = [one for one in candidates if one.free_in_s == 0]
    busy = sorted((one for one in candidates if one.free_in_s), key=lambda one: one.free_in_s or 0.0)
    busy += [one for one in candidates if one.free_in_s is None]
    step = GROUPS_DEALT_TOGETHER * size
    waves = [free, *(busy[start : start + step] for start in range(0, len(busy), step))]
    found: list[list[Candidate]] = []
    carried: list[Candidate] = []
    for wave in waves:
        carried += wave
        if len(carried) > 1:
            found.append(carried)
            carried = []
    if carried:
        found[-1] += carried
    return found


@dataclass(slots=True)
class _Deal:
    """Deals nodes into groups; ``met`` counts the pairs of leaves that have met."""

    order: random.Random
    met: Counter[frozenset[str]] = field(default_factory=Counter)

    def groups(self, wave: Sequence[Candidate], size: int) -> list[list[str]]:
        """Return the groups of one wave; their sizes differ by at most one node."""
        count = max(1, min(math.ceil(len(wave) / size), len(wave) // 2))
        left: dict[str, list[str]] = {}
        for one in wave:
            left.setdefault(one.leaf, []).append(one.name)
        for names in left.values():
            self.order.shuffle(names)
        rank = list(left)
        self.order.shuffle(rank)
        return [self._group(left, rank, (len(wave) + number) // count) for number in range(count)]

    def _group(self, left: dict[str, list[str]], rank: Sequence[str], size: int) -> list[str]:
        # As many nodes of a leaf as there are leaves: a group of 16 has four of each of four.
        block = max(2, round(math.sqrt(size)))
        group: list[str] = []
        leaves: list[str] = []
        while len(group) < size:
            leaf = min(
                (leaf for leaf in rank if left[leaf]),
                key=lambda leaf: (
                    leaf in leaves,
                    -math.ceil(len(left[leaf]) / block),
                    sum(self.met[frozenset((leaf, other))] for other in leaves),
                ),
            )
            some = min(block, size - len(group))
            group += left[leaf][:some]
            del left[leaf][:some]
            leaves.append(leaf)
        self.met.update(frozenset(pair) for pair in combinations(dict.fromkeys(leaves), 2))
        return group


_TOOL = "pairs"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a person asks for; None leaves it open. ``nodes`` are names as Slurm writes them.

    A group has ``group`` nodes. At most ``at_most`` groups run at once. Each group measures at most ``sample`` rounds,
    within ``budget_s`` seconds.
    """

    fabric: str | None = None
    stack: str | None = None
    rails: int | None = None
    nodes: str | None = None
    group: int = 16
    at_most: int = 20
    sample: int | None = None
    budget_s: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """What the pairs are measured over: a fabric, a stack and its rails, and the words that the program is given.

    ``rate_mb_s`` is the highest rate that a pair can give, one way; None if it is not known.
    """

    fabric: str
    stack: str
    rails: int
    policy: str
    words: tuple[str, ...]
    rate_mb_s: float | None

    def round_s(self, nodes: int) -> float:
        """Return about how long a round of so many nodes lasts, in seconds."""
        return probe_job.round_seconds(self.words, self.rate_mb_s, nodes)


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that can be tested, in topology order, and those that cannot, each with the reason."""

    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, str]


def place_of(site: Site, wanted: PlanRequest) -> Place:
    """Return what a system's pairs are measured over: unless you say otherwise, its first fabric and all its rails.

    Raises SetupError for an unknown fabric, stack or number of rails, and for a stack that cannot use the fabric.
    """
    system = site.system
    fabric = wanted.fabric or next(iter(system.fabrics))
    if fabric not in system.fabrics:
        found = did_you_mean(fabric, system.fabrics)
        raise SetupError(f'pairs --system: found the fabric "{fabric}", expected one of {system.system}; {found}')
    counts = system.fabrics[fabric].counts
    rails = wanted.rails or counts[-1]
    if rails not in counts:
        known = listing([str(count) for count in counts])
        raise SetupError(f"pairs --rails: found {rails}, expected {known} of {fabric}")
    stack = _stack(site, fabric, rails, wanted.stack)
    policy = policy_of(system, fabric, stack, rails, DEFAULT)
    limit = system.fabrics[fabric].limit(rails, 1, policy=policy)
    rate = None if limit is None else limit.value_mb_s
    size = largest_allowed(probe_job.SIZE_BYTES, system.measure, 2, rails)
    words = probe_job.words(size, probe_job.WINDOW, probe_job.EXCHANGES, rate)
    return Place(fabric, stack, rails, policy, tuple(words), rate)


def leaves_of(site: Site, place: Place) -> topology.Leaves:
    """Return each node's leaf switch, from the system's file or as it was measured; {} if it is not known."""
    rails = site.system.fabrics[place.fabric].used_rails(place.rails, place.policy)
    return topology.places_of(site.home, site.system, place.fabric, rails).leaf_of


def nodes_of(site: Site, asked: str | None, leaf_of: topology.Leaves, now: datetime) -> Nodes:
    """Return which of a system's nodes, or of those asked for, can be tested, and when they become free.

    Slurm says both. Under another scheduler all names of the system's file count as free. Raises SetupError if no
    names are known, or for a name that the system does not have.
    """
    system = site.system
    states = clients.nodes_of(system, site.home)
    names = tuple(node.name for node in states) or system.nodes.names
    if asked is not None:
        names = _requested_nodes(asked, names, system.system)
    if not names:
        raise SetupError(
            f"pairs: found no names of nodes, neither from Slurm nor in systems/{system.system}.yaml; give --nodes"
        )
    wanted = {label(name) for name in names}
    left_out = {node.name: node.why for node in states if node.unfit is not None and label(node.name) in wanted}
    gone = {label(node) for node in left_out}
    busy = _busy(site, now)
    order = {leaf: place for place, leaf in enumerate(dict.fromkeys(leaf_of.values()))}
    there = [
        Candidate(name, leaf_of.get(label(name), ""), busy.get(label(name), 0.0))
        for name in names
        if label(name) not in gone
    ]
    # Nodes of one leaf follow one another; nodes whose leaf is not known come last.
    there.sort(key=lambda one: order.get(one.leaf, len(order)))
    return Nodes(tuple(there), left_out)


def plan_run(
    site: Site, wanted: PlanRequest, place: Place, nodes: Nodes, id: str, now: datetime, used: Used | None = None
) -> KeptRun:  # fmt: skip
    """Return the run in groups, not yet submitted. ``now`` has a zone.

    Raises SetupError for fewer than two nodes, or a budget in which no round can be measured.
    """
    made = groups(nodes.candidates, wanted.group, wanted.seed, used)
    largest = max(map(len, made))
    budget_s = wanted.budget_s
    if budget_s is not None and rounds_within(budget_s, place, largest) < 1:
        least = probe_job.launch_seconds(largest) + place.round_s(largest)
        raise SetupError(
            f"pairs --budget: found {budget_s:g} s, expected {least:.0f} s at least: the launch over {largest} nodes "
            f"and one round"
        )
    system = site.system.system
    return KeptRun(
        id=id,
        railyard=__version__,
        system=system,
        fabric=place.fabric,
        stack=place.stack,
        rails=place.rails,
        policy=place.policy,
        size=int(place.words[0]),
        words=place.words,
        tag=id,
        submitted=now.timestamp(),
        at_most=wanted.at_most,
        budget_s=budget_s or 0.0,
        seed=wanted.seed,
        steps=(KeptStep(SAMPLE, tuple(KeptGroup(group) for group in made), "every node in one group"),),
        left_out=dict(nodes.left_out),
        leaves={one.name: one.leaf for one in nodes.candidates if one.leaf},
    )


def rounds_within(budget_s: float, place: Place, nodes: int) -> int:
    """Return how many rounds of so many nodes fit into a budget after their launch."""
    return int((budget_s - probe_job.launch_seconds(nodes)) / place.round_s(nodes))


def write_first_step(site: Site, run: KeptRun, place: Place, sample: int | None) -> tuple[Jobs, int]:
    """Write what the jobs of a run's first step read; return how they are launched and how long each may take.

    Raises SetupError if the folder cannot be written, and RailyardError if the stack or its program is missing.
    """
    folder = runs_in(site.home) / run.id
    made, step = jobs(site, run, folder), run.step(SAMPLE)
    rounds = _rounds(run, place, sample)
    keep(folder, run)
    pairs = {f"{step.folder(n)}/{PAIRS}": pairs_text(step.groups[n - 1].nodes, own) for n, own in rounds.items()}
    write_files(folder, {**made.files(), **pairs})
    return made, _seconds(run, place, rounds)


def show_run(site: Site, run: KeptRun, place: Place, sample: int | None) -> str:
    """Return the groups of a run and the script of its first job, without submitting anything."""
    made, step = jobs(site, run, runs_in(site.home) / "RUN"), run.step(SAMPLE)
    seconds = _seconds(run, place, _rounds(run, place, sample))
    lines = [f"# group {number}: {' '.join(group.nodes)}" for number, group in enumerate(step.groups, start=1)]
    is_array = made.batch.array is not None
    script = made.array_script(step, seconds) if is_array else made.script(step, 1, seconds, None)
    return "".join(f"{line}\n" for line in lines) + script


def _rounds(run: KeptRun, place: Place, sample: int | None) -> dict[int, tuple[Round, ...]]:
    """Return the rounds of each group of the sample, by the group's number."""
    found = {}
    for number, group in enumerate(run.step(SAMPLE).groups, start=1):
        within = rounds_within(run.budget_s, place, len(group.nodes)) if run.budget_s else None
        most = [limit for limit in (sample, within) if limit is not None]
        found[number] = group_rounds(len(group.nodes), min(most, default=None))
    return found


def _seconds(run: KeptRun, place: Place, rounds: Mapping[int, tuple[Round, ...]]) -> int:
    groups = run.step(SAMPLE).groups
    counts = {number: len(groups[number - 1].nodes) for number in rounds}
    return max(seconds_of(len(own), place.round_s(counts[number]), counts[number]) for number, own in rounds.items())


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a run's folder. If one cannot be written, remove the folder and raise SetupError."""
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SetupError(f"pairs: {folder} cannot be written ({error.strerror}), where the jobs write too") from None


def why_not_in_groups(site: Site) -> str | None:
    """Return why the pairs of a system cannot be tested in groups; None if its scheduler gives jobs nodes by name."""
    system = site.system
    if system.provider not in ("nodes", "testbed") or system.scheduler not in FAMILIES:
        return f"{system.system} has {system.provider} under the scheduler {system.scheduler}"
    return why_not_by_name(system.system, system.jobs)


def _stack(site: Site, fabric: str, rails: int, asked: str | None) -> str:
    system = site.system
    if asked is not None and asked not in system.stacks:
        found = did_you_mean(asked, system.stacks)
        raise SetupError(f'pairs --stack: found "{asked}", expected one of {system.system}; {found}')
    kind, knobs = system.fabrics[fabric].kind, system.fabrics[fabric].knobs
    for name in [asked] if asked else system.stacks:
        why_not = tool_reason(system, name, _TOOL) or ask.why_not(name, kind, rails, None, knobs)
        if why_not is None:
            return name
    raise SetupError(
        f"pairs: found no stack of {system.system} that drives {rails} of the rails of {fabric} ({kind}) and has "
        f"railyard-pairs{f' (you asked for {asked})' if asked else ''}, expected one; railyard stacks compile makes it"
    )


def _requested_nodes(asked: str, known: Sequence[str], system: str) -> tuple[str, ...]:
    try:
        names = tuple(dict.fromkeys(expand_names(asked)))
    except ValueError as error:
        raise SetupError(f"pairs --nodes: found {asked!r} ({error}), expected names such as n[1-8],n12") from None
    there = {label(name): name for name in known}
    lost = next((name for name in names if there and label(name) not in there), None)
    if lost is not None:
        raise SetupError(f'pairs --nodes: found "{lost}", expected nodes of {system}; {did_you_mean(lost, known)}')
    return tuple(there.get(label(name), name) for name in names)


def _busy(site: Site, now: datetime) -> Mapping[str, float | None]:
    """Return in how many seconds busy nodes become free; none if Slurm does not say it."""
    if not is_slurm(site.system.scheduler):
        return {}
    words = [*clients.way_in(site.system, site.home), "squeue", *WORDS]
    return free_in(clients.answer(words)[0], now.replace(tzinfo=None))
