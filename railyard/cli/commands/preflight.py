"""`railyard preflight`: checks the nodes of the job that it runs in, before the job's application."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from railyard.cli.options import say
from railyard.cli.pair_sample import duration


@dataclass(frozen=True, slots=True)
class _Options:
    name: str
    stack: str | None
    limit_s: float | None
    no_allreduce: bool
    write_hosts: Path | None
    hosts_format: Any
    verbose: bool
    as_json: bool


@click.command(name="preflight")
@click.option("--system", "name", required=True, metavar="NAME[:FABRIC]", help="The system, and its fabric.")
@click.option("--stack", help="The stack whose railyard-pairs measures. Default: the first that can.")
@click.option(
    "--limit", "limit_s", metavar="TIME", callback=duration,
    help="How long it may take. Default: 60s for up to 64 nodes, 90s for up to 512, else 120s.",
)  # fmt: skip
@click.option("--no-allreduce", is_flag=True, help="Do not measure an allreduce.")
@click.option(
    "--write-hosts", type=click.Path(path_type=Path), metavar="FILE", help="Write the nodes that are not sick to FILE."
)
@click.option(
    "--hosts-format", type=click.Choice(("slurm", "hostfile")), default="slurm", show_default=True,
    help="The form of FILE: n[1-3,7] on one line, or one name per line.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Also print each fault with what to do, and what was not checked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(**options: Any) -> int:
    """Check the nodes of this job before its application.

    \b
    Examples:
      railyard preflight --system mycluster:ndr
      railyard preflight --system mycluster --write-hosts good.txt || [ $? -eq 1 ]

    Put it into the job's script. It answers on one line. It looks at links and slots of each node, measures short pairs
    over each rail and an allreduce, and reads the error counters around that. It names the sick node or rail, or says
    that it does not know. It drains no node.

    Exit code: 0 fit; 1 unfit, and the line has the reason; 3 undecided, or not measured in time; 2 wrong input or a
    set-up that cannot work.
    """
    from railyard.base.errors import SetupError, did_you_mean
    from railyard.base.paths import find_home
    from railyard.cluster.preflight import job
    from railyard.cluster.preflight.answer import write_hosts as write
    from railyard.site.site import site_at
    from railyard.site.systems.load import find_system

    given = _Options(**options)
    home, (system, _, fabric) = find_home(), given.name.partition(":")
    find_system(home / "systems", system, alone=True)  # it offers a near miss
    site = site_at(home, system)
    if fabric and fabric not in site.system.fabrics:
        known = did_you_mean(fabric, site.system.fabrics)
        raise SetupError(f'preflight --system: found the fabric "{fabric}", expected one of {system}; {known}')
    nodes = job.nodes_of_job(site)
    limit = given.limit_s or job.default_limit_s(len(nodes))
    answer = job.run(site, job.PreflightRequest(nodes, limit, fabric or None, given.stack, not given.no_allreduce))
    if given.as_json:
        click.echo(json.dumps(answer.as_json(), ensure_ascii=False))
    else:
        for line in (answer.line, *(f"  {line}" for line in answer.details if given.verbose)):
            say(line)
    if given.write_hosts is not None:
        write(given.write_hosts, answer.hosts, given.hosts_format)
    return answer.exit_code
