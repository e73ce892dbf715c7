"""`railyard history`: where each figure of the stored runs changed its level, and what else changed just then."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import find_home, runs_folder


@click.command(name="history")
@click.option("--system", multiple=True, help="Of this system. Repeatable, as all of these.")
@click.option("--fabric", multiple=True, help="Of this fabric.")
@click.option("--stack", multiple=True, help="With this stack.")
@click.option("--rails", type=int, multiple=True, help="Over so many rails.")
@click.option("--benchmark", multiple=True, help="Of this benchmark, such as imb/PingPong.")
@click.option("--figure", multiple=True, help="This figure alone, such as peak.")
@click.option("--since", help="Written then or later: 2026, 2026-11, 2026-11-21 (UTC).")
@click.option("--until", help="Written before then.")
@click.option(
    "--least",
    metavar="P",
    type=click.FloatRange(min=0, max=1000),
    default=1.0,
    show_default=True,
    help="Count changes below P per cent, and tell the others.",
)
@click.option("--all", "whole", is_flag=True, help="Every figure, those without a change too.")
@click.option("--fail-on-worse", is_flag=True, help="Exit 1 where a figure changed for the worse.")
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
    """Tell where figures changed over time, with firmware, kernel, lock and nodes that changed at that time.

    All stored runs count that measured their path, the newest 250 of each figure. A change shows from 16 runs on, five
    of them after it.

    Exit code: 0, or 1 with --fail-on-worse where something changed for the worse.
    """
    from railyard.base.terminal import colour, tracked, width
    from railyard.results.history.changes import judge
    from railyard.results.history.series import series_of
    from railyard.results.history.text import as_json as json_of
    from railyard.results.history.text import over_time, text
    from railyard.results.store import query

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise RailyardError(f'-o: found "{output}", expected a name that ends in .html')
    home = find_home()
    found = query.records(home, query.Wanted(**{name: value or None for name, value in chosen.items()}), slim=True)
    for problem in found.problems:
        click.echo(f"railyard: {problem}", err=True)
    if not found.records:
        raise RailyardError(_nothing(home, chosen))
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
    stored = partial(query.whole, home)
    judged = [judge(one, least, stored) for one in tracked(asked, "judging figures")]
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


def _nothing(home: Path, chosen: dict[str, Any]) -> str:
    """Return why there is no history: an empty store, a system that never ran, or nothing that was asked for."""
    from railyard.results.store import query

    there = query.runs(home)
    if not there:
        return f"{runs_folder(home)}: found no stored run, expected some; railyard run stores one"
    systems = sorted({name for run in there for name in run.systems})
    unknown = next((name for name in chosen["system"] if name not in systems), None)
    if unknown is not None:
        return f'--system: found no run of "{unknown}", expected a system that ran; {did_you_mean(unknown, systems)}'
    return "found no stored test of this kind, expected some; leave an option out"
