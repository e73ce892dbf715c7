"""`railyard fabric`: compares links, counters, cards and slots with the system's file, before any benchmark."""

import json
import os
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError, SetupError, did_you_mean
from railyard.base.paths import find_home, state_folder
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.cluster.fabric.model import ExpectedFabric, Readings, Report
    from railyard.site.systems.model import System

SYSFS_VARIABLE = "RAILYARD_SYSFS"  # where /sys is, as for reader.sh: tests have synthetic trees


@dataclass(frozen=True, slots=True)
class _Options:
    name: str | None
    fabrics: tuple[str, ...]
    folder: Path | None
    again_s: float | None
    keep_hops: bool
    optics: bool
    own: bool
    as_json: bool


@click.command(name="fabric")
@click.option("--system", "name", help="The system: NAME of systems/NAME.yaml. Default: the one of this host.")
@click.option("--fabric", "fabrics", multiple=True, help="Only this fabric. Repeatable. Default: all with RDMA.")
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), help="Read saved outputs from this folder; run nothing."
)
@click.option(
    "--again",
    "again_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Read error counters twice, so many seconds apart, and judge what grew.",
)
@click.option(
    "--keep-hops", is_flag=True, help="Keep how many switches are between nodes: references can depend on hops."
)
@click.option("--optics", is_flag=True, help="Also read cables and modules with mlxlink or ethtool; both need root.")
@click.option(
    "--own", is_flag=True, help="Print what this node reads about its own ports as lines of JSON; judge nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per fabric, one per line.")
def command(**options: Any) -> int:
    """Find links, ports, cards and slots that are not as stated.

    \b
    Examples:
      railyard fabric --system mycluster              on a node, as root
      railyard fabric --system mycluster --optics     also cables and modules
      railyard fabric --system mycluster --from saved/

    It compares what the fabric shows with the system's file, and names each link, port, counter, card and slot that
    differs.

    Exit code: 0 no problem, 1 a problem, 2 wrong input, or nothing could be read.
    """
    given = _Options(**options)
    if given.own:
        click.echo(_own_lines(given.optics))
        return 0
    from railyard.cluster.fabric.judge import judge, say_no_port_read
    from railyard.cluster.fabric.model import expected_fabric

    home = find_home()
    system = _system(home, given.name)
    chosen = [expected_fabric(system, each) for each in _fabrics(system, given.fabrics)]
    readings = _read(home, given)
    judged = [(expected, judge(expected, readings)) for expected in chosen]
    shown = [(expected, report) for expected, report in judged if not report.is_blind]
    for expected, report in shown:
        _show(expected, report, given.as_json)
        if given.keep_hops:
            _keep_hops(home, system.system, expected, readings)
    # In the file the same cards may be a fabric of InfiniBand and one of Ethernet. At the moment they are only one of
    # them.
    seen = {(rail.device, rail.port) for expected, _ in shown for rail in expected.rails}
    for expected, report in judged:
        if report.is_blind:
            sentence = say_no_port_read(expected, report)
            if given.fabrics or any((rail.device, rail.port) not in seen for rail in expected.rails):
                raise SetupError(sentence)
            _print_aside(sentence)
    return max((1 if report.problems else 0 for _, report in shown), default=0)


def _show(expected: "ExpectedFabric", report: "Report", as_json: bool) -> None:
    from railyard.cluster.fabric.judge import report_lines, to_json

    if as_json:
        click.echo(json.dumps(to_json(expected, report), ensure_ascii=False))
        return
    for line in report_lines(expected, report):
        say(line)


def _keep_hops(home: Path, system: str, expected: "ExpectedFabric", readings: "Readings") -> None:
    """Store the distances between a fabric's nodes. Raises SetupError if no whole subnet was seen."""
    from railyard.cluster.doctor.login import SWITCHES_FIX
    from railyard.cluster.fabric.judge import of_fabric
    from railyard.cluster.fabric.members import distances
    from railyard.site import topology
    from railyard.site.systems.load import find_system

    seen = of_fabric(expected, readings)
    found = distances(expected, seen.ports)
    if not seen.is_whole or not found.places:
        raise SetupError(f"{expected.fabric}: found no subnet with nodes and devices by name: no hops to keep")
    kept = topology.StoredDistances(topology.FORMAT, system, expected.fabric, found.places, found.hops, found.up_links)
    _print_aside(f"hops are kept in {topology.keep(home, kept)}")
    for fabric, how in topology.contradictions(home, find_system(home / "systems", system)):
        if fabric == expected.fabric:
            _print_aside(f"{fabric}: {how}: {SWITCHES_FIX}")


def _own_lines(optics: bool) -> str:
    """Return this node's own reading. Its tools' outputs are not kept."""
    from railyard.cluster.fabric.own_json import lines_of
    from railyard.cluster.fabric.saved_outputs import collect_own, read_folder

    node = socket.gethostname()
    with tempfile.TemporaryDirectory(prefix="railyard-fabric-") as name:
        folder = Path(name) / node
        folder.mkdir()
        collect_own(folder, _quiet, _sysfs(), optics=optics)
        readings = read_folder(Path(name), {node: _sysfs()})
    return lines_of(node, readings.own, readings.cards)


def _sysfs() -> Path:
    return Path(os.environ.get(SYSFS_VARIABLE, "/sys"))


def _read(home: Path, given: _Options) -> "Readings":
    """Return the readings of a folder, or new ones; outputs of new ones are kept in the site's state folder."""
    from railyard.cluster.fabric.saved_outputs import collect, read_folder

    if given.folder is not None:
        if given.again_s is not None:
            raise click.UsageError("--again reads counters now, --from reads those of a folder: give only one of them")
        if given.optics:
            raise click.UsageError("--optics reads modules now, --from reads saved outputs: give only one of them")
        return read_folder(given.folder)
    node = socket.gethostname()
    folder = state_folder(home) / "fabric" / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}"
    collect(folder, node, _print_aside, given.again_s, _sysfs(), optics=given.optics)
    _print_aside(f"outputs are kept in {folder}")
    return read_folder(folder, {node: _sysfs()})


def _system(home: Path, name: str | None) -> "System":
    """Return the named system, or the one whose patterns fit this host."""
    from railyard.base.errors import note_remark
    from railyard.site.systems.load import find_system, load_systems, takes_host

    if name is not None:
        return find_system(home / "systems", name)
    host = socket.gethostname()
    systems = load_systems(home / "systems")
    for broken in systems.broken.values():  # one of these may be the system of this host
        if broken.hostnames is None or takes_host(broken.hostnames, host):
            raise broken.error
    note_remark(systems.remark())
    for system in systems.values():
        if takes_host(system.hostnames, host) and _with_rdma(system):
            return system
    raise InputError(
        "systems/", f'no system with RDMA whose hostnames fit "{host}"', "one", action="name it: --system NAME"
    )


def _with_rdma(system: "System") -> list[str]:
    from railyard.cluster.fabric.model import VERBS

    return [name for name, fabric in system.fabrics.items() if fabric.kind in VERBS]


def _fabrics(system: "System", asked: Sequence[str]) -> list[str]:
    file = f"systems/{system.system}.yaml"
    there = _with_rdma(system)
    for name in asked:
        if name not in system.fabrics:
            raise InputError(
                file, f'no fabric "{name}"', "a fabric of that name", action=did_you_mean(name, system.fabrics)
            )
        if name not in there:
            raise InputError(file, f'"{name}" of kind {system.fabrics[name].kind}', "a fabric of ib, roce or opa")
    chosen = [name for name in there if not asked or name in asked]
    if not chosen:
        raise InputError(file, "no fabric with RDMA devices", "one of kind ib, roce or opa")
    return chosen


def _print_aside(sentence: str) -> None:
    say(f"railyard: {sentence}", err=True)


def _quiet(sentence: str) -> None:
    """Say nothing: a job's output is lines of JSON, and a missing tool leaves no file."""
