"""How many operations a benchmark of NPB counts, so that its Mop/s and its time can be compared.

Each benchmark divides a number of operations by its time. The number follows from the printed size and iterations, and
CG's also from its class. UA's depends on the mesh, that of multi-zone runs on the zones: they are not known here.

Source: the printed mflops of bt.f, sp.f, lu.f, mg.f, ft.f, cg.f, ep.f and is.c in NPB 3.3.1; all outputs of these that
we know agree within the rounding of their time (NPB 3.2 to 3.4).
"""

import math
import re
from collections.abc import Callable, Mapping

from railyard.base.bounds import AGREEMENT_SHARE
from railyard.base.wording import number as shown
from railyard.parsers.lines import decimals, number

#: If a figure lost more than this share by rounding, it says nothing.
_TOLD_BY = 0.25
_LENGTHS = re.compile(r"[0-9]{1,15}")
#: CG: nonzeros in a row, by class.
_NONZEROS = {"S": 7, "W": 8, "A": 11, "B": 13, "C": 15, "D": 21, "E": 26}

Size = tuple[int, ...]


def _of_cg(size: Size, iterations: int, klass: str) -> float | None:
    nonzeros = _NONZEROS.get(klass)
    if nonzeros is None or len(size) != 1:
        return None
    row = nonzeros * (nonzeros + 1)
    return 2.0 * iterations * size[0] * (3 + row + 25 * (5 + row) + 3)


def _of_ft(size: Size, iterations: int, klass: str) -> float | None:
    points = math.prod(size)
    log = math.log(points)
    return points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * iterations)


def _polynomial(cubed: float, squared: float, once: float, constant: float) -> Callable[[Size, int, str], float | None]:
    """Return the operations of a solver on a grid: a polynomial in its points and its mean side."""

    def of(size: Size, iterations: int, klass: str) -> float | None:
        if len(size) != 3:
            return None
        side = sum(size) / 3
        return iterations * (cubed * math.prod(size) + squared * side**2 + once * side + constant)

    return of


_OPERATIONS: Mapping[str, Callable[[Size, int, str], float | None]] = {
    "BT": _polynomial(3478.8, -17655.7, 28023.7, 0.0),
    "CG": _of_cg,
    "EP": lambda size, iterations, klass: float(size[0]),
    "FT": _of_ft,
    "IS": lambda size, iterations, klass: float(iterations * size[0]),
    "LU": _polynomial(1984.77, -10923.3, 27770.9, -144010.0),
    "MG": _polynomial(58.0, 0.0, 0.0, 0.0),
    "SP": _polynomial(881.174, -4683.91, 11484.5, -19272.4),
}


def count_operations(benchmark: str, size: Size, iterations: int, klass: str) -> float | None:
    """Return the operations of a benchmark ("CG") of a size and a class ("C"); None if they are not known."""
    of = _OPERATIONS.get(benchmark)
    return of(size, iterations, klass) if of is not None and len(size) in (1, 3) and all(size) else None


def contradiction(benchmark: str, said: Mapping[str, str]) -> str | None:
    """Return which two figures of a result block cannot both be true; None if all agree, or if nothing follows.

    ``said`` has the printed words by "size", "class", "iterations", "time" (s), "performance" (Mop/s), "each" (Mop/s of
    one process or thread) and "parts" (how many there are).
    """
    rate, took = (number(said.get(name, "")) for name in ("performance", "time"))
    if not rate or rate < 0:
        return None
    return _with_time(benchmark, said, rate, took) or _with_parts(said, rate)


def _with_time(benchmark: str, said: Mapping[str, str], rate: float, took: float | None) -> str | None:
    size = tuple(map(int, _LENGTHS.findall(said.get("size", ""))))
    count = number(said.get("iterations", ""))
    if not isinstance(count, int) or not took or took < 0:
        return None
    operations = count_operations(benchmark, size, count, said.get("class", ""))
    if not operations or operations < 0 or (rounding := _rounding(said["time"], took)) > _TOLD_BY:
        return None
    due = operations / took / 1e6
    if abs(rate / due - 1) <= AGREEMENT_SHARE.value + 2 * rounding + _rounding(said["performance"], rate):
        return None
    return (
        f"{shown(rate)} Mop/s contradict size {said['size']} and time {shown(took)} s, which are {shown(due)} Mop/s: "
        "was the output changed?"
    )


def _with_parts(said: Mapping[str, str], rate: float) -> str | None:
    each, parts = (number(said.get(name, "")) for name in ("each", "parts"))
    if not each or not isinstance(parts, int) or parts < 1 or (rounding := _rounding(said["each"], each)) > _TOLD_BY:
        return None
    due = each * parts
    if abs(rate / due - 1) <= AGREEMENT_SHARE.value + 2 * rounding:
        return None
    return (
        f"{shown(rate)} Mop/s in total contradict {parts} processes or threads with {shown(each)} Mop/s each, which "
        f"are {shown(due)} Mop/s: was the output changed?"
    )


def _rounding(word: str, value: float) -> float:
    """Return how much of a printed value may be rounding, as a share of it."""
    return 0.5 * 10.0 ** -decimals(word) / abs(value)
