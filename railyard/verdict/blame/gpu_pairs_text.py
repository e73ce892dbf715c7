"""What a judgement of logs between GPUs of two nodes says: sentences for a reader, one JSON object, and a picture."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.results.report.plots import Panel
from railyard.verdict.blame.gpu_pairs import NotUsed, PairsVerdict, Sufficient, contradiction_lines
from railyard.verdict.blame.search.explanations import BlamedPart, Layer, Test
from railyard.verdict.wording import gpu_pairs as words
from railyard.verdict.wording.gpu_pairs import MOST, SURE

_FALLS = 0.5


def text(found: PairsVerdict, few: Sufficient | None = None) -> str:
    """Return the verdict for a reader; ``few`` are the logs that would have been enough."""
    tests, logs = found.recorded.tests, found.recorded.logs
    lines = [
        words.heading(len(tests), len(logs), len(found.recorded.nodes), found.recorded.compared_with),
        "",
    ]
    lines += [f"  {_level(level)}" for level in levels(found)]
    lines += _section(
        words.section("contradicted"),
        contradiction_lines(found.recorded.wrong, found.recorded.compared_with),
    )
    named = found.named_parts
    doubted = [one for one in found.blamed if one.sure == "open"]
    for title, some in ((words.section("sick"), named), (words.section("undecided"), doubted)):
        if some:
            lines += ["", f"{title}:"]
            for one in some[:MOST]:
                lines += _paragraph(sentences(one, found))
            lines += [f"  {words.more_in_json(len(some) - MOST)}"] if len(some) > MOST else []
    if not found.blamed:
        lines += ["", _nobody(found) if found.shares else words.nothing_judged()]
    lines += _section(words.section("lower"), found.lower)
    lines += _section(words.section("not-covered"), not_covered(found))
    lines += _section(words.section("not-used"), [_not_used(one) for one in found.recorded.not_used])
    if few is not None:
        lines += ["", words.how_few(fewest(few, found)), *(f"  {log}" for log in few.logs)]
    said = sorted({one.sure for one in found.blamed}, key=list(SURE).index)
    lines += ["", *map(words.meaning_of, said)] if said else []
    return "\n".join(lines) + "\n"


def _nobody(found: PairsVerdict) -> str:
    return words.nobody_named(bool(found.recorded.wrong), found.is_good)


def fewest(few: Sufficient, found: PairsVerdict) -> str:
    """Return a sentence that says how few logs would have been enough, and for what they would not."""
    count, all_ = len(few.logs), len(found.recorded.logs)
    return words.few_enough(count, all_, few.same_parts, few.gpus, few.with_every_pair, few.same_pairs)


def as_json(found: PairsVerdict, few: Sufficient | None = None) -> dict[str, Any]:
    """Return all that ``text`` says as one JSON object; bandwidths are MB/s (10^6 B/s)."""
    made: dict[str, Any] = {
        "good": found.is_good,
        "nodes": list(found.recorded.nodes),
        "logs": len(found.recorded.logs),
        "tests": len(found.recorded.tests),
        "layers": [
            {
                "benchmark": level.layer.benchmark,
                "gpus_a_node": level.layer.gpus,
                "largest_bytes": level.layer.size_bytes,
                "across_leaves": level.across,
                "healthy_mb_s": level.value,
                "slow_below": level.bound,
                "tests": level.tests,
                "pairs": level.pairs,
            }
            for level in found.levels
        ],
        "blamed": [_blamed_json(one, found) for one in found.blamed],
        "contradictions": [{"log": one.log, "who": one.who, "why": one.why} for one in found.recorded.wrong],
        "lower": list(found.lower),
        "not_covered": not_covered(found),
        "not_used": [{"log": one.log, "why": one.why, "pair": one.pair} for one in found.recorded.not_used],
        "certainty": SURE,
    }
    if few is not None:
        made["fewest"] = {
            "logs": list(few.logs),
            "same_parts": few.same_parts,
            "with_every_pair": few.with_every_pair,
            "same_pairs": few.same_pairs,
        }
    return made


def _blamed_json(one: BlamedPart, found: PairsVerdict) -> dict[str, Any]:
    said = sentences(one, found)
    return {
        "kind": one.kind,
        "nodes": list(one.nodes),
        "gpus": [[found.recorded.names[_any_node(one, gpu, found), gpu] for gpu in group] for group in one.gpus],
        "sure": one.sure,
        "log10_of_chance": one.chance if one.chance < 0 else None,
        "partners": list(one.partners),
        "tests": [
            {
                "log": test.log,
                "benchmark": test.layer.benchmark,
                "gpus_a_node": test.layer.gpus,
                "mb_s": test.value,
                "share": found.shares.get(test),
                "why": test.why or None,
            }
            for test in one.tests
        ],
        **{name: said[name] for name in ("part", "evidence", "fits_too", "next")},
    }


def sentences(one: BlamedPart, found: PairsVerdict) -> dict[str, Any]:
    """Return the sentences about one suspect: the part, the evidence, how sure, what else fits, what would decide."""
    return {
        "part": part(one, found),
        "sure": _sure(one),
        "evidence": _evidence(one, found),
        "fits_too": _fits_too(one),
        "next": _next(one, found),
    }


def part(one: BlamedPart, found: PairsVerdict) -> str:
    """Return a suspect in words: ``node7, GPU 5 (0000:c3:00) or its path``."""
    if one.kind == "pair":
        return words.between_pair(*one.nodes)
    groups = [_gpus(group, one, found) for group in one.gpus]
    leaves = sorted({found.leaf_of[node] for node in one.nodes if node in found.leaf_of})
    if one.kind == "node":
        return words.sick_node(one.nodes[0], groups, leaves)
    which = words.which_gpus(groups, is_single=len(one.gpus) == 1 and len(one.gpus[0]) == 1)
    if one.kind == "gpu":
        return words.sick_path(one.nodes[0], which, leaves)
    return words.sick_paths(which, one.nodes, leaves)


def _any_node(one: BlamedPart, gpu: str, found: PairsVerdict) -> str:
    return next(node for node in one.nodes if (node, gpu) in found.recorded.names)


def _gpus(group: Sequence[str], one: BlamedPart, found: PairsVerdict) -> str:
    if len(group) > 3 and all(gpu.isdigit() for gpu in group):
        return words.gpus_by_place(sorted(group, key=int))
    return listing([found.recorded.names[_any_node(one, gpu, found), gpu] for gpu in group])


def _sure(one: BlamedPart) -> str:
    if one.chance >= 0 or one.chance > -2:
        return one.sure
    return words.odds(one.sure, one.chance)


def _evidence(one: BlamedPart, found: PairsVerdict) -> list[str]:
    if one.kind == "pair":
        return _of_pair(one, found)
    said = []
    for layer in dict.fromkeys(test.layer for test in one.tests):
        own = [test for test in one.tests if test.layer == layer]
        inside = [test for test in one.inside if test.layer == layer]
        said.append(words.in_layer(_layer(layer), _describe_values(own, found), _inside_words(inside)))
    fall = max((test for test in one.tests if test.first > 0), key=lambda test: test.first - test.last, default=None)
    if fall is not None and fall.last < _FALLS * fall.first:
        said.append(words.say_falling(words.pair(*fall.nodes), fall.first, fall.last, fall.layer.benchmark, fall.log))
    said += _describe_cleared(one, found)
    return said


def _of_pair(one: BlamedPart, found: PairsVerdict) -> list[str]:
    """Return a pair's tests that nothing else explains, its good tests, and how good its nodes are with others."""
    bad = [test for test in one.tests if test.value is None or test.wrong]
    slow = [test for test in one.tests if test not in bad]
    said = [words.slow_test(_layer(test.layer), test.value or 0, _healthy([test], found)) for test in slow]
    if bad:
        logs = len({test.log for test in bad})
        said.append(words.no_results(len(bad), logs, [_layer(test.layer) for test in bad]))
        said += [f"  {test.log}: {test.why}" for test in {test.log: test for test in bad}.values()]
    said.append(words.good_between([words.good_test(_layer(test.layer), test.value or 0) for test in one.inside]))
    count = {node: _good_partners(node, found) for node in one.nodes}
    said.append(words.good_with_others([*count.items()]))
    pairs = [other.nodes for other in found.blamed if other.kind == "pair"]
    for node in one.nodes:
        among = sum(node in pair for pair in pairs)
        if among > 1:
            said.append(words.in_several_pairs(node, among, count[node] > 0))
    return said


def _healthy(own: Sequence[Test], found: PairsVerdict) -> float:
    """Return what healthy pairs of one layer give, MB/s; 0 if that is not known."""
    shares = [test.value / found.shares[test] for test in own if test.value and found.shares.get(test)]
    of_layer = [level.value for level in found.levels if level.value is not None and level.layer == own[0].layer]
    return max(shares or of_layer, default=0.0)


def _describe_values(own: Sequence[Test], found: PairsVerdict) -> str:
    values = sorted(test.value for test in own if test.value is not None and not test.wrong)
    parts = []
    if values:
        pairs = len({test.pair for test in own if test.value is not None})
        parts.append(words.slow_values(values, _healthy(own, found), pairs))
    failed = [test for test in own if test.value is None or test.wrong]
    if failed:
        parts.append(words.no_result_in(len(failed), failed[0].log, failed[0].why))
    return "; ".join(parts)


def _inside_words(inside: Sequence[Test]) -> str:
    values = sorted(test.value for test in inside if test.value is not None)
    return words.with_one_another(values) if values else ""


def _describe_cleared(one: BlamedPart, found: PairsVerdict) -> list[str]:
    """Return what clears the other GPUs of the nodes: good tests with other nodes, without the suspected GPUs."""
    states, nodes = found.states, set(one.nodes)
    among = {gpu for group in one.gpus for gpu in group}
    without = [
        test
        for test in found.recorded.tests
        if states[test] == "good" and len(nodes.intersection(test.nodes)) == 1 and not _touches_any(test, nodes, among)
    ]
    if not without:
        return []
    counts = {layer: sum(test.layer == layer for test in without) for layer in dict.fromkeys(t.layer for t in without)}
    said = [f"{_layer(layer)} {count}" for layer, count in counts.items()]
    return [words.good_without(len(among) == 1, said)]


def _touches_any(test: Test, nodes: set[str], gpus: set[str]) -> bool:
    return any(node in nodes and gpus.intersection(own) for node, own in zip(test.nodes, test.gpus, strict=True))


def _good_partners(node: str, found: PairsVerdict) -> int:
    good = {
        other
        for test in found.recorded.tests
        if found.states[test] == "good" and node in test.nodes
        for other in test.nodes
    }
    return len(good - {node})


def _fits_too(one: BlamedPart) -> str:
    if one.kind == "pair":
        return words.fits_pair_too()
    return words.fits_part_too() if one.kind == "part" else words.fits_node_too()


def _next(one: BlamedPart, found: PairsVerdict) -> str:
    a = one.nodes[0]
    if one.kind == "pair":
        return words.next_of_pair(one.nodes[0], one.nodes[1], one.partners[0] if one.partners else None)
    partner = words.good_partner(next((node for node in one.partners if node not in one.nodes), None))
    among = sorted({gpu for group in one.gpus for gpu in group})
    names = [found.recorded.names[_any_node(one, gpu, found), gpu] for gpu in among]
    if len(among) > 1:
        return words.next_of_gpus(a, partner, len(among))
    if one.kind == "part":
        return words.next_of_part(names[0], a, partner, len(one.nodes))
    return words.next_of_gpu(names[0], a, partner)


def levels(found: PairsVerdict) -> list[tuple[Layer, bool | None, float | None, float, int, int]]:
    """Return the levels as rows, the most GPUs first."""
    rows = [(one.layer, one.across, one.value, one.bound, one.tests, one.pairs) for one in found.levels]
    return sorted(rows, key=lambda row: (-row[0].gpus, row[0].benchmark, -row[0].size_bytes))


def _level(row: tuple[Layer, bool | None, float | None, float, int, int]) -> str:
    layer, across, value, bound, tests, pairs = row
    if value is None:
        return words.too_few_pairs(_layer(layer), across, pairs)
    return words.healthy_level(_layer(layer), across, value, layer.size_bytes, bound * value, tests)


def not_covered(found: PairsVerdict) -> list[str]:
    """Return what the logs do not cover: pairs without a test, logs that lack one, GPUs that only slow tests used."""
    pairs = [words.pair(a, b) for a, b in found.no_log]
    said = [words.pairs_without_test(pairs)] if pairs else []
    said += found.recorded.unknown
    there = {label(node) for node in found.recorded.nodes}
    if absent := sorted(node for node in found.leaf_of if label(node) not in there):
        said.append(words.nodes_without_log(absent))
    said += [words.ends_before(log, _layer(layer)) for log, layer in found.lacking]
    between = [test for test in found.shares if found.states[test] == "unjudged"]
    if between:
        said.append(
            words.between_levels([words.share_of_pair(words.pair(*test.nodes), found.shares[test]) for test in between])
        )
    by_node: dict[str, list[str]] = {}
    for node, gpu in found.unseen:
        by_node.setdefault(node, []).append(found.recorded.names[node, gpu])
    judged = any(state in ("slow", "none") for state in found.states.values())
    said += [words.gpus_unseen(node, names, judged) for node, names in by_node.items()]
    return said


def _layer(layer: Layer) -> str:
    return words.layer(layer.benchmark, layer.gpus)


def _not_used(one: NotUsed) -> str:
    return words.log_unused(one.log, "" if one.pair is None else words.pair(*one.pair), one.why)


def _paragraph(said: Mapping[str, Any]) -> list[str]:
    return [
        f"  {said['part']}",
        *(f"    {line}" for line in said["evidence"]),
        f"    {words.how_sure(said['sure'])}",
        f"    {words.what_fits_too(said['fits_too'])}",
        f"    {words.what_decides(said['next'])}",
    ]


def _section(title: str, said: Iterable[str]) -> list[str]:
    lines = list(said)
    more = [f"  {words.more_in_json(len(lines) - MOST)}"] if len(lines) > MOST else []
    return ["", f"{title}:", *(f"  {line}" for line in lines[:MOST]), *more] if lines else []


def picture_panels(found: PairsVerdict) -> list[Panel]:
    """Return a panel for each layer, the most GPUs first; if a pair was measured twice, the worse test counts."""
    layers = sorted({test.layer for test in found.recorded.tests}, key=lambda one: (one.benchmark, -one.gpus))
    return [_panel(found, layer) for layer in layers]


def picture_nodes(found: PairsVerdict) -> list[str]:
    """Return the nodes, those of the largest named part first, so that the part shows as a block."""
    first = max((one.nodes for one in found.named_parts if one.kind != "pair"), key=len, default=())
    return sorted(found.recorded.nodes, key=lambda node: (node not in first, node))


def named_nodes(found: PairsVerdict) -> set[str]:
    """Return the nodes that are named, by themselves or by their GPUs."""
    return {node for one in found.named_parts if one.kind != "pair" for node in one.nodes}


def picture_title(found: PairsVerdict) -> str:
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
