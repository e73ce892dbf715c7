"""`railyard soak`: all links loaded for hours, and what that did to them."""

import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import SetupError
from railyard.base.finding import Finding, problems, tally
from railyard.base.wording import counted

if TYPE_CHECKING:
    from railyard.cluster.soak.judge import Soaked


@click.command(name="soak")
@click.option("--system", "name", default="virtual", show_default=True, help="The system, as its file is named.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="How long; or --minutes.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="How long, in minutes.")
@click.option(
    "--every", "every_s", type=click.FloatRange(min=1), default=10.0, show_default=True,
    help="Seconds between readings.",
)  # fmt: skip
@click.option("--from", "file", type=click.Path(path_type=Path), help="Judge what a soak kept; load nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object in place of the table.")
def command(
    name: str, hours: float | None, minutes: float | None, every_s: float, file: Path | None, as_json: bool
) -> int:
    """Load every rail of every node both ways at once, and say which links went down, stalled or had errors.

    On the virtual cluster alone so far. Readings are kept as they are made: one that was ended early is judged by
    --from. Exit code: 0 nothing or remarks alone, 1 a problem, 2 it could not be done.
    """
    from railyard.cluster.doctor.judge import ordered
    from railyard.cluster.soak.judge import findings, soaked
    from railyard.cluster.soak.log import read

    if (hours, minutes, file).count(None) != 2:
        raise click.UsageError("one of --hours, --minutes and --from is needed")
    path = file or _soak(name, (hours or 0.0) * 3600 + (minutes or 0.0) * 60, every_s)
    kept, streams = read(path)
    rails = soaked(kept)
    if not rails:
        raise SetupError(f"soak: {path} has {counted(len(kept), 'reading')}, expected two of a rail at least")
    found = ordered(findings(rails, streams))
    if as_json:
        told = {"format": 1, "seconds": kept[-1].at_s, "rails": [asdict(one) for one in rails]}
        click.echo(json.dumps({**told, "findings": [asdict(one) for one in found]}, indent=1, ensure_ascii=False))
    else:
        click.echo(_text(rails, found, len(kept), kept[-1].at_s))
    return 1 if problems(found) else 0


def _soak(name: str, seconds: float, every_s: float) -> Path:
    """Return the file of readings of a soak that is over."""
    from railyard.base.paths import find_home, state_folder
    from railyard.cluster.soak.judge import Reading
    from railyard.cluster.soak.load import soak, streams
    from railyard.cluster.soak.log import Log
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.lifecycle import provided
    from railyard.provision.testbed.spec import spec_of
    from railyard.results.run_folder import new_run_id
    from railyard.site.systems.load import find_system

    home = find_home()
    system = find_system(home / "systems", name)
    if system.provider != "testbed":
        raise SetupError(
            f"soak: {name} is no virtual cluster, and on others nothing loads the rails yet; run railyard run --system "
            f"{name} again and again, and compare its records (railyard compare)"
        )
    with provided(home, system, lambda sentence: click.echo(sentence, err=True)):
        bed = Testbed(home, spec_of(system))
        path = state_folder(home) / "soaks" / f"{new_run_id(datetime.now(timezone.utc))}.jsonl"
        log = Log(path, name, streams(bed.spec))
        click.echo(f"readings are kept in {path}", err=True)

        def keep(reading: Reading) -> None:
            log.keep(reading)
            click.echo(f"{reading.at_s:.0f} of {seconds:.0f} s", err=True)

        soak(bed, seconds, every_s, keep)
    return path


def _text(rails: "tuple[Soaked, ...]", found: "tuple[Finding, ...]", readings: int, seconds: float) -> str:
    """Return a line a rail, then the findings, then how much was looked at."""
    from railyard.cluster.soak.judge import duration

    lines = [f"{'node':<10} {'rail':<10} {'sent':>8} {'received':>8} {'least':>8}  MB/s   link changes"]
    lines += [
        f"{one.node:<10} {one.rail:<10} {one.sent_mb_s:8.1f} {one.received_mb_s:8.1f} {one.least_mb_s:8.1f}"
        f"{'':9}{one.changes or '-'}"
        for one in rails
    ]
    lines += [f"{one.weight}: {one.sentence}" for one in found]
    lines.append(
        f"{counted(len(rails), 'rail')}, {counted(readings, 'reading')} in {duration(seconds)}: {tally(found)}"
    )
    return "\n".join(lines)
