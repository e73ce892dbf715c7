"""Which program of nccl-tests printed a table: it names itself since 2.17; before that, its columns and figures tell.

The table ``_TAKES`` has what each program prints as operation and root (src/*.cu, functions ``…RunTest``).
"""

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from railyard.parsers.lines import decimals
from railyard.parsers.nccl_busbw import Way, ways
from railyard.parsers.nccl_words import GB, IN_PLACE, Heading

if TYPE_CHECKING:
    from railyard.parsers.nccl_run import Row

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
