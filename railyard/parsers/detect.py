"""Which tool printed a text, and what it holds. The parsers decide: each raises for a foreign text.

``parse`` reads an output of any tool that Railyard knows. HPCC prints HPL's output inside its own: HPL's parser leaves
such a text to HPCC's. Two benchmarks in one text are refused, since neither parser can say where its own output ends. A
heading that two tools print alike is refused too, unless the caller names the tool. In a text that no tool knows, a
tool of a node or fabric may say that it read nothing, or a launcher, an MPI library or a scheduler why nothing ran:
then these lines are the failures. Only parsers with a sign in the text are asked, and imported (``tool_signs``). They
read the same table of signs before they begin.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.patterns import late_regex
from railyard.parsers import PARSERS
from railyard.parsers.broken_lines import (
    count_cells,
    refuse_broken_lines,
    refuse_one_line,
    rows_of,
    says_broken,
    without_broken_lines,
    without_joined_lines,
)
from railyard.parsers.decorations import (
    begins_with_prefix,
    comment_mark,
    forms_with_blanks,
    has_boxes_in_cells,
    kept_in_json,
    markdown_rule,
    strip_decorations,
    two_sources,
    with_own_signs,
    without_prefixes,
)
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import combine
from railyard.parsers.fabric.text import without_marks
from railyard.parsers.failure_lines import STEPD
from railyard.parsers.lines import Line, can_be_of, clean_text, first_line, is_failure, lines_of
from railyard.parsers.output import ParsedOutput, ParseError, Remark
from railyard.parsers.tool_signs import is_refusal, refusal_in, without_collector
from railyard.parsers.unread_rows import without_commented_rows
from railyard.parsers.wrong_lines import without_mixed_rows

# What only a launcher, a library or a scheduler prints when nothing runs. It is narrower than a parser's signs of a
# failure, since here no line of a benchmark is beside it: any prose may have the words "aborted" and "unreachable".
_LAUNCHER = late_regex(
    r"^\s*(?:\S*(?:mpirun|mpiexec|orterun|prterun)\S*:? (?:was unable|noticed|detected|has lost|has exited|killing job)"
    r"|[=|] +BAD TERMINATION OF|\[(?:proxy|mpiexec)[@:]|\*\*\* An error occurred in|(?:Fatal error|internal_Abort) in "
    r"|Abort\([0-9]+\)|MPI_ABORT was invoked|No available pml components|[0-9]+ total processes (?:killed|failed)"
    r"|(?:srun|sbatch|salloc|slurmstepd|aprun|flux-job): |=>> PBS: job killed|TERM_[A-Z]+: job killed"
    r"|error: executing task of job [0-9]+ failed: "
    rf"|{STEPD}\*\*\* (?:JOB|STEP) "
    r"|(?:\S+: )?(?:line [0-9]+: )?(?: *[0-9]+ )?(?:Segmentation fault|Bus error|Killed\b)"
    r"|\S{1,300}: error while loading shared libraries: |\S{1,300}:(?: line [0-9]+:)? \S{1,300}: command not found)"
    r"|\*\*\* Process received signal \*\*\*|Caught signal [0-9]+ "
)
_NO_MARKDOWN = "not a table in Markdown: paste its own lines, without pipes, between lines of ```"
_TITLE_LINES = 3  # at most, above a heading that two tools print alike
_COMMENTED_ROW = late_regex(r"^[#/%; \t]{1,40}[0-9]{1,18}[ \t][^\n]{0,200}[ \t][0-9]{1,15}\.[0-9]", re.MULTILINE)
_NO_MARK = 'without the "{}" that each line begins with'
# What a fabric tool prints if it finds no device, or no error. A page that only names the tool has none of it.
_NO_PORT = late_regex(
    r"^\s*(?:\S{1,60}: )?(?:ib(?:panic|warn|error): |Fatal error: |-E- |No IB devices found|Failed to (?:get|open) )"
    r"|^## Summary: [0-9]+ nodes checked"
)


# The "#" that a page or a mailer took from headings of OSU and IMB is put back only where the tool shows itself: OSU by
# its banner, IMB by its heading of columns. Numbers of lines stay.
_OSU = late_regex(r"^[ \t]{0,8}(?=(?:OSU|OMB-Py) \S[^\n]{0,120} Test(?: Persistent)?\s{0,9}v[0-9])", re.MULTILINE)

_OSU_OWN = late_regex(r"^[ \t]{0,8}(?=(?:Size|Datatype:)[ \t])", re.MULTILINE)

_IMB = late_regex(r"^(?P<indent>[ \t]{0,20})bytes(?P<blanks>[ \t]{1,20})repetitions(?=[ \t])", re.MULTILINE)

_IMB_OWN = late_regex(
    r"^[ \t]{0,20}(?=Benchmarking \S|processes = [0-9]|\( [0-9]{1,9} additional process|All processes entering MPI_F"
    r"|Intel ?\(R\) MPI Benchmark)",
    re.MULTILINE,
)

_IMB_RULE = late_regex(r"^(?=-{20,200}\s*$)", re.MULTILINE)


_SIZE, _FIGURE = "[0-9]{1,12}", r"[0-9]{1,12}\.[0-9]{2}"

_GAP = "[ \\t]{1,20}"

#: Of `netperf -P 0`: sockets' sizes, call size, seconds, throughput; with two sizes and a rate for requests; with
#: messages and errors for datagrams. -c and -C add the processors' columns.
_NETPERF = late_regex(
    rf"^[ \t]{{0,20}}{_SIZE}{_GAP}{_SIZE}{_GAP}"
    rf"(?:{_SIZE}{_GAP}(?:{_SIZE}{_GAP})?{_FIGURE}|{_FIGURE}{_GAP}{_SIZE}{_GAP}{_SIZE}){_GAP}{_FIGURE}"
    rf"(?:{_GAP}-?[0-9]{{1,6}}\.[0-9]{{2,3}}){{0,4}}[ \t]{{0,20}}$"
)

_NUMBERS = late_regex(r"^[-0-9. \t]{1,200}$")

_WITHOUT_TITLE = (
    "a title and a heading above: these look like rows of netperf without them (-P 0), which do not say which test it "
    "was; run netperf without -P 0, or paste its title, too"
)


def parse(text: str, tool: str | None = None) -> ParsedOutput:
    """Return the tables, ports, failures and remarks of one output of any tool.

    ``tool``: which tool printed it, if known; then no other parser is asked. Raises ParseError if no tool knows the
    text, if two tools know the same heading, or if it holds the outputs of two benchmarks. Raises RailyardError for a
    tool that has no parser.
    """
    try:
        parsed = _parse_plain(text, tool)
    except ParseError:
        refuse_one_line(ParsedOutput(), with_own_signs(text))
        raise
    refuse_one_line(parsed, text)
    return parsed


def _parse_plain(text: str, tool: str | None) -> ParsedOutput:
    """Return what is in a text without its prefixes and decorations. Raises ParseError, and RailyardError."""
    read = _parse_any if tool is None else _parser(tool)
    _refuse_two_kept(text, read)
    text = strip_decorations(with_own_signs(text))
    if has_boxes_in_cells(text):
        rule = markdown_rule(text)
        raise ParseError(rule, text.split("\n")[rule - 1], f"the output as its tool prints it, {_NO_MARKDOWN}")
    signed = with_lost_signs(text)
    try:
        parsed = _read_either_form(signed, read)
    except ParseError:
        plain = _without_prefixes(text, read)
        if plain is None:
            raise
        return plain
    is_read = bool(parsed.tables or parsed.fabric or parsed.hardware or parsed.nccl)
    # nccl's parser takes prefixes off by itself, but not the numbers of lines
    is_whole = not parsed.tables if parsed.nccl is None else bool(parsed.tables)
    if is_read and (is_whole or not (parsed.nccl or begins_with_prefix(text))):
        return parsed
    plain = _without_prefixes(text, read, is_read)
    if plain is None or (parsed.nccl and not plain.tables):
        return parsed
    return parsed if count_cells(rows_of(plain)) < count_cells(rows_of(parsed)) else plain


def _refuse_two_kept(text: str, read: Callable[[str], ParsedOutput]) -> None:
    """Raise ParseError if JSON keeps two outputs with rows: whether they are passes of one run, it does not say."""
    kept = kept_in_json(text)
    with_rows = [
        known[""].tables[0]
        for part in (kept if len(kept) > 1 else ())
        if (known := read_by_tool(part, {"": read})) and known[""].tables
    ]
    if len(with_rows) > 1:
        first, second = (table.benchmark or table.tool for table in with_rows[:2])
        raise ParseError(
            *(1, text.lstrip().split("\n", 1)[0]),
            f"one output, not {len(with_rows)} in the strings of one JSON text (first {first}, then {second}): put "
            "each into a file of its own (jq -r '.[0].stdout')",
        )


def _read_either_form(text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return what is in a text, or in its form with blanks between columns in which more is read. Raises ParseError."""
    text = clean_text(text)  # here once, or each check below would do it again
    error = None
    try:
        parsed = _check_lines(text, read)
    except ParseError as caught:
        parsed, error = ParsedOutput(), caught
    if parsed.fabric or parsed.hardware or (parsed.tables and not _leaves_columns(parsed, text)):
        return parsed
    # blanks in place of tabs would move the column at which lines were broken
    is_broken = says_broken(error.expected) if error else any(says_broken(each.text) for each in parsed.failures)
    most = _count(parsed)
    for form in () if is_broken else forms_with_blanks(text):
        try:
            other = _check_lines(clean_text(with_lost_signs(form)), read)
        except ParseError:
            continue
        if (count := _count(other)) > most or other.fabric or other.hardware:
            parsed, most, error = other, count, None
    if error is not None:
        raise _without_mark(error, text)
    return _with_form(parsed, text)


def _count(parsed: ParsedOutput) -> tuple[int, int]:
    """Return how many cells were read, and how many tables with the name of their benchmark."""
    return count_cells(rows_of(parsed)), sum(table.benchmark is not None for table in parsed.tables)


def _leaves_columns(parsed: ParsedOutput, text: str) -> bool:
    """Return whether rows or titles may be left over: lines with a tab, or a table in Markdown.

    A parser reads its tool's own tabs; but no tool prints tabs alone, without a blank.
    """
    if parsed.failures and markdown_rule(text):
        return True
    if "\t" in text and " " not in text:
        return True
    return "\t" in text and any("\t" in note.text for note in (*parsed.failures, *parsed.remarks))


def _without_mark(error: ParseError, text: str) -> ParseError:
    """Return an error that also names the comment mark before each line; the same one if there is none."""
    mark = comment_mark(text)
    return ParseError(error.line_number, error.line, f"{error.expected}, {_NO_MARK.format(mark)}") if mark else error


def _with_form(parsed: ParsedOutput, text: str) -> ParsedOutput:
    """Return what was read; if that is no table, and the text is in a form that nobody reads, with a failure that says
    so: a table in Markdown, or lines that are all commented out.
    """
    if parsed.tables or parsed.fabric or parsed.hardware:
        return parsed
    if rule := markdown_rule(text):
        what = f"found a table in Markdown, expected the output as its tool prints it, {_NO_MARKDOWN}"
        return replace(parsed, failures=(Remark(rule, what), *(each for each in parsed.failures if each.line != rule)))
    mark = comment_mark(text)
    # without a row, they may be a tool's own: "## Summary: 5 nodes checked" of ibqueryerrors
    if mark and not parsed.failures and _COMMENTED_ROW.search(text):
        what = f"found no table, expected the output as its tool prints it, {_NO_MARK.format(mark)}"
        return replace(parsed, failures=(Remark(first_line(text).number, what),))
    return parsed


def _check_lines(text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return what is in a text, or a failure if its lines were broken. Raises ParseError."""
    try:
        parsed = read(text)
    except ParseError as error:
        better = refuse_broken_lines(error, text, read)
        raise better from (error if better is not error else None)
    # here, too, since a text's prefixes are only known here
    mixed = without_mixed_rows(parsed, text)
    if mixed is not parsed:
        return mixed
    joined = without_joined_lines(parsed, text)
    if joined is not parsed:
        return joined
    parsed = without_commented_rows(parsed, text)
    # one tool printed it, so no other has to be asked again
    tools = {table.tool for table in parsed.tables} & set(PARSERS)
    return without_broken_lines(parsed, text, PARSERS[tools.pop()] if len(tools) == 1 else read)


def _parser(tool: str) -> Callable[[str], ParsedOutput]:
    for parsers in (PARSERS, FABRIC_PARSERS):
        if tool in parsers:
            return parsers[tool]
    near = did_you_mean(tool, (*PARSERS, *FABRIC_PARSERS))
    raise RailyardError(f'--tool: found "{tool}", expected a tool with a parser; {near}')


def _without_prefixes(text: str, read: Callable[[str], ParsedOutput], is_read: bool = False) -> ParsedOutput | None:
    """Return what is in a text behind the prefixes of its lines; None if there are none, or nothing behind them.

    A text that was read as it is (``is_read``) has one source: other prefixes are the tool's own ("s2: " of iperf3).
    Raises ParseError if several processes print rows, which would be mixed.
    """
    found = without_prefixes(clean_text(text))
    if found is None or (is_read and found[1]):
        return None
    plain, alone = found
    try:
        parsed = _read_either_form(with_lost_signs(plain), read)
    except ParseError:
        return None
    if len(alone) > 1:
        known = {who: read_by_tool(with_lost_signs(part), {"": read}) for who, part in alone.items()}
        printing = [who for who, each in known.items() if each and each[""].tables]
        if len(printing) > 1:
            raise two_sources(text, *printing[:2])
    return parsed if parsed.tables or parsed.fabric or parsed.hardware or parsed.failures else None


@without_collector
def _parse_any(text: str) -> ParsedOutput:
    text = clean_text(text)  # here once, or each parser would do it again
    known, states = read_by_tool(text, PARSERS), read_by_tool(text, FABRIC_PARSERS)
    printed = {tool: parsed for tool, parsed in known.items() if _own_lines(parsed)}
    if len(printed) > 1:
        raise _ambiguity_error(printed, text) or _mixed_error(printed, text)
    ports = [parsed for parsed in states.values() if parsed.fabric or parsed.hardware]
    if printed or ports:
        return _with_log(_combine_parts([*printed.values(), *ports]), known.values())
    # without ports, a fabric tool needs a sign of its own: any manual has its name and the word "failed"
    portless = [parsed for parsed in states.values() if any(map(_no_port, (*parsed.failures, *parsed.remarks)))]
    alone = [*known.values(), *portless]
    if alone:
        return max(alone, key=lambda parsed: len(parsed.failures))
    return _without_tool(text)


def _with_log(parsed: ParsedOutput, known: Iterable[ParsedOutput]) -> ParsedOutput:
    """Return what was read, with the log of NCCL if another benchmark's output has one; its lines stay remarks."""
    spoken = next((each.nccl for each in known if each.nccl), None)
    return parsed if parsed.nccl or spoken is None else replace(parsed, nccl=spoken)


def read_by_tool(text: str, parsers: Mapping[str, Callable[[str], ParsedOutput]]) -> dict[str, ParsedOutput]:
    """Return what the parsers read in the text, by tool; only those that accept it, none if none does."""
    text = clean_text(text)
    marked = without_marks(text)  # as a fabric's tools are read
    forms = {text.folded_text, clean_text(marked).folded_text} if marked is not text else {text.folded_text}
    found = {}
    for tool in parsers:
        if not any(can_be_of(tool, form) for form in forms):
            continue
        try:
            found[tool] = parsers[tool](text)
        except ParseError:
            continue
    return found


def _combine_parts(parts: Sequence[ParsedOutput]) -> ParsedOutput:
    """Return the tables of a benchmark and the ports of fabric tools in one text, ports in the order of the text.

    A line is a remark or a failure only if no part knows it as its own. If the benchmark's parser takes a line for no
    failure, it is not one: the signs of fabric tools are wider ("not supported").
    """
    if len(parts) == 1:
        return parts[0]
    noted = set.intersection(*({note.line for note in (*part.failures, *part.remarks)} for part in parts))
    benchmarks = [part for part in parts if not (part.fabric or part.hardware)]
    told = [note for part in benchmarks or parts for note in part.failures if benchmarks or note.line in noted]
    # "ASPM not supported" of lspci is no failure of perftest
    of_hardware = [{note.line for note in (*part.failures, *part.remarks)} for part in parts if part.hardware]
    told = [note for note in told if all(note.line in lines for lines in of_hardware)]
    failures = {note.line: note for note in told}
    remarks = {note.line: note for part in parts for note in part.remarks if note.line in noted - failures.keys()}
    return ParsedOutput(
        tables=tuple(table for part in parts for table in part.tables),
        failures=tuple(failures[line] for line in sorted(failures)),
        remarks=tuple(remarks[line] for line in sorted(remarks)),
        fabric=tuple(sorted((port for part in parts for port in part.fabric), key=lambda port: port.line)),
        hardware=combine([part.hardware for part in parts]),
    )


def _without_tool(text: str) -> ParsedOutput:
    """Return why nothing was read or ran, in a text that no parser reads.

    A tool of a node or fabric says that in place of all that it should print; a launcher, a library or a scheduler
    about a run that printed nothing else. Raises ParseError if none of them says anything.
    """
    lines = list(lines_of(text))
    failures = tuple(_remark(line) for line in lines if refusal_in(line.text) or _says_why(line.text))
    said = {failure.line for failure in failures}
    rest = tuple(_remark(line) for line in lines if line.number not in said and line.text.strip())
    says_why = any(_LAUNCHER.search(failure.text) for failure in failures)
    if not says_why and not is_refusal([failure.text for failure in failures], len(rest)):
        first = next((line for line in lines if line.text.strip()), Line(0, "", True))
        refuse_bare_rows(text)
        if rule := markdown_rule(text):
            raise ParseError(rule, lines[rule - 1].text, f"an output as its tool prints it, {_NO_MARKDOWN}")
        tools = ", ".join([*PARSERS, *FABRIC_PARSERS])
        raise ParseError(first.number, first.text, f"the output of one of {tools}")
    return ParsedOutput((), failures, rest)


def _own_lines(parsed: ParsedOutput) -> list[int]:
    """Return the lines that show the tool itself: those of its tables, and failures that no launcher prints."""
    own = [failure.line for failure in parsed.failures if not _says_why(failure.text)]
    return sorted([*(table.line for table in parsed.tables), *own])


def _first_line(parsed: ParsedOutput) -> int:
    """Return where a tool's output begins: its first table; a line in another tool's output may look like its error."""
    return min((table.line for table in parsed.tables), default=_own_lines(parsed)[0])


def _says_why(text: str) -> bool:
    return is_failure(text) or bool(_LAUNCHER.search(text[:2000]))


def _no_port(note: Remark) -> bool:
    return bool(_NO_PORT.match(note.text) or refusal_in(note.text))


def _remark(line: Line) -> Remark:
    return Remark(line.number, line.text.strip()[:2000])


def _ambiguity_error(printed: Mapping[str, ParsedOutput], text: str) -> ParseError | None:
    """Return the error of a heading that two tools print alike; None if each tool's rows are its own.

    A tool knows a row if it does not remark on it. Comments do not count, since many parsers skip them; nor does a text
    in which the second tool begins further below: some parsers also skip other lines without a remark.
    """
    whole = {line.number: line.text for line in lines_of(text) if line.text.strip()}
    plain = {number for number, said in whole.items() if not said.lstrip().startswith("#")}
    known = {tool: plain - {note.line for note in (*each.failures, *each.remarks)} for tool, each in printed.items()}
    for one, other in combinations(printed, 2):
        begins, line = sorted((_own_lines(printed[one])[0], _own_lines(printed[other])[0]))
        if line - begins <= _TITLE_LINES and any(number >= line for number in known[one] & known[other]):
            expected = (
                f"a heading of one tool: {one} and {other} both print it; say whose output it is with --tool {one} or "
                f"--tool {other}"
            )
            return ParseError(line, whole.get(line, ""), expected)
    return None


def _mixed_error(printed: Mapping[str, ParsedOutput], text: str) -> ParseError:
    begins = sorted((_first_line(parsed), tool) for tool, parsed in printed.items())
    second = begins[1][0]
    where = ", ".join(f"{tool} begins in line {line}" for line, tool in begins)
    found = list(lines_of(text))[second - 1].text
    return ParseError(second, found, f"the output of one tool: {where}; give each a file of its own")


def with_lost_signs(text: str) -> str:
    """Return a text with the "#" of OSU's and IMB's own lines; the same text if none is lost."""
    if _OSU.search(text):
        text = _OSU_OWN.sub("# ", _OSU.sub("# ", text))
    if "repetitions" in text and _IMB.search(text):
        text = _IMB.sub(r"\g<indent>#bytes\g<blanks>#repetitions", text)
        text = _IMB_RULE.sub("#", _IMB_OWN.sub("# ", text)).replace("# processes = ", "# #processes = ")
    return text


def refuse_bare_rows(text: str) -> None:
    """Do nothing for a text with words. Raises ParseError for rows of a known form, with what to do."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if lines and _NETPERF.match(lines[0][1]) and all(_NUMBERS.match(line) for _, line in lines):
        raise ParseError(*lines[0], _WITHOUT_TITLE)
