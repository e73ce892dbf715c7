"""What a page says of all tests together: where references and limits come from, and what was not tested and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.base.clean_text import one_line
from railyard.results.record.form import NodeGroup, Record
from railyard.site.matrix import Cell


@dataclass(frozen=True, slots=True)
class Basis:
    """A reference or a limit that verdicts rest on: its name, kind and source, and how many tests it judged."""

    name: str
    kind: str
    source: str
    tests: int


def bases(records: Iterable[Record]) -> tuple[Basis, ...]:
    """Return each reference and each limit of the records' curves once, references first, by name."""
    used: dict[tuple[str, str, str], int] = {}
    for record in records:
        mine = {(band.id, band.kind, band.source) for curve in record.curves for band in curve.bands}
        mine |= {(curve.limit.terms, "limit", curve.limit.source) for curve in record.curves if curve.limit}
        for key in mine:
            used[key] = used.get(key, 0) + 1
    ordered = sorted(used.items(), key=lambda item: (item[0][1] == "limit", item[0]))
    return tuple(Basis(name, kind, source, tests) for (name, kind, source), tests in ordered)


def holes(cells: Sequence[Cell]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the cells of the matrix that do not run, by their reason: ``hsn, 1 rail, mpich: imb/PingPong``."""
    found: dict[str, dict[tuple[str, str], dict[int, list[str]]]] = {}
    for cell in cells:
        if cell.reason:
            test = cell.test
            place = found.setdefault(cell.reason, {}).setdefault((test.fabric, test.stack), {})
            place.setdefault(test.rails, []).append(test.benchmark)
    return tuple((reason, tuple(_places(places))) for reason, places in found.items())


def _places(places: dict[tuple[str, str], dict[int, list[str]]]) -> Iterable[str]:
    for (fabric, stack), by_rails in places.items():
        for rails, benchmarks in by_rails.items():
            count = f"{len(benchmarks)} benchmarks" if len(benchmarks) > 3 else ", ".join(benchmarks)
            yield one_line(f"{fabric}, {rails} {'rail' if rails == 1 else 'rails'}, {stack}: {count}")


def hosts(records: Iterable[Record]) -> tuple[NodeGroup, ...]:
    """Return the groups of nodes that records describe, each once."""
    found: dict[str, NodeGroup] = {}
    for record in records:
        for group in record.hardware:
            found.setdefault(repr((group.nodes, sorted(group.facts.items()), sorted(group.devices))), group)
    return tuple(found.values())
