"""The references of a system as JSON values and as lines: entries, relations, facts and costs, with their sources.

The fact sheet of the published systems, docs/reference/references.md, is made of them.

Relations and costs as text: one row each, the sentence below, and which fabric is worth its money.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railyard.base.json_codec import encode
from railyard.base.terminal import table
from railyard.base.values import one_line
from railyard.base.wording import count_of, message_size
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.relations import best_for, costs_of_references
from railyard.results.report.text import number
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.references.amount import Share
from railyard.site.references.band import RelationState
from railyard.site.references.checks import sides
from railyard.site.references.load import References
from railyard.site.references.model import Entry, Fact, Relation, Source, UnboundedSizes
from railyard.site.references.relation_forms import SHAPES
from railyard.site.systems.fields import ANY, Price

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


FORMAT = 1
_AMOUNTS = ("value", "floor", "ceiling", "upper_limit")
HEAD = """\
# Published systems

`railyard references --write` makes this page from `systems/*.yaml` and `references/*.yaml`; change these, not this
page. Rates are 10^6 B/s, sizes are binary. Four kinds of numbers are here:

- *published*: its source measured it;
- *reported*: its source repeats it from elsewhere;
- *bad-case*: found on a faulty system; no run is judged by it;
- *class*: a floor that every such link has.

If a source shows a curve without figures, the curve is not here; what the source says of it is a relation.
[Published figures that are not a system here](published-left-out.md) state too few conditions, and the page says what
each lacks.
"""
#: Sizes of clusters for which the page names what is worth its money.
_SIZES = (16, 64, 128, 1024)


def as_json(references: References) -> dict[str, Any]:
    """Return ``entries``, ``relations``, ``facts``, ``unbounded`` and ``costs`` of a system as lists of JSON values."""
    system = references.system.system
    return {
        "entries": [_entry_json(entry, system) for entry in references.entries],
        "relations": [_relation_json(relation, references) for relation in references.relations],
        "facts": [{"system": system, **_plain(fact)} for fact in references.facts],
        "unbounded": [{"system": system, **_unbounded_json(one)} for one in references.unbounded],
        "costs": [{"system": system, **encode(cost)} for cost in costs_of_references(references)],
    }


def _entry_json(entry: Entry, system: str) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: _amount(getattr(entry, name)) for name in _AMOUNTS if getattr(entry, name) is not None
    }
    if entry.ends is not None:
        given["range"] = list(entry.ends)
    if entry.curve is not None:
        given["curve"] = {str(size): value for size, value in entry.curve.items()}
    return {
        "system": system,
        "id": entry.id,
        "fabric": entry.fabric,
        "stack": _one_or_list(entry.stack),
        "rails": _one_or_list(entry.rails) if entry.rails else ANY,
        "policy": _one_or_list(entry.policy),
        "hops": _one_or_list(entry.hops) if entry.hops else ANY,
        "benchmark": _one_or_list(entry.benchmark),
        "metric": entry.metric,
        "unit": entry.unit,
        "directions": entry.directions,
        **given,
        "sizes": {"from": entry.sizes.first, "to": entry.sizes.last},
        "tolerance": None if entry.tolerance is None else entry.tolerance.model_dump(mode="json", exclude_none=True),
        "kind": entry.kind,
        "source": _source_json(entry.source),
    }


def _amount(amount: float | Share) -> Any:
    return amount.model_dump(mode="json") if isinstance(amount, Share) else amount


def _one_or_list(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _source_json(source: Source) -> dict[str, Any]:
    return source.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def _plain(fact: Fact) -> dict[str, Any]:
    plain = fact.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"source"})
    return {**plain, "source": _source_json(fact.source)}


def _unbounded_json(one: UnboundedSizes) -> dict[str, Any]:
    return {
        "fabric": _one_or_list(one.fabric),
        "stack": _one_or_list(one.stack),
        "rails": _one_or_list(one.rails) if one.rails else ANY,
        "benchmark": _one_or_list(one.benchmark),
        "sizes": {"from": one.sizes.first, "to": one.sizes.last},
        "reason": one.reason,
    }


def _relation_json(relation: Relation, references: References) -> dict[str, Any]:
    both = [side.model_dump(mode="json", exclude_none=True) for side in sides(relation, references.entries)]
    rest = relation.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"of", "to", "than", "source"})
    if relation.than is not None:
        rest["than"] = {"of": both[2], "to": both[3]}
    return {
        "system": references.system.system,
        **rest,
        "of": both[0],
        "to": both[1] if len(both) > 1 else None,
        "source": _source_json(relation.source),
    }


def lines(references: References) -> list[str]:
    """Return the references of a system for a terminal: two lines per entry, relation and fact."""
    told = [f"{references.system.system}: {references.system.description}"]
    for entry in references.entries:
        stack, rails = ", ".join(entry.stack), ", ".join(map(str, entry.rails)) or ANY
        where = f"{entry.fabric}, {stack if stack != ANY else 'any stack'}, {_rails_words(rails)}"
        policy = "" if entry.policy == (ANY,) else f", {', '.join(entry.policy)}"
        told.append(
            f"  {entry.id}  {where}{policy}{hops_words(entry)}: {', '.join(entry.benchmark)} {amount_words(entry)}"
        )
        told.append(f"    {entry.kind}: {entry.source.cite()}")
    for relation in references.relations:
        told.append(f"  {relation.id}  {relation.says}")
        told.append(f"    relation: {relation_words(relation, references)}; {relation.source.cite()}")
    for fact in references.facts:
        told.append(f"  {fact.id}  {fact.what}: {fact_words(fact)}")
        told.append(f"    {fact.kind}, not judged: {fact.source.cite()}")
    told += [f"  nothing bounds {unbounded_words(one)}: {one.reason}" for one in references.unbounded]
    return told


def unbounded_words(one: UnboundedSizes) -> str:
    """Return the test and sizes without a bound: ``osu/osu_bw over eth up to 512 KiB``."""
    fabric, stack, rails = ", ".join(one.fabric), ", ".join(one.stack), ", ".join(map(str, one.rails))
    where = [
        *([f"over {fabric}"] if one.fabric != (ANY,) else []),
        *([f"with {stack}"] if one.stack != (ANY,) else []),
        *([f"over {_rails_words(rails)}"] if rails else []),
    ]
    return f"{' '.join([', '.join(one.benchmark), *where])}{one.sizes.words}"


def hops_words(entry: Entry) -> str:
    """Return for which hops an entry holds, to append to other words; empty if it holds for any."""
    return f", hops {', '.join(map(str, entry.hops))}" if entry.hops else ""


def _rails_words(rails: str) -> str:
    return "1 rail" if rails == "1" else f"{rails} rails" if rails != ANY else "any rails"


def amount_words(entry: Entry) -> str:
    """Return what an entry says, in words: ``bandwidth 12400 MB/s at 4 MiB, -3 %``."""
    both = " both ways" if entry.directions == 2 else ""
    head = f"{entry.metric}{both}"
    if entry.curve is not None:
        points = ", ".join(f"{value:g} at {message_size(size)}" for size, value in entry.curve.items())
        return f"{head} {points} {entry.unit}{_tolerance_words(entry)}"
    if entry.ends is not None:
        ends = f"{range_words(entry.ends)} {entry.unit}"
        return f"{head} {ends}{entry.sizes.words}{_tolerance_words(entry)}"
    for name, words in (
        ("value", ""),
        ("floor", "at least "),
        ("ceiling", "at most "),
        ("upper_limit", "never above "),
    ):
        amount = getattr(entry, name)
        if amount is not None:
            return f"{head} {words}{_amount_words(amount, entry.unit)}{entry.sizes.words}{_tolerance_words(entry)}"
    return head


def _amount_words(amount: float | Share, unit: str) -> str:
    if isinstance(amount, Share):
        times = "" if amount.times == 1 else f" x {amount.times:g}"
        base = "one rail's data rate" if amount.of == "data-rate" else "the limit"
        return f"{100 * amount.fraction:g} % of {base}{times}"
    return f"{amount:.10g} {unit}"


def range_words(ends: tuple[float, float]) -> str:
    """Return both ends of a range in words: ``6 to 7``."""
    return f"{ends[0]:.10g} to {ends[1]:.10g}"


def _tolerance_words(entry: Entry) -> str:
    if entry.tolerance is None:
        return ""
    given: Mapping[str, Any] = entry.tolerance.model_dump(exclude_none=True)
    if set(given) <= {"low", "high"}:
        return "".join(
            f", {sign}{100 * given[side]:g} %" for side, sign in (("low", "-"), ("high", "+")) if side in given
        )
    return ", by regime"


def relation_words(relation: Relation, references: References) -> str:
    """Return what a relation requires, in words."""
    both = sides(relation, references.entries)
    one, *rest = (side.words for side in both)
    where = relation.sizes.words
    # The figure of an application has no message size.
    everywhere = " at every size" if BENCHMARKS[both[0].benchmark].rows == "sizes" else ""
    asked = [
        f"{word} {bound:g}"
        for word, bound in (("at least", relation.low), ("at most", relation.high))
        if bound is not None
    ]
    if relation.form == "spread":
        than = f"more than that of {rest[0]}" if rest else f"at most {100 * (relation.high or 0):g} %"
        return f"spread over repeats of {one}{where}, {than}"
    if relation.form in SHAPES:
        return _shape_words(relation, one)
    other = rest[0]
    if relation.form == "ratio":
        return f"{one} over {other}{where}, {' and '.join(asked)}"
    if relation.form == "difference" and relation.than is not None:
        return f"{one} less {other} exceeds {rest[1]} less {rest[2]}{where}, by {' and '.join(asked)}"
    if relation.form == "difference":
        return f"{one} less {other}{where}, {' and '.join(asked)}"
    if relation.form == "same":
        return f"{one} and {other}{where} differ by at most {100 * (relation.within or 0):g} %"
    if relation.form == "crossover" and relation.between is not None:
        first, last = message_size(relation.between.first or 0), message_size(relation.between.last or 0)
        return f"{one} ahead up to {first}, {other} from {last}"
    by = "" if relation.by is None else f" by at least {100 * relation.by:g} %"
    return f"{one} ahead of {other}{by}{where or everywhere}{' in places' if relation.where == 'somewhere' else ''}"


def _shape_words(relation: Relation, one: str) -> str:
    """Return the required shape of one curve, in words."""
    if relation.form == "peak" and relation.between is not None:
        return f"{one} has its peak{relation.between.words}"
    verb = "falls" if relation.form == "fall" else "dips"
    return f"{one} {verb}{relation.sizes.words} by at least {100 * (relation.by or 0):g} %"


def fact_words(fact: Fact) -> str:
    """Return a fact's number with its unit, its range, or its table: ``1: 5026, 2: 1961 nodes``."""
    if fact.table is not None:
        stated = {key: range_words(one) if isinstance(one, tuple) else f"{one:g}" for key, one in fact.table.items()}
        return ", ".join(f"{words} ({key} {fact.by})" for key, words in stated.items()) + f" {fact.unit}"
    if fact.ends is not None:
        return f"{range_words(fact.ends)} {fact.unit}"
    return f"{fact.value:.10g} {fact.unit}"


def page(all_references: Iterable[References]) -> str:
    """Return the page: for each published system its entries, relations, facts and prices, with their sources."""
    published = [each for each in all_references if is_published(each)]
    names = ", ".join(f"[{each.system.system}](#{each.system.system})" for each in published)
    return "\n".join([HEAD, names, "", *(line for each in published for line in _system(each))]).rstrip() + "\n"


def is_published(references: References) -> bool:
    """Return whether a system is from the literature: it is only replayed, and its figures are from a source.

    A site's own system is measured, even if its vendor published figures of it.
    """
    is_played = references.system.provider == "replay"
    return is_played and any(entry.kind in ("published", "reported") for entry in references.entries)


def _system(references: References) -> list[str]:
    system = references.system
    lines = [f"## {system.system}", "", f"{system.description}.", ""]
    lines += [f"- `{name}`: {fabric.description} ({fabric.link.generation})" for name, fabric in system.fabrics.items()]
    rows = [
        (
            *(
                f"`{entry.id}`",
                entry.fabric,
                ", ".join(entry.stack),
                (", ".join(map(str, entry.rails)) or "any") + hops_words(entry),
            ),
            *(", ".join(entry.benchmark), amount_words(entry), entry.kind, entry.source.cite()),
        )
        for entry in references.entries
    ]
    heads = ("entry", "fabric", "stack", "rails", "benchmark", "number", "kind", "source")
    lines += ["", *_table(heads, rows), *_conditions(references)]
    if references.relations:
        related = [
            (f"`{one.id}`", one.says, relation_words(one, references), one.source.cite())
            for one in references.relations
        ]
        lines += ["### Relations", "", *_table(("relation", "in words", "asked", "source"), related)]
    if references.facts:
        facts = [
            (f"`{fact.id}`", fact.what, fact_words(fact), fact.kind, fact.source.cite()) for fact in references.facts
        ]
        lines += ["### Stated, not judged", "", *_table(("fact", "what", "number", "kind", "source"), facts)]
    if references.unbounded:
        left = [f"- {unbounded_words(one)}: {one.reason}" for one in references.unbounded]
        lines += ["### Sizes without a bound", "", *left, ""]
    return lines + _prices(references)


def _conditions(references: References) -> list[str]:
    """Return each set of conditions once: hardware, firmware, settings, notes."""
    told: dict[str, list[str]] = {}
    for entry in references.entries:
        source = entry.source
        parts = [
            *(f"{name.replace('_', ' ')}: {value}" for name in _TOLD if (value := getattr(source, name)) is not None),
            *(f"{name}: {value}" for name, value in source.conditions.items()),
        ]
        if parts:
            told.setdefault("; ".join(parts), []).append(f"`{entry.id}`")
    if not told:
        return []
    return ["Measured with:", "", *(f"- {', '.join(ids)}: {words}" for words, ids in told.items()), ""]


_TOLD = ("hardware", "firmware", "driver", "mpi", "benchmark_version", "hops", "note")


def _prices(references: References) -> list[str]:
    costs = costs_of_references(references)
    if not costs:
        return []
    lines = ["### Price", "", *_table(COST_HEADS, [cost_cells(cost) for cost in costs])]
    for nodes in _SIZES:
        names = dict.fromkeys(
            f"{best.fabric} ({best.stack}, {count_of(best.rails, 'rail')})" for best in best_for(costs, nodes)
        )
        if names:
            lines.append(
                f"- {nodes} nodes, worth their money (nothing as cheap is both faster and quicker): {', '.join(names)}"
            )
    parts = [_price_words(price) for price in references.system.prices]
    return [*lines, "", "Parts of the prices:", "", *parts, ""]


def _price_words(price: Price) -> str:
    parts = [f"{name.replace('_', ' ')} {_money(low, high)}" for name, (low, high) in price.parts.items()]
    of = f"{', '.join(price.fabric)}, {price.currency} of {price.date.isoformat()}"
    return f"- {of}: {', '.join(parts)} ({price.source}{f'; {price.note}' if price.note else ''})"


def _money(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return [*lines, *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows), ""]
