"""Relations and costs as text: one row each, the sentence below, and which fabric is worth its money."""

import textwrap
from collections.abc import Sequence

from railyard.base.clean_text import one_line
from railyard.base.text_table import table
from railyard.base.wording import count_of
from railyard.results.report.text import number
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.references.band import RelationState

RELATION_WORDS: dict[RelationState, str] = {"pass": "pass", "fail": "fail", "not-judged": "not judged"}
_SGR: dict[RelationState, str] = {"pass": "32", "fail": "1;31", "not-judged": "2"}
COST_HEADS = ("fabric", "stack", "rails", "nodes", "price per node", "MB/s", "MB/s per 1000", "us", "us x 1000")
_NARROW_HEADS = ("fabric", "stack", "rails", "nodes", "price\na node", "MB/s", "MB/s\nper 1000", "us", "us x\n1000")
_WORDS = (0, 1, 3, 4)
_BOUND_WORDS = {"exact": "", "around": "about ", "at-least": "from ", "at-most": "up to "}
_RIGHT = range(2, len(COST_HEADS))


def relation_counts(relations: Sequence[RelationRecord]) -> str:
    """Return ``5 relations: 3 pass, 1 fail, 1 not judged``."""
    states = [relation.state for relation in relations]
    told = ", ".join(f"{states.count(state)} {words}" for state, words in RELATION_WORDS.items())
    return f"{count_of(len(relations), 'relation')}: {told}"


def relation_lines(relations: Sequence[RelationRecord], *, width: int = 100, colour: bool = False) -> str:
    """Return the relations, one row each with its state, and below it what was found; folded, never cut."""
    lines = ["Relations between curves"]
    names = [f"{one.id} ({one.stack})" if one.stack else one.id for one in relations]
    wide = max(map(len, names), default=0)
    for relation, name in zip(relations, names, strict=True):
        words = RELATION_WORDS[relation.state]
        shown = f"\x1b[{_SGR[relation.state]}m{words}\x1b[0m" if colour else words
        lines.append(f"  {one_line(name).ljust(wide)}  {shown}")
        lines += textwrap.wrap(
            f"{one_line(relation.says)}: {one_line(relation.sentence)}",
            width,
            initial_indent="    ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, relation_counts(relations)])


def cost_cells(cost: CostRecord) -> tuple[str, ...]:
    """Return one row of the table of costs, in the order of COST_HEADS."""
    low, high = number(cost.price_low), number(cost.price_high)
    price = low if cost.price_low == cost.price_high else f"{low}–{high}"
    return (
        one_line(cost.fabric),
        one_line(cost.stack),
        str(cost.rails),
        nodes_words(cost),
        f"{_BOUND_WORDS.get(cost.bound, '')}{price} {one_line(cost.currency)}",
        number(cost.bandwidth_mb_s),
        number(cost.bandwidth_per_price),
        _latency_words(cost),
        number(cost.latency_price),
    )


def _latency_words(cost: CostRecord) -> str:
    low, high = number(cost.latency_us), number(cost.latency_high_us)
    return low if cost.latency_high_us is None else f"{low}–{high}"


def nodes_words(cost: CostRecord) -> str:
    """Return for which numbers of nodes a price holds: ``to 128``, ``129–480``, ``1024``, ``any``."""
    first, last = cost.nodes_from, cost.nodes_to
    if first is None:
        return "any" if last is None else f"to {last}"
    if last is None:
        return f"from {first}"
    return str(first) if first == last else f"{first}–{last}"


def cost_lines(costs: Sequence[CostRecord], *, width: int = 100) -> str:
    """Return the table of costs, cheapest first, with the date of the prices below; folded, never cut."""
    heads = [*zip(COST_HEADS, _NARROW_HEADS, strict=True)]
    lines = table(heads, [*map(cost_cells, costs)], width, right=_RIGHT, words=_WORDS)
    dates = ", ".join(sorted({cost.date for cost in costs}))
    return "\n".join(["What it costs", *lines, f"prices of {dates}"])
