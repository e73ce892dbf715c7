"""The model of ``applications`` in systems/*.yaml: installed programs that a site measures with, licensed or not."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.errors import did_you_mean
from railyard.fields import Count, Model, refuse, show
from railyard.systemfields import Template

#: What a figure's pattern calls the number, in seconds.
SECONDS = "seconds"
#: What may stand for a number of the run in a word.
BLANKS = ("ranks", "nodes")


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise refuse(show(text), "a regular expression", str(error)) from None
    return text


def _figure(text: str) -> str:
    if SECONDS not in re.compile(text).groupindex:
        expected = f"a pattern with a group (?P<{SECONDS}>…)"
        raise refuse(show(text), expected, "it says where the time stands, in seconds")
    return text


def _word(text: str) -> str:
    """Each word reaches the application quoted, as it is: options and shell characters too."""
    if not text.isprintable() or not text:
        raise refuse(show(text), "a word of printable text")
    for blank in re.findall(r"\{([a-z_]*)\}", text):
        if blank not in BLANKS:
            raise refuse(show(text), "no blanks but {ranks} and {nodes}", did_you_mean(blank, BLANKS))
    return text


Word = Annotated[str, AfterValidator(_word)]
Pattern = Annotated[str, AfterValidator(_pattern)]
FigurePattern = Annotated[str, AfterValidator(_pattern), AfterValidator(_figure)]


class Application(Model):
    """One application: the executable stands among a stack's benchmarks, under the same name."""

    arguments: tuple[Word, ...] = Field(default=(), description="Its words; {ranks} and {nodes} are filled in")
    inputs: Template | None = Field(default=None, description="Folder of what it reads, copied into the job's own")
    figure: FigurePattern = Field(description="Pattern of the line with its time: (?P<seconds>…); the last one counts")
    success: Pattern = Field(description="Pattern of the line that says that it ended well, and computed right")
    licence: Pattern | None = Field(default=None, description="Pattern of the line that says that it got no licence")
    ranks_per_node: Count = 1
