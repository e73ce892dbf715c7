"""`railyard history`: shows where each figure of the stored runs changed its level, and what else changed then."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import find_home
from railyard.cli.options import SINCE_AND_UNTIL, say


@click.command(name="history")
@click.option("--system", multiple=True, help="Only this system. Repeatable, like the next five.")
@click.option("--fabric", multiple=True, help="Only this fabric.")
@click.option("--stack", multiple=True, help="Only this stack.")
@click.option("--rails", type=int, multiple=True, help="Only over so many rails.")
@click.option("--benchmark", multiple=True, help="Only this benchmark, such as imb/PingPong.")
@click.option("--figure", multiple=True, help="Only this figure, such as peak.")
@SINCE_AND_UNTIL[0]
@SINCE_AND_UNTIL[1]
@click.option(
    "--least",
    metavar="P",
    type=click.FloatRange(min=0, max=1000),
    default=1.0,
    show_default=True,
    help="Show changes of at least P per cent; only count smaller ones.",
)
@click.option("--all", "whole", is_flag=True, help="Show every figure, also those without a change.")
@click.option("--fail-on-worse", is_flag=True, help="Exit with 1 if a figure changed for the worse.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with drawings (.html)."
)
def command(
    figure: tuple[str, ...],
    least: float,
    whole: bool,
    fail_on_worse: bool,
    as_json: bool,
    output: Path | None,
    **chosen: Any,
) -> int:
    """Show where and when figures of stored runs changed.

    \b
    Examples:
      railyard history --system mycluster
      railyard history --since 2026-11 --figure peak -o history.html

    It reads all stored runs that measured their path, the newest 250 of each figure. It also says which firmware,
    kernel, lock and nodes changed at that time. To see a change, it needs at least 16 runs, five of them after the
    change.

    Exit code: 0; 1 with --fail-on-worse if something changed for the worse; 2 wrong input.
    """
    from railyard.base.terminal import colour, track, width
    from railyard.results.history import as_json as json_of
    from railyard.results.history import judge, over_time, text
    from railyard.results.series import series_of
    from railyard.results.store import query
    from railyard.results.store.query import refuse_unknown, why_nothing

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise RailyardError(f'-o: found "{output}", expected a name that ends in .html')
    home = find_home()
    refuse_unknown(home, chosen)
    found = query.records(
        home, query.RecordFilter(**{name: value or None for name, value in chosen.items()}), slim=True
    )
    for problem in found.problems:
        say(f"railyard: {problem}", err=True)
    if not found.records:
        raise RailyardError(why_nothing(home))
    series = series_of(found.records)
    if not series:
        raise RailyardError(
            f"found {len(found.records)} stored tests and none that measured anything, expected some; "
            "replays, tests that did not run and those that failed before rule 5 have no history"
        )
    asked = [one for one in series if not figure or one.figure in figure]
    if not asked:
        known = did_you_mean(figure[0], {one.figure for one in series})
        raise RailyardError(f'--figure: found "{figure[0]}", expected a figure of these tests; {known}')
    stored = partial(query.whole_records, home)
    judged = [judge(one, least, stored) for one in track(asked, "judging figures")]
    if output is not None:
        from railyard.results.report.files import write_report
        from railyard.results.report.html import html_report

        write_report(output, html_report(found.records, found.problems, over_time=over_time(judged)))
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(json.dumps(json_of(judged), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        click.echo(text(judged, whole=whole, width=width(), colour=colour()), nl=False)
    worse = any(change.kind == "worse" for one in judged for change in one.changes)
    return 1 if fail_on_worse and worse else 0
