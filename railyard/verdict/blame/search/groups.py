"""Groups of leaf switches, the second level: of a dragonfly, or pods of a fat tree. A slow group is named first.

A group whose links to others are slow makes every pair of two groups slow that has one node in it, and no leaf switch
more than another. So groups are compared before leaf switches, in the same way: all nodes of one at once, with good
groups. What a named group gives others is then what its pairs with them are compared with.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field

from railyard.verdict.blame.search import sides
from railyard.verdict.blame.search.doubts import doubted_sides
from railyard.verdict.blame.search.matrix import Shares, gather_repeats
from railyard.verdict.blame.search.model import Layout, Level, Settings, Step, Suspect, Value
from railyard.verdict.blame.search.questions import describe_step
from railyard.verdict.blame.search.single_pairs import State
from railyard.verdict.wording import pair_search as words


@dataclass(frozen=True, slots=True)
class Groups:
    """What was found of the groups in doubt; ``slow`` has the named ones, each with its share of a good group's."""

    answers: tuple[tuple[State, Suspect], ...] = ()
    slow: Mapping[str, float] = field(default_factory=dict)


def settle_groups(
    layout: Layout, seen: Shares, settings: Settings, steps: list[str]
) -> Generator[Step, Iterable[Value], Groups]:
    """Measure the groups in doubt again, and return what is found; ``steps`` gets the step in words."""
    by_groups = layout.by_groups()
    members = by_groups.members()
    doubted = doubted_sides(by_groups, seen, settings)
    good = [group for group, nodes in members.items() if group not in doubted and len(nodes) > 1]
    made = sides.bouts(by_groups, doubted, good, frozenset(), "group")
    if not made:
        return Groups(tuple(("unclear", _open_group(members[group], group, seen)) for group in doubted))
    step = sides.plan(made, words.sides_at_once(len(doubted), "group"), "groups")
    values = gather_repeats(layout, step, (yield step))
    steps.append(describe_step(step))
    inside = {group: sides.inside_of(by_groups, seen, group) for group in doubted}
    # By the layout of all levels, since only that knows the class of hops of two groups.
    across = _AcrossGroups(layout, seen, seen.near, seen.apart or seen.far, seen.levels)
    answers = sides.judge(by_groups, across, made, values, inside, settings.side_slow)
    slow = {group: suspect.share for group, (state, suspect) in zip(doubted, answers, strict=True) if state == "named"}
    return Groups(answers, slow)


@dataclass(frozen=True, slots=True)
class _AcrossGroups:
    """The levels of healthy pairs, for a layout that has only groups."""

    layout: Layout
    seen: Shares
    near: Level
    far: Level
    levels: tuple[Level, ...]

    def level(self, layout: Layout, a: int, b: int) -> Level:
        return self.seen.level(self.layout, a, b)


def _open_group(members: tuple[int, ...], group: str, seen: Shares) -> Suspect:
    level = seen.apart or seen.far
    return Suspect("side", members, 0.0, level.value, words.no_good_sides(group, "group"))
