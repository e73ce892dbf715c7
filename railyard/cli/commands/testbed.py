"""``railyard testbed``: the virtual cluster, and two Soft-RoCE guests, from the command line."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from railyard.base.errors import SetupError
from railyard.base.paths import find_home
from railyard.provision.testbed.scripts import VARIABLES

if TYPE_CHECKING:
    from railyard.parsers.slurm import NodeState
    from railyard.provision.testbed.cluster import RailStatus, Testbed
    from railyard.provision.testbed.guests import Guests

_SYSTEM, _GUESTS_SYSTEM = "virtual", "virtual-verbs"
#: As in ``provision.testbed.schedulers``, which is not imported for the help alone.
SCHEDULERS = tuple(VARIABLES)


@click.group(name="testbed")
def command() -> None:
    """Bring up and change the virtual cluster on this machine."""


@command.command()
@click.option(
    "--scheduler",
    type=click.Choice(SCHEDULERS),
    help="Start a scheduler on it, too: its server on the first node, its daemons on each. Its programs must be on "
    "PATH.",
)
@click.option("--slurm", is_flag=True, help="The same as --scheduler slurm.")
def up(scheduler: str | None, slurm: bool) -> None:
    """Bring up the virtual cluster; it stays until `down`.

    \b
    Examples:
      railyard testbed up
      railyard testbed up --scheduler slurm
      railyard testbed up --scheduler flux

    It has four nodes, two shaped rails and a management network.
    """
    if slurm and scheduler not in (None, "slurm"):
        raise click.UsageError(f"--slurm and --scheduler {scheduler}: choose one")
    wanted = "slurm" if slurm else scheduler
    if wanted is not None:
        _refuse_scheduler(wanted)
    bed = _bed()
    if bed.bring_up():
        click.echo(f"up: {_summary(bed)}")
    else:
        click.echo(f"it is up already: {_summary(bed)}")
        for fault in bed.state().degradations:
            click.echo(f"degraded: {fault.device} of {fault.node} is {fault}")
    if wanted is not None:
        _start_scheduler(bed, wanted)


@command.command()
def down() -> None:
    """End the virtual cluster, even if its run was killed.

    \b
    Examples:
      railyard testbed down
      railyard testbed down && railyard testbed up
    """
    from railyard.provision.testbed.cluster import Testbed

    # Do not read the system's file: whatever it says now, what is up must come down.
    click.echo("down" if Testbed(find_home()).take_down() else "it was not up")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def status(as_json: bool) -> None:
    """Show nodes, rails, rates, degradations and byte counters.

    \b
    Examples:
      railyard testbed status
      railyard testbed status --json

    If Slurm runs there, you also see the state of each node in Slurm.
    """
    from railyard.provision.testbed.lifecycle import running_on

    bed = _find_testbed()
    rails, scheduler = bed.status(), running_on(bed)
    nodes = _slurm_nodes(bed) if scheduler is not None and scheduler.name == "slurm" else None
    if as_json:
        slurm = None if nodes is None else [{"node": n.name, "state": n.state, "reason": n.reason} for n in nodes]
        running = None if scheduler is None else scheduler.name
        found = {"rails": [_as_json(rail) for rail in rails], "slurm": slurm, "scheduler": running}
        click.echo(json.dumps(found, indent=1))
        return
    _print_table(rails)
    for node in nodes or ():
        click.echo(f"Slurm: {node.words}")
    if scheduler is not None and nodes is None:
        click.echo(f"{scheduler.title} is up; {scheduler.usage(bed)}")


@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("node")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec(node: str, words: tuple[str, ...]) -> None:
    """Run a command on a node.

    \b
    Examples:
      railyard testbed exec vn1 -- ip address
      railyard testbed exec vn1 -- ping -c 3 vn2

    The command keeps your environment and working folder. Its exit code is passed on.
    """
    bed = _find_testbed()
    bed.state().node(node)
    _become(bed.enter, node, words)


@command.command()
@click.argument("node")
@click.argument("rail")
@click.argument("kind", metavar="slow|lossy|unplugged")
@click.argument("value", metavar="[RATE|PERCENT]", required=False)
def degrade(node: str, rail: str, kind: str, value: str | None) -> None:
    """Make a rail slow, lossy or unplugged.

    \b
    Examples:
      railyard testbed degrade vn2 hsn1 slow 100
      railyard testbed degrade vn2 hsn1 lossy 5

    RATE is in Mbit/s, PERCENT in per cent of the packets.
    """
    from railyard.provision.testbed.scripts import parse_degradation

    bed = _find_testbed()
    bed.spec.address(node, rail)
    wanted = parse_degradation(node, rail, kind, value)
    click.echo(f"{rail} of {node} is {bed.degrade(wanted.node, wanted.device, wanted.kind, wanted.value)}")


@command.command()
@click.argument("node", required=False)
@click.argument("rail", required=False)
def restore(node: str | None, rail: str | None) -> None:
    """Undo what `degrade` did to a rail, a node, or all.

    \b
    Examples:
      railyard testbed restore
      railyard testbed restore vn2 hsn1
    """
    undone = _find_testbed().restore(node, rail)
    for fault in undone:
        click.echo(f"{fault.device} of {fault.node} is no longer {fault}")
    if not undone:
        click.echo("nothing was degraded")


@command.group(name="guests")
def guests_command() -> None:
    """Two QEMU guests with Soft-RoCE: real verbs without a card."""


@guests_command.command("up")
def up_guests() -> None:
    """Bring up both guests; they stay until `down`.

    \b
    Examples:
      railyard testbed guests up
      railyard testbed guests up && railyard run --system virtual-verbs
    """
    guests = _find_guests()
    word = "up" if guests.bring_up(click.echo) else "they are up already"
    rates = ", ".join(
        f"{network.device} {'unshaped' if network.rate_mbit_s is None else f'{network.rate_mbit_s:g} Mbit/s'}"
        for network in guests.spec.networks[1:]
    )
    click.echo(f"{word}: {' and '.join(guests.spec.nodes)}; {rates}")


@guests_command.command("down")
def down_guests() -> None:
    """End both guests, even if their run was killed.

    \b
    Examples:
      railyard testbed guests down
      railyard testbed guests down && railyard testbed guests up
    """
    from railyard.provision.testbed.guests import Guests
    from railyard.provision.testbed.spec import DEFAULT_SPEC

    # Do not read the system's file: whatever it says now, what is up must come down.
    click.echo("down" if Guests(find_home(), DEFAULT_SPEC).take_down() else "they were not up")


@guests_command.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def status_guests(as_json: bool) -> None:
    """Show the RDMA devices of both guests, with rates and packets.

    \b
    Examples:
      railyard testbed guests status
      railyard testbed guests status --json
    """
    devices = _find_guests().status()
    if as_json:
        click.echo(json.dumps({"devices": [asdict(device) for device in devices]}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("guest", "device", "address", "rate", "state")
    for heading in ("sent packets", "received packets"):
        table.add_column(heading, justify="right")
    for device in devices:
        rate = "unshaped" if device.rate_mbit_s is None else f"{device.rate_mbit_s:g} Mbit/s"
        counts = (str(device.sent_packets), str(device.received_packets))
        table.add_row(device.node, device.device, device.address, rate, device.state, *counts)
    Console(markup=False).print(table)


@guests_command.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("node")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_in_guest(node: str, words: tuple[str, ...]) -> None:
    """Run a command in a guest.

    \b
    Examples:
      railyard testbed guests exec vg1 -- ibv_devinfo
      railyard testbed guests exec vg2 -- rdma statistic

    The command keeps your environment and working folder. Its exit code is passed on.
    """
    guests = _find_guests()
    guests.state().node(node)
    _become(guests.enter, node, words)


def _become(enter: Path, node: str, words: tuple[str, ...]) -> NoReturn:
    """Become this command in a node, so that signals and the terminal are its own.

    ``enter`` is the testbed's script, ``words`` the command, which may begin with ``--``. Raises click.UsageError if no
    command is left.
    """
    command_words = words[1:] if words[:1] == ("--",) else words
    if not command_words:
        raise click.UsageError(f"no command was given: {click.get_current_context().command_path} NODE -- COMMAND...")
    os.execv(enter, [str(enter), node, "--", *command_words])


def _find_guests() -> "Guests":
    """Return the guests of the site folder, as in its systems/virtual-verbs.yaml. Raises SetupError without one."""
    from railyard.provision.testbed.guests import Guests
    from railyard.provision.testbed.spec import spec_of
    from railyard.site.systems.load import find_system

    home = find_home()
    if not (home / "systems" / f"{_GUESTS_SYSTEM}.yaml").is_file():
        raise SetupError(f"testbed: {home} has no systems/{_GUESTS_SYSTEM}.yaml, which says what the guests are")
    return Guests(home, spec_of(find_system(home / "systems", _GUESTS_SYSTEM)))


def _bed() -> "Testbed":
    """Return the testbed of the site folder, as in its systems/virtual.yaml if there is one."""
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.spec import DEFAULT_SPEC, spec_of
    from railyard.site.systems.load import find_system

    home = find_home()
    if not (home / "systems" / f"{_SYSTEM}.yaml").is_file():
        return Testbed(home, DEFAULT_SPEC)
    return Testbed(home, spec_of(find_system(home / "systems", _SYSTEM)))


def _find_testbed() -> "Testbed":
    """Return the testbed that is up. Raises SetupError if none is up."""
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.scripts import NOT_UP

    bed = Testbed.find(find_home())
    if bed is None:
        raise SetupError(f"testbed: {NOT_UP}")
    return bed


def _refuse_scheduler(name: str) -> None:
    """Raise SetupError if a scheduler cannot run on this machine's testbed, before the testbed comes up."""
    from railyard.provision.testbed.lifecycle import ON_TESTBEDS

    sentence = ON_TESTBEDS[name].find_refusal()
    if sentence is not None:
        raise SetupError(sentence)


def _start_scheduler(bed: "Testbed", name: str) -> None:
    from railyard.provision.testbed import lifecycle, slurm

    scheduler = lifecycle.ON_TESTBEDS[name]
    started = lifecycle.start_scheduler(bed, scheduler)
    nodes = slurm.leaves_of(bed) if name == "slurm" else ()
    leaves = "; ".join(f"{', '.join(each)} on leaf{number}" for number, each in enumerate(nodes))
    shape = leaves or f"a job can run on {', '.join(bed.spec.nodes)}"
    click.echo(f"{scheduler.title} {'is up' if started else 'is up already'}: {shape}; {scheduler.usage(bed)}")


def _slurm_nodes(bed: "Testbed") -> "tuple[NodeState, ...]":
    """Return the nodes as Slurm sees them. Raises SetupError if it does not answer."""
    from railyard.provision.testbed import slurm

    return slurm.node_states(bed)


def _summary(bed: "Testbed") -> str:
    rates = ", ".join(f"{network.device} {_rate(network.rate_mbit_s)}" for network in bed.spec.networks)
    return f"{len(bed.spec.nodes)} nodes ({', '.join(bed.spec.nodes)}); {rates}"


def _rate(rate_mbit_s: float | None) -> str:
    return "unshaped" if rate_mbit_s is None else f"{rate_mbit_s:g} Mbit/s"


def _as_json(rail: "RailStatus") -> dict[str, Any]:
    return {**asdict(rail), "degradations": [{"kind": f.kind, "value": f.value} for f in rail.degradations]}


def _print_table(rails: "tuple[RailStatus, ...]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("node", "device", "network", "address", "rate")
    table.add_column("tx MB", justify="right")
    table.add_column("rx MB", justify="right")
    table.add_column("state")
    for rail in rails:
        table.add_row(
            rail.node,
            rail.device,
            rail.network,
            rail.address,
            _rate(rail.rate_mbit_s),
            f"{rail.tx_bytes / 1e6:.1f}",
            f"{rail.rx_bytes / 1e6:.1f}",
            _state(rail),
        )
    Console(markup=False).print(table)


def _state(rail: "RailStatus") -> str:
    words = [str(fault) for fault in rail.degradations]
    if not rail.carrier and "unplugged" not in words:
        words.append("no carrier")
    return ", ".join(words) or "ok"
