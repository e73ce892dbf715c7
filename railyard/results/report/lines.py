"""Several lines in one drawing, each with its own colour, dash and name: network signatures, and scaling over nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from railyard.base.clean_text import one_line
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record
from railyard.results.report.summary import key_figure
from railyard.results.report.svg import HEIGHT, axes_of, drawing, grid, path, round_px
from railyard.results.report.text import COMPUTED_MARK, COMPUTED_WORDS, number
from railyard.results.sweeps import Group, Sweep, sweeps

_LINEAR = "linear"
MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: abscissas in any order, one value each."""

    name: str
    at: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its heading, the words below it, and the names of its lines in the order of their colours.

    ``rows`` are its numbers, if they are few: cells under ``heads``.
    """

    heading: str
    drawing: Markup
    words: str
    names: tuple[str, ...]
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def lines_svg(lines: Sequence[Line], name: str, below: str, title: str, base: int = 2) -> Markup:
    """Return the drawing of up to eight lines, on a logarithmic abscissa named ``below`` with powers of ``base``."""
    shown = lines[:MOST_LINES]
    at = sorted({each for line in shown for each in line.at})
    axes = axes_of(at, [value for line in shown for value in line.values])
    parts = list(grid(axes, name, below, base))
    for index, line in enumerate(shown):
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.at, line.values, strict=True)]
        parts.append(f'<path class="many m{index}" d="{path(points)}"/>')
        dots = "".join(f"M{round_px(x)},{round_px(y)}h0" for x, y in points)
        parts.append(f'<path class="many-dots m{index}" d="{dots}"/>' if len(points) <= 12 else "")
    return drawing("".join(parts), one_line(title), HEIGHT)


def signatures(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return the network signature of NetPIPE's ping-pong: bandwidth over the time that a message takes.

    A line begins at the latency and ends at the bandwidth; the further left and the higher, the better the network.

    Source: Q. O. Snell, A. R. Mikler and J. L. Gustafson, "NetPIPE: A Network Protocol Independent Performance
    Evaluator" (1996).
    """
    of_signature = [
        one for one in records if one.test.benchmark in BENCHMARKS and BENCHMARKS[one.test.benchmark].signature
    ]
    lines = [_signature(one) for one in of_signature if one.found.state != "not-tested"]
    there = [line for line in lines if line is not None][:MOST_LINES]
    if not there:
        return ()
    made = any(curve.computed for one in of_signature for curve in one.found.curves)
    mark = COMPUTED_MARK if made else ""
    told = "; ".join(
        f"{one.name} from {number(one.at[0])}{mark} us to {number(max(one.values))}{mark} MB/s" for one in there
    )
    heading = of_signature[0].test.benchmark
    title = f"Network signature of {heading}: {told}"
    drawn = lines_svg(there, "bandwidth, MB/s", "time of a message, us", title, base=10)
    words = "Bandwidth over the time that a message takes: a line begins at the latency and ends at the peak."
    if made:
        words += f" {COMPUTED_WORDS}; the test's own curve marks which of them a source printed."
    return (Chart(heading, drawn, words, tuple(line.name for line in there)),)


def scalings(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return the key figure over the number of nodes, for each benchmark that ran on several numbers of them."""
    groups: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for record in records:
        figure = key_figure(record)
        if figure is None or record.found.state == "not-tested" or not record.where.nodes:
            continue
        lines = groups.setdefault((record.test.benchmark, f"{figure.name}, {figure.unit}"), {})
        lines.setdefault(_place(record), {})[len(record.where.nodes)] = figure.value
    charts = []
    for (benchmark, name), found in groups.items():
        lines = {place: points for place, points in found.items() if len(points) > 1}
        if lines:
            charts.append(_scaling(benchmark, name, lines))
    return tuple(charts)


def _scaling(benchmark: str, name: str, found: dict[str, dict[int, float]]) -> Chart:
    lines, rows = [], []
    for place, points in list(found.items())[:MOST_LINES]:
        nodes = tuple(sorted(points))
        lines.append(Line(place, tuple(map(float, nodes)), tuple(points[count] for count in nodes)))
        first = points[nodes[0]]
        for count in nodes:
            times = points[count] / first if first else 0.0
            share = 100 * times * nodes[0] / count
            rows.append((place, str(count), number(points[count]), f"{times:.2f}", f"{share:.1f}"))
    title = f"{benchmark} over {', '.join(sorted({row[1] for row in rows}, key=int))} nodes: {name}"
    drawn = lines_svg(lines, name, "nodes", title)
    words = "For a figure that should grow with the nodes (a rate of the whole), the last column is the efficiency."
    heads = ("test", "nodes", name, "times the first", "% per node")
    return Chart(benchmark, drawn, words, tuple(line.name for line in lines), heads, tuple(rows))


def _signature(record: Record) -> Line | None:
    curve = next((one for one in record.found.curves if one.metric == "bandwidth"), None)
    if curve is None:
        return None
    points = [(at / value, value) for at, value in zip(curve.sizes, curve.values, strict=True) if at > 0 and value > 0]
    if not points:
        return None
    # MB/s is 10^6 B/s, so bytes over MB/s are microseconds
    return Line(_place(record), tuple(time for time, _ in points), tuple(value for _, value in points))


def _place(record: Record) -> str:
    rails = "1 rail" if record.test.rails == 1 else f"{record.test.rails} rails"
    return one_line(f"{record.where.fabric}, {rails}, {record.test.stack}")


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
        lines.append(Line(_group_place(group), nodes, tuple(point.rate for point in made.points)))
        said.append(f"{_group_place(group)}: {made.sentence}.")
        rows += [
            (
                *(_group_place(group), str(point.nodes), number(point.rate), f"{point.speedup:.2f}"),
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


def _group_place(group: Group) -> str:
    rails = "1 rail" if group.rails == 1 else f"{group.rails} rails"
    made = "" if group.no_measurement is None else ", not measured"
    return one_line(f"{group.fabric}, {rails}, {group.stack}{made}")
