"""Who is to blame if it is not a single rail: a node that answers over no rail, or what the rails of a node share.

Single rails were measured before (``slow_rails``); here their findings become findings about what is behind them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.base.bounds import PROBE_SLOW_SHARE
from railyard.base.wording import drop_clauses, listing, percent
from railyard.results.record.form import Suspect
from railyard.verdict.blame.slow_rails import TOGETHER, format_rate
from railyard.verdict.blame.suspects import Findings


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
            nothing = f"no partner gets a result from it over {listing(list(rails))}"
            reason = f"{node} does not answer: no process starts on it, and {nothing}; its rails are not judged"
        elif len(rails) > 1:
            does = ", although processes start on it" if node in starts else ""
            reason = f"{node} gives no partner a result over any of its rails ({listing(list(rails))}){does}: the node"
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
            look_at=f"whether {node} is up and answers over every network (ping, ssh, its console and log)",
        )
    return found


def shared_part(alone: Findings, together: Findings, rails: Sequence[str]) -> Findings:
    """Return who is slow with all rails at once, although each is good alone: what a node's rails share.

    ``alone`` are the findings for each rail, which cleared them all; ``together`` are those for all rails at once.
    """
    both = listing(list(rails))
    slow = [one for one in together.suspects if one.kind == "rail" and one.node is not None]
    probes = (*alone.probes, *together.probes)
    if not slow:
        measured = f"; {both} at once were also measured, and no node was slow with them" if together.is_clear else ""
        return replace(alone, sentence=f"{alone.sentence}{measured}", probes=probes)
    named = []
    for one in slow:
        reason = f"each of {both} is good alone, but both at once are not: {one.reason}"
        reason = reason if len(rails) == 2 else reason.replace("both at once", "all at once")
        reason = f"{reason}; what they share on {one.node} is at fault"
        named.append(Suspect("node", reason, one.node, evidence=one.evidence))
    nodes = listing([str(one.node) for one in slow])
    look = f"what {both} share on {nodes}: the slot, the card, and the switch port or up-link behind both"
    return Findings(tuple(named), "; ".join(one.reason for one in named), probes, fault="fabric", look_at=look)


def direction(node: str, partner: str, sent: Sequence[float | None], received: Sequence[float | None]) -> str:
    """Return in which direction a rail is slow, by the best stream of each direction, in MB/s.

    ``sent`` went from the node to its good partner, ``received`` the other way; None is no result. If both directions
    are equally slow, the sentence says so.
    """
    out, back = (max((value or 0.0 for value in values), default=0.0) for values in (sent, received))
    figures = f"{format_rate(out)} to {partner}, {format_rate(back)} from {partner}"
    if not max(out, back):
        return ""
    share = min(out, back) / max(out, back)
    if share >= PROBE_SLOW_SHARE.value:
        return f"both directions alike: {figures}"
    way = "sends" if out < back else "receives"
    if not min(out, back):
        return f"only what {node} {way} gives no result: {figures}"
    return f"only what {node} {way} is slow: {figures} ({percent(share)}; bound {percent(PROBE_SLOW_SHARE.value)})"


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
