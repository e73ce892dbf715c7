"""`railyard scaling`: shows speed-up, efficiency and serial fraction of sweeps over nodes in stored runs."""

import json
from typing import TYPE_CHECKING

import click

from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.results.record.form import Record


@click.command("scaling")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print a list of sweeps as JSON.")
def command(names: tuple[str, ...], as_json: bool) -> int:
    """Show how applications scale over nodes.

    \b
    Examples:
      railyard run --spack -t scaling       measure NPB on 1, 2, 4 … nodes
      railyard scaling                      show what came of it
      railyard scaling last5 --json         five runs as repeats

    Name a RUN by its id or the beginning of it, a pattern ('20261121T*'), last, last5 or its folder. Without a RUN, it
    shows the last run.

    Exit code: 0; 2 the runs hold no sweep over nodes.
    """
    from railyard.base.errors import RailyardError
    from railyard.results.sweeps import as_json as json_of
    from railyard.results.sweeps import sweeps, text

    asked = names or ("last",)
    found = sweeps(_records(asked))
    if not found:
        raise RailyardError(
            f'"{" ".join(asked)}": found no problem on several numbers of nodes, expected a sweep; '
            "measure one: railyard run -t scaling"
        )
    if as_json:
        click.echo(json.dumps(json_of(found), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        say(text(found).rstrip("\n"))
    return 0


def _records(names: tuple[str, ...]) -> "tuple[Record, ...]":
    """Return the records of these runs, the last of each case; report lines without a record on stderr."""
    from railyard.base.paths import find_home, runs_folder
    from railyard.results.store.index import finals_of_runs

    return finals_of_runs(
        names, lambda: runs_folder(find_home()), lambda problem: click.echo(f"warning: {problem}", err=True)
    )
