"""Which part is sick, by recorded logs of nccl-tests or rccl-tests between two nodes each.

The logs are the tests of ``search.explanations``.

Each log is of one job on two nodes, with the same number of GPUs on both. Tests are compared within their layer
(program, GPUs per node, largest message), with the same healthy level as in the search over pairs. So a fault that all
nodes share is not seen. A log that could not be read, or gave no result, never counts as good.

What nodes and GPUs are called in the tests of several logs: the same node and GPU, the same name.

What to measure after all pairs of nodes by nccl-tests: each suspect alone, then each GPU of a slow node.

Pairs that run at the same time may share one link of a healthy network with static routes (Hoefler et al. 2008). So
the pairs of a suspect are measured again, each alone, before it is named; the better value of a pair counts. Logs with
all GPUs of a node do not show which GPU's path is slow. So each GPU of a slow node is then measured alone with one good
partner, and the slow GPUs with a second one.

What logs of pairs of nodes say against their nodes, and how a verdict shows it.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.bounds import GPU_DIP_SHARE
from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.parsers.nccl import parse
from railyard.parsers.nccl_said import Job, Rank
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.site.topology import Leaves
from railyard.verdict.blame.search.doubts import PAIR_SIGMAS, WIDEST
from railyard.verdict.blame.search.explanations import BlamedPart, Layer, State, Test, fewest, find_blamed
from railyard.verdict.blame.search.matrix import healthy
from railyard.verdict.blame.search.model import Settings
from railyard.verdict.wording import gpu_pairs as words


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a log says against its nodes; ``who`` is the host that it is about, else the pair, or all pairs.

    ``sockets``: that it used TCP. Without a statement of the nodes, TCP may be all that they have.
    """

    log: str
    who: str
    why: str
    sockets: bool = False


def contradiction_lines(wrong: Sequence[Contradiction], nodes_have: str) -> list[str]:
    """Return one line for each host, pair, or all pairs: what the first log says, and how many more say such.

    ``nodes_have``: the nodes in words, empty if nobody said what they have.
    """
    each: dict[str, list[Contradiction]] = {}
    for one in wrong:
        each.setdefault(one.who, []).append(one)
    lines = [words.say_contradicted(who, own[0].why, own[0].log, len(own)) for who, own in each.items()]
    return [*lines, *([words.may_be_ethernet()] if not nodes_have and any(one.sockets for one in wrong) else [])]


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
) -> tuple[tuple[Test, ...], dict[tuple[str, str], str]]:
    """Return tests whose GPUs are named by their place in a node, if each node has a log with all of its GPUs.

    Also the name of each GPU in words.

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
    return tuple(made), names


#: The pairs of a layer are compared with one another if there are at least this many.
LEAST_PAIRS = 3
_BUSBW = ("busbw", "busbw_in_place")


@dataclass(frozen=True, slots=True)
class NotUsed:
    """A log, or one of its tests, that was not judged, and why; ``pair`` are its nodes if the log names them."""

    log: str
    why: str
    pair: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LayerLevel:
    """What healthy pairs of a layer give, MB/s, and the share of it below which a test is slow; None: too few pairs.

    ``across``: whether the pairs are at two leaf switches; None if the switches are not known.
    """

    layer: Layer
    across: bool | None
    value: float | None
    bound: float
    tests: int
    pairs: int


@dataclass(frozen=True, slots=True)
class RecordedTests:
    """What the logs contain: tests, what was not used, the logs that were read, and the name of each GPU.

    ``wrong``: what the logs say against their nodes. ``compared_with``: the nodes in words, empty if nobody said what
    they have; ``unknown``: what these words do not decide.
    """

    tests: tuple[Test, ...]
    not_used: tuple[NotUsed, ...]
    logs: tuple[str, ...]
    names: Mapping[tuple[str, str], str]
    wrong: tuple[Contradiction, ...] = ()
    compared_with: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of all tests, in the order of their names."""
        return tuple(sorted({node for test in self.tests for node in test.nodes}))


@dataclass(frozen=True, slots=True)
class PairsVerdict:
    """The verdict: what was compared with what, who is blamed, and what the logs do not cover."""

    recorded: RecordedTests
    levels: tuple[LayerLevel, ...]
    states: Mapping[Test, State]
    shares: Mapping[Test, float]
    blamed: tuple[BlamedPart, ...]
    no_log: tuple[tuple[str, str], ...]
    lacking: tuple[tuple[str, Layer], ...]
    unseen: tuple[tuple[str, str], ...]
    lower: tuple[str, ...]
    leaf_of: Leaves

    @property
    def named_parts(self) -> tuple[BlamedPart, ...]:
        """Return what is named: parts that are shown or likely to be at fault."""
        return tuple(one for one in self.blamed if one.sure != "open")

    @property
    def is_good(self) -> bool:
        """Return whether everything in the logs was judged and is good."""
        unjudged = any(state == "unjudged" for state in self.states.values())
        left = self.blamed or self.recorded.not_used or self.recorded.wrong or self.lacking or unjudged
        return bool(self.states) and not left


@dataclass(frozen=True, slots=True)
class Sufficient:
    """How few logs would have been enough: the logs in the order asked for, and whether they blame the same parts.

    Together with every log that has the most GPUs per node (``gpus``), they are ``with_every_pair`` logs.
    """

    logs: tuple[str, ...]
    same_parts: bool
    gpus: int
    with_every_pair: int
    same_pairs: bool


def read_tests(
    texts: Iterable[tuple[str, str]],
    name_pattern: re.Pattern[str] | None = None,
    parse: Callable[[str], ParsedOutput] = parse,
) -> RecordedTests:
    """Return the tests of logs. Each log is given as its name and its text, or what ``parse`` finds its text by.

    ``name_pattern`` has the groups ``a`` and ``b``: the nodes of a log by its name, if the log does not name them.
    ``parse`` raises ParseError for a text that is not a log of nccl-tests, and InputError for one that cannot be read.
    """
    tests: list[tuple[Test, tuple[Rank, ...]]] = []
    left_out: list[NotUsed] = []
    logs: list[str] = []
    seen: dict[tuple[object, ...], str] = {}
    for log, text in texts:
        logs.append(log)
        by_name = name_pattern.search(log) if name_pattern else None
        pair = order_pair(by_name["a"], by_name["b"]) if by_name else None
        try:
            parsed = parse(text)
        except ParseError as error:
            left_out.append(NotUsed(log, str(error), pair))
            continue
        except InputError as error:
            left_out.append(NotUsed(log, words.unlike_expected(error.found, error.expected), pair))
            continue
        found, not_used = _tests(log, parsed, pair, seen)
        tests += found
        left_out += not_used
    made, names = name_gpus(_with_dips(one_name_a_node(tests)))
    return RecordedTests(made, tuple(left_out), tuple(logs), names)


def judge(found: RecordedTests, leaf_of: Leaves | None = None, settings: Settings | None = None) -> PairsVerdict:
    """Return what is sick by all tests; with ``leaf_of``, pairs at one leaf and at two are compared separately."""
    levels, states, shares = classify_tests(found.tests, leaf_of or {}, settings or Settings())
    accused = find_blamed(found.tests, states)
    nodes = found.nodes
    there = {test.pair for test in found.tests}
    no_log = tuple((a, b) for at, a in enumerate(nodes) for b in nodes[at + 1 :] if (a, b) not in there)
    unseen = _unseen_gpus(found, states, accused)
    lower = (*_lower(found, states, shares), *_lower_across(levels))
    return PairsVerdict(
        found, levels, states, shares, accused, no_log, _find_lacking(found.tests), unseen, lower, leaf_of or {}
    )


def sufficient(found: PairsVerdict, leaf_of: Leaves | None = None, settings: Settings | None = None) -> Sufficient:
    """Return how few of the logs would have been enough: the search runs over them again, one log after another."""
    leaves, used, tests = leaf_of or {}, settings or Settings(), found.recorded.tests
    logs: dict[str, list[Test]] = {}
    for test in tests:
        logs.setdefault(test.log, []).append(test)
    asked = fewest(logs, found.recorded.nodes, lambda known: classify_tests(known, leaves, used)[1])
    most = max((test.layer.gpus for test in tests), default=0)
    every = {*asked, *(test.log for test in tests if test.layer.gpus == most)}

    def same(chosen: Container[str], *, pairs: bool) -> bool:
        some = judge(replace(found.recorded, tests=tuple(t for t in tests if t.log in chosen)), leaves, used)
        both = ([one for one in each.blamed if pairs or one.kind != "pair"] for each in (some, found))
        first, second = ({(one.kind, one.nodes, one.gpus) for one in each} for each in both)
        return first == second

    return Sufficient(asked, same(asked, pairs=False), most, len(every), same(every, pairs=True))


def classify_tests(
    tests: Sequence[Test], leaf_of: Leaves, settings: Settings
) -> tuple[tuple[LayerLevel, ...], dict[Test, State], dict[Test, float]]:
    """Return the level of each layer, and the state of each test with its share of the level.

    A test is slow if it is 10 % below healthy pairs: if the leaf switches are not known, a healthy pair may have more
    switches between its nodes than another. If they are known, it is 5 %, unless too few pairs are at one leaf, or at
    two: then all are compared as if the leaves were not known. If healthy pairs scatter more, a test is slow at three
    standard deviations below; what is in between is not judged.
    """
    levels: list[LayerLevel] = []
    states: dict[Test, State] = {}
    shares: dict[Test, float] = {}
    kinds: dict[tuple[Layer, bool | None], list[Test]] = {}
    thin = _too_few_apart(tests, leaf_of)
    for test in tests:
        across = None if test.layer in thin else _crosses_leaves(test, leaf_of)
        kinds.setdefault((test.layer, across), []).append(test)
    for (layer, across), own in sorted(kinds.items(), key=lambda each: (each[0][0].benchmark, -each[0][0].gpus)):
        values = [test.value for test in own if test.value is not None and not test.wrong]
        pairs = len({test.pair for test in own if test.value is not None})
        level, scatter = healthy(values) if pairs >= LEAST_PAIRS else (0.0, 0.0)
        least = settings.slow if leaf_of and layer not in thin else settings.side_slow
        margin = max(least, min(WIDEST, PAIR_SIGMAS * scatter))
        levels.append(LayerLevel(layer, across, level or None, 1 - margin, len(own), pairs))
        for test in own:
            if test.value is None or test.wrong:
                states[test] = "none"
            elif not level:
                states[test] = "unjudged"
            else:
                shares[test] = test.value / level
                states[test] = "slow" if shares[test] < 1 - margin else "unjudged"
                if shares[test] >= 1 - least:
                    states[test] = "good"
    return tuple(levels), states, shares


def _too_few_apart(tests: Sequence[Test], leaf_of: Leaves) -> frozenset[Layer]:
    """Return the layers that have too few pairs at one leaf switch, or at two, to compare them."""
    apart: dict[tuple[Layer, bool | None], set[tuple[str, str]]] = {}
    for test in tests if leaf_of else ():
        pairs = apart.setdefault((test.layer, _crosses_leaves(test, leaf_of)), set())
        if test.value is not None and not test.wrong:
            pairs.add(test.pair)
    return frozenset(layer for (layer, _), pairs in apart.items() if len(pairs) < LEAST_PAIRS)


def _crosses_leaves(test: Test, leaf_of: Leaves) -> bool | None:
    leaves = [leaf_of.get(node) for node in test.nodes]
    return None if None in leaves else leaves[0] != leaves[1]


def order_pair(a: str, b: str) -> tuple[str, str]:
    """Return the two nodes of a pair in the order in which tests name them."""
    first, second = sorted((a, b))
    return first, second


def _tests(
    log: str, parsed: ParsedOutput, by_name: tuple[str, str] | None, seen: dict[tuple[object, ...], str]
) -> tuple[list[tuple[Test, tuple[Rank, ...]]], list[NotUsed]]:
    jobs = parsed.nccl.jobs if parsed.nccl else ()
    tests: list[tuple[Test, tuple[Rank, ...]]] = []
    left_out: list[NotUsed] = []
    if not jobs:
        return [], [NotUsed(log, words.no_job(), by_name)]
    for at, job in enumerate(jobs):
        own = job.hosts
        pair = order_pair(*own) if len(own) == 2 else by_name
        why = _why_not(job, own)
        if why is not None:
            left_out.append(NotUsed(log, words.of_test(job.benchmark, why), pair))
            continue
        key = (job.benchmark, tuple((rank.host, rank.pid, rank.bus_id) for rank in job.ranks))
        if all(rank.pid is not None for rank in job.ranks) and key in seen:
            left_out.append(NotUsed(log, words.of_test(job.benchmark, words.same_run(seen[key])), pair))
            continue
        seen[key] = log
        ended = jobs[at + 1].line if at + 1 < len(jobs) else None
        tests += [(test, job.ranks) for test in _of_job(log, job, own, parsed, ended)]
    return tests, left_out


def _why_not(job: Job, nodes: Sequence[str]) -> str | None:
    """Return why a job is not of two nodes with the same number of GPUs; None if it is."""
    if job.separate_from is not None:
        return words.two_jobs(job.separate_from, job.line)
    if not nodes:
        return words.no_ranks()
    if len(nodes) != 2:
        return words.no_pair(nodes)
    counts = [sum(rank.host == node for rank in job.ranks) for node in nodes]
    if counts[0] != counts[1]:
        return words.unlike_counts(nodes[0], counts[0], nodes[1], counts[1])
    if job.benchmark is None:
        return words.no_collective()
    return None


def _of_job(log: str, job: Job, nodes: Sequence[str], parsed: ParsedOutput, ended: int | None) -> list[Test]:
    """Return one test for each table of a job, or a test without a result."""
    gpus = tuple(tuple(rank.bus_id for rank in job.ranks if rank.host == node) for node in nodes)
    size = job.settings.get("max_bytes", 0)
    both, pair_gpus = (nodes[0], nodes[1]), (gpus[0], gpus[1])
    made = []
    said = [each for each in parsed.failures if each.line >= job.line and (ended is None or each.line < ended)]
    for table in [each for each in parsed.tables if each.line in job.tables]:
        layer = Layer(str(table.benchmark), len(gpus[0]), size or _largest(table))
        curve = _curve(table)
        wrong = "validation" in table.columns and False in table.column("validation")
        if not table.complete or not curve:
            first = next((each.text for each in said if each.line > table.line), "")
            made.append(Test(log, layer, both, pair_gpus, None, words.cut_table(first)))
            continue
        large = [value for at, value in curve if at * at >= curve[0][0] * curve[-1][0]]
        why = words.wrong_data() if wrong else ""
        value = statistics.median(large)
        made.append(Test(log, layer, both, pair_gpus, value, why, wrong, curve[0][1], curve[-1][1], min(large)))
    if made:
        return made
    message = next((each.text for each in said if "failure" in each.text.lower() or "error" in each.text.lower()), None)
    layer, failed = Layer(str(job.benchmark), len(gpus[0]), size), message is not None
    return [Test(log, layer, both, pair_gpus, None, words.no_row(message), failed=failed)]


def _with_dips(tests: Sequence[tuple[Test, tuple[Rank, ...]]]) -> list[tuple[Test, tuple[Rank, ...]]]:
    """Return the tests; one that is healthy by its median has its lowest value if that is far below the median.

    The median of long messages does not show that the longest ones, or one in the middle, are slow.
    """
    values: dict[Layer, list[float]] = {}
    for test, _ in tests:
        if test.value is not None and not test.wrong:
            values.setdefault(test.layer, []).append(test.value)
    least = {layer: (1 - Settings().side_slow) * healthy(own)[0] for layer, own in values.items()}
    return [
        (replace(test, value=test.lowest) if _dips(test, least.get(test.layer, 0.0)) else test, ranks)
        for test, ranks in tests
    ]


def _dips(test: Test, least: float) -> bool:
    value, lowest = test.value, test.lowest
    return value is not None and lowest is not None and value >= least and lowest < GPU_DIP_SHARE.value * value


def _largest(table: Table) -> int:
    sizes = [size for size in table.column("size") if isinstance(size, int)]
    return max(sizes, default=0)


def _curve(table: Table) -> list[tuple[int, float]]:
    """Return the size and MB/s of each row, by rising size. If a row has two halves, the slower one counts."""
    found = []
    names = [name for name in _BUSBW if name in table.columns]
    for at, size in enumerate(table.column("size")):
        values = [value for name in names if isinstance(value := table.column(name)[at], int | float)]
        if isinstance(size, int) and size > 0 and values:
            found.append((size, float(min(values))))
    return sorted(found)


def _find_lacking(tests: Sequence[Test]) -> tuple[tuple[str, Layer], ...]:
    """Return logs that lack a test which most logs with as many GPUs per node have: they ended before it."""
    logs: dict[tuple[int, str], set[Layer]] = {}
    for test in tests:
        logs.setdefault((test.layer.gpus, test.log), set()).add(test.layer)
    found = []
    for layer in dict.fromkeys(test.layer for test in tests):
        alike = {log: own for (gpus, log), own in logs.items() if gpus == layer.gpus}
        if 2 * sum(layer in own for own in alike.values()) > len(alike):
            found += [(log, layer) for log, own in alike.items() if layer not in own]
    return tuple(found)


def _lower_across(levels: Sequence[LayerLevel]) -> Iterator[str]:
    """Yield that all pairs across leaves are slower than those within: compared among themselves they are alike."""
    within = {level.layer: level.value for level in levels if level.across is False and level.value}
    for level in levels:
        near = within.get(level.layer)
        if level.across and level.value and near and level.value < (1 - Settings().side_slow) * near:
            yield words.lower_across(level.value, level.layer.benchmark, level.layer.gpus, level.value / near)


def _unseen_gpus(
    found: RecordedTests, states: Mapping[Test, State], accused: Sequence[BlamedPart]
) -> tuple[tuple[str, str], ...]:
    """Return the GPUs that the logs show neither to be good nor to be at fault."""
    used = {end for test in found.tests for own in test.ends() for end in own}
    good = {end for test in found.tests if states[test] == "good" for own in test.ends() for end in own}
    blamed_ends = {(node, gpu) for one in accused for node in one.nodes for group in one.gpus for gpu in group}
    return tuple(sorted(used - good - blamed_ends))


def _lower(found: RecordedTests, states: Mapping[Test, State], shares: Mapping[Test, float]) -> tuple[str, ...]:
    """Return a sentence for each node that is lower than others with all partners, but within the allowed range."""
    said = []
    layers = dict.fromkeys(test.layer for test in found.tests)
    for layer in layers:
        own = [test for test in found.tests if test.layer == layer and states[test] == "good"]
        for node in found.nodes:
            values = [shares[test] for test in own if node in test.nodes]
            others = [shares[test] for test in own if node not in test.nodes]
            if len(values) < LEAST_PAIRS or len(others) < LEAST_PAIRS:
                continue
            if max(values) < (1 - Settings().look_again) * max(others):
                said.append(words.lower_node(node, max(values), layer.benchmark, layer.gpus, len(values)))
    return tuple(said)


#: A suspect is measured alone with this many partners, if it has them.
PARTNERS = 2
#: The GPUs of at most this many slow nodes are measured one by one; if more are slow, look at the network first.
MOST_NODES = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """One pair to measure by itself: its nodes, and the number of the GPU on each; None: all of their GPUs."""

    first: str
    second: str
    gpu: int | None = None

    @property
    def word(self) -> str:
        """The pair as a step of a job reads it: ``gpu1,gpu2,all`` or ``gpu1,gpu2,3``."""
        return f"{self.first},{self.second},{'all' if self.gpu is None else self.gpu}"


@dataclass(frozen=True, slots=True)
class RepeatJudgement:
    """The judgement of all logs if the better value of each pair counts, and which pairs were measured alone."""

    judged: PairsVerdict
    alone: frozenset[tuple[str, str]]

    def is_confirmed(self, one: BlamedPart) -> bool:
        """Return whether a suspect is also bad when measured alone: with two partners, or with all that it has."""
        pairs = {test.pair for test in one.tests}
        return len(pairs & self.alone) >= min(PARTNERS, len(pairs))


def judge_repeats(found: RecordedTests, at_once: Collection[str], leaf_of: Leaves | None = None) -> RepeatJudgement:
    """Return the judgement of logs. ``at_once``: the logs of pairs that ran at the same time as others."""
    alone = frozenset(test.pair for test in found.tests if test.log not in at_once)
    return RepeatJudgement(judge(settle_pairs(found, at_once), leaf_of), alone)


def settle_pairs(found: RecordedTests, at_once: Collection[str]) -> RecordedTests:
    """Return the logs with the better value of each pair that was measured both alone and at once with others.

    A test without a result, or with wrong data, always counts: other traffic on the network does not cause that.
    """
    best: dict[tuple[object, ...], float] = {}
    for test in found.tests:
        if test.value is not None:
            best[_of(test)] = max(test.value, best.get(_of(test), 0.0))
    both = {_of(test) for test in found.tests if test.log in at_once}
    both &= {_of(test) for test in found.tests if test.log not in at_once}
    kept = [
        test
        for test in found.tests
        if test.value is None or test.wrong or _of(test) not in both or test.value == best[_of(test)]
    ]
    return replace(found, tests=tuple(kept))


def next_pairs(again: RepeatJudgement) -> tuple[Ask, ...]:
    """Return what to measure next, each pair by itself; nothing if more measurements would not help."""
    return _ask_unconfirmed(again) or tuple(dict.fromkeys(_gpus(again.judged)))


def _of(test: Test) -> tuple[object, ...]:
    return test.layer, frozenset(zip(test.nodes, test.gpus, strict=True))


def _ask_unconfirmed(again: RepeatJudgement) -> tuple[Ask, ...]:
    """Return the suspects' pairs that only ran at once with others, as few as are needed to confirm each suspect."""
    asked: dict[tuple[str, str], None] = {}
    for one in again.judged.blamed:
        if again.is_confirmed(one):
            continue
        own = [test for test in one.tests if test.pair not in again.alone]
        pairs = list(dict.fromkeys(test.pair for test in _good_partners_first(own, one)))
        asked |= dict.fromkeys(pairs[:PARTNERS])
    return tuple(Ask(*pair) for pair in asked)


def _good_partners_first(tests: Iterable[Test], one: BlamedPart) -> list[Test]:
    return sorted(tests, key=lambda test: not set(test.nodes) - set(one.nodes) <= set(one.partners))


def _gpus(found: PairsVerdict) -> Iterator[Ask]:
    """Yield the GPUs of slow nodes to measure alone: with the first good partner, then the bad ones with a second."""
    states = _of_one_gpu(found.recorded.tests, found.states)
    of_nodes: dict[str, BlamedPart] = {}
    for one in found.named_parts:
        begun = one.kind == "gpu" and any(one.nodes[0] in pair for pair, _ in states)
        if (one.kind == "node" or begun) and len(one.partners) >= PARTNERS:
            of_nodes.setdefault(one.nodes[0], one)
    for node, one in list(of_nodes.items())[:MOST_NODES]:
        # If some of its GPUs were measured with a partner, this partner stays the first one.
        met = Counter(other for pair, _ in states for other in pair if node in pair and other != node)
        first, second = sorted(one.partners, key=lambda name: -met[name])[:PARTNERS]
        gpus = sorted(int(gpu) for at, gpu in found.recorded.names if at == node and gpu.isdigit())
        if len(gpus) < 2:
            continue
        # Two more pairs make it possible to compare the tests with one GPU with one another.
        asked = [Ask(*order_pair(node, first), gpu) for gpu in gpus]
        asked += [Ask(*order_pair(a, b), gpus[0]) for a, b in ((node, second), (first, second))]
        bad = [gpu for gpu in gpus if states.get((order_pair(node, first), gpu)) in ("slow", "none")]
        asked += [Ask(*order_pair(a, b), gpu) for gpu in bad for a, b in ((node, second), (first, second))]
        yield from (ask for ask in asked if ((ask.first, ask.second), ask.gpu) not in states)


def _of_one_gpu(tests: Sequence[Test], states: Mapping[Test, State]) -> dict[tuple[tuple[str, str], int], State]:
    """Return the state of each pair and GPU number, from the tests that use the same single GPU on both nodes."""
    return {
        (test.pair, int(test.gpus[0][0])): states[test]
        for test in tests
        if test.layer.gpus == 1 and test.gpus[0] == test.gpus[1] and test.gpus[0][0].isdigit()
    }
