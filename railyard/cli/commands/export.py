"""`railyard export`: writes results for other programs: sick parts, a file for Prometheus, a dashboard for Grafana."""

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import RailyardError, unwritable
from railyard.base.files import write_whole
from railyard.base.paths import find_home, runs_folder
from railyard.base.wording import count_of
from railyard.cli.options import say, time_given

if TYPE_CHECKING:
    from railyard.results.flaps import NodePort
    from railyard.results.record.form import Record
    from railyard.results.sick import SickList


@click.group(name="export")
def command() -> None:
    """Write stored results in the form of another program."""


@command.command(name="prometheus")
@click.option("--system", multiple=True, help="Only this system. Repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file (.prom) in the folder of the text file collector; else print it.",
)
def prometheus_command(system: tuple[str, ...], output: Path | None) -> int:
    """Write the newest result of each test for Prometheus.

    \b
    Examples:
      railyard export prometheus
      railyard export prometheus -o /var/lib/node_exporter/railyard.prom

    The file has figures, state and time of each test, and the sick parts. The text file collector of the node exporter
    reads it. Nothing leaves this machine.

    Exit code: 0 written, 2 wrong input, or there is no measured test.
    """
    from railyard.results import exports
    from railyard.results.sick import sick_list
    from railyard.results.store import query
    from railyard.results.store.query import refuse_unknown

    home = find_home()
    refuse_unknown(home, {"system": system})
    found = query.records(home, query.RecordFilter(system=system or None), slim=True)
    for problem in found.problems:
        say(f"railyard: {problem}", err=True)
    now = datetime.now(timezone.utc)
    records = exports.newest(found.records, now)
    if not records:
        raise RailyardError(_no_measured_test(home))
    ports = [port for port in _flapping_ports(home, ()) if not system or port.system in system]
    registry = exports.registry_of(records, now, sick_list(found.records, now, ports=ports).sick)
    if output is None:
        click.echo(exports.text_of(registry), nl=False)
    else:
        exports.write(output, registry)
        click.echo(f"wrote {output}: {count_of(len(records), 'test')}", err=True)
    return 0


def _no_measured_test(home: Path) -> str:
    return f"{runs_folder(home)}: found no measured test, expected some (a replay is none); railyard run stores one"


@command.command(name="grafana")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file; else print it."
)
def grafana_command(output: Path | None) -> int:
    """Write a Grafana dashboard of what `export prometheus` writes.

    \b
    Examples:
      railyard export grafana -o railyard.json
      railyard export grafana

    Import the file in Grafana and choose your Prometheus as its data source.

    Exit code: 0 written, 2 the file cannot be written.
    """
    from railyard.results.exports import dashboard_text

    _give(dashboard_text(), output, "1 dashboard")
    return 0


@command.command(name="sick")
@click.argument("run", required=False)
@click.option("--system", multiple=True, help="Only this system. Repeatable.")
@click.option(
    "--since", callback=time_given, help="Blamed then or later: 2026, 2026-11, 2026-11-21, 2026-11-21T06:00 (UTC)."
)
@click.option("--as", "form", type=click.Choice(["list", "drain", "ticket"]), default="list", show_default=True,
              help="One line per part, the site's drain command per node, or a Markdown ticket per part.")  # fmt: skip
@click.option(
    "--gates", "folders", type=click.Path(path_type=Path, file_okay=False, exists=True), multiple=True, metavar="DIR",
    help="Also read what gates keep in DIR (their --state). Repeatable. The site's own .railyard/gate is always read.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file; else print it."
)
def sick_command(
    run: str | None,
    system: tuple[str, ...],
    since: str | None,
    form: str,
    folders: tuple[Path, ...],
    as_json: bool,
    output: Path | None,
) -> int:
    """List the parts that failed tests blame, and ports that flap.

    \b
    Examples:
      railyard export sick --system mycluster
      railyard export sick last --as ticket -o ticket.md

    A part is a node, rail, GPU, pair, switch, leaf or up-link. RUN is an id, its beginning, or last: then the list has
    the parts that this run blames, else those of all stored runs. If the same benchmark passed over a part later, the
    list says so. It runs nothing: --as drain only prints the commands of the system's file.

    A port whose link went down too often between gates is in the list, too: how often per day, first and last, and when
    it counts as good again.

    Exit code: 0 written, 2 wrong input, or there is no measured test and no port that flapped.
    """
    from railyard.results.sick import lines, tickets
    from railyard.results.store.query import refuse_unknown

    if as_json and form != "list":
        raise click.UsageError("--json prints the list: leave out --as")
    home = find_home()
    ports = _flapping_ports(home, folders)
    refuse_unknown(home, {"system": [name for name in system if name not in {port.system for port in ports}]})
    found = _sick(home, run, system, since, ports)
    if as_json:
        text = json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n"
    elif form == "drain":
        text = "\n".join(_drains(home, found)) + "\n"
    elif form == "ticket" and found.sick:
        text = tickets(found, lambda name: _page(home, name))
    else:
        text = "\n".join(lines(found)) + "\n"
    _give(text, output, count_of(len(found.sick), "part"))
    return 0


def _flapping_ports(home: Path, folders: Sequence[Path]) -> "tuple[NodePort, ...]":
    """Return the ports that flapped, by what gates keep for the site and in folders; say which file is damaged."""
    from railyard.results.flaps import kept_by_site, read_folders

    ports, problems = read_folders((*kept_by_site(home), *folders))
    for problem in problems:
        say(f"railyard: {problem}", err=True)
    return ports


def _sick(
    home: Path, run: str | None, system: tuple[str, ...], since: str | None, ports: "tuple[NodePort, ...]"
) -> "SickList":
    """Return the sick parts that were asked for. Raises RailyardError if no test measured, and no port flapped."""
    from dataclasses import replace

    from railyard.results.sick import sick_list
    from railyard.results.store import query

    now = datetime.now(timezone.utc)
    one = None if run is None else query.load(home, run)
    systems = system if one is None else tuple(sorted({record.where.system for record in one.records}))
    if one is not None and system:
        raise click.UsageError("--system: found it with a run, expected one of the two")
    stored = query.records(home, query.RecordFilter(system=systems or None))
    for problem in (*stored.problems, *(() if one is None else one.problems)):
        say(f"railyard: {problem}", err=True)
    there = {(record.made.run, record.test.case, record.made.time) for record in stored.records}
    more = (
        ()
        if one is None
        else tuple(each for each in one.records if (each.made.run, each.test.case, each.made.time) not in there)
    )
    records: Sequence[Record] = (*stored.records, *more)
    measured = [each for each in (records if one is None else one.records) if each.no_measurement is None]
    ports = tuple(port for port in ports if not systems or port.system in systems)
    if not measured and (one is not None or not ports):
        raise RailyardError(_no_measured_test(home) if one is None else _no_measurement(one.run))
    found = sick_list(records, now, None if one is None else one.run, ports)
    return (
        found if since is None else replace(found, sick=tuple(part for part in found.sick if part.last.time >= since))
    )


def _no_measurement(run: str) -> str:
    return f"{run}: found no measured test, expected some: a replay and a rehearsal show no sick part"


def _drains(home: Path, found: "SickList") -> list[str]:
    """Return the lines of each system. Raises InputError if a system's file has no drain command."""
    from railyard.cluster.gate.look import drain_lines
    from railyard.site.systems.load import find_system

    names = list(dict.fromkeys(part.system for part in found.sick))
    lines = [
        line
        for name in names
        for line in drain_lines(find_system(home / "systems", name), (one for one in found.sick if one.system == name))
    ]
    return [*lines, *(f"# {sentence}" for sentence in found.left_out)] or ["# no part is sick: nobody to drain"]


def _page(home: Path, run: str) -> str:
    """Return the page of a run, or the command that makes it."""
    page = runs_folder(home) / run / "report.html"
    return str(page) if page.is_file() else f"railyard report {run} -o {run}.html"


def _give(text: str, output: Path | None, what: str) -> None:
    """Print a text, or write all of it. Raises SetupError if the file cannot be written."""
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        write_whole(output, text)
    except OSError as error:
        raise unwritable(output, "the file", error, ", or choose another -o") from error
    say(f"wrote {output}: {what}", err=True)
