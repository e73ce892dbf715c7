"""How an application scales over nodes: speed-up, efficiency, the serial fraction, and where efficiency breaks.

In strong scaling, more nodes share the same problem; in weak scaling, each node has the same problem. Speed-up is the
ratio of rates, which for one problem is the ratio of times: S(n) = R(n) n1 / R(n1), if the smallest point is on n1
nodes (n1 is usually 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import listing, percent

#: Below this share of linear, scaling has broken down: by convention, half of the nodes' work is then lost.
BREAKS_BELOW = 0.5

Kind = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True)
class Point:
    """One number of nodes: the rate there (higher is better), S, S/n, and Karp and Flatt's serial fraction.

    ``serial_fraction`` is None on the smallest number of nodes, in weak scaling, and if no point is on one node.
    """

    nodes: int
    rate: float
    speedup: float
    efficiency: float
    serial_fraction: float | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All points of a sweep in rising order, and the intended numbers of nodes that have no value."""

    kind: Kind
    points: tuple[Point, ...]
    missing: tuple[int, ...]

    @property
    def breaks_at(self) -> int | None:
        """Return the first number of nodes whose efficiency is below ``BREAKS_BELOW``, None if none is."""
        return next((point.nodes for point in self.points if point.efficiency < BREAKS_BELOW), None)

    @property
    def sentence(self) -> str:
        """The sweep in a sentence: how far it holds, its serial fraction's trend, and the points that were not run."""
        last = self.points[-1]
        said = [f"{percent(last.efficiency)} of linear on {last.nodes} nodes"]
        if self.breaks_at is not None:
            said.append(f"below {percent(BREAKS_BELOW)} from {self.breaks_at} nodes on")
        fractions = [point.serial_fraction for point in self.points if point.serial_fraction is not None]
        if last.speedup < self.points[0].speedup:
            said.append(f"slower than on {self.points[0].nodes}: the nodes lose more between them than they share")
        elif fractions:
            said.append(_fraction_said(fractions))
        if self.missing:
            nodes = listing([str(count) for count in self.missing])
            said.append(f"not run: {nodes} nodes")
        return "; ".join(said)


def sweep(rates: Mapping[int, float], kind: Kind = "strong", meant: Sequence[int] = ()) -> Sweep:
    """Return the sweep of rates by number of nodes; ``meant`` are the numbers of nodes that it should have.

    In weak scaling, too, the rate is that of the whole problem (Gflop/s, Mop/s), so linear is the same line.

    Raises ValueError for no rate at all, and for a number of nodes or a rate that is not positive.

    Source: G. M. Amdahl, AFIPS Conf. Proc. 30 (1967) 483-485 (speed-up of a fixed problem); J. L. Gustafson, Comm. ACM
    31 (1988) 532-533 (of one that grows); A. H. Karp and H. P. Flatt, Comm. ACM 33 (1990) 539-543 (serial fraction).
    """
    if not rates:
        raise ValueError("found a sweep without points")
    for nodes, rate in rates.items():
        if nodes < 1 or not rate > 0:
            raise ValueError(f"a rate of {rate} on {nodes} nodes, expected more than 0 on at least 1")
    first = min(rates)
    points = []
    for nodes in sorted(rates):
        speedup = rates[nodes] * first / rates[first]
        told = kind == "strong" and first == 1 and nodes > 1
        fraction = karp_flatt(speedup, nodes) if told else None
        points.append(Point(nodes, rates[nodes], speedup, speedup / nodes, fraction))
    return Sweep(kind, tuple(points), tuple(count for count in sorted(set(meant)) if count not in rates))


def karp_flatt(speedup: float, nodes: int) -> float:
    """Return the serial fraction e = (1/S - 1/n) / (1 - 1/n) that was measured on n nodes, n at least 2.

    If it is level over n, it is work that the nodes cannot share; if it rises with n, it is communication and waiting.
    It is negative if the speed-up is more than linear (caches). Here n counts nodes, not processes.
    """
    if nodes < 2:
        raise ValueError(f"a serial fraction on {nodes} nodes, expected at least 2")
    return (1 / speedup - 1 / nodes) / (1 - 1 / nodes)


def _fraction_said(fractions: Sequence[float]) -> str:
    first, last = fractions[0], fractions[-1]
    if len(fractions) == 1:
        return f"serial fraction {last:.3f}"
    # Single runs cannot show more than this: level within a tenth of its value, or within a thousandth.
    if last - first > max(0.1 * abs(first), 0.001):
        return f"serial fraction {first:.3f} rising to {last:.3f}: communication and waiting, not serial work"
    level = f"{last:.3f} throughout" if f"{first:.3f}" == f"{last:.3f}" else f"{first:.3f} to {last:.3f}, not rising"
    return f"serial fraction {level}: work that the nodes cannot share"
