"""``railyard testbed guests``: two Soft-RoCE guests from the command line."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from railyard.base.errors import SetupError
from railyard.base.paths import find_home
from railyard.cli.commands.testbed.enter_node import become

if TYPE_CHECKING:
    from railyard.provision.testbed.guests.bed import Guests

SYSTEM = "virtual-verbs"


@click.group(name="guests")
def command() -> None:
    """Two QEMU guests with Soft-RoCE: real verbs without a card."""


@command.command()
def up() -> None:
    """Bring up both guests; they stay until `down`.

    \b
    Examples:
      railyard testbed guests up
      railyard testbed guests up && railyard run --system virtual-verbs
    """
    guests = _guests()
    word = "up" if guests.bring_up(click.echo) else "they are up already"
    rates = ", ".join(
        f"{network.device} {'unshaped' if network.rate_mbit_s is None else f'{network.rate_mbit_s:g} Mbit/s'}"
        for network in guests.spec.networks[1:]
    )
    click.echo(f"{word}: {' and '.join(guests.spec.nodes)}; {rates}")


@command.command()
def down() -> None:
    """End both guests, even if their run was killed.

    \b
    Examples:
      railyard testbed guests down
      railyard testbed guests down && railyard testbed guests up
    """
    from railyard.provision.testbed.guests.bed import Guests
    from railyard.provision.testbed.spec import DEFAULT_SPEC

    # Do not read the system's file: whatever it says now, what is up must come down.
    click.echo("down" if Guests(find_home(), DEFAULT_SPEC).take_down() else "they were not up")


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def status(as_json: bool) -> None:
    """Show the RDMA devices of both guests, with rates and packets.

    \b
    Examples:
      railyard testbed guests status
      railyard testbed guests status --json
    """
    devices = _guests().status()
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


@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("node")
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec(node: str, words: tuple[str, ...]) -> None:
    """Run a command in a guest.

    \b
    Examples:
      railyard testbed guests exec vg1 -- ibv_devinfo
      railyard testbed guests exec vg2 -- rdma statistic

    The command keeps your environment and working folder. Its exit code is passed on.
    """
    guests = _guests()
    guests.state().node(node)
    become(guests.enter, node, words)


def _guests() -> "Guests":
    """Return the guests of the site folder, as in its systems/virtual-verbs.yaml. Raises SetupError without one."""
    from railyard.provision.testbed.guests.bed import Guests
    from railyard.provision.testbed.spec import spec_of
    from railyard.site.systems.load import find_system

    home = find_home()
    if not (home / "systems" / f"{SYSTEM}.yaml").is_file():
        raise SetupError(f"testbed: {home} has no systems/{SYSTEM}.yaml, which says what the guests are")
    return Guests(home, spec_of(find_system(home / "systems", SYSTEM)))
