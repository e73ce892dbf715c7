"""docs/reference/references.md: the fact sheet of the published systems, from systems/*.yaml and references/*.yaml."""

from collections.abc import Iterable, Sequence

from railyard.base.wording import count_of
from railyard.results.cost import best_for, costs_of_references
from railyard.results.reference_sheet import amount_words, fact_words, hops_words, relation_words, unbounded_words
from railyard.results.report.relations_text import COST_HEADS, cost_cells
from railyard.site.references.load import References
from railyard.site.systems.prices import Price

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
