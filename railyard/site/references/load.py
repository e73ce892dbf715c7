"""Loads references/*.yaml, one file per cluster: references with their sources in full, and their demands on a run.

Whether a reference demands enough. Far less than its link gives would fail no sick run, so the file must say why.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from railyard.base.bounds import IMPOSSIBLE_FACTOR, REFERENCE_SHARE
from railyard.base.errors import InputError, RailyardError, did_you_mean
from railyard.base.strict_yaml import Document, load, validate
from railyard.base.values import Path_, show
from railyard.base.wording import message_size, number, percent
from railyard.benchmarks.model import Metric
from railyard.benchmarks.table.micro import BENCHMARKS, fills_link, find
from railyard.hardware import limits, links
from railyard.hardware.day_one import RDMA_OF_2003
from railyard.site.references.amount import BelowLink, ByRegime, Share, Tolerance
from railyard.site.references.band import Band, Bound, curve_band, floor_band, regime, scalar_band, share_band
from railyard.site.references.checks import (
    WIDEST_FALL,
    check_entries,
    check_expected_failures,
    check_facts,
    check_relations,
    check_unbounded,
    demands,
    is_of_link,
    policy_of_one_rail,
)
from railyard.site.references.model import (
    BAD_CASE,
    HIGHER_IS_BETTER,
    Claim,
    Entry,
    ExpectedFailure,
    Fact,
    ReferenceFile,
    Relation,
    Source,
    UnboundedSizes,
    is_for,
    loose_word,
)
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import Fabric, System
from railyard.site.test_id import TestId

#: The longest time of a message besides its bytes, in us. Over RDMA it is the day-one ceiling. Over TCP no document
#: sets one; published half round trips are 12.7 to 64 us.
_START_OVER_TCP_US = 100.0
#: The largest message of a check, in bytes: an open range of sizes is checked at this size.
_OPEN_END_BYTES = 4 << 20
#: Units in which a far too weak number was perhaps written, and how much of the entry's unit each is.
_MISTAKEN_UNITS = {"bandwidth": (("Gbit/s", 125.0), ("GB/s", 1000.0)), "latency": (("ns", 0.001),)}


@dataclass(frozen=True, slots=True)
class _Demand:
    """What an entry demands at one size. ``healthy`` is what the link gives, ``share`` the demanded part of it."""

    value: float
    healthy: float
    size: int
    where: Path_
    share: float


def check_strength(table: ReferenceFile, system: System, document: Document) -> None:
    """Raise InputError for the first entry that demands far less than its link gives and does not say why.

    A message of n bytes needs at most its start and n / limit (Hockney). An entry that lets it take more than twice
    that time (``reference-share``) demands far less. An entry, or its file for all, may state a lower share with a
    reason.
    """
    for index, entry in enumerate(table.entries):
        asked = _weakest(entry, system)
        if asked is None:
            continue
        path: Path_ = ("entries", index)
        if entry.below_link is not None and asked.share >= _least(table.below_link):
            found = f"a share for a number that is {percent(asked.share)} of what the link gives"
            raise document.error((*path, "below_link"), found, "none: the number needs no reason", "remove it")
        least = _least(entry.below_link or table.below_link)
        if asked.share < least:
            shown = f"{number(asked.value)} {entry.unit}"
            at = f" for messages of {message_size(asked.size)}"
            found = f"{shown}, {percent(asked.share)} of what the link gives{at}: no slow run would fail"
            side = "at least" if entry.metric == "bandwidth" else "at most"
            bound = asked.healthy * (least if entry.metric == "bandwidth" else 1 / least)
            expected = f"{side} {number(bound)} {entry.unit} ({percent(least)}, {REFERENCE_SHARE.name})"
            raise document.error((*path, *asked.where), found, expected, _advice(entry, asked))


def is_too_weak(error: InputError) -> bool:
    """Return whether ``check_strength`` raised this error, for an entry that demands too little."""
    return REFERENCE_SHARE.name in error.expected


def _least(stated: BelowLink | None) -> float:
    return REFERENCE_SHARE.value if stated is None else stated.share


def _weakest(entry: Entry, system: System) -> _Demand | None:
    """Return where an entry demands the smallest share of its link; None if no link says what it should demand."""
    benchmarks = [BENCHMARKS[name] for name in entry.benchmark]
    if entry.kind == BAD_CASE or entry.upper_limit is not None or any(each.within_node for each in benchmarks):
        return None
    fabric = system.fabrics[entry.fabric]
    limit = fabric.limit(min(entry.rails, default=1), entry.directions, policy=policy_of_one_rail(entry))
    if limit is None:
        return None
    asked: list[_Demand] = []
    for size, value, where in _demands(entry, system):
        healthy_us = _start_us(fabric) + size / limit.value_mb_s
        if entry.metric == "bandwidth":
            asked.append(_Demand(value, size / healthy_us, size, where, value * healthy_us / size))
        elif value > 0:
            asked.append(_Demand(value, healthy_us, size, where, healthy_us / value))
    return min(asked, key=lambda each: each.share, default=None)


def _demands(entry: Entry, system: System) -> list[tuple[int, float, Path_]]:
    """Return (size, demanded value, its place in the file), at the last size for which the entry holds."""
    if entry.metric == "bandwidth" and is_of_link(entry):
        return [(size or _OPEN_END_BYTES, value, where) for size, value, where in demands(entry, system)]
    if entry.metric != "latency" or not all(BENCHMARKS[name].pingpong for name in entry.benchmark):
        return []
    if entry.curve is not None:
        return [(size, value, ("curve",)) for size, value in entry.curve.items()]
    last = (entry.sizes.first or 0) if entry.sizes.last is None else entry.sizes.last
    if entry.ends is not None:
        return [(last, entry.ends[1], ("range",))]
    name = "value" if entry.value is not None else "ceiling"
    amount = getattr(entry, name)
    if amount is None or isinstance(amount, Share):
        return []
    return [(last, amount, (name,))]


def _start_us(fabric: Fabric) -> float:
    return _START_OVER_TCP_US if fabric.kind == "tcp" else RDMA_OF_2003.start_us


def _advice(entry: Entry, asked: _Demand) -> str:
    reason = "or say why in below_link (share and reason), in the entry or for the whole file"
    for unit, factor in _MISTAKEN_UNITS[entry.metric]:
        meant = asked.value * factor
        if entry.metric == "bandwidth":
            is_likely = REFERENCE_SHARE.value <= meant / asked.healthy <= IMPOSSIBLE_FACTOR.value
        else:
            is_likely = meant <= asked.healthy / REFERENCE_SHARE.value
        if is_likely:
            return f"if it is in {unit}, it is {number(meant)} {entry.unit}; {reason}"
    return f"correct the number, {reason}"


#: The fields of a file whose entries have sources.
LISTS = ("entries", "relations", "facts")


SOURCE, FABRIC, PRICE = "source:", "fabric:", "price:"


@dataclass(frozen=True, slots=True)
class References:
    """All that is known about what a system should give; ``file`` is None if there is no file."""

    system: System
    entries: tuple[Entry, ...] = ()
    file: str | None = None
    relations: tuple[Relation, ...] = ()
    facts: tuple[Fact, ...] = ()
    expected_failures: tuple[ExpectedFailure, ...] = ()
    claims: tuple[Claim, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    unbounded: tuple[UnboundedSizes, ...] = ()

    def expected_failure(self, test: TestId) -> ExpectedFailure | None:
        """Return the first failure that is expected of such a run; None if it should pass."""
        return next((one for one in self.expected_failures if is_for(one, test)), None)

    def has_number(self, test: TestId) -> bool:
        """Return whether an entry has a number for a benchmark's first metric. A nominal upper limit does not count."""
        first = find(test.benchmark).metrics[0].name
        return any(entry.upper_limit is None and entry.matches(test, first) for entry in self.entries)

    def by_hops(self, test: TestId) -> tuple[int, ...]:
        """Return the numbers of hops to which entries for such a run are bound, rising; empty if all hold for any."""
        names = [metric.name for metric in find(test.benchmark).metrics]
        bound = (e.hops for e in self.entries if any(e.matches(test, name) for name in names))
        return tuple(sorted({hops for each in bound for hops in each}))

    def bands(
        self,
        test: TestId,
        metric: Metric,
        limit_mb_s: float | None,
        *,
        blocking: float = 1.0,
        hops: int | None = None,
    ) -> tuple[Band, ...]:
        """Return each band for one run: its entries in the file's order, then the floors of the link's class.

        A ``class`` entry with a reason replaces the floors of the link's class. A floor that is a share of the link is
        divided by ``blocking``. A number stays as it is: it was measured or promised so. An entry by hops holds only if
        the run's hops are known. A rail alone (``rail-2``) is judged by the entries for one rail, unless it has its
        own. Raises RailyardError if an entry counts other directions than the metric, or takes a share of an unknown
        limit.
        """
        found = [entry for entry in self.entries if entry.matches(test, metric.name) and entry.holds_at(hops)]
        if any(entry.policy == (test.policy,) for entry in found):  # a rail's own numbers replace the first rail's
            found = [entry for entry in found if test.policy in entry.policy or ANY in entry.policy]
        for entry in found:
            if metric.name == "bandwidth" and entry.directions != metric.directions:
                raise RailyardError(
                    f"{self.file}: entries.{entry.id}.directions: found {entry.directions}, "
                    f"expected {metric.directions}: {test.benchmark} sums so many directions; correct the entry"
                )
        fabric = self.system.fabrics[test.fabric]
        link = fabric.link
        bands = [
            share_band(_band(entry, link, limit_mb_s), blocking if isinstance(entry.floor, Share) else 1)
            for entry in found
        ]
        replaced = any(entry.kind == "class" and entry.reason for entry in found)
        benchmark = find(test.benchmark)
        if metric.name == "bandwidth" and not replaced and benchmark.of_link:
            floors = limits.class_floors(link, metric.directions, fills_link(benchmark, metric), fabric.mtu)
            bands += [floor_band(f"class:{link.name}", floor) for floor in floors]
        return tuple(bands)


def load_references(path: Path, system: System) -> References:
    """Return the references of one file. Raises InputError if anything is wrong or does not fit the system."""
    document = resolve_sources(load(path, f"{path.parent.name}/{path.name}"))
    table = validate(ReferenceFile, document)
    _check_system(table, system, path, document)
    check_entries(table.entries, system, document)
    check_strength(table, system, document)
    check_relations(table.relations, table.entries, system, document)
    check_facts(table.facts, system, document)
    check_expected_failures(table.expected_failures, system, document)
    check_unbounded(table.unbounded, system, document)
    check_claims(table, system, document)
    return References(
        system,
        table.entries,
        document.file,
        table.relations,
        table.facts,
        table.expected_failures,
        table.claims,
        table.sources,
        table.unbounded,
    )


def references_of(folder: Path, system: System) -> References:
    """Return a system's references from ``folder``/<system>.yaml; none if there is no file and the system says why.

    If a system is like another and has no such file, it has the other's references.

    Raises InputError as ``load_references`` and ``check_covered`` do.
    """
    path = _file_of(folder, system)
    references = load_references(path, system) if path.exists() else References(system)
    check_covered(system, references)
    return references


def _file_of(folder: Path, system: System) -> Path:
    """Return the file of a system's references: its own, or without one, the file of the system that it is like."""
    own = folder / f"{system.system}.yaml"
    return own if system.like is None or own.exists() else folder / f"{system.like}.yaml"


def check_covered(system: System, references: References) -> None:
    """Raise InputError if a system has neither references nor report_only, or both."""
    file = f"references/{system.system}.yaml"
    if system.report_only is None and not references.entries:
        missing = file if system.like is None else f"{file} and no references/{system.like}.yaml"
        found = f"no {missing}" if references.file is None else f"no entry in {references.file}"
        action = "write it, or set report_only to the sentence that says why there are none"
        raise InputError(f"systems/{system.system}.yaml", found, "references", None, "report_only", action)
    if system.report_only is not None and references.entries:
        found = f"{len(references.entries)} references of a report_only system"
        action = f"set report_only to false in systems/{system.system}.yaml, or remove this file"
        raise InputError(references.file or file, found, "none: they would not be judged", None, "entries", action)


def _check_system(table: ReferenceFile, system: System, path: Path, document: Document) -> None:
    loaded_for = system.like if path.stem == system.like else system.system
    for expected, what in ((path.stem, "the name of the file"), (loaded_for, "the system that it is loaded for")):
        if table.system != expected:
            raise document.error(
                ("system",), show(table.system), f'"{expected}", {what}', "these references belong to another system"
            )


def _band(entry: Entry, link: links.Link, limit_mb_s: float | None) -> Band:
    head = (entry.id, entry.kind, entry.metric, entry.unit, entry.source.cite())
    if entry.curve is not None:
        tolerances = {size: tolerance_at(entry, size) for size in entry.curve}
        points = {size: _bound_around(value, tolerances[size]) for size, value in entry.curve.items()}
        return curve_band(*head, points)
    first, last = entry.sizes.first, entry.sizes.last
    flat = entry.tolerance if isinstance(entry.tolerance, Tolerance) else Tolerance()
    if entry.value is not None:
        bound = _bound_around(_resolve(entry, entry.value, link, limit_mb_s), flat)
    elif entry.ends is not None:
        bound = _bound_outside(entry.ends, flat, entry.metric)
    elif entry.floor is not None:
        bound = Bound(_resolve(entry, entry.floor, link, limit_mb_s), None, None)
    elif entry.ceiling is not None:
        bound = Bound(None, _resolve(entry, entry.ceiling, link, limit_mb_s), None)
    elif entry.upper_limit is not None:
        bound = Bound(None, entry.upper_limit, None)
    else:
        raise RailyardError(f"entries.{entry.id}: found no bound at all, expected one")
    band = scalar_band(*head, bound, (first, last))
    return replace(band, is_upper_limit=entry.upper_limit is not None, best_of_sizes=entry.best_of == "sizes")


def _resolve(entry: Entry, amount: float | Share, link: links.Link, limit_mb_s: float | None) -> float:
    if not isinstance(amount, Share):
        return amount
    base = limits.data_rate_mb_s(link) if amount.of == "data-rate" else limit_mb_s
    if base is None:
        raise RailyardError(f"entries.{entry.id}: found a share of the {amount.of} of {link.name}, which is unknown")
    return amount.fraction * amount.times * base


def tolerance_at(entry: Entry, size: int) -> Tolerance:
    """Return the tolerance at one size: that of its regime, or the wide one within a factor 2 of a declared switch."""
    tolerance = entry.tolerance
    near = any(switch / 2 <= size <= switch * 2 for switch in entry.switches)
    if isinstance(tolerance, ByRegime):
        if near and tolerance.switch is not None:
            return tolerance.switch
        own: Tolerance = getattr(tolerance, regime(size))
    else:
        own = tolerance or Tolerance()
    return _double_tolerance(own, entry.metric) if near else own


def _double_tolerance(tolerance: Tolerance, metric: str) -> Tolerance:
    """Return twice the tolerance. A low tolerance stays narrow enough that a slow run fails, and always below 1."""
    widest = WIDEST_FALL if metric in HIGHER_IS_BETTER else 0.95
    low = None if tolerance.low is None else min(2 * tolerance.low, widest)
    high = None if tolerance.high is None else min(2 * tolerance.high, 1.0)
    return Tolerance(low=low, high=high)


def _bound_around(target: float, tolerance: Tolerance) -> Bound:
    low = None if tolerance.low is None else target * (1 - tolerance.low)
    high = None if tolerance.high is None else target * (1 + tolerance.high)
    return Bound(low, high, target)


def _bound_outside(ends: tuple[float, float], tolerance: Tolerance, metric: str) -> Bound:
    """Return the bounds of a range: both ends are bounds, each with its tolerance."""
    low, high = ends[0] * (1 - (tolerance.low or 0.0)), ends[1] * (1 + (tolerance.high or 0.0))
    return Bound(low, high, ends[0] if metric in HIGHER_IS_BETTER else ends[1], ends)


def resolve_sources(document: Document, lists: tuple[str, ...] = LISTS) -> Document:
    """Return the document with each ``of`` replaced by the fields of the source that it names. Own fields win.

    ``lists`` are the fields whose entries have sources.

    Raises InputError if an ``of`` names no source of the file. The model finds all other mistakes.
    """
    named = document.data.get("sources")
    if not isinstance(named, Mapping):
        named = {}
    data = dict(document.data)
    for part in lists:
        items = data.get(part)
        if isinstance(items, list):
            data[part] = [_item(item, named, (part, index), document) for index, item in enumerate(items)]
    return Document(document.file, data, document.root)


def _item(item: Any, named: Mapping[Any, Any], path: tuple[str, int], document: Document) -> Any:
    source = item.get("source") if isinstance(item, Mapping) else None
    if not isinstance(source, Mapping) or "of" not in source:
        return item
    name = source["of"]
    base = named.get(name) if isinstance(name, str | int) else None
    if not isinstance(base, Mapping):
        known = [str(each) for each in named]
        raise document.error(
            (*path, "source", "of"), show(name), "a source of this file", did_you_mean(str(name), known)
        )
    merged = {**base, **{key: value for key, value in source.items() if key != "of"}}
    general, own = base.get("conditions"), source.get("conditions")
    if isinstance(general, Mapping) and isinstance(own, Mapping):
        merged["conditions"] = {**general, **own}
    return {**item, "source": merged}


def check_claims(table: ReferenceFile, system: System, document: Document) -> None:
    """Raise InputError for the first claim that is wrong."""
    judged = {entry.id for entry in table.entries} | {relation.id for relation in table.relations}
    bad = {each.id for each in table.entries if each.kind == BAD_CASE}
    known: Mapping[str, Collection[str]] = {
        SOURCE: table.sources,
        FABRIC: system.fabrics,
        PRICE: {name for price in system.prices for name in price.fabric},
        "": judged | {fact.id for fact in table.facts},
    }
    seen: dict[str, int] = {}
    for index, claim in enumerate(table.claims):
        path: Path_ = ("claims", index)
        said = " ".join(claim.says.lower().split())
        if seen.setdefault(said, index) != index:
            line = document.line(("claims", seen[said]))
            expected = f"each claim once (line {line} has it already)"
            raise document.error((*path, "says"), show(claim.says), expected, "remove one, or say how the two differ")
        if claim.of not in table.sources:
            near = did_you_mean(claim.of, table.sources)
            raise document.error((*path, "of"), show(claim.of), "a source of this file", near)
        _check_holders(claim, known, path, document)
        if claim.differs is not None and not claim.held_by:
            raise document.error(
                (*path, "differs"),
                "differs together with not_held",
                "it only if something holds the claim",
                "leave it out",
            )
        _check_judged(claim, judged - bad, bad, path, document)
        _check_margin(claim, table, path, document)


def _check_holders(claim: Claim, known: Mapping[str, Collection[str]], path: Path_, document: Document) -> None:
    if bool(claim.held_by) == (claim.not_held is not None):
        found = "both held_by and not_held" if claim.held_by else "neither held_by nor not_held"
        action = "name what holds the claim, or say why nothing does"
        raise document.error(path, found, "one of them", action)
    for place, name in enumerate(claim.held_by):
        kind = next((each for each in (SOURCE, FABRIC, PRICE) if name.startswith(each)), "")
        there = [f"{kind}{each}" for each in known[kind]]
        if name not in there:
            expected = (
                "the id of an entry, relation or fact" if not kind else f"a {kind.rstrip(':')} that the files state"
            )
            raise document.error((*path, "held_by", place), show(name), expected, did_you_mean(name, there))


def _check_judged(claim: Claim, judged: Collection[str], bad: Collection[str], path: Path_, document: Document) -> None:
    """Refuse a claim by which no run is judged and that does not say why, and a claim that only a bad case holds."""
    is_judged, here = any(name in judged for name in claim.held_by), (*path, "held_by")
    if claim.held_by and all(name in bad for name in claim.held_by):
        expected = "an entry by which runs are judged: nothing is judged by a bad case"
        raise document.error(
            (*path, "held_by"), f"only the bad case {claim.held_by[0]}", expected, "say in not_held why"
        )
    if claim.not_judged is not None and (is_judged or not claim.held_by):
        found = "not_judged together with an entry or relation" if is_judged else "not_judged together with not_held"
        raise document.error((*path, "not_judged"), found, "it only if just facts hold the claim", "leave it out")
    if claim.held_by and not is_judged and claim.not_judged is None:
        expected = "also an entry or a relation, or not_judged: why no run is judged by the claim"
        raise document.error(here, f"{claim.held_by[0]}, by which no run is judged", expected)


def _check_margin(claim: Claim, table: ReferenceFile, path: Path_, document: Document) -> None:
    """Refuse a claim of "about" held by a relation that does not say why its margin has this value.

    An entry's margin is its tolerance, and each entry must have one.
    """
    word = loose_word(claim.says)
    relations = {each.id: each for each in table.relations}
    for place, name in enumerate(claim.held_by):
        if word is not None and name in relations and relations[name].margin_reason is None:
            expected = f'one with a margin_reason, since the claim says "{word}"'
            raise document.error((*path, "held_by", place), f"the relation {name} without one", expected)
