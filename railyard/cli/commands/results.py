"""`railyard results`: lists, shows, exports, merges and verifies the stored results of all runs."""

import getpass
import json
import os
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError, RailyardError, did_you_mean, problems, tally, unwritable
from railyard.base.files import write_whole
from railyard.base.paths import find_home, runs_folder
from railyard.base.terminal import track
from railyard.base.wording import count_of
from railyard.cli.options import SINCE_AND_UNTIL, form_of, say

if TYPE_CHECKING:
    from railyard.results.record.form import Record
    from railyard.results.store.query import RecordFilter

_FORMS = {".json": "json", ".csv": "csv"}
_STATES = ("pass", "fail", "disturbed", "report-only", "xfail", "not-tested")


def _selection(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that choose stored tests. Their values come as ``chosen``."""
    options = (
        click.option(
            "--run", multiple=True, help="Only these runs: an id, its beginning, last5, a pattern. Repeatable."
        ),
        click.option("--system", multiple=True, help="Only this system."),
        click.option("--fabric", multiple=True, help="Only this fabric."),
        click.option("--stack", multiple=True, help="Only this stack."),
        click.option("--rails", type=int, multiple=True, help="Only over so many rails."),
        click.option("--benchmark", multiple=True, help="Only this benchmark, such as imb/PingPong."),
        click.option("--state", multiple=True, type=click.Choice(_STATES), help="Only in this state."),
        *SINCE_AND_UNTIL,
        click.option(
            "--where", help='A condition in SQL, such as "peak < 47 AND rails = 2"; a wrong one names columns.'
        ),
        click.option("--newest", type=click.IntRange(min=1), help="Only so many of the newest."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group(name="results")
def command() -> None:
    """List, show, export, merge and verify stored runs."""


@command.command(name="list")
@_selection
@click.option("--tests", is_flag=True, help="Print one line per test, not per run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(tests: bool, as_json: bool, newest: int | None, **chosen: Any) -> int:
    """List stored runs, or with --tests their tests, oldest first.

    \b
    Examples:
      railyard results list --newest 10
      railyard results list --tests --state fail --since 2026-11
    """
    from railyard.results.store import query
    from railyard.results.store.query import run_lines, test_lines, why_nothing

    home = find_home()
    wanted = _build_query(home, **chosen)
    if tests:
        found = query.records(home, wanted, newest)
        _say_problems(found.problems)
        if as_json:
            click.echo(json.dumps(_values(found.records, scrub=False), indent=1, ensure_ascii=False))
        else:
            say("\n".join(test_lines(found.records)) if found.records else why_nothing(home))
        return 0
    runs = query.runs(home, wanted, newest)
    if as_json:
        keys = ("run", "began", "ended", "systems", "counts", "problems")
        rows = [
            {key: getattr(one, key) for key in keys}
            | {"promised": one.promised and len(one.promised.tests), "state": one.promised and one.promised.state}
            | {"folder": str(one.folder)}
            for one in runs
        ]
        click.echo(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        say("\n".join(run_lines(runs)) if runs else why_nothing(home))
    return 0


@command.command(name="show")
@click.argument("run", default="last")
@click.option("--test", "pattern", help="Show all that is stored about each test whose name contains this text.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@click.option("--scrub", is_flag=True, help="Without names of hosts and users, paths and addresses.")
def show_command(run: str, pattern: str | None, as_json: bool, scrub: bool) -> int:
    """Show the tests of a run, by default the last.

    \b
    Examples:
      railyard results show
      railyard results show last --test OsuBandwidth

    Name RUN by its id or the beginning of it, last, a folder or a file.
    """
    from railyard.results.record.form import Record
    from railyard.results.store import query
    from railyard.results.store.query import detail_lines, test_lines

    found = query.load(find_home(), run)
    _say_problems(found.problems)
    records = [record for record in found.records if pattern is None or pattern in record.test.case]
    if not records:
        known = did_you_mean(pattern or "", (record.test.case for record in found.records))
        raise RailyardError(f'{found.run}: found no test "{pattern or ""}", expected a part of a test\'s name; {known}')
    values = _values(records, scrub)
    if as_json:
        click.echo(json.dumps(values, indent=1, ensure_ascii=False))
    elif pattern is None:
        click.echo(f"run {found.run}")
        say("\n".join(test_lines([Record.from_json(one) for one in values])))
    else:
        say("\n\n".join("\n".join(detail_lines(one)) for one in values))
    return 0


@command.command(name="export")
@_selection
@click.option(
    "--format", "form", type=click.Choice(["json", "csv"]), help="Default: by the ending of -o; without -o, json."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--scrub", is_flag=True, help="Without names of hosts and users, paths and addresses.")
def export_command(form: str | None, output: Path | None, scrub: bool, newest: int | None, **chosen: Any) -> int:
    """Write records as JSON, or figures and curves as CSV.

    \b
    Examples:
      railyard results export -o november.json --since 2026-11
      railyard results export -o peaks.csv --benchmark osu/osu_bw

    `railyard results merge` reads the JSON.
    """
    from railyard.results.exports import csv_text
    from railyard.results.record.form import Record
    from railyard.results.store import query
    from railyard.results.store.query import as_json, files_of, why_nothing

    form = form or form_of(output, _FORMS, "json")
    home = find_home()
    wanted = _build_query(home, **chosen)
    found = query.records(home, wanted, newest)
    _say_problems(found.problems)
    if not found.records:
        raise RailyardError(why_nothing(home))
    values = _values(found.records, scrub)
    if form == "csv":
        text = csv_text([Record.from_json(value) for value in values])
    else:
        text = as_json(values, files_of(runs_folder(home), found.records))
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
        click.echo(f"wrote {output}: {count_of(len(values), 'record')}", err=True)
    return 0


@command.command(name="merge")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge_command(sources: tuple[Path, ...]) -> int:
    """Take in runs from elsewhere.

    \b
    Examples:
      railyard results merge november.json
      railyard results merge /shared/other-clone

    SOURCE is another clone, a folder of runs, a run, a .jsonl file or an exported .json. It does not take a record that
    is here already.

    Exit code: 0; 1 a line could not be taken; 2 wrong input.
    """
    from railyard.results.store.exchange import merge

    home = find_home()
    lost = False
    for source in sources:
        for one in merge(home, source):
            _say_problems(one.problems)
            lost = lost or bool(one.problems)
            click.echo(f"{one.run}: {count_of(one.came, 'record')} came, {one.there} were here")
    return 1 if lost else 0


@command.command(name="verify")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify_command(names: tuple[str, ...], as_json: bool) -> int:
    """Read every record, and say what is wrong or odd.

    \b
    Examples:
      railyard results verify
      railyard results verify last --json

    Without a RUN, all runs are read.

    Exit code: 0 no problem, 1 a problem, 2 wrong input.
    """
    from railyard.results.record.file import files_of_runs
    from railyard.results.store.index import folders
    from railyard.results.store.verify import verify

    home = find_home()
    stored = runs_folder(home)
    found = [folder for name in names for folder in folders(name, stored)]
    if not names:
        found = [path.parent for path in files_of_runs(stored)]
    if not found:
        raise InputError(str(stored), "no stored run", "at least one", action="railyard run stores one")
    systems = [path.stem for path in (home / "systems").glob("*.yaml")]
    now = datetime.now(timezone.utc)
    verified = [verify(folder, systems, now) for folder in track(found, "verifying runs")]
    findings = [each for one in verified for each in one.findings]
    records = sum(one.records for one in verified)
    if as_json:
        rows = [{"run": each.where, "weight": each.weight, "sentence": each.what} for each in findings]
        click.echo(json.dumps({"runs": len(found), "records": records, "findings": rows}, indent=1, ensure_ascii=False))
    else:
        for each in findings:
            say(f"{each.where}: {each.weight}: {each.what}")
        click.echo(f"{count_of(records, 'record')} of {count_of(len(found), 'run')}: {tally(findings)}")
    return 1 if problems(findings) else 0


def _build_query(home: Path, **chosen: Any) -> "RecordFilter":
    from railyard.results.store import query
    from railyard.results.store.index import folders
    from railyard.results.store.query import refuse_unknown

    refuse_unknown(home, chosen)
    runs = chosen.pop("run")
    named = tuple(folder.name for word in runs for folder in folders(word, runs_folder(home)))
    asked: dict[str, Any] = {name: value if value != () else None for name, value in chosen.items()}
    return query.RecordFilter(run=named or None, **asked)


def _values(records: "Sequence[Record]", scrub: bool) -> tuple[dict[str, Any], ...]:
    """Return the records' JSON values for others. Secrets are always masked, names only if asked for."""
    from railyard.results.record.masking import masked_record
    from railyard.results.store.exchange import scrubbed_records

    safe = [masked_record(record) for record in records]
    if not scrub:
        return tuple(record.to_json() for record in safe)
    users = {name for name in (os.environ.get("USER"), os.environ.get("LOGNAME"), _user()) if name}
    return scrubbed_records(safe, (socket.gethostname(),), users)


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name, as in a container
        return None


def _say_problems(problems: Sequence[str]) -> None:
    for sentence in problems:
        say(f"railyard: {sentence}", err=True)


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise unwritable(path, "the export", error, ", or choose another -o") from error
