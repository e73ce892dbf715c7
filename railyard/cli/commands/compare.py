"""`railyard compare`: compares runs, systems, fabrics, stacks or numbers of rails, by figures and along the sizes."""

import json
import math
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from railyard.results.pairing import Selector
    from railyard.results.record.form import Record

_MOST_PERCENT = 1000.0


def _percent(ctx: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Return the number of per cent that an option gives, with or without a % sign."""
    if text is None:
        return None
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0 < number <= _MOST_PERCENT:
        raise click.BadParameter(f'found "{text}", expected a positive number of per cent, such as 5%', ctx, option)
    return number


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--noise",
    metavar="P%",
    callback=_percent,
    help="How much runs vary, if you know it: used if there are too few repeats.",
)
@click.option(
    "--fail-on-regression",
    "bound",
    metavar="P%",
    callback=_percent,
    help="Exit with 1 if B is worse than A by this much or more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(a: str, b: str, noise: float | None, bound: float | None, as_json: bool) -> int:
    """Compare two runs, fabrics, stacks or numbers of rails.

    \b
    Examples:
      railyard compare '20261114T*' '20261121T*'        before and after
      railyard compare last5:rails=1 :rails=2           one rail and two
      railyard compare last5:fabric=edr last5:fabric=fdr --fail-on-regression 5%

    A and B are each RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]. Name runs by id or its beginning, a pattern ('20261121T*'),
    folder, last or last5. KEY chooses among their tests: system, fabric, stack, rails, policy, benchmark, check or
    case. A side without a RUN uses the runs of the other side. Several runs on a side are repeats. With four on each
    side, a difference can be told from noise.

    Exit code: 0; 1 --fail-on-regression found one, or nothing could be judged; 2 the sides cannot be compared.
    """
    from railyard.base.errors import RailyardError
    from railyard.base.terminal import colour, width
    from railyard.results.comparison import as_json as json_of
    from railyard.results.comparison import compare, gate, text
    from railyard.results.pairing import choose_records, selector

    asked = _with_runs(selector(a), selector(b))
    read = [_records(side) for side in asked]
    picked = [choose_records(side, records) for side, records in zip(asked, read, strict=True)]
    if picked[0] == picked[1]:
        raise RailyardError(f'"{a}", "{b}": found the same tests on both sides, expected two sides; name other runs')
    comparison = compare(picked[0], picked[1], None if noise is None else noise / 100)
    names = (_side_words(asked[0], picked[0]), _side_words(asked[1], picked[1]))
    held = None if bound is None else gate(comparison, bound)
    if as_json:
        click.echo(json.dumps(json_of(comparison, names, held), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        click.echo(text(comparison, names, held, width=width(), colour=colour()), nl=False)
    return 0 if held is None or held.is_pass else 1


def _with_runs(a: "Selector", b: "Selector") -> "tuple[Selector, Selector]":
    """Return both sides with runs: a side without runs gets those of the other side."""
    from dataclasses import replace

    from railyard.base.errors import RailyardError
    from railyard.results.pairing import GRAMMAR

    if not a.runs and not b.runs:
        raise RailyardError(f'"{a.text}", "{b.text}": found no run on either side, expected {GRAMMAR}')
    return replace(a, runs=a.runs or b.runs), replace(b, runs=b.runs or a.runs)


def _records(side: "Selector") -> "tuple[Record, ...]":
    """Return the records of a side's runs, the last of each case; report lines without a record on stderr.

    Raises RailyardError for a rehearsal: figures of stand-ins say nothing about a network.
    """
    from railyard.base.errors import RailyardError
    from railyard.base.paths import find_home, runs_folder
    from railyard.results.store.index import finals_of_runs

    found = finals_of_runs(
        side.runs, lambda: runs_folder(find_home()), lambda problem: click.echo(f"warning: {problem}", err=True)
    )
    rehearsed = next((record for record in found if record.made.rehearsal is not None), None)
    if rehearsed is not None:
        raise RailyardError(
            f'"{side.text}": found {rehearsed.made.run}, a rehearsal, in which nothing was measured, expected runs '
            f"that measured; name others"
        )
    return found


def _side_words(side: "Selector", records: "tuple[Record, ...]") -> str:
    """Return a side in words: how many runs, which tests, and what was played instead of measured."""
    runs = sorted({record.made.run for record in records})
    told = f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs, {runs[0]} to {runs[-1]}"
    systems = ", ".join(sorted({record.where.system for record in records}))
    conditions = "".join(f", {key}={value}" for key, value in side.where)
    played = sorted({record.made.replayed for record in records if record.made.replayed is not None})
    return f"{told}, {systems}{conditions}{''.join(f'; {words}' for words in played)}"
