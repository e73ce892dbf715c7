"""Which conditions may explain values that are too low: those in which a node is worse than the reference's source.

They are offered as "a possible cause" and decide nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

from railyard.results.conditions import told
from railyard.results.record.form import ConditionRecord
from railyard.site.conditions import may_cost


def possible_causes(found: Iterable[ConditionRecord]) -> tuple[str, ...]:
    """Return a sentence for each group of nodes whose conditions may cost what a run lacks; () where none may."""
    costly = []
    for each in found:
        worse = {has: nodes for has, nodes in each.unlike.items() if may_cost(each.name, each.stated, has)}
        costly += [replace(each, unlike=worse)] if worse else []
    return tuple(f"a possible cause: {sentence}" for sentence in told(costly))
