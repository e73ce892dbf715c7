"""The model of a claim: one thing that a source says, in a few words of ours, and what of the file holds it."""

import re

from pydantic import Field

from railyard.base.fields import Model, Name, Prose

#: Words that give a number or a likeness a margin, which whoever judges by it must state.
_LOOSE = re.compile(
    r"\b(?:about|almost|approximately|around|close to|nearly|roughly|similar)\b(?! (?:it|them|us|what)\b)",
    re.IGNORECASE,
)


def loose_word(text: str) -> str | None:
    """Return the first word of a text that leaves a margin open, such as "nearly"; None where none does."""
    found = _LOOSE.search(text)
    return None if found is None else found[0].lower()


class Claim(Model):
    """What a source says. Either something holds it (``held_by``), or ``not_held`` says why nothing does.

    ``held_by`` has ids of entries, relations and facts, and ``source:NAME`` (hardware, software and conditions as one
    of the file's sources has them), ``fabric:NAME`` and ``price:NAME`` (those of the system's file). Of these, runs are
    judged by entries and relations alone: without one, ``not_judged`` says why no run can be.
    """

    says: Prose = Field(description="The claim in a few words of ours")
    of: Name = Field(description="The name of one of the file's sources")
    at: Prose = Field(description="Where in the source: a table, a figure, a section")
    held_by: tuple[Prose, ...] = Field((), description="Ids of entries, relations, facts; source:NAME …")
    not_held: Prose | None = Field(None, description="In place of held_by: why nothing holds it")
    not_judged: Prose | None = Field(None, description="Why no run is judged by it, where facts alone hold it")
