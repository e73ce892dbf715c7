"""A published figure of an application in the form that it prints (HPL 2.3, WRF 3.8), with a line that says so.

Nothing is known about such an application but its patterns. So the simplest text that each may match is written, and
then the patterns read it. If they do not read the right value, it is refused.
"""

import re
from collections.abc import Callable, Mapping

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import hpl_input, installed_applications
from railyard.benchmarks.apps.installed_applications import SECONDS, VALUE, Application
from railyard.benchmarks.table import micro

_GROUP = re.compile(rf"\(\?P<(?:{SECONDS}|{VALUE})>")
#: How long a synthetic run of HPL took, by its output: the matrix order follows from this time and the published rate.
HPL_SECONDS = 1000.0
_STEPS = 150
#: What a synthetic run of WRF prints for its first step, which reads the input and does not count in the mean.
_FIRST_STEP = 2.0


def text_of(key: str, value: float, nodes: int, sentence: str) -> str:
    """Return an output whose figure is this value: Gflop/s for HPL, seconds per step for WRF.

    Raises RailyardError for an application whose text is not known here.
    """
    writer = _WRITERS.get(micro.find(key).printed_key)
    if writer is None:
        known = ", ".join(dict.fromkeys(each.partition("/")[0] for each in _WRITERS))
        raise RailyardError(f"{key}: Railyard cannot write an output of it; expected one of {known}")
    return writer(value, nodes, sentence)


def _hpl(gflop_s: float, nodes: int, sentence: str) -> str:
    return f"# {sentence}\n{_hpl_run(gflop_s, nodes)}"


def _hpl_alone(gflop_s: float, nodes: int, sentence: str) -> str:
    one = _hpl_run(gflop_s, 1)
    parts = [f"# railyard: node node{number} made\n{one}# railyard: end 0\n" for number in range(1, nodes + 1)]
    return "".join((f"# {sentence}\n", *parts))


def _hpl_run(gflop_s: float, nodes: int) -> str:
    order = int((1.5 * gflop_s * 1e9 * HPL_SECONDS) ** (1 / 3))
    return hpl_run(gflop_s, order, hpl_input.BLOCK, hpl_input.grid(nodes), HPL_SECONDS)


def hpl_run(gflop_s: float, order: int, block: int, grid: tuple[int, int], seconds: float) -> str:
    """Return what HPL prints for one problem of order N in blocks of NB, on P x Q processes."""
    rows, columns = grid
    rule = "-" * 80 + "\n"
    residual = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)="
    return (
        f"{'=' * 80}\n"
        "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
        f"{'=' * 80}\n{'T/V':<16}{'N':>9}{'NB':>6}{'P':>6}{'Q':>6}{'Time':>19}{'Gflops':>18}\n{rule}"
        f"{'WR11C2R4':<16}{order:>9}{block:>6}{rows:>6}{columns:>6}{seconds:>19.2f}{gflop_s:>18.4e}\n{rule}"
        f"{residual}   1.00000000e-03 ...... PASSED\n{'=' * 80}\n\n"
        "Finished      1 tests with the following results:\n"
        "              1 tests completed and passed residual checks,\n"
        "              0 tests completed and failed residual checks,\n"
        "              0 tests skipped because of illegal input values.\n"
        f"{rule}\nEnd of Tests.\n{'=' * 80}\n"
    )


def _wrf(seconds: float, nodes: int, sentence: str) -> str:
    return wrf_run(seconds, sentence, "3.8.1")


def wrf_run(seconds: float, sentence: str, version: str) -> str:
    """Return what a release of WRF prints for steps that take this many seconds each."""
    steps = [_FIRST_STEP, *(seconds for _ in range(_STEPS - 1))]
    lines = [
        f"Timing for main: time 2001-10-25_{at // 60:02}:{at % 60:02}:00 on domain   1:{time:>11.5f} elapsed seconds"
        for at, time in enumerate(steps, 1)
    ]
    return f"# {sentence}\n WRF V{version} MODEL\n" + "\n".join(lines) + "\nwrf: SUCCESS COMPLETE WRF\n"


#: By the key of their output.
_WRITERS: Mapping[str, Callable[[float, int, str], str]] = {
    "hpl/hpl": _hpl,
    "hpl/every-node": _hpl_alone,
    "wrf/wrf": _wrf,
}


def pattern_text(name: str, stated: Application, seconds: float, sentence: str) -> str:
    """Return an output in which the application took this long and ended well, with a line that says what it is.

    Raises RailyardError if its patterns do not allow this: they have alternatives, classes or repetitions.
    """
    lines = [f"# {sentence}", _plain(stated.figure, str(float(seconds))), _plain(stated.success)]
    lines += [_plain(answer.pattern, str(answer.expected)) for answer in stated.answers]
    text = "".join(f"{line}\n" for line in lines)
    parsed = installed_applications.parse(text, name, stated)
    if [(table.rows, table.complete) for table in parsed.tables] != [(((float(seconds),),), True)] or parsed.failures:
        raise RailyardError(
            f"applications.{name}: found no text that its patterns read as {seconds:g} s and a good end, expected "
            f"plain words around the number (figure: {stated.figure}; success: {stated.success})"
        )
    return text


def _plain(pattern: str, number: str = "") -> str:
    """Return the simplest text that a pattern may match: its words, one blank for blanks, the number for its group."""
    group = _GROUP.search(pattern)
    if group is None:
        return _words(pattern)
    rest = pattern[group.end() :]
    return f"{_words(pattern[: group.start()])}{number}{_words(rest[_end(rest) :])}"


def _end(rest: str) -> int:
    """Return the place after the bracket that closes the open group; the text's length if there is none."""
    depth = 1
    for found in re.finditer(r"\\.|\[\]?(?:\\.|[^\]])*\]|[()]", rest):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(rest)


def _words(pattern: str) -> str:
    blanks = re.sub(r"(?:\\s| )[+*]?", " ", pattern.removeprefix("^").removesuffix("$"))
    return re.sub(r"\\(\W)", r"\1", blanks)
