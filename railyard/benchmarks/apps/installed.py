"""The model of ``applications`` in systems/*.yaml: installed programs that a site measures with, licensed or not."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Template, refuse, show
from railyard.base.wording import listing

#: What a figure's pattern calls the number, in seconds.
SECONDS = "seconds"
#: What may stand for a number of the run in a word.
BLANKS = ("ranks", "nodes")
#: What else an application may be told that starts its own processes; the first node's process fills these (pair.sh).
OWN_BLANKS = ("hosts", "addresses", "agent")


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


def _word(text: str, known: tuple[str, ...] = BLANKS) -> str:
    """Each word reaches the application quoted, as it is: options and shell characters too."""
    if not text.isprintable() or not text:
        raise refuse(show(text), "a word of printable text")
    for blank in re.findall(r"\{([a-z_]*)\}", text):
        if blank in OWN_BLANKS and blank not in known:
            expected = f"{{{blank}}} among the words of without_mpi alone"
            raise refuse(show(text), expected, "an MPI's launcher starts all processes, and tells them no nodes")
        if blank not in known:
            listed = listing([f"{{{name}}}" for name in known])
            raise refuse(show(text), f"no blanks but {listed}", did_you_mean(blank, known))
    return text


def _own_word(text: str) -> str:
    return _word(text, (*BLANKS, *OWN_BLANKS))


Word = Annotated[str, AfterValidator(_word)]
OwnWord = Annotated[str, AfterValidator(_own_word)]
Pattern = Annotated[str, AfterValidator(_pattern)]
FigurePattern = Annotated[str, AfterValidator(_pattern), AfterValidator(_figure)]


class Application(Model):
    """One application: the executable is among a stack's benchmarks, under the same name."""

    arguments: tuple[Word, ...] = Field(default=(), description="Its words; {ranks} and {nodes} are filled in")
    without_mpi: tuple[OwnWord, ...] | None = Field(
        default=None,
        description="Its words on a stack without MPI (tcp), where it runs on the first node and starts its own "
        "processes on all: {hosts} and {addresses} are the nodes' names and their rails' addresses, with commas, "
        "{agent} what starts a command on another node; left out: its arguments",
    )
    inputs: Template | None = Field(default=None, description="Folder of what it reads, copied into the job's own")
    figure: FigurePattern = Field(description="Pattern of the line with its time: (?P<seconds>…); the last one counts")
    success: Pattern = Field(description="Pattern of the line that says that it ended well, and computed right")
    licence: Pattern | None = Field(default=None, description="Pattern of the line that says that it got no licence")
    ranks_per_node: Count = Field(default=1, description="On each node; without MPI, what it starts there")
