"""Which conditions may explain low values: those in which a node is worse than the system that a reference is from.

They are offered as "a possible cause" and decide nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

from railyard.results.conditions import describe_differences
from railyard.results.record.form import ConditionRecord
from railyard.site.conditions import may_cost


def possible_causes(found: Iterable[ConditionRecord]) -> tuple[str, ...]:
    """Return a sentence for each group of nodes whose conditions may explain the loss; () if there is none."""
    costly = []
    for each in found:
        worse = {has: nodes for has, nodes in each.unlike.items() if may_cost(each.name, each.stated, has)}
        costly += [replace(each, unlike=worse)] if worse else []
    return tuple(f"a possible cause: {sentence}" for sentence in describe_differences(costly))
