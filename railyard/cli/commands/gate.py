"""`railyard gate`: says within a minute whether a node is fit for jobs."""

import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError, SetupError, did_you_mean
from railyard.base.values import show
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.cluster.gate.ending import Deadline
    from railyard.cluster.gate.look import GateRequest
    from railyard.cluster.gate.model import Answer
    from railyard.site.systems.model import System
    from railyard.site.systems.node_view import SystemView


@dataclass(frozen=True, slots=True)
class _Options:
    name: str
    node: str | None
    nodes: str | None
    state: Path | None
    traffic: bool
    neighbour: str | None
    drain: bool
    forget: bool
    verbose: bool
    as_json: bool


@click.command(name="gate")
@click.option("--system", "name", default="virtual", show_default=True, help="The system: NAME of systems/NAME.yaml.")
@click.option(
    "--node", metavar="NAME", help="This node's name in the scheduler. Default: SLURMD_NODENAME, else the host name."
)
@click.option(
    "--nodes", metavar="LIST", help="Run the gates of these nodes (n[1-8]), each in a step of Slurm on its node."
)
@click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR",
    help="The folder for the lock and for counters between gates. Default: .railyard/gate of the site.",
)  # fmt: skip
@click.option("--traffic", is_flag=True, help="Also measure loopback, memory and pair: only on a node without jobs.")
@click.option(
    "--neighbour", metavar="NAME", help="With --traffic, in a job on both nodes: a neighbour that is known to be good."
)
@click.option("--drain/--no-drain", default=True, help="Run the commands of the system's file, if it has any.")
@click.option("--forget", is_flag=True, help="Count errors from now on, for example after a link was repaired.")
@click.option("--verbose", is_flag=True, help="Also print each fault with what to do, and each thing not checked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per node, one per line.")
def command(**options: Any) -> int:
    """Say whether this node is fit for jobs, on one line.

    \b
    Examples:
      railyard gate --system mycluster               in a prolog or epilog
      railyard gate --system mycluster --traffic     with a short measurement

    Use it in a prolog, an epilog or Slurm's HealthCheckProgram. It looks at links, PCIe slots and growing error
    counters. It sends nothing unless you give --traffic.

    Exit code: 0 fit; 1 unfit, and the line has the reason; 3 undecided (disturbed, cancelled, out of time, another gate
    runs); 2 wrong input or a set-up that cannot work. Only 1 may drain a node.
    """
    from railyard.base.paths import find_home

    given = _Options(**options)
    home = find_home()
    part = None if given.traffic or given.nodes else _read_part(home, given.name)
    if part is not None:
        _refuse(given, part)
        return _gate_this_node(given, home, part)
    from railyard.site.systems.load import find_system  # with all models: they take longer than a gate that only looks

    system = find_system(home / "systems", given.name, alone=True)
    _refuse(given, system)
    return _of_nodes(given, home, system) if given.nodes else _gate_this_node(given, home, system, system)


def _read_part(home: Path, name: str) -> "SystemView | None":
    """Return what a gate needs of a system's file; None if the whole file must be read, which then says why."""
    from railyard.base.paths import ALLOCATION_VARIABLE, REHEARSAL_VARIABLE, REPLAY_VARIABLE
    from railyard.base.values import NAME_PATTERN

    changed = any(os.environ.get(each) for each in (ALLOCATION_VARIABLE, REHEARSAL_VARIABLE, REPLAY_VARIABLE))
    if changed or not re.fullmatch(NAME_PATTERN, name) or (home / "systems" / f"{name}.yml").exists():
        return None
    from railyard.site.systems.node_part import read_part

    return read_part(home / "systems" / f"{name}.yaml")


def _refuse(given: _Options, system: "SystemView") -> None:
    """Refuse options that do not fit. Raises SetupError, InputError and click's UsageError."""
    if system.provider == "replay":
        raise SetupError(f"gate: {system.system} is replayed and has no nodes; name a system that runs")
    if given.neighbour is not None and not given.traffic:
        raise click.UsageError("--neighbour goes with --traffic")
    if given.nodes is not None and (given.node is not None or given.neighbour is not None):
        raise click.UsageError("--nodes goes with neither --node nor --neighbour")
    known = system.gate.neighbours
    if given.neighbour is not None and given.neighbour not in known:
        raise InputError(
            f"systems/{system.system}.yaml", f"no {show(given.neighbour)}", "a node that is known to be good",
            field="gate.neighbours", action=did_you_mean(given.neighbour, known),
        )  # fmt: skip


def _refuse_stranger(node: str, system: "SystemView", expected: str, action: str) -> None:
    """Raise InputError if the system's file names its nodes, and not this one."""
    from railyard.base.hostlist import label

    names = system.nodes.names
    if system.provider != "host" and names and node not in map(label, names):
        more = f"{action}; {did_you_mean(node, names)}"
        raise InputError(
            f"systems/{system.system}.yaml", f"no {show(node)}", expected, field="nodes.names", action=more
        )


def _gate_this_node(given: _Options, home: Path, system: "SystemView", whole: "System | None" = None) -> int:
    """Run the gate of this node, print its line, and return its exit code. ``whole``: needed with --traffic."""
    from railyard.base.paths import state_folder
    from railyard.cluster.gate.ending import GateStop, limit_time
    from railyard.cluster.gate.look import GateRequest
    from railyard.cluster.gate.model import EXIT_CODES, Answer, Busy

    state = given.state or state_folder(home) / "gate"
    node = _node(given)
    _refuse_stranger(node, system, "the node that the gate runs on", "name it by --node, or add it")
    asked = GateRequest(home, system, node, state, whole if given.traffic else None, given.neighbour, given.forget)
    try:
        with limit_time(system.gate.limit_s) as deadline:
            answer = _decide_with_drain(asked, deadline, given.drain)
    except Busy:
        answer = Answer(node, "undecided", "another gate of this node runs")
    except GateStop as stop:
        answer = Answer(node, "undecided", str(stop))
    _print(answer.as_json(), given)
    return EXIT_CODES[answer.state]


def _decide_with_drain(asked: "GateRequest", deadline: "Deadline", drain: bool) -> "Answer":
    """Return what the gate says, after the site's command has run, if there is one for this answer."""
    from railyard.cluster.gate import look as site_commands
    from railyard.cluster.gate import model
    from railyard.cluster.gate.look import look

    gate = asked.system.gate
    with model.lock_node(asked.state, asked.node):
        looked = look(asked, deadline)
        answer, drained = looked.answer, looked.kept.drained
        words: tuple[str, ...] = ()
        if drain and answer.state == "unfit":
            faulty = (look.part for look in answer.looks if look.faults)
            words, then = gate.drain, tuple(dict.fromkeys((*drained, *faulty)))
        elif drain and site_commands.may_resume(answer, drained):
            words, then = gate.resume, ()
        if words:
            wrong = site_commands.run_command(words, answer, deadline)
            drained = drained if wrong else then
            if wrong:
                say(f"railyard: gate of {answer.node}: {wrong}", err=True)
        try:
            model.save(asked.state, asked.node, replace(looked.kept, drained=drained))
        except SetupError as error:
            if answer.state != "unfit":
                raise
            # a full disk must not keep a broken node in service; the next gate compares with the same file again
            say(f"railyard: {error}", err=True)
    return answer


def _of_nodes(given: _Options, home: Path, system: "System") -> int:
    """Run the gates of many nodes, print the line of each, and return one exit code."""
    from railyard.base.hostlist import expand_names
    from railyard.cluster.gate.on_nodes import ask, worst
    from railyard.results import flaps

    try:
        nodes = tuple(dict.fromkeys(expand_names(given.nodes or "")))
    except ValueError as error:
        raise click.UsageError(f"--nodes {given.nodes}: {error}") from None
    for node in nodes:
        _check_name(node, "--nodes")
        _refuse_stranger(node, system, "each node of --nodes", "correct --nodes, or add it")
    handed = [f"--state={given.state.absolute()}"] if given.state is not None else []
    handed += [word for word, is_set in (("--traffic", given.traffic), ("--forget", given.forget)) if is_set]
    options = [*handed, "--drain" if given.drain else "--no-drain"]
    answers = ask(home, system, nodes, options, lambda sentence: click.echo(f"railyard: {sentence}", err=True))
    for told in answers:
        _print(told, given)
    for problem in flaps.collect(home, answers):
        say(f"railyard: {problem}", err=True)
    return worst(answers)


def _print(told: dict[str, Any], given: _Options) -> None:
    if given.as_json:
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for line in (told["line"], *(f"  {line}" for line in told["details"] if given.verbose)):
        say(line)


def _node(given: _Options) -> str:
    """Return this node's name in the scheduler, checked: the site's commands and a file's name contain it."""
    import platform

    from railyard.base.hostlist import label

    node = given.node or os.environ.get("SLURMD_NODENAME") or label(platform.node())
    return _check_name(node, "--node" if given.node else "this node's name")


def _check_name(node: str, option: str) -> str:
    from railyard.base.values import NAME_PATTERN

    if not re.fullmatch(NAME_PATTERN, node):
        raise click.UsageError(f"{option}: found {show(node)}, expected the name of a node")
    return node
