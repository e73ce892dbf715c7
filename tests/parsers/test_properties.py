"""What holds for every parser and any text: hypothesis, and the structure of every pattern."""

import importlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railyard.parsers import PARSERS, Cell, Parsed, ParseError

try:
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as pattern_parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as codes
    import sre_parse as pattern_parser

RECORDINGS = Path(__file__).parents[1] / "recordings"
OSU = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 2 ] [ window size: 8 ]\n# Datatype: MPI_CHAR.\n"
    "# Size                  MB/s        Messages/s\n65536                 107.92           1646.66\n"
    "131072                 98.65            752.66\n262144                 97.26            371.03\n"
    "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n1   22.25    Pass\n16   22.34    Pass\n"
)
TEXTS = [("osu", OSU)] + [
    (path.name[: re.search(r"\d", path.name).start()], path.read_text(encoding="utf-8"))  # type: ignore[union-attr]
    for path in sorted(RECORDINGS.glob("*.out"))
]
CONSOLE = [(tool, text) for tool, text in TEXTS if "#" in text or "times -->" in text]
NOISE = (
    "",
    "[node2:2290964] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    "[1753684564.462789] [node2:2290969:0]     ucp_context.c:1774 UCX  WARN  UCP version is incompatible",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "CMA: no RDMA devices found",
    "real 5.93",
    "x" * 5000,
)


def values(parsed: Parsed) -> dict[tuple[int, int], tuple[Cell, ...]]:
    """Return every row by its table's line and its place there."""
    return {(table.line, place): row for table in parsed.tables for place, row in enumerate(table.rows)}


def judged(parsed: Parsed) -> list[Any]:
    return [(table.benchmark, table.version, table.columns, table.rows, table.complete) for table in parsed.tables]


@pytest.mark.parametrize("tool", PARSERS)
@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                [
                    *("# OSU MPI Bandwidth Test v5.8", "# Size Bandwidth (MB/s)", "1 2.00", "2 3.00", "4", "...", "#"),
                    *("# Benchmarking PingPong", "#bytes #repetitions t[usec] Mbytes/sec", "8 10 4.00 2.00", "8 10"),
                    *("Now starting the main loop", "0: 1 bytes 10 times --> 1.00 Mbps in 8.00 usec", "\x0c", "\r"),
                    *("9" * 400 + " 1.00", "1 " + "9" * 400 + ".00", "8 10 1e999 2.00", "٣ 1.00", "nan nan", "-1 2.00"),
                    *(
                        "# OSU MPI Init Test v7",
                        "nprocs: 2, min: . ms, max: 1.2.3 ms, avg: 4 ms",
                        "0:1 bytes 1 times -->",
                    ),
                    *(
                        "       1 5.944874   0.00000128",
                        "0.1 0.1 8 1 0.0",
                        "Segmentation fault",
                        "IMB-MPI1",
                        "1 1 1 1 1",
                    ),
                ]
            )
        ).map("\n".join),
    )
)
def test_any_text_gives_tables_or_a_parse_error(tool: str, text: str) -> None:
    try:
        parsed = PARSERS[tool](text)
    except ParseError:
        return
    assert parsed.tables or parsed.failures or parsed.remarks
    assert all(table.rows for table in parsed.tables)
    for row in values(parsed).values():
        assert all(cell is None or math.isfinite(cell) for cell in row)


@pytest.mark.parametrize(("tool", "text"), TEXTS)
def test_an_output_cut_at_any_byte_gives_no_value_that_the_whole_lacks(tool: str, text: str) -> None:
    whole = values(PARSERS[tool](text))
    assert whole
    # every place of the text's end, and every 7th before it: rows are alike
    for cut in sorted({*range(max(1, len(text) - 250), len(text)), *range(1, len(text), 7)}):
        try:
            part = values(PARSERS[tool](text[:cut]))
        except ParseError:
            continue
        assert part.items() <= whole.items(), f"cut at {cut}"


@pytest.mark.parametrize(("tool", "text"), CONSOLE)
@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_lines_changes_no_value(tool: str, text: str, noise: str) -> None:
    lines = text.split("\n")
    whole = judged(PARSERS[tool](text))
    for place in range(0, len(lines), 3):
        noisy = "\n".join([*lines[:place], noise, *lines[place:]])
        assert judged(PARSERS[tool](noisy)) == whole, f"before line {place + 1}"


def patterns() -> list[Any]:
    """Return every compiled pattern of the parsers, found in the modules' names and the tuples they hold."""
    modules: list[ModuleType] = [
        importlib.import_module(f"railyard.parsers.{name}") for name in ("lines", "imb", "netpipe", "osu", "osutitles")
    ]
    found = []
    for module in modules:
        for name, value in vars(module).items():
            for one in value if isinstance(value, tuple) else (value,):
                one = one[0] if isinstance(one, tuple) and one else one
                if isinstance(one, re.Pattern):
                    found.append(pytest.param(one, id=f"{module.__name__.rpartition('.')[2]}.{name}"))
    return found


def repeats(tree: Any, inside: bool, seen: list[str]) -> None:
    """Collect every unbounded repeat that stands inside another: only these can take more than polynomial time."""
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            unbounded = argument[1] is codes.MAXREPEAT
            if unbounded and inside:
                seen.append(str(argument[2]))
            repeats(argument[2], inside or unbounded, seen)
        elif code is codes.SUBPATTERN:
            repeats(argument[3], inside, seen)
        elif code is codes.BRANCH:
            for branch in argument[1]:
                repeats(branch, inside, seen)


@pytest.mark.parametrize("pattern", patterns())
def test_no_pattern_has_an_unbounded_repeat_inside_another(pattern: re.Pattern[str]) -> None:
    seen: list[str] = []
    repeats(pattern_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), False, seen)
    assert seen == []


@pytest.mark.parametrize("tool", PARSERS)
@pytest.mark.parametrize("line", [" " * 2**20, "1 " * 2**19, "# " * 2**19, "9" * 2**20, "a" * 2**20, "# OSU " * 2**17])
def test_a_line_of_a_megabyte_is_read_to_its_end(tool: str, line: str) -> None:
    texts: dict[str, Callable[[str], str]] = {
        "imb": lambda inside: (
            f"# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n{inside}\n8 9 4.00 2.00\n"
        ),
        "netpipe": lambda inside: f"{inside}\n0: 1 bytes 10 times --> 1.00 Mbps in 8.00 usec\n",
        "osu": lambda inside: f"# OSU MPI Bandwidth Test v5.8\n# Size Bandwidth (MB/s)\n{inside}\n8 2.00\n",
    }
    assert len(PARSERS[tool](texts[tool](line)).tables[0].rows) == 1
