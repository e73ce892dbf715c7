"""The model of ``applications`` in systems/*.yaml: installed programs with which a site measures, licensed or not."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Template, refuse, show
from railyard.base.wording import listing

#: The name of the number, in seconds, in a figure's pattern.
SECONDS = "seconds"
#: The blanks for numbers of the run in a word.
BLANKS = ("ranks", "nodes")
#: Further blanks for an application that starts its own processes. The first node's process fills them (pair.sh).
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
        raise refuse(show(text), expected, "it says where the time is, in seconds")
    return text


def _word(text: str, known: tuple[str, ...] = BLANKS) -> str:
    """Return a word. Each reaches the application quoted, as it is, even options and shell characters."""
    if not text.isprintable() or not text:
        raise refuse(show(text), "a word of printable text")
    for blank in re.findall(r"\{([a-z_]*)\}", text):
        if blank in OWN_BLANKS and blank not in known:
            expected = f"{{{blank}}} only among the words of without_mpi"
            raise refuse(show(text), expected, "an MPI's launcher starts all processes, and names no nodes to them")
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
    """One application. Its executable is among a stack's benchmarks, with the same name."""

    arguments: tuple[Word, ...] = Field(default=(), description="Its words; {ranks} and {nodes} are filled in")
    without_mpi: tuple[OwnWord, ...] | None = Field(
        default=None,
        description="Its words on a stack without MPI (tcp), where it runs on the first node and starts its own "
        "processes on all nodes: {hosts} and {addresses} are the nodes' names and their rails' addresses, separated by "
        "commas; {agent} is what starts a command on another node. If it is left out, its arguments are used",
    )
    inputs: Template | None = Field(default=None, description="Folder with its inputs, copied into the job's folder")
    figure: FigurePattern = Field(description="Pattern of the line with its time: (?P<seconds>…); the last one counts")
    success: Pattern = Field(description="Pattern of the line that says that it ended well and computed correctly")
    licence: Pattern | None = Field(default=None, description="Pattern of the line that says that it got no licence")
    ranks_per_node: Count = Field(default=1, description="Ranks per node; without MPI, the processes it starts there")
