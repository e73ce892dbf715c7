"""`railyard rehearse`: runs a site's own system on this machine, with stand-ins for nodes and benchmarks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import RailyardError
from railyard.base.paths import find_home
from railyard.base.wording import count_of
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.provision.rehearsal.form import Rehearsal


@click.command(name="rehearse", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.option(
    "--system", "name", default=None, help="The system: NAME of systems/NAME.yaml, or NAME:FABRIC for one fabric."
)
@click.option("--fault", "faults", multiple=True, metavar="FAULT",
              help="Plant a fault in one of the forms above. Repeatable.")  # fmt: skip
@click.option(
    "--nodes",
    type=click.IntRange(min=2),
    default=None,
    help="How many nodes to show. Default: as many as memory allows.",
)
@click.option("--recording", type=click.Path(path_type=Path), default=None, metavar="FOLDER",
              help="Recordings of a real run of this system: its outputs and counters are played.")  # fmt: skip
@click.option("--extended", is_flag=True, help="Also run the extended checks, as in railyard run.")
@click.option("--keep", is_flag=True, help="Leave the nodes up after the run, to look at them.")
@click.option("--down", is_flag=True, help="Take down what --keep left up, and do nothing else.")
@click.argument("reframe_options", nargs=-1, type=click.UNPROCESSED)
def command(
    name: str | None,
    faults: tuple[str, ...],
    extended: bool,
    keep: bool,
    down: bool,
    reframe_options: tuple[str, ...],
    **chosen: Any,
) -> int:
    """Run a system's checks without the cluster, with stand-ins.

    \b
    Examples:
      railyard rehearse --system mycluster
      railyard rehearse --system mycluster --fault 'rail=*:mlx5_1,idle'

    The nodes' names, the jobs and the judging are real; the nodes are namespaces of this machine, under a real
    scheduler: Slurm, OpenPBS, Flux or Grid Engine, as the system's file says. A stand-in replaces each benchmark. It
    obeys the variables and options that it is given, and moves the counters that such a run would move. Nothing is
    measured, and every record and page says so.

    REFRAME_OPTIONS are ReFrame's own (-n, -p, -P, -S …).

    \b
    Faults (NODE may be * for all; DEVICE is mlx5_1, or mlx5_1:1 with its port):
      rail=NODE:DEVICE,share=0.5            the rail gives half of its rate
      rail=NODE:DEVICE,idle                 the library leaves the rail out
      rail=NODE:DEVICE,lanes=1              the cable has one lane of four
      rail=NODE:DEVICE,counters=unreadable  the rail's counters cannot be read
      rail=NODE:DEVICE,far                  the card is at the other socket
      gpu=NODE:NUMBER,lanes=4               the GPU's slot has four lanes
      gpu=NODE:NUMBER,missing               the node does not see the GPU any more
      gpu=NODE:NUMBER,dead                  no data gets from the GPU to others
      node=NODE,dies                        the node goes down in the first run
      leaf=NAME,share=0.5                   the leaf switch, or group, gives half
      fallback=tcp                          the library uses TCP silently

    Exit code: as of `railyard run`, so 1 if a planted fault is found.
    """
    from railyard.provision.rehearsal import recorded_run
    from railyard.provision.rehearsal.form import summary
    from railyard.provision.rehearsal.prepare import choose_nodes as chosen_nodes_and_faults
    from railyard.provision.rehearsal.prepare import prepare_rehearsal, standing, take_down, turn
    from railyard.rfm.run.options import read
    from railyard.rfm.run.session import Session, SessionOptions, known_system
    from railyard.site.site import site_at

    home = find_home()
    if down:
        click.echo("the rehearsal is down" if take_down(home) else "no rehearsal was up")
        return 0
    if name is None:
        raise RailyardError(
            "--system: found none, expected the system to rehearse; type: railyard rehearse --system NAME"
        )
    given = read(reframe_options)
    if given.lists:
        raise RailyardError(
            f"found an option that runs nothing ({' '.join(reframe_options)}), expected options that choose tests; "
            f"type: railyard run --system {name} {' '.join(reframe_options)}"
        )
    if given.failed:
        raise RailyardError("--failed: found it in a rehearsal, expected tests by name; leave it out")
    system = known_system(home, name, reframe_options)
    asked = SessionOptions(name, full=False, failed=False, reframe=reframe_options, extended=extended)
    chosen_nodes_and_faults(system, faults, chosen["nodes"], chosen["recording"])  # refused before it waits
    with turn(home, click.echo):
        rehearsal = prepare_rehearsal(site_at(home, system.system), faults, chosen["nodes"], chosen["recording"])
        for line in introduction(rehearsal):
            say(line)
        with standing(rehearsal, system, keep, click.echo):
            outcome = Session(home, asked, echo=click.echo).run()
    for line in (*recorded_run.summary(rehearsal, outcome.records), *summary(rehearsal, system, outcome.records)):
        say(line)
    return outcome.exit_code


def introduction(rehearsal: "Rehearsal") -> list[str]:
    """Return the first lines: what is rehearsed, what was planted, and one line for each thing that is left out."""
    from railyard.provision.rehearsal.recorded_run import name_of

    nodes = f"{count_of(len(rehearsal.nodes), 'node')} ({', '.join(rehearsal.nodes)})"
    head = f"A rehearsal of {rehearsal.system}: {nodes}; planted: {rehearsal.planted_words}; nothing is measured"
    played = [f"recordings: outputs of {name_of(Path(rehearsal.recording))} are played where they fit"]
    return [head, *(played if rehearsal.recording else ()), *(f"left out: {why}" for why in rehearsal.left_out)]
