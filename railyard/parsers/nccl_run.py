"""One run of nccl-tests while it is read, from its console or its JSON, and its tables and its job.

Much is printed twice, so missing or changed rows show: size and time give algbw, algbw and the number of ranks give
busbw, the mean of all busbw is under the table, and the requested sizes are above it.

Which program of nccl-tests printed a table: it names itself since 2.17; before that, its columns and figures tell.

The table ``_TAKES`` has what each program prints as operation and root (src/*.cu, functions ``…RunTest``).
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from railyard.base.wording import count_of, message_size
from railyard.parsers.lines import decimals
from railyard.parsers.nccl_said import Job, Rank
from railyard.parsers.nccl_words import FACTORS, GB, IN_PLACE, NOT_SIZE_OVER_TIME, Heading, Way, ways
from railyard.parsers.output import Cell, ContextValue, Remark, Table

# Program -> whether it has an operation, a root, and a count of wrong elements in place.
_TAKES = MappingProxyType(
    {
        "all_reduce_perf": (True, False, True),
        "reduce_scatter_perf": (True, False, True),
        "all_gather_perf": (False, False, True),
        "alltoall_perf": (False, False, False),
        "sendrecv_perf": (None, False, False),  # "sum" in 2.12 and later, nothing before
        "hypercube_perf": (False, False, True),
        "broadcast_perf": (False, True, True),
        "reduce_perf": (True, True, True),
        "gather_perf": (False, True, True),
        "scatter_perf": (False, True, True),
    }
)
#: Programs whose "count" is of all bytes of the size. That of the others is one rank's share.
_COUNTS_ALL = frozenset({"all_reduce_perf", "broadcast_perf", "reduce_perf", "sendrecv_perf"})
_BYTES = MappingProxyType(
    {"int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4}
    | {"int64": 8, "uint64": 8, "double": 8}
)
_SHARE_LOOSE = 2e-3  # relative: the rounding of a printed time
_TELLS = 0.05  # GB/s: ten times the rounding error of a printed figure
#: Of this many rows, one may not fit: it was changed, and is reported as a contradiction. Of fewer rows, all must fit.
_WRONG_OF, _FEW = 10, 4


def candidates(
    named: str | None, above: Collection[str], rows: Sequence["Row"], heading: Heading | None, ranks: int | None
) -> tuple[str, ...]:
    """Return the programs that can have printed these rows: the named one, else all that fit.

    A command line above the table decides only between those that fit.
    """
    if named is not None:
        return (named,)
    if not rows or heading is None:
        return ()
    fit = tuple(program for program in _TAKES if _fits(program, rows, heading, ranks))
    told = tuple(program for program in fit if program in above)
    return told if len(told) == 1 else fit


def _fits(program: str, rows: Sequence["Row"], heading: Heading, ranks: int | None) -> bool:
    if program == "hypercube_perf" and heading.is_early:
        return False  # there is none in releases that early
    has_redop, has_root, checks_in_place = _TAKES[program]
    redop, root = rows[0].kind[1:]
    if has_root != (root not in ("", "-1")):
        return False
    if "redop" not in heading.texts or "root" not in heading.texts:
        # up to 2.11 alltoall has a column for an operation and leaves it blank, and sendrecv has none
        blank = "redop" in heading.texts and not redop
        if blank != (program == "alltoall_perf") or (program == "sendrecv_perf" and "redop" in heading.texts):
            return False
    if has_redop is not None and has_redop != (redop not in ("", "none")):
        return False
    if not ranks and not _count_fits(program, rows):
        return False
    return _in_place_fits(checks_in_place, rows, heading) and _ratio_fits(program, rows, heading, ranks)


def _count_fits(program: str, rows: Sequence["Row"]) -> bool:
    """Return whether the rows count all elements, or those of one rank, as the program does; True if unknown."""
    whole = [
        row.elements * bytes_each == row.size
        for row in rows
        if row.elements and (bytes_each := _BYTES.get(row.kind[0])) is not None
    ]
    return not whole or all(each == (program in _COUNTS_ALL) for each in whole)


def _in_place_fits(checks: bool, rows: Sequence["Row"], heading: Heading) -> bool:
    """Return whether the last rows' checks in place are like this program's; True if nothing was checked."""
    names = [column.name for column in heading.columns]
    for own in ("wrong", "error"):
        if own in names and own + IN_PLACE in names:
            place, other = names.index(own), names.index(own + IN_PLACE)
            out, inside = rows[-1].cells[place], rows[-1].cells[other]
            was_run = bool(rows[-1].words[other])
            return True if out is None or not was_run else checks == (inside is not None)
    return True


def _ratio_fits(program: str, rows: Sequence["Row"], heading: Heading, ranks: int | None) -> bool:
    """Return whether the rows have this program's busbw / algbw; one changed row does not make it another program."""
    known = ways(program, ranks, heading.is_early is not False) if ranks else ()
    # a release that early: all_reduce of two ranks and reduce_scatter both print one figure twice
    timed = program == "all_reduce_perf" and heading.is_early is not False
    return not known or any(_way_fits(way, rows, heading, timed or way.share != 1.0) for way in known)


def _way_fits(way: Way, rows: Sequence["Row"], heading: Heading, timed: bool) -> bool:
    names = [column.name for column in heading.columns]
    told = fit = 0
    for half in ("", IN_PLACE):
        if "algbw" + half not in names or "busbw" + half not in names:
            continue
        places = names.index("algbw" + half), names.index("busbw" + half)
        for row in rows:
            alg, bus = (row.words[place] for place in places)
            if any(row.cells[place] is None for place in places) or "e" in (alg + bus).lower() or float(alg) < _TELLS:
                continue
            loose = 0.5 * 10.0 ** -decimals(alg) * way.factor + 0.5 * 10.0 ** -decimals(bus) + 1e-9
            told += 1
            fit += abs(float(bus) - float(alg) * way.factor) <= loose and (
                not timed or _share_fits(way, row, names, half)
            )
    return told - fit <= (max(1, told // _WRONG_OF) if told >= _FEW else 0)


def _share_fits(way: Way, row: "Row", names: Sequence[str], half: str) -> bool:
    """Return whether algbw is this share of size over time; True if the row has no time."""
    time = row.cells[names.index("time" + half)] if "time" + half in names else None
    place = names.index("algbw" + half)
    alg = row.cells[place]
    if not time or alg is None:
        return True
    rounding = 0.5 * 10.0 ** -decimals(row.words[place]) * GB
    return abs(alg - row.size / time * way.share) <= rounding + _SHARE_LOOSE * alg


#: Relative: how far two figures of a row may differ besides their rounding.
_SHARE = 1e-3
_SHOWN = 3  # contradictions of one run that are reported
_MOST = 100_000  # sizes of one run: no run that asks for more ever ends
# The functions …GetCollByteCount cut a size to whole elements of every rank, and since 2.14 to 16 B per rank.
_CUT_A_RANK = 16
_WIDEST_ELEMENT = 8
_NAMED = 3


class Row(NamedTuple):
    """One row: its cells in the units of a table, and the printed words; "" for a blank."""

    line: int
    size: int
    elements: int | None
    kind: tuple[str, str, str]
    cells: tuple[Cell, ...]
    words: tuple[str, ...]
    after: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(slots=True)
class Run:
    """What was read of one start of a program, until the next start.

    ``stage`` is how far it came (``nccl.STAGES``), ``begins`` where it began; ``died``: it said that it failed.
    ``source`` is the prefix of its lines. ``closed``: it is in a file of records, which is whole; ``said`` is what such
    a file says of the ranks, which it does not list.
    ``named`` is the program that the run itself names, ``above`` those that a command line above it names. ``cut``: a
    rank's line is not whole. ``spoiled``: a row is missing, cut or mixed with another line.
    """

    line: int
    begins: int = 0
    source: str = ""
    stage: int = 0
    died: bool = False
    named: str | None = None
    above: set[str] = field(default_factory=set)
    version: str | None = None
    library: str | None = None
    settings: dict[str, int] = field(default_factory=dict)
    ranks: list[Rank] = field(default_factory=list)
    cut: bool = False
    ranks_a_line: int = 1  # for -J, which lists only a process's first GPU
    heading: Heading | None = None
    heading_line: int = 0
    rows: list[Row] = field(default_factory=list)
    halves: list[Row] = field(default_factory=list)  # rows without their second half
    spoiled: bool = False
    lost: bool = False  # a row of it was cut, and a failure says so
    out_of_bounds: int | None = None
    average: float | None = None
    averaged: bool = False
    average_line: int = 0
    concluded: bool | None = None
    closed: bool = False
    said: dict[str, int] = field(default_factory=dict)
    failures: list[Remark] = field(default_factory=list)

    @property
    def size_of_group(self) -> int | None:
        """Return how many ranks a communicator has; None if the list of ranks is not whole or groups differ."""
        if self.said:
            return self.said.get("ranks")
        groups = [rank.group for rank in self.ranks]
        sizes = {groups.count(group) for group in set(groups)}
        return sizes.pop() * self.ranks_a_line if len(sizes) == 1 and not self.cut else None

    def fail(self, line: int, text: str) -> None:
        """Note a failure."""
        self.failures.append(Remark(line, text[:2000]))

    def close(self) -> tuple[tuple[Table, ...], Job]:
        """Return the tables (one per datatype, operation, root and repetition) and the job; notes what is wrong."""
        self._take_halves()
        self._leave_out_a_half()
        found = candidates(self.named, self.above, self.rows, self.heading, self.size_of_group)
        program = found[0] if len(found) == 1 else None
        groups = list(_groups(self.rows)) if self.heading else []
        if self.heading and not groups:
            self.fail(self.heading_line, f"a heading without any row: {program or self.named or 'no program named'}")
        if not self.heading_line and not self.failures:
            who = program or self.named or "no program named"
            self.fail(
                self.line,
                f"a mean without its table ({who}): it says nothing about any size; give the whole output"
                if self.averaged
                else f"a run that ended before its table: {who}",
            )
        if groups and not found and self.size_of_group:
            ranks = self.size_of_group
            self.fail(groups[0][0].line, f"busbw and algbw fit no program of nccl-tests with {ranks} ranks")
            self.spoiled = True
        self._check_ranks()
        self._check_sizes(groups, program)
        self._check_figures(found)
        self._check_average()
        tables = tuple(self._table(rows, program, found, place) for place, rows in enumerate(groups))
        job = Job(
            line=self.line,
            benchmark=program,
            version=self.version,
            ranks=tuple(self.ranks),
            tables=tuple(table.line for table in tables),
            settings=MappingProxyType(dict(self.settings)),
            avg_busbw_gb_s=self.average,
            out_of_bounds=self.out_of_bounds,
        )
        return tables, job

    def _take_halves(self) -> None:
        """Take rows that have only a first half, if it is so in all; else they are cut."""
        if not self.halves:
            return
        if not self.rows and not self.lost:
            self.rows = self.halves
            for row in self.rows:
                for text in row.wrong:
                    self.fail(row.line, text)
                    self.spoiled |= not text.startswith("wrong results")
            return
        if not self.lost:
            self.fail(self.halves[0].line, "a row that is cut, or mixed with another line")
        self.lost = self.spoiled = True

    def _leave_out_a_half(self) -> None:
        """Leave out the columns of a half that no row has."""
        heading = self.heading
        if heading is None or not self.rows or heading.half == len(heading.columns):
            return
        for mine in (slice(heading.half), slice(heading.half, None)):
            if not any(word for row in self.rows for word in row.words[mine]):
                other = slice(heading.half, None) if mine.start is None else slice(heading.half)
                self.heading = replace(heading, columns=heading.columns[other])
                self.rows = [row._replace(cells=row.cells[other], words=row.words[other]) for row in self.rows]
                return

    def _check_ranks(self) -> None:
        seen: dict[int, Rank] = {}
        for rank in self.ranks:
            first = seen.setdefault(rank.rank, rank)
            if first is not rank:
                self.fail(
                    rank.line,
                    f"rank {rank.rank} twice: line {first.line} has it on {first.host} (pid {first.pid}), line "
                    f"{rank.line} on {rank.host} (pid {rank.pid}): these are separate jobs, each with its own rank 0, "
                    "and not one job; build nccl-tests with MPI=1 and start one job",
                )
                self.cut = self.spoiled = True
                return
        missing = sorted(set(range(max(seen, default=-1) + 1)) - seen.keys())
        if missing and not self.cut and self.ranks_a_line == 1:
            self.fail(self.ranks[0].line, f"the list of ranks lacks rank {missing[0]}: a line of it is missing")
            self.cut = self.spoiled = True

    def _check_sizes(self, groups: Sequence[Sequence[Row]], program: str | None) -> None:
        due = requested_sizes(self.settings)
        first = {rows[0].kind: [row.size for row in rows] for rows in reversed(groups)}
        for rows in groups:
            sizes = [row.size for row in rows]
            wrong = mismatch(due, sizes, self.size_of_group, program != "alltoallv_perf")
            if not due and sizes != first[rows[0].kind]:
                wrong = "the tables of one run do not have the same sizes"
            if wrong:
                self.spoiled = True
                if self.out_of_bounds is not None or self.averaged:
                    self.fail(rows[0].line, f"rows are missing or mixed with another run's: {wrong}")
                    return

    def _check_figures(self, found: tuple[str, ...]) -> None:
        wrong = [(row.line, each) for row in self.rows for each in self._contradictions(row, found)]
        for line, text in wrong[:_SHOWN]:
            self.fail(line, text)
        self.spoiled |= bool(wrong)

    def _contradictions(self, row: Row, found: tuple[str, ...]) -> Iterator[str]:
        ranks, heading = self.size_of_group, self.heading
        if heading is None:
            return
        known = {column.name: place for place, column in enumerate(heading.columns)}
        early = heading.is_early is not False
        due = [way for program in found for way in ways(program, ranks, early)] if ranks else []
        timed = bool(found) and not NOT_SIZE_OVER_TIME.intersection(found) and set(found) <= FACTORS.keys()
        for half in ("", IN_PLACE):
            alg, bus, time = (_figure(row, known.get(name + half)) for name in ("algbw", "busbw", "time"))
            if alg is None or bus is None:
                continue
            where = f"{row.size} B{' in place' if half else ''}"
            fitting = [
                way for way in due if abs(bus.gb - alg.gb * way.factor) <= bus.half + alg.half * way.factor + 1e-9
            ]
            if due and not fitting:
                yield (
                    f"busbw {bus.word} GB/s at {where} contradicts algbw {alg.word} GB/s: of {' or '.join(found)} with "
                    f"{ranks} ranks it is {alg.gb * due[0].factor:.2f} GB/s"
                )
            if timed and time is not None and time.gb > 0 and "hip_event_time" + half not in known:
                rate = row.size / time.gb / 1e3
                if not any(_is_rate(alg, time, rate * way.share) for way in fitting or [Way(1.0)]):
                    yield (
                        f"algbw {alg.word} GB/s at {where} contradicts its time of {time.word} us, which is "
                        f"{rate:.2f} GB/s"
                    )

    def _check_average(self) -> None:
        if self.average is None or not self.rows or self.heading is None:
            return
        if self.settings.get("threads", 1) > 1:
            return  # in 2.0 each thread takes its own time: the first one's is printed, and the mean is of all
        places = [place for place, column in enumerate(self.heading.columns) if column.name.startswith("busbw")]
        values = [each for row in self.rows for place in places if (each := _figure(row, place)) is not None]
        if not values:
            return
        mean = math.fsum(each.gb for each in values) / len(values)
        half = math.fsum(each.half for each in values) / len(values)
        absurd = mean > 1e15  # its row is a failure of its own (wrong_lines)
        if not absurd and abs(mean - self.average) > half + 1e-5 * abs(self.average) + 1e-9:
            self.spoiled = True
            self.fail(
                self.average_line or self.line,
                f"the mean of all busbw is printed as {self.average:g} GB/s, but the rows here give {mean:.4f}: "
                "rows are missing or were changed",
            )

    def _table(self, rows: Sequence[Row], program: str | None, found: tuple[str, ...], place: int) -> Table:
        heading = self.heading
        assert heading is not None  # a run has rows only below a heading
        checks = [_validation(heading, row) for row in rows]
        names = ["size", "count", *(column.name for column in heading.columns)]
        units: list[str | None] = ["B", None, *(column.unit for column in heading.columns)]
        cells: list[tuple[Cell, ...]] = [(row.size, row.elements, *row.cells) for row in rows]
        if any(check is not None for check in checks):
            names, units = [*names, "validation"], [*units, None]
            cells = [(*row, check) for row, check in zip(cells, checks, strict=True)]
        return Table(
            tool="nccl",
            version=self.version,
            benchmark=program,
            columns=tuple(names),
            units=tuple(units),
            rows=tuple(cells),
            line=self.heading_line if place == 0 else rows[0].line,
            complete=(self.closed or (self.averaged and self.out_of_bounds is not None)) and not self.spoiled,
            context=MappingProxyType(self._context(rows, found)),
        )

    def _context(self, rows: Sequence[Row], found: tuple[str, ...]) -> dict[str, ContextValue]:
        datatype, redop, root = rows[0].kind
        context: dict[str, ContextValue] = {}
        if len(found) > 1:
            context["one_of"] = ", ".join(found)
        if self.library:
            context["library"] = self.library
        context["datatype"] = datatype
        if redop not in ("", "none"):
            context["redop"] = redop
        if root not in ("", "-1"):
            context["root"] = int(root)
        if self._shows_one_bandwidth(rows, found):
            context["algbw_is_busbw"] = True
        if self.heading and self.heading.after[:2] == ("algo", "proto"):
            context["algorithms"] = ", ".join(dict.fromkeys("/".join(row.after[:2]) for row in rows))[:200]
        context |= _of_ranks(self.ranks, self.size_of_group) | self.said
        context |= {name: self.settings[name] for name in _KEPT if name in self.settings}
        if self.out_of_bounds is not None:
            context["out_of_bounds"] = self.out_of_bounds
        if self.average is not None:
            context["avg_busbw_gb_s"] = self.average
        return context

    def _shows_one_bandwidth(self, rows: Sequence[Row], found: tuple[str, ...]) -> bool:
        """Return whether an early release printed the busbw as algbw, too."""
        heading, ranks = self.heading, self.size_of_group
        if heading is None or heading.is_early is False or len(found) != 1 or ranks == 1:
            return False
        if all(way.share == 1.0 for way in ways(found[0], ranks or _ANY_RANKS, True)):
            return False
        names = [column.name for column in heading.columns]
        pairs = [
            (names.index("algbw" + half), names.index("busbw" + half))
            for half in ("", IN_PLACE)
            if "algbw" + half in names
        ]
        return all(row.cells[alg] == row.cells[bus] for row in rows for alg, bus in pairs)


_ANY_RANKS = 8
_KEPT = ("threads", "gpus", "iterations", "warm_up", "aggregated", "validation", "graph", "unalign")


def _of_ranks(ranks: Sequence[Rank], size: int | None) -> dict[str, ContextValue]:
    if not ranks:
        return {}
    hosts = [rank.host for rank in ranks]
    each = {hosts.count(host) for host in set(hosts)}
    names = sorted({rank.name for rank in ranks})
    found: dict[str, ContextValue] = {"nodes": len(set(hosts)), "gpu": ", ".join(names)[:200]}
    if size is not None:
        found["ranks"] = size
        if len(each) == 1 and size == len(ranks):
            found["ranks_per_node"] = each.pop()
        elif len(ranks) != size:
            found["groups"] = len({rank.group for rank in ranks})
    return found


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the rows of one datatype, operation, root and repetition; a smaller size begins a repetition."""
    group: list[Row] = []
    for row in rows:
        if group and (row.kind != group[-1].kind or row.size < group[-1].size):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


class _PrintedFigure(NamedTuple):
    """A printed figure: its value in GB/s or us, half of its last digit, and the word."""

    gb: float
    half: float
    word: str


def _figure(row: Row, place: int | None) -> _PrintedFigure | None:
    value = None if place is None else row.cells[place]
    if place is None or value is None:
        return None
    word = row.words[place]
    mantissa, _, exponent = word.lower().partition("e")
    half = 0.5 * 10.0 ** ((int(exponent) if exponent else 0) - decimals(mantissa))
    return _PrintedFigure(float(word), half, word)


def _is_rate(alg: _PrintedFigure, time: _PrintedFigure, rate: float) -> bool:
    return abs(alg.gb - rate) <= rate * (time.half / time.gb + _SHARE) + alg.half


def _validation(heading: Heading, row: Row) -> bool | None:
    """Return whether no element was wrong; None if nothing was checked. ``error`` is a difference, not a count."""
    found = [cell for column, cell in zip(heading.columns, row.cells, strict=True) if column.name.startswith("wrong")]
    counts = [cell for cell in found if cell is not None]
    return all(cell == 0 for cell in counts) if counts else None


def requested_sizes(settings: Mapping[str, int]) -> tuple[int, ...]:
    """Return the sizes in bytes, rising, from the smallest by step or factor to the largest; none if unknown."""
    size, largest = settings.get("min_bytes"), settings.get("max_bytes")
    factor, step = settings.get("step_factor"), settings.get("step_bytes")
    if size is None or largest is None or (factor is None and step is None):
        return ()
    found: list[int] = []
    while size <= largest:
        found.append(size)
        following = size * factor if factor is not None else size + (step or 0)
        if following <= size or len(found) > _MOST:
            return ()
        size = following
    return tuple(found)


def mismatch(due: Sequence[int], sizes: Sequence[int], ranks: int | None, is_whole: bool = True) -> str | None:
    """Return which requested sizes are missing, or which size was not requested; None if the rows are as requested.

    ``is_whole`` False: printed sizes are not the requested ones (alltoallv), so only the rows are counted.
    """
    if not due:
        return None
    if not is_whole:
        return None if len(due) == len(sizes) else f"{count_of(len(sizes), 'row')} for {count_of(len(due), 'size')}"
    loss = _CUT_A_RANK * ranks + _WIDEST_ELEMENT if ranks else None
    place, missing = 0, []
    for wanted in due:
        if place < len(sizes) and sizes[place] <= wanted and _is_near(wanted, sizes[place], loss):
            place += 1
        else:
            missing.append(wanted)
    if place < len(sizes):
        return f"{message_size(sizes[place])} was not asked for, or is in the place of another size"
    if not missing:
        return None
    named = ", ".join(message_size(size) for size in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no row of {named}{more}; the run was asked for {count_of(len(due), 'size')}"


def _is_near(wanted: int, size: int, loss: int | None) -> bool:
    """Return whether a printed size is a wanted one without its remainder.

    ``loss`` None: the number of ranks is unknown. Then the printed size must be more than half of the wanted one, or so
    small that every rank's share may be nothing.
    """
    if loss is None:
        return size * 2 > wanted or size == 0
    return wanted - size < loss
