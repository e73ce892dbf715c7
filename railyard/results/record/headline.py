"""The headline of a verdict that does not pass: the part and the cause, in one line that a hurried reader takes in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from railyard.base.bounds import without_names
from railyard.base.values import one_line
from railyard.base.wording import few, places

if TYPE_CHECKING:  # `railyard judge` needs no record, whose classes take an eighth of its imports
    from railyard.results.record.form import FaultClass, Suspect, VerdictRecord

#: The most characters of a headline.
MOST = 100
_MOST_NAMES = 3
_PARENTHESIS = re.compile(r" \([^()]*\)")
#: Where a sentence can end early, the first that leaves a line of a useful length.
_ENDS = ("; ", ": ", ", ", " and ")
_LEAST = 30
_DISTURBED = "disturbed: "
#: Kinds of suspects that are parts of a cluster. What a library or a launcher did is said by the verdict's sentence.
_PARTS = ("rail", "node", "pair", "switch", "gpu", "leaf", "up-link")


def headline(verdict: VerdictRecord) -> str:
    """Return the verdict in at most ``MOST`` characters: who is blamed and why, else what was found.

    A record from before headlines has none; then it is made from the reasons of its suspects, or from its sentence.
    """
    made = verdict.headline or make_headline(verdict.suspects, _brief_of_old(verdict), verdict.class_)
    return shorten(one_line(made))


def _brief_of_old(verdict: VerdictRecord) -> str:
    """Return what says most in a record without typed facts: what disturbed the run, if a remark does, or the sentence.

    Such records are stored, so their words never change.
    """
    return next((remark for remark in verdict.remarks if remark.startswith(_DISTURBED)), verdict.sentence)


def describe_finding(first: str, sentence: str, measured: str) -> str:
    """Return the line below the headline ``first``: what was measured or found, without names of references and bounds.

    Empty if the headline has the whole sentence.
    """
    if measured:
        return f"measured: {one_line(measured)}"
    sentence = one_line(sentence)
    return "" if sentence.lower() in first.lower() else f"found: {without_names(sentence)}"


def broken_expectation(verdict: VerdictRecord) -> str:
    """Return what a failure says of an expected failure that has expired, or that covers other rules; empty for none.

    It follows in the sentence after that of the rule, and what was measured does not repeat it.
    """
    own = next((rule.sentence for rule in verdict.rules if rule.rule == verdict.rule), "")
    return one_line(verdict.sentence[len(own) + 2 :]) if own and verdict.sentence.startswith(f"{own}; ") else ""


def make_headline(suspects: Sequence[Suspect], brief: str, fault: FaultClass | None) -> str:
    """Return the headline of a verdict with these suspects and this class of fault; ``brief`` says what was found."""
    parts = [one for one in suspects if one.kind in _PARTS]
    text = _of_parts(parts) if parts else brief
    if fault == "disturbed" and not text.startswith(_DISTURBED):
        text = f"{_DISTURBED}{text}"
    return _begin(shorten(without_names(one_line(text))))


def _of_parts(suspects: Sequence[Suspect]) -> str:
    """Return the names of the suspects, and what the first of them does."""
    first = suspects[0]
    names = list(dict.fromkeys(suspect_name(one) for one in suspects))
    if len(names) > 1:
        does = (first.brief or first.reason).removeprefix("is ")
        shown = (f"{places(names, most)}: {does}" for most in range(_MOST_NAMES, 0, -1))
        return next((text for text in shown if len(text) <= MOST), f"{places(names, 1)}: {does}")
    (name,) = names
    if first.brief:
        return f"{name} {first.brief}"
    kind, _, rest = name.partition(" ")
    begins = next((said for said in (name, rest) if rest and first.reason.startswith(f"{said} ")), None)
    if begins is None:
        return f"{name}: {first.reason}"
    return first.reason if begins == name else f"{kind} {first.reason}"


def repeats(headline: str, text: str) -> bool:
    """Return whether a headline has only the first words of this text: then the text needs no headline before it.

    The headline may leave out what is in parentheses.
    """
    first = headline.rstrip('…"').lower()
    return any(said.lower().startswith(first) for said in (text, _PARENTHESIS.sub("", text)))


def shorten(text: str, most: int = MOST, *, at_clauses: bool = True) -> str:
    """Return a text of at most ``most`` characters: without its parentheses, then only its first clauses, if need be.

    A clause that is too long ends at a word, with an ellipsis; so does a text that is not to end early ``at_clauses``.
    """
    if len(text) <= most:
        return text
    while len(text) > most and (less := _PARENTHESIS.sub("", text)) != text:
        text = less
    if len(text) <= most:
        return text
    for end in _ENDS if at_clauses else ():
        place = text.rfind(end, 0, most + 1)
        if place >= _LEAST and text.count('"', 0, place) % 2 == 0:
            return text[:place]
    place = text.rfind(" ", 0, most - 1)
    text = text[: place if place >= _LEAST else most - 2]
    return f'{text}…"' if text.count('"') % 2 else f"{text}…"


def _begin(text: str) -> str:
    """Return the text with a capital letter, unless it begins with a name: ``hsn1``, ``mlx5_0``, ``osu/osu_bw``."""
    first = text.split(" ", 1)[0].rstrip(":,;")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def suspect_name(suspect: Suspect) -> str:
    """Return which part a suspect is: ``rail hsn1 of vn2``, ``GPU 3 of vn2``, ``leaf L4``, ``the switch of hsn1``."""
    if suspect.kind in ("leaf", "up-link"):
        of_leaf = suspect.part or (f"of {few(suspect.nodes)}" if suspect.nodes else "")
        return f"{suspect.kind} {of_leaf}" if of_leaf else f"a {suspect.kind}"
    if suspect.kind == "switch" and suspect.part:
        return suspect.part
    if suspect.kind == "gpu":
        named = f"GPU {suspect.part}" if suspect.part else "a GPU"
        return f"{named} of {suspect.node}" if suspect.node else named
    if suspect.node is None:
        of_rail = {"pair": f"the path over {suspect.rail}", "switch": f"the switch of {suspect.rail}"}
        of_rail["rail"] = f"rail {suspect.rail} of one of these nodes"
        return of_rail.get(suspect.kind, f"the {suspect.kind}")
    return f"rail {suspect.rail} of {suspect.node}" if suspect.kind == "rail" else f"{suspect.kind} {suspect.node}"
