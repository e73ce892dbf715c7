"""What a parser read, as text for a terminal: each table with its key figures and a plot, then failures and remarks."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from railyard.base.terminal import blocks, fold_words, wrap_lines
from railyard.base.values import one_line
from railyard.base.wording import count_of, listing, message_size
from railyard.benchmarks.metrics import curves, key_figures, key_of
from railyard.benchmarks.model import Curve, Figure
from railyard.parsers.fabric.port import WAIT, PortState, has_small_mtu, port_remarks, port_words
from railyard.parsers.nccl_said import Job, Log, LogSentence, NcclOutput
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.unread_rows import unread_rows
from railyard.results.report.hardware_text import hardware_parts, hardware_remarks
from railyard.results.report.text import number

_MOST = 8
_MOST_ROWS = 40
_MOST_FAILURES = 20
_MOST_REMARKS = 5
_MOST_DECIMALS = 3
_LONGEST_FRACTION = 8
_LONGEST_NUMBER = 20
_LARGEST_WRITTEN_OUT = 1e15
_FEWEST_PLOTTED = 4
_WIDEST_PLOT = 72
_NOTHING = "–"
#: Figures whose name here is not their own without underscores.
_FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "small_message_latency": "latency",
        "large_message_latency": "latency",
        "n_half": "N½",
    }
)
#: Columns to plot over the size (else over the row's number) if metrics.py does not know the benchmark.
_PLOTTED = ("bandwidth", "busbw", "latency", "avg", "time", "time_avg", "time_typical", "overall")
_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = len(_BLOCKS) - 1
_WIDEST_BAR = 2


def parsed_text(parsed: ParsedOutput, file: str | None = None, *, width: int = 100) -> str:
    """Return everything that was read, under the file's name if one is given; ends with a newline.

    Long tables are shown without their middle, long lists without their end, and the text says so: the JSON form has
    all. Control codes in the output are removed.
    """
    parts = [] if file is None else [f"{one_line(file)}:"]
    parts += [_table(table, width) for table in parsed.tables]
    parts += [_ports(parsed, width)] if parsed.fabric else []
    parts += hardware_parts(parsed.hardware, lambda columns: _columns(columns, 1, width))
    parts += [fold_words(remark, width, "  ") for remark in hardware_remarks(parsed.hardware)]
    parts += [fold_words(remark, width, "  ") for remark in port_remarks(parsed.fabric)]
    parts += [wrap_lines(part, width) for part in nccl_lines(parsed.nccl)] if parsed.nccl else []
    parts += _list_remarks("failure", parsed.failures, _MOST_FAILURES, width)
    parts += _list_remarks("remark", parsed.remarks, _MOST_REMARKS, width)
    if not (parsed.tables or parsed.fabric or parsed.hardware):
        unread = unread_rows(parsed)
        why = "nothing was measured, or nothing of it was printed" if unread is None else unread
        parts.append(fold_words(f"no table: {why}", width, "  "))
    return "\n\n".join(parts) + "\n"


def _table(table: Table, width: int) -> str:
    lines = [*_title(table, width), *_rows(table, width)]
    key = key_of(table)
    made, why_not = _curves(table, key) if key else ((), None)
    if key and made:
        sized = "size" in table.columns
        lines += ["", fold_words(", ".join(_figure_words(each, sized) for each in key_figures(made, key)), width, "  ")]
    elif why_not:
        lines += ["", fold_words(f"no key figures: {one_line(why_not)}", width, "  ")]
    drawn = [line for curve in made for line in _curve_plot(curve, width)]
    lines += drawn or _column_plot(table, width)
    return "\n".join(lines)


def _title(table: Table, width: int) -> list[str]:
    """Return ``osu_bw (osu 7.4), line 12: 23 rows``, whether some are missing, and the context, folded."""
    release = f"{table.tool} {one_line(table.version)}" if table.version else table.tool
    count = count_of(len(table.rows), "row", ",")
    state = "" if table.complete else "; INCOMPLETE: the text shows that rows are missing"
    title = f"{one_line(table.benchmark or 'no benchmark named')} ({release}), line {table.line}: {count}{state}"
    lines = [fold_words(title, width, "  ")]
    words = (f"{key.replace('_', ' ')} {_format_context(value)}" for key, value in table.context.items())
    return lines + textwrap.wrap(one_line(", ".join(words)), width, initial_indent="  ", subsequent_indent="  ")


def _format_context(value: ContextValue) -> str:
    return {True: "yes", False: "no", None: _NOTHING}[value] if isinstance(value, bool | None) else str(value)


def _rows(table: Table, width: int) -> list[str]:
    """Return the head of two lines (column, unit), a rule, and the rows; of a long table, the first and last ones.

    If the table is wider than the terminal, a single row is turned: one line per column. With several rows, the columns
    that do not fit follow below, after a repeated first column.
    """
    columns = [_column(table.column(name)) for name in table.columns]
    heads = [(one_line(name), unit or "") for name, unit in zip(table.columns, table.units, strict=True)]
    left_out = len(table.rows) - _MOST_ROWS
    half = _MOST_ROWS // 2
    if left_out > 1:
        columns = [cells[:half] + cells[-half:] for cells in columns]
    whole = [[*head, *cells] for head, cells in zip(heads, columns, strict=True)]
    if len(table.rows) == 1 and len(_column_lines(whole)[-1]) > width:
        names = max(len(name) for name, _ in heads)
        values = max((len(cells[0]) for cells in columns if len(cells[0]) <= _LONGEST_NUMBER), default=0)
        pairs = zip(heads, columns, strict=True)
        upright = [f"{name:<{names}}  {cells[0]:>{values}} {unit}".rstrip() for (name, unit), cells in pairs]
        return [fold_words(line, width, " " * (names + 2)) for line in upright]
    parts = [_column_lines(part) for part in _fit_columns(whole, 1, width)]
    if left_out > 1:
        for lines in parts:
            lines.insert(len(lines) - half, f"… {left_out:,} rows more: --json prints them …")
    return [line for number, lines in enumerate(parts) for line in ([""] * (number > 0) + lines)]


def _fit_columns(columns: Sequence[Sequence[str]], repeated: int, width: int) -> list[list[Sequence[str]]]:
    """Return the columns in tables that fit; each begins with the first ``repeated`` columns, which name the row."""
    first, rest = columns[:repeated], columns[repeated:]
    room = width - sum(max(map(len, cells)) + 2 for cells in first) + 2
    parts = blocks([max(map(len, cells)) + 2 for cells in rest], room)
    return [[*first, *(rest[place] for place in part)] for part in parts] or [[*first]]


def _column_lines(columns: Sequence[Sequence[str]], flush_left: bool = False) -> list[str]:
    """Return the lines of columns whose first two cells are the head; its second line only if a column has one."""
    widths = [max(map(len, cells)) for cells in columns]
    lines = [
        "  ".join(
            cell.ljust(wide) if flush_left else cell.rjust(wide) for cell, wide in zip(cells, widths, strict=True)
        ).rstrip()
        for cells in zip(*columns, strict=True)
    ]
    head = [line for line in lines[:2] if line]
    return [*head, "─" * (sum(widths) + 2 * (len(widths) - 1)), *lines[2:]]


def _column(cells: Sequence[Cell]) -> list[str]:
    """Return the cells with as many decimals as the column needs to show three digits of its smallest value."""
    floats = [cell for cell in cells if isinstance(cell, float)]
    smallest = min((abs(cell) for cell in floats if cell), default=1.0)
    most = max(_MOST_DECIMALS, 2 - math.floor(math.log10(smallest)))
    if most > _LONGEST_FRACTION or max(map(abs, floats), default=0.0) >= _LARGEST_WRITTEN_OUT:
        return [f"{cell:.6g}" if isinstance(cell, float) else _cell(cell) for cell in cells]
    digits = max((len(f"{cell:.{most}f}".rstrip("0").partition(".")[2]) for cell in floats), default=0)
    return [f"{cell:.{digits}f}" if isinstance(cell, float) else _cell(cell) for cell in cells]


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, bool):
        return "pass" if cell else "FAIL"
    return _NOTHING if cell is None else str(cell)


def _curves(table: Table, key: str) -> tuple[tuple[Curve, ...], str | None]:
    """Return the table's curves, or none and the reason: several groups, a cell without a number, too few rows."""
    try:
        return curves(table, key), None
    except ValueError as error:
        return (), str(error)


def _figure_words(figure: Figure, sized: bool) -> str:
    size = figure.size_words if sized else ""
    return f"{_FIGURES.get(figure.name, figure.name.replace('_', ' '))} {number(figure.value)} {figure.unit}{size}"


def _curve_plot(curve: Curve, width: int) -> list[str]:
    if len(curve.sizes) < _FEWEST_PLOTTED:
        return []
    slow = curve.unit == "us"
    ends = (message_size(curve.sizes[0]), message_size(curve.sizes[-1]))
    title = f"{curve.metric.replace('_', ' ')}, {curve.unit}{' (logarithmic)' if slow else ''}"
    return ["", title, *plot(curve.values, ends, width=min(width, _WIDEST_PLOT), logarithmic=slow)]


def _column_plot(table: Table, width: int) -> list[str]:
    name = next((name for name in _PLOTTED if name in table.columns), None)
    if name is None or len(table.rows) < _FEWEST_PLOTTED:
        return []
    sizes = table.column("size") if "size" in table.columns else ()
    values = [cell for cell in table.column(name) if isinstance(cell, int | float)]
    if len(values) != len(table.rows) or max(values) <= 0:
        return []
    first, last = (sizes[0], sizes[-1]) if sizes else (None, None)
    ends = ("row 1", f"row {len(values)}")
    if isinstance(first, int) and isinstance(last, int):
        ends = (message_size(first), message_size(last))
    unit = table.units[table.columns.index(name)]
    slow = unit == "us"
    title = f"{name.replace('_', ' ')}, {unit}{' (logarithmic)' if slow else ''}"
    return ["", title, *plot(values, ends, width=min(width, _WIDEST_PLOT), logarithmic=slow)]


def _ports(parsed: ParsedOutput, width: int) -> str:
    """Return the ports as a table, with a column for everything that is printed for at least one port.

    Columns that do not fit into the width follow below, after node, device and port again.
    """
    columns: list[list[str]] = []
    named = 0
    for head, unit, said in _PORT_COLUMNS:
        cells = [said(port) for port in parsed.fabric]
        if any(cell not in (None, "") for cell in cells):
            columns.append([head, unit, *(one_line(_cell(cell)) for cell in cells)])
            named += head in _NAMES_OF_A_PORT
    return f"{count_of(len(parsed.fabric), 'port', ',')}\n{_columns(columns, named, width)}"


def _columns(columns: Sequence[Sequence[str]], named: int, width: int) -> str:
    """Return columns of texts as tables that fit into the width, one below the other."""
    return "\n\n".join("\n".join(_column_lines(part, flush_left=True)) for part in _fit_columns(columns, named, width))


def _peer(port: PortState) -> str | None:
    peer = port.peer
    if peer is None:
        return None
    where = " ".join(word for word in (peer.node, peer.device) if word)
    return where if peer.port is None else f"{where} port {peer.port}"


def _possible(port: PortState) -> str | None:
    if not port.is_degraded:
        return None
    return f"slower than {port.best_width or ''} {port.best_speed or ''}, {port.best_from}"


def _errors(port: PortState) -> str | None:
    """Return the error counters that are not 0; one at its largest value may have missed errors."""
    words = (f"{name} {'≥ ' if name in port.saturated else ''}{count:,}" for name, count in port.errors.items())
    return ", ".join(words) or None


def _mtu(port: PortState) -> str | None:
    if port.mtu_bytes is None:
        return None
    return f"{port.mtu_bytes} of {port.max_mtu_bytes}" if has_small_mtu(port) else str(port.mtu_bytes)


def _waits(port: PortState) -> str | None:
    return f"{WAIT} {port.counters[WAIT]:,}" if port.counters.get(WAIT) else None


#: Head, unit, and the content of the column; of counters only the errors, --json has the traffic too.
_PORT_COLUMNS: tuple[tuple[str, str, Callable[[PortState], Cell | str]], ...] = (
    ("node", "", lambda port: port.node),
    ("device", "", lambda port: port.device),
    ("port", "", lambda port: port_words(port.port)),
    ("state", "", lambda port: port.state),
    ("physical state", "", lambda port: port.physical_state),
    ("rate", "Gbit/s", lambda port: None if port.rate is None else f"{port.rate:g}"),
    ("width", "", lambda port: port.width),
    ("speed", "", lambda port: port.speed),
    ("lid", "", lambda port: port.lid),
    ("link layer", "", lambda port: port.link_layer),
    ("MTU", "", _mtu),
    ("netdev", "", lambda port: port.netdev),
    ("peer", "", _peer),
    ("degraded", "", _possible),
    ("errors", "", _errors),
    ("congestion", "", _waits),
)
_NAMES_OF_A_PORT = ("node", "device", "port")


def _list_remarks(what: str, remarks: Sequence[Remark], most: int, width: int) -> list[str]:
    if not remarks:
        return []
    lines = [count_of(len(remarks), what, ",")]
    lines += [
        fold_words(f"line {remark.line}: {one_line(remark.text)}", width, "    ", "  ") for remark in remarks[:most]
    ]
    lines += [f"  … {len(remarks) - most:,} more: --json prints them"] if len(remarks) > most else []
    return ["\n".join(lines)]


def plot(
    values: Sequence[float], ends: tuple[str, str], *, width: int = 60, height: int = 6, logarithmic: bool = False
) -> list[str]:
    """Return ``height`` lines of bars, one bar per value, and a line below with the two ``ends`` of the axis.

    ``width`` is in columns, with the labels of the vertical axis. If there are more values than fit, each bar is the
    largest of its neighbours. The axis begins at 0, a logarithmic one at the smallest value above 0; a value below it
    has no bar.
    """
    low = min((value for value in values if value > 0), default=0.0) if logarithmic else 0.0
    labels = (number(max(values)), number(low))
    gutter = max(map(len, labels))
    room = max(8, width - gutter - 2)
    kept = _thin_values(values, room)
    bar = max(1, min(_WIDEST_BAR, room // len(kept)))
    eighths = [_share(value, low, max(values), logarithmic) * height * _EIGHTHS for value in kept]
    lines = []
    for row in range(height - 1, -1, -1):
        label = labels[0] if row == height - 1 else labels[1] if row == 0 else ""
        blocks = (_BLOCKS[max(0, min(_EIGHTHS, round(each) - row * _EIGHTHS))] * bar for each in eighths)
        lines.append(f"{label:>{gutter}} {'┤' if label else '│'}{''.join(blocks)}".rstrip())
    first, last = ends
    lines.append(f"{'':{gutter + 2}}{first}{last.rjust(max(1 + len(last), bar * len(kept) - len(first)))}")
    return lines


def _thin_values(values: Sequence[float], most: int) -> list[float]:
    """Return the values, or at most ``most`` of them: the largest of each group of neighbours."""
    each = math.ceil(len(values) / most)
    return [max(values[at : at + each]) for at in range(0, len(values), each)]


def _share(value: float, low: float, high: float, logarithmic: bool) -> float:
    """Return which share of the height a value takes; at least one eighth of a line for a value on the axis."""
    if value < low or high <= 0:
        return 0.0
    if not logarithmic:
        return value / high
    decades = math.log10(high / low)
    least = 0.02
    return least + (1 - least) * (math.log10(value / low) / decades if decades > 0 else 1.0)


def nccl_lines(said: NcclOutput) -> list[str]:
    """Return the parts of a text: one for the jobs, one for the log; a missing one is left out."""
    return [*_jobs(said.jobs), *_log(said.log)]


def _jobs(jobs: Sequence[Job]) -> list[str]:
    named = [job for job in jobs if job.ranks]
    lines = []
    for job in named[:_MOST]:
        apart = f", separate from that of line {job.separate_from}" if job.separate_from else ""
        where = listing([one_line(host) for host in job.hosts[:4]]) + (" …" if len(job.hosts) > 4 else "")
        program, ranks = one_line(job.benchmark or "no program named"), count_of(len(job.ranks), "rank", ",")
        lines.append(f"  line {job.line}: {program}, {ranks} on {where}{apart}")
    more = [f"  … {len(named) - _MOST:,} more: --json prints them"] if len(named) > _MOST else []
    return ["\n".join([count_of(len(named), "job", ","), *lines, *more])] if named else []


def _log(log: Log | None) -> list[str]:
    if log is None:
        return []
    lines = ["log of NCCL or RCCL"]
    lines += _tally("version", (said.text for said in log.versions))
    lines += _tally("network", (said.text for said in log.networks))
    lines += _tally(
        "NIC", (f"{nic.name}:{nic.port}/{nic.kind}" if nic.port else f"{nic.name}/{nic.kind}" for nic in log.nics)
    )
    lines += _tally("way", (link.transport + ("/GDRDMA" if link.gdr else "") for link in log.links))
    lines += _tally("algorithm", (f"{each.algorithm}/{each.protocol}" for each in log.choices))
    lines += _tally("channels", (said.text for said in log.channels))
    if log.members:
        ranks = {(member.rank, member.ranks) for member in log.members}
        lines.append(f"  communicator: {count_of(len(ranks), 'rank', ',')} of {max(each for _, each in ranks):,}")
    lines += _list_first("fallback", log.fallbacks)
    lines += _list_first("warning", log.warnings)
    return ["\n".join(lines)]


def _tally(what: str, texts: Iterable[str]) -> list[str]:
    """Return "network: IB (16 times)", the most frequent first; nothing if the log has none."""
    counts = Counter(map(one_line, texts)).most_common()
    words = [f"{text} ({count_of(times, 'time', ',')})" for text, times in counts[:_MOST]]
    more = [f"{len(counts) - _MOST} more"] if len(counts) > _MOST else []
    return [f"  {what}: {', '.join([*words, *more])}"] if words else []


def _list_first(what: str, said: Sequence[LogSentence]) -> list[str]:
    firsts: dict[str, LogSentence] = {}
    for each in said:
        firsts.setdefault(each.text, each)
    counts = Counter(each.text for each in said)
    lines = [
        f"  {what}, line {first.line}: {one_line(text)} ({count_of(counts[text], 'time', ',')})"
        for text, first in list(firsts.items())[:_MOST]
    ]
    return lines + ([f"  … {len(firsts) - _MOST} more: --json prints them"] if len(firsts) > _MOST else [])
