"""`railyard export`: results in the form of another program: a text file for Prometheus."""

from datetime import datetime, timezone
from pathlib import Path

import click

from railyard.base.errors import RailyardError
from railyard.base.paths import find_home, runs_folder
from railyard.base.wording import counted
from railyard.cli.say import say


@click.group(name="export")
def command() -> None:
    """Write stored results in the form of another program."""


@command.command(name="prometheus")
@click.option("--system", multiple=True, help="Of this system. Repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file (.prom), in the folder of the text file collector; left out: print it.",
)
def prometheus_command(system: tuple[str, ...], output: Path | None) -> int:
    """Write the newest result of each test for Prometheus.

    \b
    Examples:
      railyard export prometheus
      railyard export prometheus -o /var/lib/node_exporter/railyard.prom

    The file has figures, state and time of each test, for the text file collector of the node exporter. Nothing leaves
    this machine.

    Exit code: 0 written, 2 wrong input, or there is no measured test.
    """
    from railyard.results import prometheus
    from railyard.results.store import query
    from railyard.results.store.nothing import refuse_unknown

    home = find_home()
    refuse_unknown(home, {"system": system})
    found = query.records(home, query.Wanted(system=system or None))
    for problem in found.problems:
        say(f"railyard: {problem}", err=True)
    now = datetime.now(timezone.utc)
    records = prometheus.newest(found.records, now)
    if not records:
        raise RailyardError(
            f"{runs_folder(home)}: found no measured test, expected some (a replay is none); railyard run stores one"
        )
    registry = prometheus.registry_of(records, now)
    if output is None:
        click.echo(prometheus.text_of(registry), nl=False)
    else:
        prometheus.write(output, registry)
        click.echo(f"wrote {output}: {counted(len(records), 'test')}", err=True)
    return 0
