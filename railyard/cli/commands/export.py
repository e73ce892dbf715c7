"""`railyard export`: results in the form of another program: a text file for Prometheus."""

from datetime import datetime, timezone
from pathlib import Path

import click

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import find_home, runs_folder
from railyard.base.wording import counted


@click.group(name="export")
def command() -> None:
    """Stored results in the form of another program; nothing leaves this machine."""


@command.command(name="prometheus")
@click.option("--system", multiple=True, help="Of this system. Repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file (.prom), in the folder of the text file collector; left out: print it.",
)
def prometheus_command(system: tuple[str, ...], output: Path | None) -> int:
    """Write figures, state and time of the newest result of each test, for the node exporter's text file collector."""
    from railyard.results import prometheus
    from railyard.results.store import query

    home = find_home()
    found = query.records(home, query.Wanted(system=system or None), slim=True)
    for problem in found.problems:
        click.echo(f"railyard: {problem}", err=True)
    now = datetime.now(timezone.utc)
    records = prometheus.newest(found.records, now)
    if not records:
        raise RailyardError(_nothing(home, system))
    registry = prometheus.registry_of(records, now)
    if output is None:
        click.echo(prometheus.text_of(registry), nl=False)
    else:
        prometheus.write(output, registry)
        click.echo(f"wrote {output}: {counted(len(records), 'test')}", err=True)
    return 0


def _nothing(home: Path, system: tuple[str, ...]) -> str:
    from railyard.results.store import query

    systems = sorted({name for run in query.runs(home) for name in run.systems})
    unknown = next((name for name in system if name not in systems), None)
    if systems and unknown is not None:
        return f'--system: found no run of "{unknown}", expected a system that ran; {did_you_mean(unknown, systems)}'
    stored = runs_folder(home)
    return f"{stored}: found no measured test, expected some (a replay is none); railyard run stores one"
