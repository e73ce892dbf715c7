"""What pydantic cannot see in a table of references: whether entries make sense, and no two are for the same thing.

What pydantic cannot see in relations: whether their sides exist, can be compared, and fit their form.
"""

from collections.abc import Collection, Mapping, Sequence

from railyard.base.bounds import REFERENCE_SHARE
from railyard.base.errors import did_you_mean
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_, show
from railyard.base.wording import count_of, listing, message_size
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import installed_name
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.hardware.limits import class_floors, data_rate_mb_s
from railyard.site.references.amount import ByRegime, Share, Tolerance
from railyard.site.references.model import (
    BAD_CASE,
    HIGHER_IS_BETTER,
    UNITS,
    Entry,
    ExpectedFailure,
    Fact,
    Relation,
    Side,
    UnboundedSizes,
    loose_word,
)
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System
from railyard.stacks.model import number_alone

#: How far a value may fall, as a fraction, if falling is the fault. A wider tolerance would fail no slow run.
WIDEST_FALL = 1 - REFERENCE_SHARE.value
#: The field of the model and its name in the file.
_AMOUNTS = {
    "value": "value",
    "ends": "range",
    **{name: name for name in ("floor", "ceiling", "curve", "upper_limit")},
}


def check_entries(entries: tuple[Entry, ...], system: System, document: Document) -> None:
    """Raise InputError for the first entry that is wrong."""
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        path: Path_ = ("entries", index)
        if seen.setdefault(entry.id, index) != index:
            raise document.error((*path, "id"), f"{show(entry.id)} for the second time", "each id once")
        _check_names(entry, system, path, document)
        _check_amount(entry, path, document)
        _check_sizes(entry, path, document)
        if entry.kind != BAD_CASE:
            _check_tolerance(entry, path, document)
        elif entry.tolerance is not None:
            expected = "none: nothing is judged by a bad case"
            raise document.error((*path, "tolerance"), "a tolerance in a bad-case entry", expected)
        _check_provenance(entry, system, path, document)
        _check_physics(entry, system, path, document)
        for other in range(index):
            if are_twins(entries[other], entry):
                line = document.line(("entries", other))
                expected = f"one entry for each thing ({entries[other].id} in line {line} is already for this one)"
                action = "remove one, or say how they differ (stack, rails, policy, sizes)"
                raise document.error(path, f"{show(entry.id)}, a second {entry.kind} entry", expected, action)


def check_facts(facts: tuple[Fact, ...], system: System, document: Document) -> None:
    """Raise InputError for the first fact that is wrong."""
    seen: dict[str, int] = {}
    for index, fact in enumerate(facts):
        path: Path_ = ("facts", index)
        if seen.setdefault(fact.id, index) != index:
            raise document.error((*path, "id"), f"{show(fact.id)} for the second time", "each id once")
        for name, known, field in ((fact.fabric, system.fabrics, "fabric"), (fact.stack, system.stacks, "stack")):
            if name is not None:
                _check_name(name, known, field, system, (*path, field), document)
        given = [name for name in ("value", "ends", "table") if getattr(fact, name) is not None]
        if len(given) != 1:
            found = " and ".join(given).replace("ends", "range") or "none of value, range and table"
            raise document.error(path, found, "exactly one of value, range and table")
        if (fact.table is None) != (fact.by is None):
            found = "a table without by" if fact.table else "by without a table"
            raise document.error(path, found, "both: by says what the table's keys are")


def check_expected_failures(failures: tuple[ExpectedFailure, ...], system: System, document: Document) -> None:
    """Raise InputError for the first expected failure that names something unknown to the system."""
    for index, failure in enumerate(failures):
        _check_names(failure, system, ("expected_failures", index), document)


def check_unbounded(stated: tuple[UnboundedSizes, ...], system: System, document: Document) -> None:
    """Raise InputError for the first statement about unbounded sizes that names something unknown to the system."""
    for index, one in enumerate(stated):
        path: Path_ = ("unbounded", index)
        for names, known, field in ((one.fabric, system.fabrics, "fabric"), (one.stack, system.stacks, "stack")):
            for name in names:
                if name != ANY:
                    _check_name(name, known, field, system, (*path, field), document)
        _check_benchmarks(one.benchmark, system, path, document)


def _check_names(entry: Entry | ExpectedFailure, system: System, path: Path_, document: Document) -> None:
    _check_name(entry.fabric, system.fabrics, "fabric", system, (*path, "fabric"), document)
    for stack in entry.stack:
        if stack != ANY:
            _check_name(stack, system.stacks, "stack", system, (*path, "stack"), document)
    _check_benchmarks(entry.benchmark, system, path, document)
    most = len(system.fabrics[entry.fabric].rails)
    if any(rails > most for rails in entry.rails):
        expected = f"at most {most}, the rails that {entry.fabric} has"
        raise document.error((*path, "rails"), str(max(entry.rails)), expected)
    for policy in entry.policy:
        number = number_alone(policy)
        if number is not None and number > most:
            expected = f"a rail of {entry.fabric}, which has {count_of(most, 'rail')}"
            raise document.error((*path, "policy"), show(policy), expected)
        if number is not None and entry.rails not in ((), (1,)):
            expected = f"1 with the policy {policy}, which is one rail alone"
            raise document.error((*path, "rails"), listing([str(count) for count in entry.rails]), expected)


def _check_benchmarks(names: Collection[str], system: System, path: Path_, document: Document) -> None:
    for name in names:
        if name not in BENCHMARKS:
            near = did_you_mean(name, BENCHMARKS)
            raise document.error((*path, "benchmark"), show(name), "a benchmark that Railyard knows", near)
        check_application(name, system, (*path, "benchmark"), document)


def check_application(benchmark: str, system: System, path: Path_, document: Document) -> None:
    """Raise InputError for an installed application that is not in the system's file: nothing would be judged."""
    name = installed_name(benchmark)
    if name is not None and name not in system.applications:
        expected = f"installed/ and an application of {system.system}"
        raise document.error(path, show(benchmark), expected, did_you_mean(name, system.applications))


def _check_name(name: str, known: Collection[str], what: str, system: System, path: Path_, document: Document) -> None:
    if name not in known:
        raise document.error(path, show(name), f"a {what} of {system.system}", did_you_mean(name, known))


def _check_amount(entry: Entry, path: Path_, document: Document) -> None:
    given = [name for field, name in _AMOUNTS.items() if getattr(entry, field) is not None]
    if len(given) != 1:
        names = "value, range, floor, ceiling, curve and upper_limit"
        found = " and ".join(given) if given else f"none of {names}"
        raise document.error((*path, *given[1:2]), found, f"exactly one of {names}")
    unit = UNITS[entry.metric]
    if entry.unit != unit:
        action = f"convert the numbers to {unit}"
        raise document.error((*path, "unit"), show(entry.unit), f'"{unit}", the unit of {entry.metric}', action)
    if entry.directions != 1 and entry.metric != "bandwidth":
        raise document.error((*path, "directions"), "2", f"1: only a bandwidth sums directions, not {entry.metric}")
    if given[0] == "upper_limit":
        # A message rate is never the first metric of its benchmark. The first metric needs a reference that a slow run
        # fails.
        if entry.metric != "message_rate":
            expected = f"it only for message_rate: the limit of a {entry.metric} is that of the link"
            raise document.error((*path, "upper_limit"), "an upper_limit", expected)
        return
    higher = entry.metric in HIGHER_IS_BETTER
    if given[0] == ("ceiling" if higher else "floor"):
        wrong, right = ("slow", "floor") if higher else ("slow", "ceiling")
        expected = f"a {right}: no {given[0]} of {entry.metric} ever fails a {wrong} run"
        raise document.error((*path, given[0]), f"a {given[0]}", expected)


def _check_sizes(entry: Entry, path: Path_, document: Document) -> None:
    if entry.best_of is not None and entry.ceiling is None and entry.floor is None:
        expected = "it only with a floor or a ceiling: one bound that the best of its sizes can hold"
        raise document.error((*path, "best_of"), "best_of without either", expected)
    if entry.curve is not None:
        if not entry.sizes.is_everywhere:
            raise document.error((*path, "sizes"), "sizes with a curve", "only the curve's own sizes")
        _check_rising(tuple(entry.curve), _read_at(document, (*path, "curve")), (*path, "curve"), document)
    _check_rising(entry.switches, entry.switches, (*path, "switches"), document)


def _check_rising(sizes: tuple[int, ...], written: Collection[object], path: Path_, document: Document) -> None:
    keys = list(written)
    if len(keys) != len(sizes):
        raise document.error(path, "one size written twice", "each size once")
    for index in range(1, len(sizes)):
        if sizes[index] <= sizes[index - 1]:
            key = keys[index]
            part: Path_ = (key,) if path[-1] == "curve" and isinstance(key, (int, str)) else (index,)
            found = f"{sizes[index]} after {sizes[index - 1]}"
            raise document.error((*path, *part), found, "sizes that rise")


def _read_at(document: Document, path: Path_) -> list[object]:
    data: object = document.data
    for part in path:
        data = data[part]  # type: ignore[index]
    return list(data) if isinstance(data, dict) else []


def _check_tolerance(entry: Entry, path: Path_, document: Document) -> None:
    here, tolerance = (*path, "tolerance"), entry.tolerance
    bare = next((name for name in ("floor", "ceiling", "upper_limit") if getattr(entry, name) is not None), None)
    if bare is not None:
        if tolerance is not None:
            article = "an" if bare == "upper_limit" else "a"
            found, expected = f"a tolerance with {article} {bare}", f"only the {bare}, which is the bound itself"
            raise document.error(here, found, expected)
        _refuse_switches(entry, path, document)
        return
    if tolerance is None:
        raise document.error(path, "no tolerance", "how far a value may be from the reference", "add tolerance")
    if isinstance(tolerance, ByRegime):
        if entry.curve is None:
            beside = "one value" if entry.ends is None else "a range"
            raise document.error(here, f"a tolerance by regime with {beside}", "one {low, high}", "or give a curve")
        for name in ("latency", "middle", "bandwidth", "switch"):
            part: Tolerance | None = getattr(tolerance, name)
            if part is not None:
                _check_side(entry, part, (*here, name), document)
        return
    if entry.curve is None:
        _refuse_switches(entry, path, document)
    _check_both_sides(entry, tolerance, here, document)
    _check_side(entry, tolerance, here, document)


def _check_both_sides(entry: Entry, tolerance: Tolerance, path: Path_, document: Document) -> None:
    for side in ("low", "high") if entry.ends is not None else ():
        if getattr(tolerance, side) is None:
            expected = f"{side}, since both ends of a range are bounds"
            raise document.error(path, f"no {side}", expected, f"add {side}, a fraction of that end (0: none)")


def _refuse_switches(entry: Entry, path: Path_, document: Document) -> None:
    if entry.switches:
        raise document.error((*path, "switches"), "switches with a single bound", "them only with a curve")


def _check_side(entry: Entry, tolerance: Tolerance, path: Path_, document: Document) -> None:
    side = "low" if entry.metric in HIGHER_IS_BETTER else "high"
    if getattr(tolerance, side) is None:
        verb = "falls" if side == "low" else "rises"
        raise document.error(
            path, f"no {side}", f"{side}, since a fault shows when {entry.metric} {verb}", f"add {side}"
        )
    if tolerance.low == 1:
        raise document.error((*path, "low"), "1", "less than 1: a value may not fall to nothing")
    if side == "low" and tolerance.low is not None and tolerance.low > WIDEST_FALL:
        expected = f"at most {WIDEST_FALL:g} ({REFERENCE_SHARE.name}): a run at less than half of the value is slow"
        raise document.error((*path, "low"), f"{tolerance.low:g}", expected)


def _check_provenance(entry: Entry, system: System, path: Path_, document: Document) -> None:
    if entry.kind == "baseline" and not entry.source.runs:
        action = "name them, or let railyard capture write the entry"
        raise document.error(
            (*path, "source"), "no runs", "the ids of the runs from which the baseline was captured", action
        )
    if entry.reason is not None and entry.kind != "class":
        raise document.error((*path, "reason"), f"a reason in a {entry.kind} entry", "it only in a class entry")
    fabric = system.fabrics[entry.fabric]
    own = class_floors(fabric.link, entry.directions, streaming=True, mtu=fabric.mtu)
    lower = [floor for floor in own if isinstance(entry.floor, float) and entry.floor < floor.value_mb_s]
    if entry.kind == "class" and entry.metric == "bandwidth" and lower and entry.reason is None:
        expected = f"at least {lower[0].value_mb_s:g} MB/s ({lower[0].source})"
        raise document.error(
            (*path, "floor"), f"{entry.floor:g}", expected, "or say why this system has less in reason"
        )


def _check_physics(entry: Entry, system: System, path: Path_, document: Document) -> None:
    if all(BENCHMARKS[name].within_node for name in entry.benchmark):
        return  # no link limits it
    fabric = system.fabrics[entry.fabric]
    rails, policy = min(entry.rails, default=1), policy_of_one_rail(entry)
    for name in ("value", "floor", "ceiling"):
        amount = getattr(entry, name)
        if isinstance(amount, Share):
            _check_share(entry, amount, system, (*path, name), document)
    limit = fabric.limit(rails, entry.directions, policy=policy)
    if not is_of_link(entry) or limit is None or (entry.kind == "published" and entry.source.note):
        return
    reached = [] if entry.ends is None else [(entry.sizes.last, entry.ends[1], ("range",))]
    for size, value, where in [*demands(entry, system), *reached]:
        if value > limit.bound_at(size or 0) and (size is None or size >= limit.from_bytes):
            found = f"{value:g} MB/s, above the physical limit of {count_of(rails, 'rail')}"
            expected = f"at most {limit.value_mb_s:.1f} MB/s ({limit.terms})"
            raise document.error((*path, *where), found, expected)


def policy_of_one_rail(entry: Entry) -> str:
    """Return the policy of an entry for one rail alone, whose slot may differ; empty for any other entry."""
    return entry.policy[0] if len(entry.policy) == 1 and number_alone(entry.policy[0]) is not None else ""


def is_of_link(entry: Entry) -> bool:
    """Return whether the link bounds the entry's metric for any number of ranks per node."""
    known = [each for name in entry.benchmark for each in BENCHMARKS[name].metrics if each.name == entry.metric]
    return UNITS[entry.metric] == UNITS["bandwidth"] and all(each.is_bounded(None) for each in known)


def _check_share(entry: Entry, share: Share, system: System, path: Path_, document: Document) -> None:
    fabric = system.fabrics[entry.fabric]
    if entry.metric != "bandwidth":
        raise document.error(
            path, f"a share of the {share.of}", f"a number in {entry.unit}: only a bandwidth has such a share"
        )
    between = [name for name in entry.benchmark if micro.tool(BENCHMARKS[name].tool).between_gpus]
    if between:
        expected = f"a number in {entry.unit}: the bus bandwidth of {between[0]} is no share of what a link carries"
        raise document.error(path, f"a share of the {share.of}", expected, "take what healthy nodes show")
    if data_rate_mb_s(fabric.link) is None:
        raise document.error(
            path, f"a share of the {share.of}", f"a number: the data rate of {fabric.link.name} is unknown"
        )


def demands(entry: Entry, system: System) -> list[tuple[int | None, float, Path_]]:
    """Return (size or None, demanded value, its place in the file) of all that must be reached: targets and floors."""
    if entry.curve is not None:
        return [(size, value, ("curve",)) for size, value in entry.curve.items()]
    if entry.ends is not None:
        return [(entry.sizes.last, entry.ends[0], ("range",))]
    name = "value" if entry.value is not None else "floor"
    amount = getattr(entry, name)
    if amount is None:
        return []
    if isinstance(amount, Share):
        fabric = system.fabrics[entry.fabric]
        limit = fabric.limit(min(entry.rails, default=1), entry.directions, True, policy_of_one_rail(entry))
        base = data_rate_mb_s(fabric.link) if amount.of == "data-rate" else limit and limit.value_mb_s
        amount = amount.fraction * amount.times * (base or 0.0)
    last = entry.sizes.last
    return [(last, amount, (name,))]


_BOUNDS = ("floor", "ceiling", "upper_limit")


def are_twins(one: Entry, other: Entry) -> bool:
    """Return whether both are of one kind and give the same runs a number at the same size.

    For values and curves, one run and one message size in common are enough: they would demand two different numbers.
    Bounds may be nested (a floor for all stacks and a higher one for one stack; from 1 MiB and from 4 MiB), and then
    all hold. So bounds are twins only if stack, rails, policy, hops and sizes are exactly the same.
    """
    if (one.kind, one.fabric, one.metric, one.directions) != (other.kind, other.fabric, other.metric, other.directions):
        return False
    if not set(one.benchmark) & set(other.benchmark) or not _meet(one.rails, other.rails):
        return False
    if not _meet(_list_names(one.stack), _list_names(other.stack)) or not _meet(
        _list_names(one.policy), _list_names(other.policy)
    ):
        return False
    if not _meet(one.hops, other.hops):
        return False
    for name in _BOUNDS:
        if getattr(one, name) is not None and getattr(other, name) is not None:
            return all(
                getattr(one, field) == getattr(other, field) for field in ("stack", "rails", "policy", "hops", "sizes")
            )
    targets = [any((entry.value, entry.ends, entry.curve)) for entry in (one, other)]
    return all(targets) and _share_a_size(one, other)


def _list_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return () if ANY in names else names


def _meet(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Return whether two lists have something in common. An empty list stands for all."""
    return not one or not other or bool(set(one) & set(other))


def _share_a_size(one: Entry, other: Entry) -> bool:
    if one.curve is not None and other.curve is not None:
        return bool(set(one.curve) & set(other.curve))
    if one.curve is not None or other.curve is not None:
        curve, value = (one, other) if one.curve is not None else (other, one)
        return any(map(value.sizes.covers, curve.curve or ()))
    firsts = [entry.sizes.first or 0 for entry in (one, other)]
    lasts = [entry.sizes.last for entry in (one, other) if entry.sizes.last is not None]
    return not lasts or max(firsts) <= min(lasts)


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
            _check_relation_side(side, by_id, system, (*path, *field), document)
        _check_ranges(relation, path, document)
        _check_margin(relation, path, document)
        _check_of_one(relation, entries, path, document)
        _check_pair(relation, entries, path, document)
        _check_relation_sizes(relation, by_id, path, document)


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


def _check_relation_side(
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


def _check_relation_sizes(relation: Relation, by_id: Mapping[str, Entry], path: Path_, document: Document) -> None:
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
