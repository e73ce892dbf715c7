"""Sweeps over numbers of nodes as drawings with their numbers: what an application gains from more nodes."""

from collections.abc import Mapping, Sequence

from railyard.base.clean_text import one_line
from railyard.results.record.form import Record
from railyard.results.report.lines import MOST_LINES, Chart, Line, lines_svg
from railyard.results.report.text import number
from railyard.results.scaling import Sweep
from railyard.results.sweeps import Group, sweeps

_LINEAR = "linear"


def sweep_charts(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return one chart per problem: its rate over the nodes for each fabric, number of rails and stack, and linear."""
    problems: dict[tuple[str, str, str], dict[Group, Sweep]] = {}
    for group, made in sweeps(records).items():
        problems.setdefault((group.system, group.benchmark, group.unit), {})[group] = made
    return tuple(_chart(benchmark, unit, found) for (_, benchmark, unit), found in problems.items())


def _chart(benchmark: str, unit: str, found: Mapping[Group, Sweep]) -> Chart:
    shown = dict(list(found.items())[: MOST_LINES - 1])  # linear takes one colour
    lines, rows, said = [], [], []
    for group, made in shown.items():
        nodes = tuple(float(point.nodes) for point in made.points)
        lines.append(Line(_place(group), nodes, tuple(point.rate for point in made.points)))
        said.append(f"{_place(group)}: {made.sentence}.")
        rows += [
            (
                *(_place(group), str(point.nodes), number(point.rate), f"{point.speedup:.2f}"),
                f"{100 * point.efficiency:.1f}",
                "" if point.serial_fraction is None else f"{point.serial_fraction:.3f}",
            )
            for point in made.points
        ]
    counts = sorted({at for line in lines for at in line.at})
    first = min(line.values[0] / line.at[0] for line in lines)
    lines.append(Line(_LINEAR, tuple(counts), tuple(first * at for at in counts)))
    title = f"{benchmark} over {', '.join(f'{at:g}' for at in counts)} nodes: {unit}"
    heads = ("test", "nodes", unit, "speed-up", "% of linear", "serial fraction")
    names = tuple(line.name for line in lines)
    return Chart(benchmark, lines_svg(lines, unit, "nodes", title), " ".join(said), names, heads, tuple(rows))


def _place(group: Group) -> str:
    rails = "1 rail" if group.rails == 1 else f"{group.rails} rails"
    made = "" if group.no_measurement is None else ", not measured"
    return one_line(f"{group.fabric}, {rails}, {group.stack}{made}")
