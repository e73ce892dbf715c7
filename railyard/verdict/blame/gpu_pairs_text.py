"""What a judgement of logs between GPUs of two nodes says: sentences for a reader, and one JSON object."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing, message_size, number
from railyard.verdict.blame import contradictions
from railyard.verdict.blame.gpu_pairs import NotUsed, PairsVerdict, Sufficient
from railyard.verdict.blame.search.explanations import BlamedPart
from railyard.verdict.blame.search.paths import Layer, Test

#: What each word of certainty means; printed with every verdict that names or doubts somebody.
SURE = {
    "shown": "all of its tests are slow or without a result, in at least two logs; a node or GPU has at least two good "
    "partners; and nothing smaller explains all of these tests",
    "likely": "the figures fit and nothing contradicts them, but all tests of a pair are from one log or were cut, or "
    "only the number of the GPU suggests that several nodes share one fault",
    "open": "something is wrong there, but these logs do not show what, so nobody is named",
}
#: How many are printed one by one; --json has all.
_MOST = 20
#: Odds below this power of ten are not written out.
_LEAST_ODDS = -9.0
_FALLS = 0.5


def text(found: PairsVerdict, few: Sufficient | None = None) -> str:
    """Return the verdict for a reader; ``few`` are the logs that would have been enough."""
    tests, logs = found.recorded.tests, found.recorded.logs
    lines = [
        f"{count_of(len(tests), 'test')} of {count_of(len(logs), 'log')}, {count_of(len(found.recorded.nodes), 'node')}"
        f"; pairs are compared with one another{contradictions.comparison_end(found.recorded.compared_with)}",
        "",
    ]
    lines += [f"  {_level(level)}" for level in levels(found)]
    lines += _section(
        "does not pass, however the pairs compare",
        contradictions.contradiction_lines(found.recorded.wrong, found.recorded.compared_with),
    )
    named = found.named_parts
    doubted = [one for one in found.blamed if one.sure == "open"]
    for title, some in (("sick", named), ("undecided", doubted)):
        if some:
            lines += ["", f"{title}:"]
            for one in some[:_MOST]:
                lines += _paragraph(sentences(one, found))
            lines += [f"  and {len(some) - _MOST} more: --json has all"] if len(some) > _MOST else []
    if not found.blamed:
        lines += ["", _nobody(found) if found.shares else "nothing was judged"]
    lines += _section("lower than others, but not named", found.lower)
    lines += _section("not covered", not_covered(found))
    lines += _section("not used, so neither good nor bad", [_not_used(one) for one in found.recorded.not_used])
    if few is not None:
        lines += ["", f"how few logs would have been enough: {fewest(few, found)}", *(f"  {log}" for log in few.logs)]
    said = sorted({one.sure for one in found.blamed}, key=list(SURE).index)
    lines += ["", *(f"{word}: {SURE[word]}" for word in said)] if said else []
    return "\n".join(lines) + "\n"


def _nobody(found: PairsVerdict) -> str:
    if found.recorded.wrong:
        return "no test is slow beside the others, but this does not pass: see above what the logs themselves say"
    if not found.is_good:
        return "nobody is named, but this does not pass: not all was judged"
    return "nobody is named: no test is slow, and all gave a result"


def fewest(few: Sufficient, found: PairsVerdict) -> str:
    """Return a sentence that says how few logs would have been enough, and for what they would not."""
    count, all_ = len(few.logs), len(found.recorded.logs)
    if few.same_parts:
        said = f"{count} of {all_} logs blame the same nodes and GPUs; what the logs before it showed chose each one"
    else:
        said = f"this method needs all {all_}: the {count} that it asks for do not blame the same nodes and GPUs"
    said += "; a pair that is at fault by itself shows only in its own logs, so each pair needs one: "
    whole = f"these and every log with {count_of(few.gpus, 'GPU')} per node, {few.with_every_pair} in all, "
    return f"{said}{whole}{'blame the same pairs too' if few.same_pairs else 'still do not blame the same pairs'}"


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
        return f"the pair {one.nodes[0]} and {one.nodes[1]}: what is between them"
    groups = [_gpus(group, one, found) for group in one.gpus]
    leaves = listing(sorted({found.leaf_of[node] for node in one.nodes if node in found.leaf_of}))
    connected = f"; connected to {leaves}" if leaves else ""
    if one.kind == "node":
        several = len(one.gpus) > 1
        which = f"several of its GPUs at once ({listing(groups)})" if several else f"at least one of {groups[0]}"
        return f"{one.nodes[0]}: {which}, or what they share{connected}"
    single = len(one.gpus) == 1 and len(one.gpus[0]) == 1
    which = listing(groups) if single else f"at least one of {listing(groups)}"
    if one.kind == "gpu":
        return f"{one.nodes[0]}, {which}, or its path (NIC, slot, cable, port{f' of {leaves}' if leaves else ''})"
    together = f"{len(one.nodes)} nodes together ({', '.join(one.nodes)})"
    return f"the path of {which} of {together}: what joins them to all other GPUs{connected}"


def _any_node(one: BlamedPart, gpu: str, found: PairsVerdict) -> str:
    return next(node for node in one.nodes if (node, gpu) in found.recorded.names)


def _gpus(group: Sequence[str], one: BlamedPart, found: PairsVerdict) -> str:
    if len(group) > 3 and all(gpu.isdigit() for gpu in group):
        return f"the GPUs {', '.join(sorted(group, key=int))}"
    return listing([found.recorded.names[_any_node(one, gpu, found), gpu] for gpu in group])


def _sure(one: BlamedPart) -> str:
    if one.chance >= 0 or one.chance > -2:
        return one.sure
    odds = "less than 1 in 10^9" if one.chance < _LEAST_ODDS else f"about 1 in {number(10**-one.chance, 2)}"
    return f"{one.sure}; if slow tests were scattered by chance, all of these would hit it with odds of {odds}"


def _evidence(one: BlamedPart, found: PairsVerdict) -> list[str]:
    if one.kind == "pair":
        return _of_pair(one, found)
    said = []
    for layer in dict.fromkeys(test.layer for test in one.tests):
        own = [test for test in one.tests if test.layer == layer]
        inside = [test for test in one.inside if test.layer == layer]
        said.append(f"{_layer(layer)}: {_describe_values(own, found)}{_inside_words(inside)}")
    fall = max((test for test in one.tests if test.first > 0), key=lambda test: test.first - test.last, default=None)
    if fall is not None and fall.last < _FALLS * fall.first:
        said.append(
            f"longer messages are slower, as with lost packets: {_pair(fall)} from {_gb(fall.first)} to "
            f"{_gb(fall.last)} GB/s ({fall.layer.benchmark}, {fall.log})"
        )
    said += _describe_cleared(one, found)
    return said


def _of_pair(one: BlamedPart, found: PairsVerdict) -> list[str]:
    """Return a pair's tests that nothing else explains, its good tests, and how good its nodes are with others."""
    bad = [test for test in one.tests if test.value is None or test.wrong]
    slow = [test for test in one.tests if test not in bad]
    said = [f"{_layer(test.layer)}: {_gb(test.value or 0)} of {_gb(_healthy([test], found))} GB/s" for test in slow]
    if bad:
        logs = count_of(len({test.log for test in bad}), "log")
        said.append(
            f"no result in {count_of(len(bad), 'test')} of {logs}: {listing([_layer(test.layer) for test in bad])}"
        )
        said += [f"  {test.log}: {test.why}" for test in {test.log: test for test in bad}.values()]
    good = [f"{_layer(test.layer)} {_gb(test.value or 0)} GB/s" for test in one.inside]
    said.append(f"good between the two: {listing(good)}" if good else "no test between the two is good")
    count = {node: _good_partners(node, found) for node in one.nodes}
    head = "both are good with others" if all(count.values()) else "good with others"
    elsewhere = [f"{node} with {count_of(good, 'other node')}" for node, good in count.items()]
    said.append(f"{head}: {listing(elsewhere)}")
    pairs = [other.nodes for other in found.blamed if other.kind == "pair"]
    for node in one.nodes:
        among = sum(node in pair for pair in pairs)
        if among > 1:
            said.append(f"{node} is in {among} such pairs{', and good with the other nodes' if count[node] else ''}")
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
        span = _gb(values[0]) if values[0] == values[-1] else f"{_gb(values[0])} to {_gb(values[-1])}"
        level = _healthy(own, found)
        pairs = len({test.pair for test in own if test.value is not None})
        parts.append(f"{span} of {_gb(level)} GB/s in {count_of(len(values), 'test')} of {count_of(pairs, 'pair')}")
    failed = [test for test in own if test.value is None or test.wrong]
    if failed:
        why = failed[0].why
        parts.append(f"no result in {count_of(len(failed), 'test')} ({failed[0].log}: {why})")
    return "; ".join(parts)


def _inside_words(inside: Sequence[Test]) -> str:
    values = sorted(test.value for test in inside if test.value is not None)
    if not values:
        return ""
    span = _gb(values[0]) if values[0] == values[-1] else f"{_gb(values[0])} to {_gb(values[-1])}"
    return f"; with one another {span} GB/s in {count_of(len(values), 'test')}"


def _describe_cleared(one: BlamedPart, found: PairsVerdict) -> list[str]:
    """Return what clears the other GPUs of the nodes: good tests with other nodes, without the suspected GPUs."""
    states, nodes = found.states, set(one.nodes)
    among = {gpu for group in one.gpus for gpu in group}
    without = [
        test
        for test in found.recorded.tests
        if states[test] == "good" and len(nodes.intersection(test.nodes)) == 1 and not _with_any(test, nodes, among)
    ]
    if not without:
        return []
    counts = {layer: sum(test.layer == layer for test in without) for layer in dict.fromkeys(t.layer for t in without)}
    said = [f"{_layer(layer)} {count}" for layer, count in counts.items()]
    return [f"good with other nodes without {'it' if len(among) == 1 else 'these GPUs'}: tests {', '.join(said)}"]


def _with_any(test: Test, nodes: set[str], gpus: set[str]) -> bool:
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
    disturbed = "other jobs' traffic at that time, which the logs do not show"
    if one.kind == "pair":
        return f"a fault of either node that only shows with this partner (routing, addresses, firewall); {disturbed}"
    if one.kind == "part":
        return (
            "the other nodes' end of the same links; a network that is narrower there by design; the same wrong "
            f"setting or cabling on all of these nodes; {disturbed}"
        )
    return f"a slow port of the leaf switch that this node is cabled to; {disturbed}"


def _next(one: BlamedPart, found: PairsVerdict) -> str:
    a = one.nodes[0]
    if one.kind == "pair":
        other = one.partners[0] if one.partners else "a good node"
        return (
            f"the same test of {one.nodes[0]} with {one.nodes[1]}, and of each with {other}, three times with "
            "NCCL_DEBUG=INFO while nothing else runs; then `ib_write_bw` between the two, NIC by NIC"
        )
    partner = next((node for node in one.partners if node not in one.nodes), "a node that is good with others")
    among = sorted({gpu for group in one.gpus for gpu in group})
    names = [found.recorded.names[_any_node(one, gpu, found), gpu] for gpu in among]
    if len(among) > 1:
        return (
            f"logs with one GPU of each node, {a} with {partner}, GPU by GPU ({len(among)} logs): the slow one is at "
            "fault; if you start with half of the GPUs, you need fewer logs"
        )
    if one.kind == "part":
        return (
            f"`ib_write_bw` from the NIC of {names[0]} of {a} to the same NIC of {partner}, while nothing else runs; "
            "then the up-links (number, width, speed, errors, congestion) of the leaf switch to which this NIC of the "
            f"{len(one.nodes)} nodes is cabled"
        )
    return (
        f"`ib_write_bw` from the NIC of {names[0]} of {a} to {partner}, from host memory and from the GPU's: if both "
        "are slow, it is the NIC, cable or port; if only the GPU's is slow, it is its slot or PCIe switch"
    )


def levels(found: PairsVerdict) -> list[tuple[Layer, bool | None, float | None, float, int, int]]:
    """Return the levels as rows, the most GPUs first."""
    rows = [(one.layer, one.across, one.value, one.bound, one.tests, one.pairs) for one in found.levels]
    return sorted(rows, key=lambda row: (-row[0].gpus, row[0].benchmark, -row[0].size_bytes))


def _level(row: tuple[Layer, bool | None, float | None, float, int, int]) -> str:
    layer, across, value, bound, tests, pairs = row
    where = "" if across is None else " across leaves" if across else " within a leaf"
    if value is None:
        return f"{_layer(layer)}{where}: {count_of(pairs, 'pair')} with a result, too few to compare: not judged"
    return (
        f"{_layer(layer)}{where}: healthy is {_gb(value)} GB/s at messages up to {message_size(layer.size_bytes)}, "
        f"slow below {_gb(bound * value)} ({count_of(tests, 'test')})"
    )


def not_covered(found: PairsVerdict) -> list[str]:
    """Return what the logs do not cover: pairs without a test, logs that lack one, GPUs that only slow tests used."""
    pairs = [f"{a}-{b}" for a, b in found.no_log]
    said = [f"{count_of(len(pairs), 'pair')} without a test: {_some(pairs)}"] if pairs else []
    said += found.recorded.unknown
    there = {label(node) for node in found.recorded.nodes}
    if absent := sorted(node for node in found.leaf_of if label(node) not in there):
        said.append(f"{count_of(len(absent), 'node')} with a leaf switch and no log: {_some(absent)}")
    said += [f"{log}: it ends before {_layer(layer)}, which most logs like it have" for log, layer in found.lacking]
    between = [test for test in found.shares if found.states[test] == "unjudged"]
    if between:
        shown = [f"{_pair(test)} {100 * found.shares[test]:.1f} %" for test in between]
        said.append(
            f"{count_of(len(between), 'test')} neither good nor slow, since healthy pairs differ by as much: "
            f"{_some(shown)}"
        )
    by_node: dict[str, list[str]] = {}
    for node, gpu in found.unseen:
        by_node.setdefault(node, []).append(found.recorded.names[node, gpu])
    judged = any(state in ("slow", "none") for state in found.states.values())
    why = "only in slow tests, which other parts explain" if judged else "only in tests that are not judged"
    said += [f"{node}: {listing(names)} {why}" for node, names in by_node.items()]
    return said


def _some(shown: Sequence[str]) -> str:
    return f"{', '.join(shown[:_MOST])}{f' and {len(shown) - _MOST} more' if len(shown) > _MOST else ''}"


def _layer(layer: Layer) -> str:
    return f"{layer.benchmark} with {count_of(layer.gpus, 'GPU')} per node"


def _pair(test: Test) -> str:
    return f"{test.nodes[0]}-{test.nodes[1]}"


def _gb(value_mb_s: float) -> str:
    return f"{value_mb_s / 1000:.2f}"


def _not_used(one: NotUsed) -> str:
    return f"{one.log}{'' if one.pair is None else f' ({one.pair[0]}-{one.pair[1]})'}: {one.why}"


def _paragraph(said: Mapping[str, Any]) -> list[str]:
    return [
        f"  {said['part']}",
        *(f"    {line}" for line in said["evidence"]),
        f"    how sure: {said['sure']}",
        f"    fits too: {said['fits_too']}",
        f"    would decide: {said['next']}",
    ]


def _section(title: str, said: Iterable[str]) -> list[str]:
    lines = list(said)
    more = [f"  and {len(lines) - _MOST} more: --json has all"] if len(lines) > _MOST else []
    return ["", f"{title}:", *(f"  {line}" for line in lines[:_MOST]), *more] if lines else []
