"""`railyard doctor`: finds what is wrong with a set-up before any job runs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import Finding, InputError, problem, problems, tally
from railyard.base.wording import count_of, listing
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.cluster.doctor.ask_nodes import Answer
    from railyard.site.systems.model import System


@click.command(name="doctor")
@click.option("--system", "name", default="virtual", show_default=True, help="The system: NAME of systems/NAME.yaml.")
@click.option("--nodes", "ask", is_flag=True, help="Also look at the nodes, in a step of the system's own launcher.")
@click.option(
    "--count", type=click.IntRange(min=1), help="With --nodes, --job: how many nodes, if the scheduler chooses."
)
@click.option(
    "--from", "file", type=click.Path(path_type=Path),
    help="Instead of --nodes: what doctor.sh printed on nodes, in one file or in a folder with one file per node.",
)  # fmt: skip
@click.option("--job", "send", is_flag=True, help="Also send one job through the scheduler, as checks are sent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the findings.")
def command(name: str, ask: bool, count: int | None, file: Path | None, send: bool, as_json: bool) -> int:
    """Find what is wrong with a set-up before any job runs.

    \b
    Examples:
      railyard doctor --system mycluster           look at this host
      railyard doctor --system mycluster --nodes   and at the nodes

    Each finding is one sentence that says what to do. A problem makes runs fail or figures wrong; a remark may.

    Exit code: 0 no problem, 1 a problem, 2 wrong input, or the nodes could not be asked.
    """
    import time

    from railyard.base.paths import find_home
    from railyard.cluster.doctor.ask_nodes import ask_nodes
    from railyard.cluster.doctor.judge import order_findings
    from railyard.cluster.doctor.login import ask as ask_login
    from railyard.cluster.doctor.login import findings as login_findings

    if count is not None and not (ask or send):
        raise click.UsageError("--count goes with --nodes and --job")
    if ask and file is not None:
        raise click.UsageError("--from replaces --nodes: give one of them")
    home = find_home()
    login, system = ask_login(home, name)
    found = list(login_findings(login, system))
    answer: Answer | None = None
    if ask:
        answer = ask_nodes(home, system, count, _say)
    elif file is not None:
        answer = _read_answers(file, time.time())
    nodes = 0
    if answer is not None:
        more, nodes = _of_nodes(answer, system, timed=ask)
        found += more
    if send:
        found += _of_a_job(home, system, count)
    findings = order_findings([*dict.fromkeys(found)])
    _print(findings, nodes, send, as_json)
    return 1 if problems(findings) else 0


def _of_nodes(answer: "Answer", system: "System", *, timed: bool) -> "tuple[list[Finding], int]":
    """Return the findings about the nodes, and how many answered. Judge clocks only if Railyard started the step."""
    from railyard.cluster.doctor.judge import of_nodes

    states = answer.nodes
    if not states and not answer.silent:
        raise InputError(
            "doctor", "no line of doctor.sh", "one block per node", action="keep all that it printed on standard output"
        )
    found = [*answer.silent, *of_nodes(states, system, answer.expected, answer.step if timed else None)]
    found += answer.calibration
    unnamed = not answer.expected and not problems(answer.silent)
    if unnamed and len(states) < answer.count:
        what = f"{len(states)} of {answer.count} nodes answered"
        found.append(problem("nodes", what, "see what the step printed, and which nodes the scheduler gave"))
    return found, len(states)


def _of_a_job(home: Path, system: "System", count: int | None) -> "tuple[Finding, ...]":
    """Return what is wrong with a job of the system; bring the virtual cluster up for it if it is not up."""
    import contextlib

    from railyard.cluster.doctor import ask_nodes as job
    from railyard.job.clients import way_in
    from railyard.provision.testbed.lifecycle import provide_testbed
    from railyard.site.site import site_at

    bed = system.provider == "testbed"
    with provide_testbed(home, system, _say) if bed else contextlib.nullcontext():
        return job.findings(site_at(home, system.system), count, way_in(system, home))


def _say(sentence: str) -> None:
    say(sentence, err=True)


def _read_answers(file: Path, now_s: float) -> "Answer":
    """Return what doctor.sh printed on nodes, from one file or from a folder with one file per node."""
    from railyard.base.errors import problem
    from railyard.cluster.doctor.ask_nodes import Answer
    from railyard.cluster.doctor.node_block import parse
    from railyard.job import node_files

    if not file.is_dir():
        return Answer(parse(_read(file)), (0.0, now_s), (), 0)
    gathered = node_files.read_folder(file, lambda answer: parse(answer.text))
    nodes = tuple(node for found in gathered.values for node in found)
    silent = tuple(problem(one.node, one.what, one.fix) for one in gathered.faults)
    return Answer(nodes, (0.0, now_s), (), gathered.count, silent)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        found, expected = f"nothing that can be read ({error.strerror})", "what doctor.sh printed on the nodes"
        raise InputError(str(file), found, expected) from None


def _print(findings: "tuple[Finding, ...]", nodes: int, sent: bool, as_json: bool) -> None:
    if as_json:
        told = {"format": 1, "nodes": nodes, "findings": [asdict(one) for one in findings]}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    for one in findings:
        say(f"{one.weight}: {one.sentence}")
    seen = ["this host", *([count_of(nodes, "node")] if nodes else []), *(["a job of its own"] if sent else [])]
    say(f"looked at {listing(seen)}: {tally(findings)}")
