"""Whose output a text is, and what it holds: the parsers themselves say so, since each raises for a foreign text.

``parse`` reads an output of any tool that Railyard knows. HPCC prints HPL's output inside its own: HPL's parser leaves
such a text to HPCC's. Two benchmarks in one text are refused: neither parser can say where its own ends. So is
a heading that two tools print alike, unless it is said whose it is. A text that no
tool knows, but in which a launcher, an MPI library or a scheduler says why nothing ran, gives these lines as failures.
Every parser is asked. One that finds none of its own signs says no at the speed of a search (``lines.own_text``): the
table of signs is the parser's own, so that no second one can fall behind it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from railyard.base.errors import RailyardError, did_you_mean
from railyard.parsers import PARSERS
from railyard.parsers.collector import held_back
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.lines import Line, cleaned, is_failure, lines_of
from railyard.parsers.parsed import Parsed, ParseError, Remark

# What only a launcher, a library or a scheduler prints when nothing runs; narrower than a parser's sign of a failure,
# since here there is no line of a benchmark beside it: the words "aborted" and "unreachable" stand in any prose.
_LAUNCHER = re.compile(
    r"^\s*(?:\S*(?:mpirun|mpiexec|orterun|prterun)\S*:? (?:was unable|noticed|detected|has lost|has exited|killing job)"
    r"|[=|] +BAD TERMINATION OF|\[(?:proxy|mpiexec)[@:]|\*\*\* An error occurred in|(?:Fatal error|internal_Abort) in "
    r"|Abort\([0-9]+\)|MPI_ABORT was invoked|No available pml components|[0-9]+ total processes (?:killed|failed)"
    r"|(?:srun|sbatch|salloc|slurmstepd|aprun|flux-job): |=>> PBS: job killed|TERM_[A-Z]+: job killed"
    r"|(?:\S+: )?(?:line [0-9]+: )?(?: *[0-9]+ )?(?:Segmentation fault|Bus error|Killed\b)"
    r"|\S{1,300}: error while loading shared libraries: |\S{1,300}:(?: line [0-9]+:)? \S{1,300}: command not found)"
    r"|\*\*\* Process received signal \*\*\*|Caught signal [0-9]+ "
)
# What a fabric tool says where it finds no device, or no error; a page that only names the tool says none of it.
_NO_PORT = re.compile(
    r"^\s*(?:\S{1,60}: )?(?:ib(?:panic|warn|error): |Fatal error: |-E- |No IB devices found|Failed to (?:get|open) )"
    r"|^## Summary: [0-9]+ nodes checked"
)


def parse(text: str, tool: str | None = None) -> Parsed:
    """Return the tables, ports, failures and remarks of one output, whichever tool printed it.

    ``tool``: whose output it is, where that is known; no other parser is asked. Raises ParseError where no tool knows
    the text, where two of them read the same heading, or where the outputs of two benchmarks stand in it, and
    RailyardError for a tool that no parser is of.
    """
    if tool is None:
        return _whichever(text)
    known = {**PARSERS, **FABRIC_PARSERS}
    if tool not in known:
        raise RailyardError(f'--tool: found "{tool}", expected a tool with a parser; {did_you_mean(tool, known)}')
    return known[tool](text)


@held_back
def _whichever(text: str) -> Parsed:
    text = cleaned(text)  # once: every parser would, each for itself
    known, states = recognised(text, PARSERS), recognised(text, FABRIC_PARSERS)
    printed = {tool: parsed for tool, parsed in known.items() if _own_lines(parsed)}
    if len(printed) > 1:
        raise _claimed_twice(printed, text) or _mixed(printed, text)
    ports = [parsed for parsed in states.values() if parsed.fabric]
    if printed or ports:
        return _with_log(_together([*printed.values(), *ports]), known.values())
    # a fabric tool is told by what it prints in place of ports: its name and the word "failed" stand in any manual
    portless = [parsed for parsed in states.values() if any(map(_no_port, (*parsed.failures, *parsed.remarks)))]
    alone = [*known.values(), *portless]
    if alone:
        return max(alone, key=lambda parsed: len(parsed.failures))
    return _launcher_text(text)


def _with_log(parsed: Parsed, known: Iterable[Parsed]) -> Parsed:
    """Return what was read, with the log of NCCL that stands in the output of another benchmark; its lines are told."""
    spoken = next((each.nccl for each in known if each.nccl), None)
    return parsed if parsed.nccl or spoken is None else replace(parsed, nccl=spoken)


def recognised(text: str, parsers: Mapping[str, Callable[[str], Parsed]]) -> dict[str, Parsed]:
    """Return, by tool, what each of these parsers that takes the text reads in it; nothing where none does."""
    found = {}
    for tool, read in parsers.items():
        try:
            found[tool] = read(text)
        except ParseError:
            continue
    return found


def _together(parts: Sequence[Parsed]) -> Parsed:
    """Return the tables of a benchmark and the ports of fabric tools that stand in one text, ports in its order.

    A line is a remark or a failure where no part knows it as its own. What the parser of a benchmark takes for no
    failure is none: fabric tools have wider signs ("not supported").
    """
    if len(parts) == 1:
        return parts[0]
    noted = set.intersection(*({note.line for note in (*part.failures, *part.remarks)} for part in parts))
    benchmarks = [part for part in parts if not part.fabric]
    told = [note for part in benchmarks or parts for note in part.failures if benchmarks or note.line in noted]
    failures = {note.line: note for note in told}
    remarks = {note.line: note for part in parts for note in part.remarks if note.line in noted - failures.keys()}
    return Parsed(
        tables=tuple(table for part in parts for table in part.tables),
        failures=tuple(failures[line] for line in sorted(failures)),
        remarks=tuple(remarks[line] for line in sorted(remarks)),
        fabric=tuple(sorted((port for part in parts for port in part.fabric), key=lambda port: port.line)),
    )


def _launcher_text(text: str) -> Parsed:
    """Return what a launcher, a library or a scheduler says about a run that printed nothing else.

    Raises ParseError where none of them speaks.
    """
    lines = list(lines_of(text))
    failures = tuple(_remark(line) for line in lines if _says_why(line.text))
    if not any(_LAUNCHER.search(failure.text) for failure in failures):
        first = next((line for line in lines if line.text.strip()), Line(0, "", True))
        tools = ", ".join([*PARSERS, *FABRIC_PARSERS])
        raise ParseError(first.number, first.text, f"the output of one of {tools}")
    said = {failure.line for failure in failures}
    rest = (line for line in lines if line.number not in said and line.text.strip())
    return Parsed((), failures, tuple(map(_remark, rest)))


def _own_lines(parsed: Parsed) -> list[int]:
    """Return the lines by which the tool itself is there: its tables', and failures that no launcher prints."""
    own = [failure.line for failure in parsed.failures if not _says_why(failure.text)]
    return sorted([*(table.line for table in parsed.tables), *own])


def _says_why(text: str) -> bool:
    return is_failure(text) or bool(_LAUNCHER.search(text[:2000]))


def _no_port(note: Remark) -> bool:
    return bool(_NO_PORT.match(note.text))


def _remark(line: Line) -> Remark:
    return Remark(line.number, line.text.strip()[:2000])


def _claimed_twice(printed: Mapping[str, Parsed], text: str) -> ParseError | None:
    """Return the error of a heading that two tools print alike; None where each tool's rows are its own.

    A row is known to a tool that does not remark on it; comments are not, since many parsers pass them over.
    """
    whole = {line.number: line.text for line in lines_of(text) if line.text.strip()}
    plain = {number for number, said in whole.items() if not said.lstrip().startswith("#")}
    known = {tool: plain - {note.line for note in (*each.failures, *each.remarks)} for tool, each in printed.items()}
    for one, other in combinations(printed, 2):
        line = max(_own_lines(printed[one])[0], _own_lines(printed[other])[0])
        if any(number >= line for number in known[one] & known[other]):
            expected = (
                f"a heading of one tool: {one} and {other} both print it; say whose output it is with --tool {one} or "
                f"--tool {other}"
            )
            return ParseError(line, whole.get(line, ""), expected)
    return None


def _mixed(printed: Mapping[str, Parsed], text: str) -> ParseError:
    begins = sorted((_own_lines(parsed)[0], tool) for tool, parsed in printed.items())
    second = begins[1][0]
    where = ", ".join(f"{tool} begins in line {line}" for line, tool in begins)
    found = list(lines_of(text))[second - 1].text
    return ParseError(second, found, f"the output of one tool: {where}; give each a file of its own")
