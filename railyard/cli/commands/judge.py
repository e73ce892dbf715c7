"""`railyard judge`: the verdict of a stored output, against a system's references or against a link alone."""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import RailyardError

if TYPE_CHECKING:
    from railyard.parsers.parsed import Parsed
    from railyard.site.site import Site


@dataclass(frozen=True, slots=True)
class _Options:
    """The command's options, as click gives them."""

    file: str
    system: str | None
    fabric: str | None
    stack: str | None
    rails: int
    policy: str | None
    hops: int | None
    link: str | None
    slot: str | None
    mtu: int | None
    benchmark: str | None
    node_pairs: int
    each: bool
    median: bool
    in_turn: bool
    sizes: str | None
    tool: str | None
    as_json: bool


@click.command(name="judge")
@click.argument("file")
@click.option("--system", help="The system whose references hold, as its file is named.")
@click.option("--fabric", help="The system's fabric that the run used.")
@click.option("--stack", help="The MPI stack that the run used, where references differ by it.")
@click.option("--rails", type=int, default=1, show_default=True, help="How many rails the run used.")
@click.option("--policy", help="How messages were spread over several rails.")
@click.option("--hops", type=int, help="Switches between the two nodes, where references differ by it.")
@click.option("--link", help="In place of a system: a link of docs/rates.md, such as ib-edr.")
@click.option("--slot", help="With --link: the slot of each card, such as pcie3-x16.")
@click.option("--mtu", type=int, help="With --link: the path's MTU, where it is not the link's largest.")
@click.option("--benchmark", help="Judge the tables of this benchmark alone, such as osu/osu_bw.")
@click.option(
    "--node-pairs", type=int, default=1, show_default=True, help="Pairs of nodes that a multi-pair run summed."
)
@click.option("--each", is_flag=True, help="Judge each table alone; else tables alike are passes: their median counts.")
@click.option("--median", is_flag=True, hidden=True)  # what holds without --each; kept for one release
@click.option(
    "--in-turn",
    is_flag=True,
    help="FILE has a part a rail, of rails that ran one after the other: the worst counts. Else they are summed.",
)
@click.option(
    "--sizes",
    metavar="BYTES",
    help="The message sizes that were asked for: 1,4,16, or 1:4194304 where each is twice the one before.",
)
@click.option("--tool", metavar="NAME", help="Whose output FILE is, where several tools print the same heading.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(**options: Any) -> int:
    """Judge FILE (- for standard input), the output of a benchmark, as a run would have been judged.

    What needs the live run, such as the path proof, is not judged here and not counted as passed. Exit code: 0 pass,
    1 fail or nothing to judge by, 2 wrong input.
    """
    given = _Options(**options)
    from railyard.base.output_file import read_output, shown_name
    from railyard.verdict.stored import text
    from railyard.verdict.stored.judge import judge
    from railyard.verdict.stored.target import of_link, of_system

    _refuse_mixed(
        given.system,
        {"--fabric": given.fabric, "--stack": given.stack, "--policy": given.policy, "--hops": given.hops},
        given.link,
        {"--slot": given.slot, "--mtu": given.mtu},
    )
    if given.node_pairs < 1:
        raise RailyardError(f"--node-pairs: found {given.node_pairs}, expected at least 1")
    target = (
        of_link(given.link, given.slot, given.rails, given.mtu)
        if given.link is not None
        else of_system(_site(str(given.system)), given.fabric, given.stack, given.rails, given.policy, given.hops)
    )
    output = read_output(given.file, sys.stdin.buffer)
    parsed = _parsed(given.file, output, given.in_turn, given.tool)
    if not given.in_turn:
        _refuse_other_rails(parsed, given.rails)
    judgements = judge(
        parsed,
        target,
        benchmark=given.benchmark,
        node_pairs=given.node_pairs,
        passes=not given.each,
        sizes=_sizes(given.sizes),
        text=output,
    )
    name = shown_name(given.file)
    if given.as_json:
        click.echo(json.dumps(text.as_json(name, target, judgements), indent=1))
    else:
        click.echo(text.text(name, target, judgements))
    return 0 if all(judgement.passed for judgement in judgements) else 1


def read(file: str, in_turn: bool = False, tool: str | None = None) -> "Parsed":
    """Return what one output holds; `-` is standard input. Raises RailyardError where it is no output of one tool.

    Of a pair of processes a rail each client's output stands behind a line that names its rail: they are summed, and
    ``in_turn`` the worst is taken, as of a run.
    """
    from railyard.base.output_file import read_output

    return _parsed(file, read_output(file, sys.stdin.buffer), in_turn, tool)


def _parsed(file: str, text: str, in_turn: bool, tool: str | None) -> "Parsed":
    """Return what a text holds; one of no tool in which a library says why it did not start has that as a failure."""
    from functools import partial

    from railyard.base.output_file import shown_name
    from railyard.parsers import rail_parts
    from railyard.parsers.detect import parse
    from railyard.parsers.parsed import Parsed, ParseError, Remark
    from railyard.parsers.wrong_lines import with_wrong_lines
    from railyard.verdict.hints.first_cause import first_cause

    try:
        return with_wrong_lines(rail_parts.parse(text, partial(parse, tool=tool), worst=in_turn), text)
    except ParseError as error:
        cause = first_cause(None, (text,))
        if cause is not None:
            return Parsed(failures=(Remark(cause.line, cause.quoted),))
        raise RailyardError(f"{shown_name(file)}: {error}") from error


def _sizes(given: str | None) -> tuple[int, ...]:
    """Return the message sizes that were asked for, in bytes; none where nobody says. Raises RailyardError."""
    if given is None:
        return ()
    first, colon, last = given.partition(":")
    words = [first, last] if colon else given.split(",")
    if not all(word.isascii() and word.isdigit() and 0 < len(word) <= 15 for word in words):
        raise RailyardError(f'--sizes: found "{given}", expected bytes: 1,4,16, or the smallest and largest, 1:4194304')
    numbers = [int(word) for word in words]
    if not colon:
        return tuple(sorted({*numbers}))
    smallest, largest = numbers
    if not 0 < smallest <= largest:
        raise RailyardError(f'--sizes: found "{given}", expected a size above 0, then one that is not below it')
    return tuple(smallest << n for n in range((largest // smallest).bit_length()))


def _refuse_other_rails(parsed: "Parsed", rails: int) -> None:
    """Raise RailyardError where an output of several rails is to be held against what another number can do."""
    for table in parsed.tables:
        found = table.context.get("rails")
        if isinstance(found, int) and found > 1 and found != rails:
            raise RailyardError(
                f"--rails: found {rails}, expected {found}: the output has a part for each of {found} rails"
            )


def _refuse_mixed(
    system: str | None, of_system: dict[str, object], link: str | None, of_link: dict[str, object]
) -> None:
    """Raise RailyardError where neither a system nor a link is named, or options of one stand beside the other."""
    if (system is None) == (link is None):
        found = "both" if system is not None else "neither"
        raise RailyardError(f"--system, --link: found {found}, expected one of them: what is the output held against?")
    kind, wrong = ("--link", of_system) if link is not None else ("--system", of_link)
    given = next((option for option, value in wrong.items() if value is not None), None)
    if given is not None:
        raise RailyardError(f"{given}: found it beside {kind}, expected it beside the other alone; leave it out")


def _site(name: str) -> "Site":
    from railyard.base.paths import find_home
    from railyard.site.site import site_at
    from railyard.site.systems.load import find_system

    home = find_home()
    return site_at(home, find_system(home / "systems", name).system)
