"""Who is to blame if it is not a single rail: a node that answers over no rail, or what the rails of a node share.

Single rails were measured before (``slow_rails``); here their findings become findings about what is behind them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.base.bounds import PROBE_SLOW_SHARE
from railyard.base.wording import drop_clauses
from railyard.results.record.form import Suspect
from railyard.verdict.blame.slow_rails import TOGETHER
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.wording import blame as words


def silent_nodes(found: Findings, rails: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that gave no result over any of these rails, if each of these rails is a suspect of the node."""
    named: dict[str, set[str]] = {}
    for one in found.suspects:
        if one.kind == "rail" and one.node is not None and one.rail is not None:
            named.setdefault(one.node, set()).add(one.rail)
    answered = {name for probe in found.probes if probe.value_mb_s for name in (probe.node_a, probe.node_b)}
    return tuple(node for node, each in named.items() if each == set(rails) and node not in answered)


def with_silent_nodes(found: Findings, rails: Sequence[str], starts: Mapping[str, bool]) -> Findings:
    """Return the findings with a node named instead of its rails, if it gave no result over any of them.

    ``starts`` says for each node that was tried whether a process starts on it. A node with a single rail on which
    processes start stays as it is: the rail may be at fault.
    """
    for node in silent_nodes(found, rails):
        if starts.get(node) is False:
            reason = words.dead_node(node, list(rails))
        elif len(rails) > 1:
            reason = words.silent_node(node, list(rails), node in starts)
        else:
            continue
        own = [one for one in found.suspects if one.kind == "rail" and one.node == node]
        kept = tuple(one for one in found.suspects if one not in own)
        sentence = drop_clauses(found.sentence, [one.reason for one in own])
        found = replace(
            found,
            suspects=(Suspect("node", reason, node), *kept),
            sentence="; ".join(filter(None, (reason, sentence))),
            fault=found.fault if kept else "node",
            look_at=words.look_at_node(node),
        )
    return found


def shared_part(alone: Findings, together: Findings, rails: Sequence[str]) -> Findings:
    """Return who is slow with all rails at once, although each is good alone: what a node's rails share.

    ``alone`` are the findings for each rail, which cleared them all; ``together`` are those for all rails at once.
    """
    both = list(rails)
    slow = [one for one in together.suspects if one.kind == "rail" and one.node is not None]
    probes = (*alone.probes, *together.probes)
    if not slow:
        measured = words.none_slow_together(both) if together.is_clear else ""
        return replace(alone, sentence=f"{alone.sentence}{measured}", probes=probes)
    named = []
    for one in slow:
        reason = words.shared_part(both, one.reason, str(one.node))
        named.append(Suspect("node", reason, one.node, evidence=one.evidence))
    look = words.look_at_shared(both, [str(one.node) for one in slow])
    return Findings(tuple(named), "; ".join(one.reason for one in named), probes, fault="fabric", look_at=look)


def direction(node: str, partner: str, sent: Sequence[float | None], received: Sequence[float | None]) -> str:
    """Return in which direction a rail is slow, by the best stream of each direction, in MB/s.

    ``sent`` went from the node to its good partner, ``received`` the other way; None is no result. If both directions
    are equally slow, the sentence says so.
    """
    out, back = (max((value or 0.0 for value in values), default=0.0) for values in (sent, received))
    return words.both_ways(node, partner, out, back, PROBE_SLOW_SHARE.value) if max(out, back) else ""


def good_partner(found: Findings, suspect: Suspect) -> str | None:
    """Return a node that was probed with a suspect and is not a suspect itself: the fastest one with others."""
    named = {one.node for one in found.suspects}
    best: dict[str, float] = {}
    for probe in found.probes:
        if probe.rail == suspect.rail and suspect.node not in (probe.node_a, probe.node_b):
            for name in (probe.node_a, probe.node_b):
                best[name] = max(best.get(name, 0.0), probe.value_mb_s or 0.0)
    known = {name: value for name, value in best.items() if name not in named and value}
    return max(known, key=lambda name: known[name], default=None)


def label_of(rails: Sequence[str]) -> str:
    """Return the name of rails that are measured at once, used like the name of one rail."""
    return TOGETHER.join(rails)
