"""What switches carry: within each leaf switch, between two of them, and across all at once.

One launch of railyard-pairs measures all rounds of the plan (``plan``), and a screening of these values says who is
slow (``blame.screening``): a node, a leaf switch, an up-link, a group, the path between two. This module adds what the
screening does not look at: the figures of each phase, what the up-links of a leaf switch leave each of its nodes
(``UpLinks``), and the messages per second, which a second launch measures over the same rounds.

What the cables carry is an upper bound. A healthy network with static routes reaches 55 to 60 % of it over random
halves (Hoefler et al., "Multistage Switches are not Crossbars", IEEE Cluster 2008). So all leaf switches together must
reach ``UP_LINKS_SHARE`` of it, and one leaf switch is only compared with the others.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from typing import Literal

from railyard.base.bounds import IMPOSSIBLE_FACTOR, UP_LINKS_SHARE
from railyard.benchmarks.model import Figure
from railyard.benchmarks.node_pairs import hosts_of, pairs_of
from railyard.hardware import limits
from railyard.hardware.links import lanes_and_speed, rate_gbit_s
from railyard.parsers.output import ParseError, Table
from railyard.parsers.pairs import parse
from railyard.results.record.form import Suspect
from railyard.site.systems.model import Fabric, Rail
from railyard.site.topology import Places, PlacesInJob, StoredDistances, stated_leaves
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.node_pair_sample import network_of
from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.screening.plan import Planner
from railyard.verdict.blame.screening.values import leaves_of, shift_partners
from railyard.verdict.blame.search.model import Layout, Round, Step, count, matching
from railyard.verdict.findings import with_remark
from railyard.verdict.node_pairs import SampleOrigin, fail_fabric, with_screening
from railyard.verdict.wording import pair_search as words
from railyard.verdict.wording.blame import look_at_switches

#: ``one``: a single stream from each leaf switch. ``between``: all nodes of two leaf switches, while others rest.
#: ``all``: of all leaf switches. If groups are known, these two are of the leaf switches of one group, the second as
#: ``group``; then ``between groups`` is two groups while others rest, and ``all`` is all groups.
Phase = Literal["within", "one", "between", "group", "between groups", "all"]
#: Rounds of each phase: within leaf switches; all at once, at least and at most; single streams, the same.
_WITHIN, _ALL, _ONE = 3, (3, 15), (8, 32)
#: All pairs of leaf switches meet alone if they are at most so many; else each meets the next one, up to the second.
_EACH_TWO, _MOST_TWO = 36, 64


def plan(network: Network) -> Step:
    """Return the rounds within each leaf switch, between two, and across all of them at once, and of single streams.

    If groups of leaf switches are known, all nodes of two groups meet too. Raises ValueError if fewer than two leaf
    switches are known: there is nothing to measure then.
    """
    leaves = leaves_of(network.layout)
    if not leaves.known or len(leaves.names) < 2:
        raise ValueError(words.no_leaves(len(network.layout.nodes), leaves.names[0]))
    planner = Planner(leaves, leaves.members, seed=1)
    sides, groups = list(leaves.layout.members().values()), _groups(leaves.layout)
    every = count(len(sides))
    whole = _groups_meet(leaves.layout, groups) if groups else planner.full(_clamp(every, *_ALL))
    rounds = [
        *planner.home(_WITHIN),
        *whole,
        *(_merge_rounds([_two_meet(each) for each in groups]) if groups else _two_meet(sides)),
        *planner.thin(_clamp(4 * every, *_ONE)),
    ]
    return Step("sample", tuple(rounds), 1, words.why_switch_groups(len(sides)))


def _clamp(value: int, least: int, most: int) -> int:
    return max(least, min(most, value))


def _groups(layout: Layout) -> list[list[Sequence[int]]]:
    """Return the nodes of each leaf switch, by group; none if groups are not known."""
    found: dict[str, list[Sequence[int]]] = {}
    for nodes in layout.members().values() if layout.groups else ():
        found.setdefault(layout.groups[nodes[0]], []).append(nodes)
    return list(found.values())


def _groups_meet(layout: Layout, groups: Sequence[Sequence[Sequence[int]]]) -> Iterator[Round]:
    """Yield rounds in which all leaf switches of each group meet, then all groups at once, then two groups at a time.

    In other rounds the links between groups would carry one stream here and ten there, which says nothing about them.
    """
    yield from _merge_rounds([_all_meet(each) for each in groups])
    nodes = list(layout.by_groups().members().values())
    yield from _all_meet(nodes)
    yield from _two_meet(nodes)


def _merge_rounds(parts: Sequence[Iterable[Round]]) -> Iterator[Round]:
    """Yield the rounds of each part, those of all parts at the same time."""
    for each in zip_longest(*parts, fillvalue=()):
        yield tuple(pair for part in each for pair in part)


def _all_meet(sides: Sequence[Sequence[int]]) -> Iterator[Round]:
    """Yield rounds in which each side meets another one, all of them at once."""
    for number in range(min(count(len(sides)), _ALL[1]) if len(sides) > 1 else 0):
        yield tuple(
            pair
            for one, other in matching(len(sides), number)
            for pair in shift_partners(sides[one], sides[other], number)
        )


def _two_meet(sides: Sequence[Sequence[int]]) -> Iterator[Round]:
    """Yield rounds in which all nodes of two sides meet while all others rest; none for two sides: these are all."""
    if len(sides) < 3:
        return
    pairs = list(combinations(range(len(sides)), 2))
    if len(pairs) > _EACH_TWO:
        pairs = [(one, (one + 1) % len(sides)) for one in range(min(len(sides), _MOST_TWO))]
    for number, (one, other) in enumerate(pairs):
        yield shift_partners(sides[one], sides[other], number)


@dataclass(frozen=True, slots=True)
class Flow:
    """One pair of a round: what it gave one way and the other, in MB/s, between which sides, and how many sent with it.

    ``leaves`` and ``groups`` are the names at both ends (groups "" if they are not known). ``crowd`` is how many pairs
    of the round left each of the two leaf switches at once, ``group_crowd`` how many left each of the two groups.
    """

    ways: tuple[float, float]
    leaves: tuple[str, str]
    groups: tuple[str, str]
    crowd: tuple[int, int]
    group_crowd: tuple[int, int]


Phases = Mapping[Phase, Sequence[Flow]]
_Row = tuple[int, int, tuple[float, float]]


def _slower_mean(flows: Iterable[Flow]) -> float:
    """Return the mean of the slower direction, as a bisection has it."""
    return min(statistics.fmean(way) for way in zip(*(flow.ways for flow in flows), strict=True))


def phases(table: Table, network: Network) -> Phases:
    """Return the pairs of each phase, by what else each of its rounds had.

    Raises ValueError for a row without numbers, or a host that is not in the network.
    """
    layout = leaves_of(network.layout).layout
    places = {host: place for place, host in enumerate(layout.nodes)}
    by_round: dict[int, list[_Row]] = {}
    for pair in pairs_of(table):
        if pair.first not in places or pair.second not in places:
            raise ValueError(f"{pair.first}-{pair.second} is not of these nodes")
        by_round.setdefault(pair.round, []).append(
            (places[pair.first], places[pair.second], (pair.forward_mb_s, pair.backward_mb_s))
        )
    found: dict[Phase, list[Flow]] = {}
    for rows in by_round.values():
        for phase, flow in _of_round(rows, layout):
            found.setdefault(phase, []).append(flow)
    return found


def _of_round(rows: Sequence[_Row], layout: Layout) -> Iterator[tuple[Phase, Flow]]:
    groups = layout.groups or ("",) * len(layout.nodes)
    far = [(a, b) for a, b, _ in rows if layout.sides[a] != layout.sides[b]]
    crowd = Counter(layout.sides[node] for pair in far for node in pair)
    apart = Counter(groups[node] for a, b in far if groups[a] != groups[b] for node in (a, b))
    meeting = Counter(groups[leaf[0]] for leaf in layout.members().values() if layout.sides[leaf[0]] in crowd)
    for a, b, ways in rows:
        leaves, of = (layout.sides[a], layout.sides[b]), (groups[a], groups[b])
        sent, left = (crowd[leaves[0]], crowd[leaves[1]]), (apart[of[0]], apart[of[1]])
        phase: Phase = "all"
        if leaves[0] == leaves[1]:
            phase = "within"
        elif max(sent) == 1:
            phase = "one"
        elif of[0] == of[1]:
            # Two leaf switches of a group meet alone if no others of this group meet in the round.
            phase = "between" if meeting[of[0]] == 2 else "group" if layout.groups else "all"
        elif len(apart) == 2:
            phase = "between groups"
        yield phase, Flow(ways, leaves, of, sent, left)


def by_side(phase: Phase, flows: Iterable[Flow], *, each_leaf: bool = False) -> dict[str, float]:
    """Return the mean of each leaf switch in a phase, of two that met alone, or of a group while all groups met.

    ``each_leaf``: of each leaf switch in every phase.
    """
    found: dict[str, list[Flow]] = {}
    for flow in flows:
        if phase in ("between", "between groups") and not each_leaf:
            ends = [words.between_sides(sorted(flow.leaves if phase == "between" else flow.groups))]
        else:
            ends = list(flow.groups if phase == "all" and flow.groups[0] and not each_leaf else flow.leaves)
        for end in dict.fromkeys(ends):
            found.setdefault(end, []).append(flow)
    return {end: _slower_mean(own) for end, own in found.items()}


@dataclass(frozen=True, slots=True)
class UpLinks:
    """What joins leaf switches (or groups, ``of_groups``) to the rest: the bound of all phases between them.

    ``node_mb_s`` is what the rails of one node carry, ``capacity_mb_s`` what all up-links of a side carry together, one
    way, by its name. ``source`` says in words where this comes from.
    """

    node_mb_s: float
    capacity_mb_s: Mapping[str, float]
    of_groups: bool
    source: str

    def bound_mb_s(self, flow: Flow) -> float:
        """Return what the up-links at both ends leave a pair that sends together with others."""
        sides, crowds = (flow.groups, flow.group_crowd) if self.of_groups else (flow.leaves, flow.crowd)
        shares = [self.capacity_mb_s[side] / max(1, crowd) for side, crowd in zip(sides, crowds, strict=True)]
        return min(self.node_mb_s, *shares)


def stated_up_links(fabric: Fabric, name: str, rails: Sequence[Rail], node_mb_s: float | None) -> UpLinks | None:
    """Return what the system's file says about up-links: their number, else how far the network is blocked.

    ``rails`` are those of the run, and ``node_mb_s`` is what they carry. The number of nodes at a leaf switch is the
    stated one, however few of them a job has. None if the file states neither, or no rate of the link is known.
    """
    own = [stated_leaves(rail.leaf_switches) for rail in rails if rail.leaf_switches]
    leaf_of = own[0] if own else stated_leaves(fabric.leaf_switches)
    one = limits.limit(fabric.link, mtu=fabric.mtu)
    if not leaf_of or node_mb_s is None or one is None:
        return None
    # If each rail has its own leaf switches, each of them has so many up-links.
    planes = len(own) or 1
    if fabric.up_links is not None:
        each = planes * fabric.up_links * one.value_mb_s
        sizes = Counter(leaf_of.values())
        source = words.by_up_links(fabric.up_links, planes, min(sizes.values()), max(sizes.values()), name)
        return UpLinks(node_mb_s, dict.fromkeys(sizes, each), False, source)
    if "blocking" not in fabric.model_fields_set:
        return None
    group_of = {leaf: group for group, leaves in fabric.groups.items() for leaf in leaves}
    of_groups = len(fabric.groups) > 1
    sides = Counter(group_of.get(leaf, leaf) for leaf in leaf_of.values()) if of_groups else Counter(leaf_of.values())
    carried = {side: nodes * node_mb_s / fabric.blocking for side, nodes in sides.items()}
    return UpLinks(node_mb_s, carried, of_groups, words.by_blocking(fabric.blocking, name))


#: What bounds the phases between leaf switches (None: nothing known does), and a sentence for each link or leaf switch
#: that is unlike others.
UpLinksRead = tuple[UpLinks | None, tuple[str, ...]]


def find_up_links(
    kept: StoredDistances | None,
    places: Places,
    fabric: Fabric,
    name: str,
    rails: Sequence[Rail],
    node_mb_s: float | None,
) -> UpLinksRead:
    """Return what is known of up-links: as `railyard fabric --keep-hops` read them, else as the system's file says."""
    bound, remarks = _read_up_links(kept, places, fabric, rails, node_mb_s)
    return (bound, remarks) if bound is not None else (stated_up_links(fabric, name, rails, node_mb_s), ())


def _read_up_links(
    kept: StoredDistances | None, places: Places, fabric: Fabric, rails: Sequence[Rail], node_mb_s: float | None
) -> UpLinksRead:
    """Return up-links as they were read; None if not those of each leaf switch, or if one is several by the reading."""
    one, rate = limits.limit(fabric.link, mtu=fabric.mtu), _nominal_gbit_s(fabric)
    if kept is None or not kept.up_links or node_mb_s is None or one is None or not rate:
        return None, ()
    found: dict[str, dict[str, float]] = {}
    for leaf in dict.fromkeys(places.leaf_of.values()):
        own = [node for node, of in places.leaf_of.items() if of == leaf]
        at = [{kept.places.get(rail.device, {}).get(node) for node in own} for rail in rails]
        switches = dict.fromkeys(switch for each in at for switch in each)
        if any(len(each) != 1 for each in at) or not all(kept.up_links.get(switch or "") for switch in switches):
            return None, ()
        found[leaf] = {link: gbit for switch in switches for link, gbit in kept.up_links[switch or ""].items()}
    if not found:
        return None, ()
    each_mb_s = {leaf: sum(links.values()) / rate * one.value_mb_s for leaf, links in found.items()}
    counts = Counter(len(links) for links in found.values())
    usual = max(gbit for links in found.values() for gbit in links.values())
    remarks = [
        words.unlike_up_link(leaf, link, gbit, usual)
        for leaf, links in found.items()
        for link, gbit in links.items()
        if gbit < usual
    ]
    most = max(counts)
    remarks += [words.fewer_up_links(leaf, len(links), most) for leaf, links in found.items() if len(links) < most]
    return UpLinks(node_mb_s, each_mb_s, False, words.by_reading(min(counts), most)), tuple(remarks)


def _nominal_gbit_s(fabric: Fabric) -> float | None:
    lanes, speed = lanes_and_speed(fabric.link)
    return None if lanes is None or speed is None else rate_gbit_s(f"{lanes}X", speed)


#: How sure it is which node is where: the system's file and the scheduler contradict each other, the file alone states
#: it, or the scheduler states it in the job.
Certainty = Literal["contradicted", "stated", "confirmed"]


@dataclass(frozen=True, slots=True)
class SwitchesKnown:
    """What is known of the switches of a run: who is where, how many up-links a leaf switch has, and their bound.

    ``remarks`` say where the places come from, and what contradicts them.
    """

    places: Places
    up_links: int | None = None
    bound: UpLinks | None = None
    remarks: tuple[str, ...] = ()
    certainty: Certainty = "stated"


def certainty_of(live: PlacesInJob) -> Certainty:
    """Return how sure the places of a job are."""
    if live.contradiction is not None:
        return "contradicted"
    return "confirmed" if live.is_live or live.agrees else "stated"


def say_places(live: PlacesInJob) -> tuple[str, ...]:
    """Return what the scheduler of the job stated about its leaf switches; () if it stated nothing that counts."""
    if live.contradiction is not None:
        return (words.unlike_live(live.contradiction),)
    return (words.live_places(live.is_live),) if live.is_live or live.agrees else ()


def short_messages(text: str) -> Table | None:
    """Return the table of the launch with short messages; None if its output has no whole one."""
    try:
        tables = parse(text).tables
    except ParseError:
        return None
    return tables[0] if len(tables) == 1 and tables[0].complete else None


def with_switch_groups(
    found: Assessment, sampled: SampleOrigin, known: SwitchesKnown, messages: Table | None
) -> Assessment:
    """Return the assessment of the rounds of a plan: who is slow by their screening, the figures, and their bound.

    ``messages`` is the table of short messages over the same rounds; None if there is none. What was planned and gave
    no value fails. An assessment whose table cannot be read is returned as it is: a rule says so.
    """
    screened = with_screening(found, sampled, known.places, known.up_links)
    table = next(iter(found.pair_tables), None)
    if table is None or (found.verdict.fails and not found.verdict.misses_reference):
        return screened
    size, small = (None if each is None else each.context.get("size") for each in (table, messages))
    if not isinstance(small, int) or small < 1:
        messages = None
    try:
        network = network_of(hosts_of(table), known.places, None)
        planned = sum(map(len, plan(network).rounds))
        streams = phases(table, network)
        short = {} if messages is None else phases(messages, network)
    except ValueError as error:
        return _fail_unmeasured(screened, words.no_phases(str(error)))
    figures = [*_figures(streams, "", 1.0, "MB/s", size if isinstance(size, int) else None)]
    if messages is not None and isinstance(small, int):
        figures += _figures(short, "messages_", 1e6 / small, "1/s", small)
    judged = replace(screened, figures=(*screened.figures, *figures))
    judged = _judge_bound(judged, streams, known.bound)
    judged = _judge_messages(judged, short)
    judged = _judge_missing(judged, planned, table, messages)
    judged = _name_nobody(judged) if known.certainty == "contradicted" else judged
    said = [words.rates_of_phases([(phase, _range(phase, streams)) for phase in streams], "MB/s")]
    if messages is not None and isinstance(small, int):
        said.append(words.messages([(phase, _range(phase, short, 1 / small)) for phase in short], small))
    for remark in (*said, *known.remarks):
        judged = with_remark(judged, remark)
    return judged


def _judge_missing(found: Assessment, planned: int, table: Table, messages: Table | None) -> Assessment:
    """Return the assessment as failed if a pair of the plan gave no stream or no messages; ``planned`` is their number.

    Such a pair is in no mean and in no comparison, so a leaf switch that carries nothing would be in none either.
    """
    said = [words.no_messages()] if messages is None else []
    for launch, each in (("streams", table), ("short messages", messages)):
        pairs = pairs_of(each) if each is not None else ()
        if each is not None and len(pairs) < planned:
            said.append(words.few_pairs(launch, len(pairs), planned))
        silent = [f"{pair.first}-{pair.second}" for pair in pairs if not pair.slower_mb_s > 0]
        if silent:
            said.append(words.pairs_without_value(launch, silent, len(pairs)))
    return _fail_unmeasured(found, "; ".join(said)) if said else found


def _fail_unmeasured(found: Assessment, sentence: str) -> Assessment:
    if found.verdict.fails:
        return with_remark(found, sentence)
    return fail_fabric(found, sentence, (), words.look_at_missing(), rule=2)


def _name_nobody(found: Assessment) -> Assessment:
    """Return the assessment with all suspects open: a healthy node may look slow at a leaf switch that it is not at."""
    if not found.verdict.suspects:
        return found
    opened = tuple(replace(one, confidence="open") for one in found.verdict.suspects)
    verdict = replace(found.verdict, suspects=opened, look_at=words.look_at_places())
    found = replace(found, inputs=replace(found.inputs, suspects=opened), verdict=verdict)
    return with_remark(found, words.uncertain_places())


def _range(phase: Phase, flows: Phases, factor: float = 1.0) -> tuple[float, float]:
    means = [factor * mean for mean in by_side(phase, flows[phase]).values()]
    return min(means), max(means)


#: The name of a phase in the figures of a record.
_FIGURES: Mapping[Phase, str] = {
    "within": "within_leaf",
    "one": "one_stream",
    "between": "between_leaves",
    "group": "leaves_of_group",
    "between groups": "between_groups",
    "all": "all_at_once",
}


def _figures(flows: Phases, front: str, factor: float, unit: str, size: int | None) -> Iterator[Figure]:
    """Yield the lowest mean of each phase."""
    for phase, name in _FIGURES.items():
        if phase in flows:
            yield Figure(f"{front}{name}", factor * _range(phase, flows)[0], unit, size)


def _judge_bound(found: Assessment, streams: Phases, bound: UpLinks | None) -> Assessment:
    """Return the assessment with what all at once reached of what the cables carry; too little of it fails."""
    # Two leaf switches are all there are, and those of one group are all of it.
    flows = streams.get("all") or streams.get("group") or streams.get("between") or ()
    if bound is None or not flows:
        return with_remark(found, words.no_bound(bool(flows)))
    lost = next((side for flow in flows for side in _sides(flow, bound) if side not in bound.capacity_mb_s), None)
    if lost is not None:
        return with_remark(found, words.side_without_bound(lost, bound.source))
    given = _slower_mean(flows)
    allowed = statistics.fmean(bound.bound_mb_s(flow) for flow in flows)
    share = given / allowed
    found = replace(found, figures=(*found.figures, Figure("all_at_once_of_bound", 100 * share, "%")))
    if share > IMPOSSIBLE_FACTOR.value:
        return with_remark(found, words.above_bound(given, allowed, bound.source))
    sentence = words.of_bound(given, allowed, bound.source)
    if share >= UP_LINKS_SHARE.value or found.verdict.fails:
        return with_remark(found, sentence)
    return fail_fabric(found, words.below_bound(sentence, UP_LINKS_SHARE.value), (), words.look_at_up_links())


def _sides(flow: Flow, bound: UpLinks) -> tuple[str, str]:
    return flow.groups if bound.of_groups else flow.leaves


#: A leaf switch is slow for short messages if it gives less than this share of what others do, in each phase between
#: leaf switches, and this share at least within it. Too few leaf switches do not show what is usual.
_SLOW_MESSAGES, _GOOD_WITHIN, _FEWEST = 0.8, 0.9, 4


def _judge_messages(found: Assessment, short: Phases) -> Assessment:
    """Return the assessment as failed if a leaf switch sends fewer messages to others than other leaf switches do."""
    slow, everywhere = slow_messages(short), slow_messages(short, is_slow_within=True)
    if not (slow or everywhere) or found.verdict.fails:
        return found
    reasons = {leaf: words.slow_messages(leaf, share) for leaf, share in slow.items()}
    open_ = {leaf: words.slow_messages_within(leaf, share) for leaf, share in everywhere.items()}
    suspects = tuple(Suspect("leaf", reason, None, None, leaf, (), "shown") for leaf, reason in reasons.items())
    suspects += tuple(Suspect("leaf", reason, None, None, leaf, (), "open") for leaf, reason in open_.items())
    every = {**reasons, **open_}
    return fail_fabric(found, "; ".join(every.values()), suspects, look_at_switches(list(every), ()))


def slow_messages(short: Phases, *, is_slow_within: bool = False) -> dict[str, float]:
    """Return the leaf switches that send fewer messages to others than others do, with their best share of the usual.

    One that is as slow within is not among them: its nodes are slow, or all that they share. Those are the ones that
    ``is_slow_within`` asks for.
    """
    shares: dict[str, dict[Phase, float]] = {}
    for phase, flows in short.items():
        means = by_side(phase, flows, each_leaf=True)
        usual = statistics.median(means.values())
        for leaf, mean in means.items():
            shares.setdefault(leaf, {})[phase] = mean / usual if usual else 0.0
    far: dict[str, list[float]] = {
        leaf: [share for phase, share in each.items() if phase != "within"] for leaf, each in shares.items()
    }
    return {
        leaf: max(values)
        for leaf, values in far.items()
        if len(far) >= _FEWEST
        and len(values) > 1
        and max(values) < _SLOW_MESSAGES
        and (shares[leaf].get("within", 0.0) < _GOOD_WITHIN) == is_slow_within
    }
