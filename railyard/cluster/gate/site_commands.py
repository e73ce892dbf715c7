"""The site's own commands that drain and resume a node: runs them, or writes them as a script for a sick list.

It runs nothing. A part that belongs to no single node (a pair, a switch, a leaf, an up-link) drains no node: its nodes
may be good, and a line says so.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from railyard.base.clean_text import one_line
from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.gate import ending
from railyard.cluster.gate.ending import Deadline, GateStop
from railyard.cluster.gate.model import Answer, short

if TYPE_CHECKING:
    from railyard.results.sick import SickPart
    from railyard.site.systems.node_view import SystemView

#: If more than this share of a system's nodes is sick, a person should look again before draining them.
_MANY = 0.05
_BLANK = re.compile(r"\{(node|reason)\}")


def fill_words(words: Sequence[str], node: str, reason: str) -> list[str]:
    """Return the words with their placeholders filled. Text in a reason is never taken for a placeholder."""
    values = {"node": node, "reason": reason}
    return [_BLANK.sub(lambda found: values[found[1]], word) for word in words]


def run_command(words: Sequence[str], answer: Answer, deadline: Deadline) -> str | None:
    """Run a command for a node. Return None if it ended with 0, else a sentence that says how it ended."""
    given = fill_words(words, answer.node, short(f"railyard gate: {answer.reason}"))
    try:
        ended = ending.run(given, deadline)
    except OSError as error:
        return f"{given[0]} cannot be started ({error.strerror})"
    except GateStop as stop:
        return f"{given[0]} did not end: {stop}"
    return None if ended.code == 0 else f"{given[0]} ended with {ended.code}: {ended.last_words}"


def may_resume(answer: Answer, drained: Sequence[str]) -> bool:
    """Return whether a gate found all parts clean for which an earlier gate drained the node.

    A gate that only looks does not resume a node that was drained for a measurement.
    """
    clean = {look.part for look in answer.looks if look.is_clean}
    return answer.state == "fit" and bool(drained) and set(drained) <= clean


def drain_lines(system: "SystemView", parts: "Iterable[SickPart]") -> list[str]:
    """Return a comment and a command for each sick node, and a comment for each part that drains no node.

    Raises InputError if the system's file has no drain command.
    """
    if not system.gate.drain:
        raise InputError(
            f"systems/{system.system}.yaml", "nothing", "the site's own command, such as "
            "[scontrol, update, NodeName={node}, State=DRAIN, Reason={reason}]", field="gate.drain",
        )  # fmt: skip
    of_node: dict[str, list[SickPart]] = {}
    spared: list[str] = []
    for part in parts:
        why = why_not(part)
        if why is None and part.node is not None:
            of_node.setdefault(label(part.node), []).append(part)
        else:
            spared.append(f"# {one_line(part.name)}: drains no node: {why}")
    lines = _head(system, len(of_node))
    for those in of_node.values():
        lines += [*(f"# {one_line(f'{part.name}: {part.evidence}')}" for part in those), _command(system, those)]
    return [*lines, *spared]


def why_not(part: "SickPart") -> str | None:
    """Return why a part drains no node; None if it drains its node."""
    if part.passed is not None:
        return f"it passed since ({part.passed.time})"
    if part.confidence == "open":
        return "the verdicts do not show yet which part is at fault"
    if part.kind == "pair":
        return "a pair is slow; both its nodes may be good with all other nodes"
    if part.node is None or part.kind not in ("node", "rail", "gpu"):
        return f"{'an' if part.kind == 'up-link' else 'a'} {part.kind} is not a node: the nodes behind it may be good"
    return None


def _head(system: "SystemView", nodes: int) -> list[str]:
    lines = [f"# {system.system}: {count_of(nodes, 'node')} to drain; no command was run: read the reasons first"]
    if nodes > max(1, _MANY * system.nodes.number):
        of = f"{nodes} of {system.nodes.number} nodes"
        lines.append(f"# {of}: so many nodes rarely fail at once; look for a common cause")
    return lines


def _command(system: "SystemView", parts: "Sequence[SickPart]") -> str:
    newest = parts[0]
    more = f" (+{len(parts) - 1} more)" if len(parts) > 1 else ""
    reason = short(f"railyard: {newest.name}: {newest.evidence}{more}")
    return shlex.join(fill_words(system.gate.drain, newest.node or "", reason))
