"""Runs the site's own commands that drain and resume a node: words of its file, no shell, at most once per gate."""

import re
from collections.abc import Sequence

from railyard.cluster.gate import ending
from railyard.cluster.gate.ending import Deadline, GateStop
from railyard.cluster.gate.model import Answer, short

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
