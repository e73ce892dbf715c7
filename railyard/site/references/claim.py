"""The model of a claim: one statement of a source, in a few words of ours, and what in the file holds it."""

import re

from pydantic import Field

from railyard.base.fields import Model, Name, Prose

#: Words that give a number or a likeness a margin. Whatever judges by such a word must state the margin.
_LOOSE = re.compile(
    r"\b(?:about|almost|approximately|around|close to|nearly|roughly|similar)\b(?! (?:it|them|us|what)\b)",
    re.IGNORECASE,
)


def loose_word(text: str) -> str | None:
    """Return the first word of a text that leaves a margin open, such as "nearly"; None if there is none."""
    found = _LOOSE.search(text)
    return None if found is None else found[0].lower()


class Claim(Model):
    """What a source says. Either something holds it (``held_by``), or ``not_held`` says why nothing does.

    ``held_by`` has ids of entries, relations and facts, and also ``source:NAME`` (hardware, software and conditions of
    one of the file's sources), ``fabric:NAME`` and ``price:NAME`` (both in the system's file). Runs are judged only by
    entries and relations. If it names neither, ``not_judged`` says why no run can be judged.
    """

    says: Prose = Field(description="The claim in a few words of ours")
    of: Name = Field(description="The name of one of the file's sources")
    at: Prose = Field(description="Where in the source: a table, a figure, a section")
    held_by: tuple[Prose, ...] = Field((), description="Ids of entries, relations, facts; source:NAME …")
    not_held: Prose | None = Field(None, description="Instead of held_by: why nothing holds it")
    not_judged: Prose | None = Field(None, description="Why no run is judged by it, if only facts hold it")
