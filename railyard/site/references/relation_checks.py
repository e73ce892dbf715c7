"""What pydantic cannot see in relations: whether their sides exist, can be compared, and fit their form."""

from collections.abc import Mapping, Sequence

from railyard.base.errors import did_you_mean
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_, show
from railyard.base.wording import listing, message_size
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.site.references.checks import check_application
from railyard.site.references.model import HIGHER_IS_BETTER, Entry, Relation, Side, loose_word
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System

#: For each form: groups of fields of which it needs one each, and the fields that it may also have.
_FIELDS: Mapping[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    "ratio": ((("to",), ("low", "high")), ("low", "high")),
    "ahead": ((("to",),), ("by", "where")),
    "crossover": ((("to",), ("between",)), ()),
    "difference": ((("to",), ("low", "high")), ("low", "high", "than")),
    "same": ((("to",), ("within",)), ()),
    "spread": ((("high", "to"),), ()),
    "peak": ((("between",),), ()),
    "fall": ((("by",), ("margin_reason",)), ()),
    "dip": ((("by",), ("margin_reason",)), ()),
}
#: Forms about one bandwidth, whose best value is its largest.
_OF_ONE = ("peak", "fall", "dip")
_MARGINS = ("low", "high", "by", "between", "within")
_ALL = ("to", "than", "low", "high", "by", "where", "between", "within")


def side_of(entry: Entry) -> Side:
    """Return the runs that an entry of one benchmark is for, as a side."""
    fields = {
        "fabric": entry.fabric,
        "stack": None if ANY in entry.stack else entry.stack[0],
        "rails": min(entry.rails, default=1),
        "policy": entry.policy[0],
        "benchmark": entry.benchmark[0],
        "metric": entry.metric,
    }
    return Side.model_validate(fields)


def sides(relation: Relation, entries: Sequence[Entry]) -> tuple[Side, ...]:
    """Return the sides of a checked relation, with ids of entries replaced by the runs that they are for.

    It has one or two; four if a difference is compared with another (``than``).
    """
    by_id = {entry.id: entry for entry in entries}
    given = [side for side in given_sides(relation).values() if side is not None]
    return tuple(side_of(by_id[side]) if isinstance(side, str) else side for side in given)


def given_sides(relation: Relation) -> Mapping[tuple[str, ...], str | Side | None]:
    """Return the sides as the file has them, by the path of their field."""
    found: dict[tuple[str, ...], str | Side | None] = {("of",): relation.of, ("to",): relation.to}
    if relation.than is not None:
        found |= {("than", "of"): relation.than.of, ("than", "to"): relation.than.to}
    return found


def check_relations(
    relations: tuple[Relation, ...], entries: tuple[Entry, ...], system: System, document: Document
) -> None:
    """Raise InputError for the first relation that is wrong."""
    seen: dict[str, int] = {}
    by_id = {entry.id: entry for entry in entries}
    for index, relation in enumerate(relations):
        path: Path_ = ("relations", index)
        if seen.setdefault(relation.id, index) != index:
            raise document.error((*path, "id"), f"{show(relation.id)} for the second time", "each id once")
        _check_fields(relation, path, document)
        for field, side in given_sides(relation).items():
            _check_side(side, by_id, system, (*path, *field), document)
        _check_ranges(relation, path, document)
        _check_margin(relation, path, document)
        _check_of_one(relation, entries, path, document)
        _check_pair(relation, entries, path, document)
        _check_sizes(relation, by_id, path, document)


def _check_fields(relation: Relation, path: Path_, document: Document) -> None:
    needed, allowed = _FIELDS[relation.form]
    given = [name for name in (*_ALL, "margin_reason") if getattr(relation, name) is not None]
    for group in needed:
        if not any(name in given for name in group):
            raise document.error(path, f"no {' or '.join(group)}", f"one in a relation of the form {relation.form}")
    known = {*allowed, *(name for group in needed for name in group)}
    extra = next((name for name in given if name not in known and name != "margin_reason"), None)
    if extra is not None:
        expected = f"only {', '.join(sorted(known))} in the form {relation.form}"
        raise document.error((*path, extra), f"the field {extra}", expected, "leave it out")
    if relation.low is not None and relation.high is not None and relation.low > relation.high:
        raise document.error((*path, "high"), f"{relation.high:g}", f"at least {relation.low:g}, which is low")


def _check_side(
    side: str | Side | None, by_id: Mapping[str, Entry], system: System, path: Path_, document: Document
) -> None:
    if side is None:
        return
    if isinstance(side, str):
        entry = by_id.get(side)
        if entry is None:
            raise document.error(path, show(side), "the id of an entry, or a side", did_you_mean(side, by_id))
        if len(entry.benchmark) > 1 or len(entry.stack) > 1 or len(entry.policy) > 1 or len(entry.rails) > 1:
            expected = "an entry for one benchmark, stack, policy and number of rails"
            raise document.error(path, show(side), expected, "write the side out: {fabric: …, benchmark: …}")
        return
    for name, known, field in ((side.fabric, system.fabrics, "fabric"), (side.stack, system.stacks, "stack")):
        if name is not None and name not in known:
            expected = f"a {field} of {system.system}"
            raise document.error((*path, field), show(name), expected, did_you_mean(name, known))
    most = len(system.fabrics[side.fabric].rails)
    if side.rails > most:
        raise document.error((*path, "rails"), str(side.rails), f"at most {most}, the rails that {side.fabric} has")
    if side.benchmark not in BENCHMARKS:
        near = did_you_mean(side.benchmark, BENCHMARKS)
        raise document.error((*path, "benchmark"), show(side.benchmark), "a benchmark that Railyard knows", near)
    check_application(side.benchmark, system, (*path, "benchmark"), document)
    names = [metric.name for metric in BENCHMARKS[side.benchmark].metrics]
    if side.metric is not None and side.metric not in names:
        expected = f"a metric of {side.benchmark}: {', '.join(names)}"
        raise document.error((*path, "metric"), show(side.metric), expected)


def _check_ranges(relation: Relation, path: Path_, document: Document) -> None:
    if relation.form == "crossover" and relation.between and None in (relation.between.first, relation.between.last):
        raise document.error((*path, "between"), "an open end", "both from and to: the curves cross between them")


def _check_margin(relation: Relation, path: Path_, document: Document) -> None:
    """Refuse a relation whose words leave a margin open ("about") if it does not state the margin and the reason."""
    word = loose_word(relation.says)
    if relation.form in ("fall", "dip"):
        by = relation.by or 0.0
        if not 0 < by < 1:
            expected = f"a fraction above 0 and below 1: how far a {relation.form} is below the best value before it"
            raise document.error((*path, "by"), f"{by:g}", expected)
    if word is None:
        return
    is_bounded = any(getattr(relation, name) is not None for name in _MARGINS) or not relation.sizes.is_everywhere
    if not is_bounded:
        expected = f'a margin, since it says "{word}"'
        action = f"give it one of {listing(_MARGINS)}, or sizes, and say why in margin_reason"
        raise document.error((*path, "says"), "a relation without a margin", expected, action)
    if relation.margin_reason is None:
        expected = f'a margin_reason, since it says "{word}"'
        raise document.error(
            (*path, "says"), "a margin without a reason", expected, "say why the margin has this value"
        )


def _check_of_one(relation: Relation, entries: Sequence[Entry], path: Path_, document: Document) -> None:
    """Refuse a peak, fall or dip of a metric for which less is better: its curve has another shape."""
    if relation.form not in _OF_ONE:
        return
    metric = metric_of(sides(relation, entries)[0])
    if metric not in HIGHER_IS_BETTER:
        expected = f"a metric for which more is better in the form {relation.form}"
        raise document.error((*path, "of"), metric, expected)


def metric_of(side: Side) -> str:
    """Return the metric of a side: the benchmark's first metric if it names none."""
    return side.metric or BENCHMARKS[side.benchmark].metrics[0].name


def _check_pair(relation: Relation, entries: Sequence[Entry], path: Path_, document: Document) -> None:
    fields = [field for field, side in given_sides(relation).items() if side is not None]
    found = list(zip(fields, sides(relation, entries), strict=True))
    first = found[0][1]
    for place, (field, side) in enumerate(found):
        if metric_of(side) != metric_of(first):
            both = f"{metric_of(side)} beside {metric_of(first)}"
            raise document.error((*path, *field), both, "the same metric on both sides")
        alone = side.model_copy(update={"metric": None})
        if any(alone == other.model_copy(update={"metric": None}) for _, other in found[:place]):
            raise document.error((*path, *field), "the same side twice", "two sides that differ")


def _check_sizes(relation: Relation, by_id: Mapping[str, Entry], path: Path_, document: Document) -> None:
    """Refuse two entries as sides if they have no message size in common, or none within ``sizes``."""
    named = [by_id[side] for side in given_sides(relation).values() if isinstance(side, str)]
    common: tuple[int, int | None] = (relation.sizes.first or 0, relation.sizes.last)
    told: list[str] = []
    curves = [set(entry.curve) for entry in named if entry.curve is not None]
    for entry in named:
        if entry.curve is None:
            common = _narrow_sizes(common, entry.sizes.first, entry.sizes.last)
        told.append(f"{entry.id}: {_sizes_of(entry)}")
    if curves:
        shared = set.intersection(*curves)
        empty = not any(size >= common[0] and (common[1] is None or size <= common[1]) for size in shared)
    else:
        empty = common[1] is not None and common[0] > common[1]
    if named and empty:
        within = "" if relation.sizes.is_everywhere else " within sizes"
        found = f"sides with no message size in common{within} ({'; '.join(told)})"
        raise document.error(
            (*path, "of"), found, "at least one size that both sides have", "name other sides or sizes"
        )


def _narrow_sizes(common: tuple[int, int | None], first: int | None, last: int | None) -> tuple[int, int | None]:
    ends = [end for end in (common[1], last) if end is not None]
    return max(common[0], first or 0), min(ends, default=None)


def _sizes_of(entry: Entry) -> str:
    if entry.curve is not None:
        return ", ".join(message_size(size) for size in entry.curve)
    return entry.sizes.words.lstrip() or "all sizes"
