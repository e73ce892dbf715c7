"""`railyard soak`: loads all links for hours, and says what that did to them."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import Finding, SetupError, problems, tally
from railyard.base.terminal import table, width
from railyard.base.wording import count_of
from railyard.cli.options import say
from railyard.results.report.text import number

if TYPE_CHECKING:
    from railyard.cluster.soak import SoakedRail
    from railyard.cluster.soak_job import SoakJob


@click.command(name="soak")
@click.option(
    "--system", "name", default="virtual", show_default=True, metavar="NAME[:FABRIC]",
    help="The system: NAME of systems/NAME.yaml; under a scheduler, you may name one of its fabrics.",
)  # fmt: skip
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="How long, in hours.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="How long, in minutes.")
@click.option(
    "--every", "every_s", type=click.FloatRange(min=1), default=10.0, show_default=True,
    help="Seconds between readings.",
)  # fmt: skip
@click.option(
    "--nodes", "asked", metavar="N[1-8]", help="Under a scheduler: these nodes. Default: all that can run a job."
)
@click.option(
    "--stack", help="Under a scheduler: the stack whose benchmark loads the rails. Default: the first that can."
)
@click.option(
    "--dry-run", is_flag=True, help="Under a scheduler: print the job's script and the script of its first load."
)
@click.option("--from", "file", type=click.Path(path_type=Path), help="Judge what a soak kept; load nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
def command(
    hours: float | None, minutes: float | None, file: Path | None, as_json: bool, dry_run: bool, **asked: Any
) -> int:
    """Load every rail for hours and name the links that failed.

    \b
    Examples:
      railyard soak --minutes 10                     the virtual cluster
      railyard soak --system mycluster --hours 8     a job of whole nodes

    It loads every rail of every node both ways at once. Then it says which links went down, stalled or had errors. It
    works on the virtual cluster, and under Slurm, PBS, LSF, Flux and Grid Engine. Readings are kept as they are made:
    if a soak ended early, judge it with --from.

    Exit code: 0 no problem, 1 a problem, 2 it could not run.
    """
    from railyard.cluster.doctor.judge import order_findings
    from railyard.cluster.soak import ended_early, findings, read, soaked_rails

    if (hours, minutes, file).count(None) != 2:
        raise click.UsageError("give one of --hours, --minutes and --from")
    wanted = _Request(seconds=(hours or 0.0) * 3600 + (minutes or 0.0) * 60, **asked)
    if dry_run and file is None:
        click.echo(_dry(wanted), nl=False)
        return 0
    path = file or _soak(wanted)
    kept, streams = read(path)
    rails = soaked_rails(kept)
    if not rails:
        raise SetupError(f"soak: {path} has {count_of(len(kept), 'reading')}, expected at least two of a rail")
    early = () if file is not None else ended_early(kept[-1].at_s, wanted.seconds, wanted.every_s)
    found = order_findings([*early, *findings(rails, streams)])
    if as_json:
        told = {"format": 1, "seconds": kept[-1].at_s, "rails": [asdict(one) for one in rails]}
        click.echo(json.dumps({**told, "findings": [asdict(one) for one in found]}, indent=1, ensure_ascii=False))
    else:
        say(_text(rails, found, len(kept), kept[-1].at_s))
    return 1 if problems(found) else 0


@dataclass(frozen=True, slots=True)
class _Request:
    """What to soak: a system, for how many seconds, read after how many seconds, and the options for a job."""

    name: str
    seconds: float
    every_s: float
    asked: str | None
    stack: str | None


def _soak(wanted: _Request) -> Path:
    """Run a soak, and return the file of its readings."""
    from railyard.base.paths import find_home, state_folder
    from railyard.cluster.soak import Log, Reading, soak, streams
    from railyard.cluster.soak_job import soak as soak_under_scheduler
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.lifecycle import interrupt_on_signal, provide_testbed
    from railyard.provision.testbed.spec import spec_of
    from railyard.results.run_folder import new_run_id
    from railyard.site.systems.load import find_system

    home = find_home()
    folder = state_folder(home) / "soaks" / new_run_id(datetime.now(timezone.utc))
    path = folder.with_suffix(".jsonl")

    def keeper(log: Log) -> Callable[[Reading], None]:
        click.echo(f"readings are kept in {path}", err=True)

        def keep(reading: Reading) -> None:
            log.keep(reading)
            click.echo(f"{reading.at_s:.0f} of {wanted.seconds:.0f} s", err=True)

        return keep

    system = find_system(home / "systems", wanted.name.partition(":")[0])
    if system.provider == "testbed":
        if ":" in wanted.name or wanted.asked or wanted.stack:
            raise SetupError(
                f"soak: found a fabric, --nodes or --stack for {system.system}, expected none of them: on the virtual "
                f"cluster every rail of every node is loaded"
            )
        with provide_testbed(home, system, lambda sentence: click.echo(sentence, err=True)):
            bed = Testbed(home, spec_of(system))
            soak(bed, wanted.seconds, wanted.every_s, keeper(Log(path, system.system, streams(bed.spec))))
        return path
    job = _job(home, wanted)
    with interrupt_on_signal():
        keep = keeper(Log(path, system.system, job.streams))
        soak_under_scheduler(job, folder, keep, lambda sentence: click.echo(sentence, err=True))
    return path


def _dry(wanted: _Request) -> str:
    """Return the script of the job, and the script of its first load."""
    from railyard.base.paths import find_home, state_folder

    home = find_home()
    job = _job(home, wanted)
    first = job.loads[0]
    shown = f"# {first.name}.sh, the first of {count_of(len(job.loads), 'load')}\n{first.script}"
    return f"{job.script(state_folder(home) / 'soaks' / 'RUN')}\n{shown}"


def _job(home: Path, wanted: _Request) -> "SoakJob":
    """Return the job of a soak under a scheduler. Raises SetupError for a system that cannot have one."""
    from railyard.base.errors import did_you_mean
    from railyard.cluster.soak_job import able_nodes, expand_nodes, plan_soak
    from railyard.site.site import site_at
    from railyard.site.systems.jobs import FAMILIES, why_not_by_name

    name, _, fabric = wanted.name.partition(":")
    site = site_at(home, name)
    if site.system.provider != "nodes" or site.system.scheduler not in FAMILIES:
        found = f"{site.system.provider} under the scheduler {site.system.scheduler}"
        raise SetupError(
            f"soak: found {name} ({found}), expected the virtual cluster, or nodes under Slurm, PBS, LSF, Flux or Grid "
            f"Engine; else repeat railyard run --system {name}, and compare its records (railyard compare)"
        )
    nameless = why_not_by_name(name, site.system.jobs)
    if nameless is not None:
        raise SetupError(f"soak: {nameless}; repeat railyard run --system {name}, and compare its records")
    if fabric and fabric not in site.system.fabrics:
        raise SetupError(
            f'soak --system: found the fabric "{fabric}", expected one of {name}; '
            f"{did_you_mean(fabric, site.system.fabrics)}"
        )
    nodes = expand_nodes(wanted.asked) if wanted.asked else able_nodes(site)
    if not nodes:
        raise SetupError(
            f"soak: found no names of nodes, neither from Slurm nor in systems/{name}.yaml; name them with --nodes"
        )
    return plan_soak(site, nodes, fabric or None, wanted.stack, wanted.seconds, wanted.every_s)


_HEADS = ("node", "rail", "sent\nMB/s", "received\nMB/s", "least\nMB/s", "link\nchanges")


def _text(rails: "tuple[SoakedRail, ...]", found: "tuple[Finding, ...]", readings: int, seconds: float) -> str:
    """Return one line per rail, then the findings, then how much was looked at."""
    from railyard.cluster.soak import duration

    rows = [
        (one.node, one.rail, *map(number, (one.sent_mb_s, one.received_mb_s, one.least_mb_s)), str(one.changes or "-"))
        for one in rails
    ]
    lines = table(_HEADS, rows, width(), right=(2, 3, 4), words=(0, 1))
    lines += [f"{one.weight}: {one.sentence}" for one in found]
    lines.append(
        f"{count_of(len(rails), 'rail')}, {count_of(readings, 'reading')} in {duration(seconds)}: {tally(found)}"
    )
    return "\n".join(lines)
