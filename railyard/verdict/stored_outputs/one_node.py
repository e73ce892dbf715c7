"""Whether an output's own words say that all ranks of a table share a node: commands, libraries, the job's settings."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain

from railyard.base.values import one_line
from railyard.benchmarks.model import Tool
from railyard.benchmarks.table import micro
from railyard.parsers.lines import LONGEST_NOTE, clean_text
from railyard.parsers.output import Table
from railyard.verdict.hints.causes import branches, possible
from railyard.verdict.hints.fallback import FAMILIES
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.launch_command import (
    Command,
    HostList,
    default_host_file,
    host_file,
    host_lists,
    is_one_host,
    launch,
    name_of,
    server,
)
from railyard.verdict.stored_outputs.one_node_words import (
    MAP,
    NODE_COUNTS,
    RANKS,
    ROOTS,
    ROOTS_OF_SETTINGS,
    SHARED_MEMORY,
    OneNodeWords,
)
from railyard.verdict.wording import stored_outputs

#: A heterogeneous job of Slurm: each of its parts has a number of nodes.
_OF_PARTS = ("hetjob", "packjob", "SLURM_HET_SIZE", "_HET_GROUP_", "_PACK_GROUP_")
_NEXT_COMMAND = re.compile(r";(?:\s|$)|&&")
#: Behind a command; in "vn1:~ # export UCX_TLS=rc" it is the prompt of root.
_COMMENT = re.compile(r"(?<=\w)\s{1,9}#\s.*")
_QUOTED = 100  # characters of a line in a sentence


@dataclass(frozen=True, slots=True)
class _Sign:
    """A line that says something about the nodes: ``one_node`` True or False, or None if it says nothing.

    ``of_run``: it is of one run, and says nothing about the next launch. ``host`` and ``rank``: where a rank is.
    ``of_setting``: it gives this setting a value, which holds up to the next one. ``spreads``: of a launch's ranks.
    """

    line: int
    quoted: str
    one_node: bool | None
    means: str
    of_run: bool = True
    host: str = ""
    rank: str = ""
    of_setting: OneNodeWords | None = None
    spreads: bool = False


def one_node(table: Table, lines_of_tables: Sequence[int], target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: words of the output say that its ranks share a node.

    None if they do not say it. The hosts of ranks decide before a command, and a command before a setting.
    """
    if not target.rail_names:
        return None
    plain, before = clean_text(text), tuple(sorted({0, *(line for line in lines_of_tables if line < table.line)}))
    is_last = table.line >= max(lines_of_tables, default=table.line)
    tool = micro.tool(table.tool)
    launches = _launches(plain) if tool.of_mpi else ()
    last_launch = max((sign.line for sign in launches if sign.line < table.line), default=0)
    for signs in _kinds(tool, plain, launches):
        if signs and (setting := signs[0].of_setting):
            runs = launches if tool.of_mpi else _servers(plain, tool)
            if not (_spread(runs, table.line) and _is_bypassed(setting, target, plain)):
                own = _at_launch(signs, sorted({run.line for run in runs}), table.line, lines_of_tables, plain)
                if limiting := next((sign for sign in own if sign.one_node), None):
                    return _sentence(limiting, target)
            continue
        counted = [sign for sign in signs if not sign.of_run or sign.line >= last_launch]
        own = _compare_hosts(_own(counted, table.line, before, is_last))
        if signs is launches and own and own[-1].one_node is None:  # the last command is the table's own
            own = [sign for sign in own if sign.one_node is False]
        own = [sign for sign in own if sign.one_node is not None]
        if any(sign.one_node is False for sign in own):
            return None
        if own:
            return _sentence(own[0], target)
    return None


def _kinds(tool: Tool, text: str, launches: tuple[_Sign, ...]) -> Iterator[tuple[_Sign, ...]]:
    """Yield the signs of each kind that count for a tool's tables, those first that decide before others."""
    if tool.of_mpi:
        yield _ranks(text)
    yield _servers(text, tool)
    yield launches
    if tool.of_mpi or tool.shared:
        yield _shared_memory(text)
        yield from _settings(text)
    if tool.of_mpi:
        yield _node_counts(text)


def _sentence(sign: _Sign, target: Target) -> str:
    return stored_outputs.one_node(sign.line, sign.quoted[:_QUOTED], sign.means, target.fabric_name)


def _own(signs: Sequence[_Sign], line: int, before: Sequence[int], is_last: bool) -> list[_Sign]:
    """Return the signs of a table: those above its heading and below the table before, else of a table before.

    ``before``: where these begin. Only below the last heading there is no next run, whose signs they may be.
    """
    end = line
    for start in reversed(before):
        own = [sign for sign in signs if start < sign.line < end]
        if own:
            return own
        end = start + 1
    return [sign for sign in signs if sign.line > line] if is_last else []


def _compare_hosts(signs: list[_Sign]) -> list[_Sign]:
    """Return signs with the hosts of ranks compared: two ranks of one host share it."""
    hosts = {sign.host for sign in signs if sign.host}
    if not hosts:
        return signs
    if len({sign.rank for sign in signs}) < 2:
        return []
    return [replace(sign, one_node=is_one_host(hosts)) for sign in signs]


@lru_cache(maxsize=1)  # each kind of sign asks for it, and most lines of a long output are rows of numbers
def _worded_lines(text: str) -> tuple[tuple[int, str], ...]:
    """Return each line with a letter, with its number."""
    return tuple((number, line) for number, line in enumerate(text.split("\n"), 1) if line.lower() != line.upper())


@lru_cache(maxsize=1)
def _lines(text: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (number, line[:LONGEST_NOTE]) for number, line in _worded_lines(text) if any(root in line for root in ROOTS)
    )


@lru_cache(maxsize=1)  # each of an output's tables asks for it
def _ranks(text: str) -> tuple[_Sign, ...]:
    """Return each rank that a text lists with its host."""
    found: list[_Sign] = []
    patterns = [*map(re.compile, (*RANKS, MAP))] if _lines(text) else []
    for number, line in _lines(text):
        for match in filter(None, (pattern.search(line) for pattern in patterns)):
            has, host = match.groupdict(), match["host"]
            ranks = [has["rank"]] if "rank" in has else [f"{host} {rank}" for rank in range(min(int(has["ranks"]), 2))]
            means = stored_outputs.ranks_on(host)
            found += (_Sign(number, one_line(line).strip(), None, means, host=host, rank=rank) for rank in ranks)
            break
    return tuple(found)


@lru_cache(maxsize=1)
def _launches(text: str) -> tuple[_Sign, ...]:
    """Return each launch of a text; of one with a host file that the text shows above it, what its hosts say, too."""
    found, lists = tuple(_commands(text, launch)), _host_lists(text)
    if not lists:
        return found
    defaults, lines = _default_host_files(text), {sign.line for sign in found}
    above = [(line, file) for line, file in defaults if line not in lines]  # a launch sets it for itself alone
    return tuple(_with_hosts(sign, lists, above) for sign in found)


@lru_cache(maxsize=1)
def _host_lists(text: str) -> tuple[HostList, ...]:
    return host_lists(text)


def _default_host_files(text: str) -> tuple[tuple[int, str], ...]:
    """Return each line that sets the host file of later launches, with the file; empty if it removes it."""
    found = ((number, default_host_file(line[:LONGEST_NOTE])) for number, line in _worded_lines(text))
    return tuple((number, file) for number, file in found if file is not None)


def _with_hosts(sign: _Sign, lists: Sequence[HostList], defaults: Sequence[tuple[int, str]]) -> _Sign:
    """Return a launch with what the last list of its host file says that is above it."""
    default = next((file for line, file in reversed(defaults) if line < sign.line), "")
    name = name_of(host_file(sign.quoted, default))
    listed = next((each for each in reversed(lists) if each.line < sign.line and each.name == name), None)
    command = launch(sign.quoted, listed.hosts) if listed is not None else None
    if command is None or listed is None:
        return sign
    return replace(
        sign,
        one_node=command.one_node,
        means=stored_outputs.hosts_in(command.why, listed.line),
        spreads=command.spreads,
    )


@lru_cache(maxsize=1)
def _servers(text: str, tool: Tool) -> tuple[_Sign, ...]:
    return tuple(_commands(text, lambda line: server(line, tool)))


def _commands(text: str, read: Callable[[str], Command | None]) -> Iterator[_Sign]:
    read_once = cache(read)  # the headings of a long output are alike
    for number, line in _worded_lines(text):
        command = read_once(line) if len(line) <= LONGEST_NOTE else None
        if command is not None:
            yield _Sign(number, one_line(line).strip(), command.one_node, command.why, spreads=command.spreads)


@lru_cache(maxsize=1)
def _shared_memory(text: str) -> tuple[_Sign, ...]:
    distinct = {line for _, line in _lines(text)}
    found: list[_Sign] = []
    for row in SHARED_MEMORY:
        matches = {line for line in distinct if not row.changed_by and re.search(row.pattern, line)}
        if matches and not _speaks_against(row, text):
            found += (
                _Sign(number, one_line(line).strip(), True, row.means)
                for number, line in _lines(text)
                if line in matches
            )
    return tuple(found)


def _speaks_against(row: OneNodeWords, text: str) -> bool:
    return bool(row.except_with) and re.search(row.except_with, text, re.MULTILINE) is not None


@lru_cache(maxsize=1)
def _settings(text: str) -> tuple[tuple[_Sign, ...], ...]:
    """Return the signs of each setting that somewhere limits a library to shared memory, other values of it too."""
    found = []
    lines = [(number, line) for number, line in _lines(text) if any(root in line for root in ROOTS_OF_SETTINGS)]
    for row in SHARED_MEMORY if lines else ():
        if row.changed_by and not _speaks_against(row, text):
            values = cache(partial(_values, row))
            signs = tuple(
                _Sign(number, one_line(line).strip(), one_node, row.means, of_run, of_setting=row)
                for number, line in lines
                for one_node, of_run in values(line)
            )
            if any(sign.one_node for sign in signs):
                found.append(signs)
    return tuple(found)


def _spread(runs: Sequence[_Sign], line: int) -> bool:
    """Return whether the launch of the table in ``line`` spreads its ranks over the job's nodes."""
    above = [run for run in runs if run.line < line]
    return bool(above) and above[-1].spreads


def _is_bypassed(setting: OneNodeWords, target: Target, text: str) -> bool:
    """Return whether another part of the library may carry what goes between nodes, past a setting."""
    if not setting.binds_with or target.fabric.link.family not in FAMILIES:
        return False
    return re.search(setting.binds_with, text) is None


def _values(row: OneNodeWords, line: str) -> tuple[tuple[bool | None, bool], ...]:
    """Return for each value that a line gives a setting: whether it means one node, and whether it is of one run only.

    A line that begins with an option goes on with a launch.
    """
    if line.lstrip().startswith("#"):
        return ()
    found: list[tuple[bool | None, bool]] = []
    for command in _NEXT_COMMAND.split(line):
        of_run = command.lstrip().startswith("-") or launch(command) is not None
        if re.search(row.pattern, command):
            found.append((True, of_run))
        elif re.search(row.changed_by, _COMMENT.sub("", command)):
            found.append((None, of_run))
    return tuple(found)


def _possible(signs: Sequence[_Sign], line: int, text: str) -> list[_Sign]:
    """Return the values of a setting that may hold in a line: the last one, and those of branches of a script."""
    known = branches(text)
    places = possible([known.paths.get(sign.line, ()) for sign in signs], known.paths.get(line, ()), known.complete)
    found = [signs[place] for place in places]
    if all(sign.one_node for sign in found) and (not found or not known.paths.get(found[-1].line)):
        return found
    return [
        replace(sign, means=stored_outputs.in_branch(sign.means)) if known.paths.get(sign.line) else sign
        for sign in found
    ]


def _at_launch(
    signs: Sequence[_Sign], runs: list[int], line: int, lines_of_tables: Sequence[int], text: str
) -> list[_Sign]:
    """Return the signs of a setting that hold for the table in ``line``: the last before its launch.

    ``runs``: the lines of launches. Tables that follow several launches may be of any of them. A value between launch
    and table counts if it means one node: the run itself may have printed it. Without a launch the last above counts.
    """
    before = tuple(sorted({0, *(each for each in lines_of_tables if each < line)}))
    is_last = line >= max(lines_of_tables, default=line)
    starts = [run for run in runs if run < line]
    last = max(starts, default=0)
    own = [sign for sign in signs if max(last, before[-1]) < sign.line < line and not sign.of_run]
    if not starts or (own and before[-1] > last) or not any(sign.line < line for sign in signs):
        return _possible(_own(signs, line, before, is_last), line, text)
    end = min((run for run in runs if run > line), default=max(line, *lines_of_tables) + 1)
    if sum(last < each < end for each in lines_of_tables) > 1:
        first = max((each for each in before if each < last), default=0)
        starts = [start for start in starts if start > first]
    else:
        starts = [last]
    held = [_possible([sign for sign in signs if _holds(sign, start, runs)], start, text) for start in starts]
    return [*chain.from_iterable(held), *own]


def _holds(sign: _Sign, start: int, runs: Sequence[int]) -> bool:
    """Return whether a value was given before the launch in line ``start``, or by it."""
    if not sign.of_run:
        return sign.line <= start
    return max((run for run in runs if run <= sign.line), default=0) == start


@lru_cache(maxsize=1)
def _node_counts(text: str) -> tuple[_Sign, ...]:
    """Return the numbers of nodes of the job: one, or several of which a run may use one; none of a job of parts."""
    if any(word in text for word in _OF_PARTS):
        return ()
    counts_once = cache(_counts_one_node)
    found: list[_Sign] = []
    for number, line in _lines(text):
        found += (
            _Sign(number, one_line(line).strip(), is_one, stored_outputs.job_of_one_node(), of_run=False)
            for is_one in counts_once(line)
        )
    found += (
        _Sign(each.line, one_line(each.quoted), each.is_one_host, stored_outputs.job_of_one_node(), of_run=False)
        for each in _host_lists(text)
        if each.of_job
    )
    return tuple(sorted(found, key=lambda sign: sign.line))


def _counts_one_node(line: str) -> list[bool]:
    matches = filter(None, (re.search(row.pattern, line) for row in NODE_COUNTS))
    return [match["nodes"] == "1" if "nodes" in match.groupdict() else match["node"] is not None for match in matches]
