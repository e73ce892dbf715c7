"""What pydantic cannot see in claims: whether the things they name exist, and are more than a bad example."""

from collections.abc import Collection, Mapping

from railyard.base.errors import did_you_mean
from railyard.base.fields import show
from railyard.base.model_errors import Path_
from railyard.base.strict_yaml import Document
from railyard.site.references.claim import Claim, loose_word
from railyard.site.references.model import BAD_CASE, ReferenceFile
from railyard.site.systems.model import System

SOURCE, FABRIC, PRICE = "source:", "fabric:", "price:"


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
