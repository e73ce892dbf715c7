"""Rules that hold for every parser and any text: hypothesis, every sample cut anywhere, the structure of patterns."""

import csv
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import railyard.parsers
from railyard.cli.commands.parse import to_json
from railyard.parsers import PARSERS, detect
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.output import ParseError
from railyard.parsers.tool_signs import Form
from tests.parsers.properties import ill_formed, invented_value, judged_values, values, wrongly_complete
from tests.parsers.samples import MADE, samples

try:
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as pattern_parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as codes
    import sre_parse as pattern_parser

EVERY_ONE = {**PARSERS, **FABRIC_PARSERS}
EVERY = {**EVERY_ONE, "any": detect.parse}
SAMPLES = [pytest.param(tool, text, id=name) for tool, name, text in samples()]
MADE_SAMPLES = [pytest.param(tool, text, id=name) for tool, name, text in samples() if (MADE / name).is_file()]
# No foreign line may be in a data file, in JSON, or between the halves of a wrapped row.
CONSOLE = [each for each in SAMPLES if not re.search(r"\.np\.out$|json|wrapped", str(each.id))]
NOISE = (
    "",
    "[node2:2290964] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    "[1753684564.462789] [node2:2290969:0]     ucp_context.c:1774 UCX  WARN  UCP version is incompatible",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "CMA: no RDMA devices found",
    "real 5.93",
    "x" * 5000,
)
#: Lines of one repeated character or word: a pattern that is quadratic in a line's length would read them for days.
LONG = (" " * 2**20, "1 " * 2**19, "# " * 2**19, "9" * 2**20, "a" * 2**20, "# OSU " * 2**17)


def some(cases: Sequence[Any], first: int) -> list[Any]:
    """Return the cases; `make test` runs only the first ones."""
    return [*cases[:first], *(pytest.param(case, marks=pytest.mark.full) for case in cases[first:])]


LINES = [
    *("# OSU MPI Bandwidth Test v5.8", "# Size Bandwidth (MB/s)", "1 2.00", "2 3.00", "4", "...", "#"),
    *("# Benchmarking PingPong", "#bytes #repetitions t[usec] Mbytes/sec", "8 10 4.00 2.00", "8 10"),
    *("Now starting the main loop", "0: 1 bytes 10 times --> 1.00 Mbps in 8.00 usec", "\x0c", "\r"),
    *("9" * 400 + " 1.00", "1 " + "9" * 400 + ".00", "8 10 1e999 2.00", "٣ 1.00", "nan nan", "-1 2.00"),
    *("# OSU MPI Init Test v7", "nprocs: 2, min: . ms, max: 1.2.3 ms, avg: 4 ms", "0:1 bytes 1 times -->"),
    *("       1 5.944874   0.00000128", "0.1 0.1 8 1 0.0", "Segmentation fault", "IMB-MPI1", "1 1 1 1 1"),
    *(
        "Send BW Test",
        "-" * 87,
        "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]",
        "2 10 1.0 nan 0",
    ),
    *("T/V N NB P Q Time Gflops", "WR11C2R4 8 8 1 1 0.00 1.0e+999", "WR11C2R4 8 8 1 1 . 1e0", "End of Tests."),
    *("CG Benchmark Completed", " Iterations = 15", " Time in seconds = *******", " Mop/s total = NaN", " Class = A"),
    *("Timing for main: time 2026-11-21_00:00:00 on domain 1: 9.9.9 elapsed seconds", "SUCCESS COMPLETE WRF"),
    *("Time = 1.0e+400 seconds", "Time = nan seconds", "total_iters = 5", "CONGRAD5: time = . iters = 1 mflops = x"),
    *("| RR Two-sided Lat (8 B) | nan | 1e999 | usec |", "Isolated Network Tests", "rc_lat:", " latency = . us"),
    *("[ ID] Interval Transfer Bandwidth", "[ 5] 0.00-1.00 sec 1 GBytes 9e999 Gbits/sec sender", '{"start": {}}'),
    *("CA 'mlx5_0'", "\tPort 1:", "\t\tRate: 1e999", "# Port counters: Lid 1 port 1", "SymbolErrorCounter:.....9e9"),
    *(
        "Begin of HPL section.",
        "Begin of Summary section.",
        "HPL_Tflops=nan",
        "PingPong=1e999",
        "End of Summary section.",
    ),
]


@pytest.mark.parametrize("tool", EVERY)
@given(text=st.one_of(st.text(), st.lists(st.sampled_from(LINES)).map("\n".join)))
def test_any_text_gives_tables_or_a_parse_error(tool: str, text: str) -> None:
    try:
        parsed = EVERY[tool](text)
    except ParseError:
        return
    assert ill_formed(parsed, text) is None
    json.dumps(to_json(parsed), allow_nan=False)


def test_every_tool_has_a_made_sample_and_every_sample_a_line_in_the_index() -> None:
    assert {each.values[0] for each in MADE_SAMPLES} == EVERY_ONE.keys()
    with (MADE / "INDEX.tsv").open(encoding="utf-8", newline="") as handle:
        listed = [row[0] for row in csv.reader(handle, delimiter="\t")][1:]
    assert listed == sorted(path.name for path in MADE.glob("*.txt"))


@pytest.mark.parametrize(("tool", "text"), SAMPLES)
def test_every_sample_is_its_tools_and_no_others(tool: str, text: str) -> None:
    found = detect.read_by_tool(text, EVERY_ONE)
    assert list(found) == [tool]
    assert judged_values(detect.parse(text)) == judged_values(found[tool])


@pytest.mark.parametrize("apart", [7, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(("tool", "text"), SAMPLES)
def test_an_output_cut_at_any_byte_gives_no_value_that_the_whole_lacks(tool: str, text: str, apart: int) -> None:
    whole = EVERY[tool](text)
    known = values(whole)
    assert known or whole.failures or whole.remarks
    # every place near the text's end, and every 7th before it, since rows are alike; 500 in total for long texts
    step = max(7, len(text) // 500)
    places = sorted({*range(max(1, len(text) - 250), len(text)), *range(1, len(text), step)})
    for cut in places[::apart]:
        try:
            part = EVERY[tool](text[:cut])
        except ParseError:
            continue
        assert invented_value(part, known) is None, f"cut at {cut}"
        assert wrongly_complete(part, whole, text[:cut]) is None, f"cut at {cut}"


@pytest.mark.parametrize(("tool", "text"), CONSOLE)
@pytest.mark.parametrize("noise", some(NOISE, 2), ids=lambda noise: noise[:20])
def test_noise_between_lines_changes_no_value(tool: str, text: str, noise: str) -> None:
    lines = text.split("\n")
    whole = judged_values(EVERY[tool](text))
    for place in range(0, len(lines), max(3, len(lines) // 40)):
        noisy = "\n".join([*lines[:place], noise, *lines[place:]])
        assert judged_values(EVERY[tool](noisy)) == whole, f"before line {place + 1}"


def patterns() -> list[Any]:
    """Return every compiled pattern below railyard.parsers, found through the modules' names and their values."""
    names = [found.name for found in pkgutil.walk_packages(railyard.parsers.__path__, "railyard.parsers.")]
    found: dict[str, re.Pattern[str]] = {}
    for module in map(importlib.import_module, names):
        for name, value in vars(module).items():
            for place, one in enumerate(_patterns_in(value)):
                found.setdefault(f"{module.__name__.removeprefix('railyard.parsers.')}.{name}.{place}", one)
    return [pytest.param(one, id=name) for name, one in found.items()]


def _patterns_in(value: Any) -> list[re.Pattern[str]]:
    """Return the patterns in a value: itself, or those inside tuples, lists and mappings."""
    if isinstance(value, Form):
        return [re.compile(value.pattern)]
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, Mapping):
        value = (*value.keys(), *value.values())
    return [one for each in value for one in _patterns_in(each)] if isinstance(value, tuple | list) else []


def repeats(tree: Any, inside: bool, seen: list[str]) -> None:
    """Collect every unbounded repeat inside another one: only these can take more than polynomial time."""
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


@pytest.mark.parametrize(("tool", "text"), MADE_SAMPLES)
@pytest.mark.parametrize("line", some(LONG, 2))
def test_a_line_of_a_megabyte_changes_nothing_and_is_read_to_its_end(tool: str, text: str, line: str) -> None:
    lines = text.split("\n")
    middle = len(lines) // 2
    long = "\n".join([*lines[:middle], line, *lines[middle:]])
    assert judged_values(EVERY[tool](long)) == judged_values(EVERY[tool](text))


@pytest.mark.parametrize("length", [2**17, pytest.param(2**20, marks=pytest.mark.full)])
@pytest.mark.parametrize(("tool", "text"), MADE_SAMPLES)
def test_one_character_without_end_and_a_word_change_nothing(tool: str, text: str, length: int) -> None:
    # at 128 kB a quadratic pattern takes a minute per line
    lines = text.split("\n")
    middle = len(lines) // 2
    long = [f"{one * length}x" for one in " \t9a=-.#:|"]
    assert judged_values(EVERY[tool]("\n".join([*lines[:middle], *long, *lines[middle:]]))) == judged_values(
        EVERY[tool](text)
    )


@pytest.mark.parametrize(("tool", "text"), MADE_SAMPLES)
@pytest.mark.parametrize("words", some([2, 99, 1, 4], 1))
def test_a_line_whose_words_are_followed_by_blanks_without_end_is_read_in_linear_time(
    tool: str, text: str, words: int
) -> None:
    # no time limit, as above: at 128 kB a quadratic pattern takes a minute per line, and every line of the sample is so
    # long
    long = [f"{' '.join(line.split(' ')[:words])}{' ' * 2**17}x" for line in text.split("\n") if line.strip()]
    try:
        parsed = EVERY[tool]("\n".join(long))
    except ParseError:
        return
    assert ill_formed(parsed, "\n".join(long)) is None


def calls(tool: str, text: str) -> int:
    """Return how many calls of Python and of C it takes to read a text."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        EVERY[tool](text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(("tool", "text"), MADE_SAMPLES)
def test_asking_every_parser_takes_hardly_more_calls_than_the_one_whose_text_it_is(
    tool: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its own parser reads a short text again, to see whether its lines were broken
    monkeypatch.setattr("railyard.parsers.broken_lines._LONGEST_PASTED", 0)
    monkeypatch.setattr("railyard.parsers.unread_rows._LONGEST_READ", 0)  # and whether a row is commented out
    assert calls("any", text * 40) < 1.5 * calls(tool, text * 40) + 3000


@pytest.mark.parametrize(("tool", "text"), MADE_SAMPLES)
def test_twice_the_text_takes_twice_the_calls(tool: str, text: str) -> None:
    EVERY[tool](text)  # imports what it needs
    assert calls(tool, text * 40) < 2.2 * calls(tool, text * 20)
