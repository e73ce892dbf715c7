"""Installed programs with which a site measures: the model of ``applications``, and their outputs by its patterns."""

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Template
from railyard.base.values import refuse, show
from railyard.base.wording import count_of, listing
from railyard.benchmarks.model import Figure, Physics
from railyard.parsers.output import ContextValue, ParsedOutput, ParseError, Remark, Table

TOOL = "installed"
#: The name of the number, in seconds, in a figure's pattern.
SECONDS = "seconds"
#: The name of the number in an answer's pattern.
VALUE = "value"
_DAY_S = 86400
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
    return _with_group(text, SECONDS, "it says where the time is, in seconds")


def _value(text: str) -> str:
    return _with_group(text, VALUE, "it says where the number is")


def _with_group(text: str, group: str, why: str) -> str:
    if group not in re.compile(text).groupindex:
        raise refuse(show(text), f"a pattern with a group (?P<{group}>…)", why)
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
ValuePattern = Annotated[str, AfterValidator(_pattern), AfterValidator(_value)]


class Answer(Model):
    """A number that the application must print if it computed correctly, such as an energy."""

    pattern: ValuePattern = Field(description="Pattern of its line: (?P<value>…); the last one counts")
    expected: float = Field(allow_inf_nan=False, description="The right number, from a run that you trust")
    within: float = Field(ge=0, allow_inf_nan=False, description="By how much it may differ, in its own unit")


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
    answers: tuple[Answer, ...] = Field(default=(), description="Numbers that it must print, each within a tolerance")
    rating: bool = Field(
        default=False, description="Also show the runs per day, 86400 s over its time: Fluent's rating"
    )
    ranks_per_node: Count = Field(default=1, description="Ranks per node; without MPI, the processes it starts there")


def parse(text: str, name: str, stated: Application) -> ParsedOutput:
    """Return one table with one row, the time in seconds. It is whole if the run ended well.

    The failures say what went wrong. A refused licence is a failure with its own words, since no network is to blame
    for it. Raises ParseError for an empty text.
    """
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        from railyard.parsers.lines import first_line  # a system's file that declares an application reads no output

        first = first_line(text)
        raise ParseError(first.number, first.text, f"output of {name}")
    seconds, at = _last(lines, stated.figure)
    ended = any(re.search(stated.success, line) for line in lines)
    # A run that ended well had its licence, even if only at the second try. And "error" may be in any table of results.
    failures = [] if ended else _refusals(lines, name, stated) or _failures(lines, name, stated)
    if seconds is None:
        if ended:
            failures.append(Remark(len(lines), f"{name} printed no line like figure: {stated.figure}"))
        return ParsedOutput((), tuple(failures))
    failures += _wrong_answers(lines, name, stated) if ended else []
    context: dict[str, ContextValue] = {"answers": len(stated.answers), **({"rating": True} if stated.rating else {})}
    table = Table(TOOL, None, name, ("time",), ("s",), ((seconds,),), at, ended, MappingProxyType(context))
    return ParsedOutput((table,), tuple(failures))


def _wrong_answers(lines: list[str], name: str, stated: Application) -> list[Remark]:
    """Return a failure for each number that the application did not print, or that is not the expected one."""
    wrong = []
    for answer in stated.answers:
        value, at = _last(lines, answer.pattern, VALUE)
        if value is None:
            wrong.append(Remark(len(lines), f"{name} printed no line like answers: {answer.pattern}"))
        elif not abs(value - answer.expected) <= answer.within:
            off = f"found {value:.12g}, expected {answer.expected:.12g} within {answer.within:g}"
            wrong.append(Remark(at, f"{name} computed another answer: {off} ({answer.pattern})"))
    return wrong


def figures(key: str, tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return how many runs fit into a day, one after the other, if the system's file asks for it.

    Source: Fluent's benchmarks, "Rating": 86400 s divided by the seconds of a run; higher is better.
    """
    rated = [table for table in tables[:1] if table.context.get("rating")]
    times = [
        seconds for table in rated for seconds in table.column("time") if isinstance(seconds, float) and seconds > 0
    ]
    return tuple(Figure("rating", _DAY_S / seconds, "1/day") for seconds in times[:1])


def remarks(key: str, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return how the answer of a run was checked."""
    if not tables:
        return ()
    count = tables[0].context.get("answers")
    if not isinstance(count, int) or not count:
        return ("the answer was checked only by its line of success: the system's file states no answers",)
    return (f"the answer was checked by {count_of(count, 'number')} of the system's file",)


ANSWERS = Physics(figures=figures, remarks=remarks)


def _failures(lines: list[str], name: str, stated: Application) -> list[Remark]:
    from railyard.parsers.lines import is_failure

    found = [Remark(at, line.strip()[:2000]) for at, line in enumerate(lines, 1) if is_failure(line)]
    return [*found, Remark(len(lines), f"{name} printed no line like success: {stated.success}")]


def _refusals(lines: list[str], name: str, stated: Application) -> list[Remark]:
    if stated.licence is None:
        return []
    said = next(((n, line) for n, line in enumerate(lines, 1) if re.search(stated.licence, line)), None)
    if said is None:
        return []
    return [Remark(said[0], f"{name} got no licence, which is not a fault of the network: {said[1].strip()[:500]}")]


def _last(lines: list[str], pattern: str, group: str = SECONDS) -> tuple[float | None, int]:
    """Return the number in the last line that has one, and that line's number."""
    from railyard.parsers.lines import number

    found: tuple[float | None, int] = (None, 0)
    for at, line in enumerate(lines, 1):
        match = re.search(pattern, line)
        value = number((match[group] or "").replace("D", "E")) if match else None  # Fortran's 0.1D-02
        if value is not None:
            found = (float(value), at)
    return found


def words(stated: Application, nodes: int, ranks_per_node: int, without_mpi: bool = False) -> list[str]:
    """Return an application's words with the numbers of ranks and nodes filled in.

    If an application starts its own processes (``without_mpi``), its words may keep blanks for its nodes.
    """
    filled = {"{ranks}": str(nodes * ranks_per_node), "{nodes}": str(nodes)}
    found = []
    for word in stated.arguments if stated.without_mpi is None or not without_mpi else stated.without_mpi:
        for blank, value in filled.items():
            word = word.replace(blank, value)
        found.append(word)
    return found


def folder(text: str, home: Path) -> str:
    """Return the folder of an application's inputs. A relative one is below the site's folder."""
    return str(home / text.replace("{home}", str(home)))
