"""`railyard report`: shows verdicts of finished runs as a table, page, Markdown, JUnit, JSON or CSV."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.terminal import colour, track, width
from railyard.base.wording import count_of
from railyard.cli.options import form_of, say
from railyard.results.report.files import FORMATS, read_many, write_format, write_report
from railyard.results.report.terminal import format_failures

if TYPE_CHECKING:
    from railyard.results.record.form import Record
    from railyard.results.report.spread import OverTime

_FORMS = {
    **{".html": "html", ".htm": "html", ".xml": "junit", ".json": "json", ".md": "md", ".csv": "csv"},
    ".txt": "terminal",
}


@click.command("report")
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Default: by the ending of -o; without -o, terminal."
)
@click.option(
    "--plots", type=click.Path(path_type=Path, file_okay=False), help="Also draw each test's curve into this folder."
)
@click.option("--as", "kind", type=click.Choice(("png", "pdf")), help="The format of --plots.  [default: pdf]")
@click.option("--why", is_flag=True, help="Only the failures, each with its rule, references and bounds.")
def command(
    runs: tuple[str, ...], output: Path | None, form: str | None, plots: Path | None, kind: str | None, why: bool
) -> int:
    """Show the verdicts of runs, as text or as a page.

    \b
    Examples:
      railyard report                        the last run, in the terminal
      railyard report --why                  its failures, with rules and bounds
      railyard report last5 -o report.html   the last five, as one page

    Name a RUN by its id or the beginning of it, a pattern ('20261121T*'), last, last5, its folder or its records.jsonl.
    If several runs have the same test, the page shows it once, with the spread of all of them and where its figures
    changed.

    Exit code: 0 all is well; 1 a test failed, was disturbed or left no record, or nothing was judged at all; 2 wrong
    input.
    """
    from railyard.base.paths import find_home, runs_folder
    from railyard.results.store.index import folders_named

    if kind and not plots:
        raise click.UsageError("--as: found it without --plots, expected a folder for the pictures")
    if why and (output or form):
        raise click.UsageError("--why: found it with -o or --format, expected it alone: it is for the terminal")
    form = form or form_of(output, _FORMS, "terminal")
    read = read_many(folders_named(runs or ("last",), lambda: runs_folder(find_home())))
    if why:
        click.echo(
            format_failures(read.shown_records, width=width(), why=True) or "no test failed, and none was disturbed"
        )
        return 0 if read.is_pass else 1
    over_time = _over_time(read.records) if form == "html" and read.folder is None else ()
    if form == "html":
        over_time = (*over_time, *_flaps(read.records))
    if output:
        write_report(output, write_format(read, form, over_time=over_time))
        click.echo(f"wrote {output}", err=True)
    else:
        click.echo(write_format(read, form, width=width(), colour=colour(), over_time=over_time), nl=False)
    if plots:
        from railyard.results.report.plots import write_plots

        drawn = write_plots(read.records, plots, kind or "pdf")
        click.echo(f"drew {count_of(len(drawn), 'plot')} in {plots}", err=True)
    return 0 if read.is_pass else 1


def _flaps(records: "Sequence[Record]") -> "tuple[OverTime, ...]":
    """Return how often links of these runs' nodes went down between runs."""
    from railyard.base.paths import find_home
    from railyard.results.flaps import kept_by_site, read_folders
    from railyard.results.report.spread import flaps_over_time

    ports, problems = read_folders(kept_by_site(find_home()))
    for problem in problems:
        say(f"railyard: {problem}", err=True)
    return flaps_over_time(ports, records)


def _over_time(records: "Sequence[Record]") -> "tuple[OverTime, ...]":
    """Return the figures that changed over these runs."""
    from railyard.results.history import judge, over_time
    from railyard.results.series import series_of

    return over_time([judge(one) for one in track(series_of(records), "judging figures over time")])
