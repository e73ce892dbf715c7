"""`railyard judge`: judges a stored output by a system's references, a link, or the nodes with their GPUs."""

import json
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import RailyardError
from railyard.cli.options import say

if TYPE_CHECKING:
    from pathlib import Path

    from railyard.parsers.output import ParsedOutput
    from railyard.site.references.transport_class import TransportClass
    from railyard.site.site import Site
    from railyard.verdict.gpu.run import GpuTarget
    from railyard.verdict.inputs import Target
    from railyard.verdict.stored_outputs.judgement import Judgement


@dataclass(frozen=True, slots=True)
class _Options:
    """The command's options, as click gives them."""

    file: str
    system: str | None
    fabric: str | None
    stack: str | None
    rails: int | None
    policy: str | None
    hops: int | None
    link: str | None
    slot: str | None
    mtu: int | None
    nodes_have: str | None
    nodes: int | None
    ranks_per_node: int | None
    transport_class: str | None
    benchmark: str | None
    node_pairs: int
    each: bool
    median: bool
    in_turn: bool
    sizes: str | None
    tool: str | None
    each_file: bool
    as_json: bool
    why: bool


def _print_classes(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print each transport class with its nodes, then end."""
    if not wanted or context.resilient_parsing:
        return
    from railyard.site.references.transport_class import classes, find_class

    folder = _class_folder()
    found = [find_class(folder, name) for name in classes(folder)]
    widest = max((len(each.name) for each in found), default=0)
    for each in found:
        say(f"{each.name:<{widest}}  {each.description} ({each.node})")
    context.exit()


@click.command(name="judge")
@click.argument("file")
@click.option("--system", help="The system whose references it is judged by.")
@click.option("--fabric", help="The system's fabric that the run used.")
@click.option("--stack", help="The MPI stack that the run used, if references depend on it.")
@click.option("--rails", type=int, help="How many rails the run used. Default: 1; for collectives between GPUs, all.")
@click.option("--policy", help="How messages were spread over several rails.")
@click.option("--hops", type=int, help="How many switches are between the two nodes, if references depend on it.")
@click.option(
    "--link",
    help="Instead of a system: a link of docs/reference/rates.md, such as ib-edr, or a name that means one (hdr100). "
    "Within a node: what connects its GPUs, such as nvlink-4, xgmi-mi300x or pcie4-x16.",
)
@click.option("--slot", help="With --link: the slot of each card, such as pcie3-x16.")
@click.option("--mtu", type=int, help="With --link: the path's MTU, if it is not the link's largest.")
@click.option(
    "--nodes-have",
    metavar="WORDS",
    help="For collectives between GPUs, instead of a system: what each node has, such as "
    "gpus=8,nvlink=4,nics=8,link=ib-ndr (docs/howto/clusters.md, GPUs).",
)
@click.option(
    "--class",
    "transport_class",
    metavar="CLASS",
    help="Is my number right? Compare it with published numbers of this class of nodes; --classes lists the classes.",
)
@click.option(
    "--classes", is_flag=True, is_eager=True, expose_value=False, callback=_print_classes, help="List the classes."
)
@click.option("--nodes", type=int, help="On how many nodes it ran, if FILE does not say it. 1: within one node.")
@click.option("--ranks-per-node", type=int, help="How many ranks were on each node, if FILE does not say it.")
@click.option("--benchmark", help="Judge only the tables of this benchmark, such as osu/osu_bw.")
@click.option(
    "--node-pairs", type=int, default=1, show_default=True, help="Pairs of nodes that a multi-pair run summed."
)
@click.option(
    "--each",
    is_flag=True,
    help="Judge each table alone. Without it, tables of the same kind are passes of one run, and each must hold.",
)
@click.option("--median", is_flag=True, help="Of passes, only the median must hold, as in a live run.")
@click.option(
    "--in-turn",
    is_flag=True,
    help="FILE has a part for each rail, and the rails ran one after another: the worst counts. Without it, their sum.",
)
@click.option(
    "--sizes",
    metavar="BYTES",
    help="The message sizes that were asked for: 1,4,16, or 1:4194304 if each is twice the one before.",
)
@click.option("--tool", metavar="NAME", help="The tool that printed FILE, if several tools print the same heading.")
@click.option("--each-file", is_flag=True, help="FILE is a folder: judge each file below it, with a line for each.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--why", is_flag=True, help="Say of each failure by which rule, reference and bound.")
def command(**options: Any) -> int:
    """Judge a stored output as a run would have judged it.

    \b
    Examples:
      railyard judge osu_bw.out --link ib-edr
      railyard judge osu_bw.out --system dell-c6320 --fabric edr --stack hpcx
      mpirun -np 2 osu_latency | railyard judge - --link roce-100
      railyard judge nccl.log --nodes-have gpus=8,nvlink=4,nics=8,link=ib-ndr
      railyard judge nccl.log --class h100-8xndr400
      railyard judge --each-file outputs --link ib-edr

    FILE is the output of a benchmark; - is standard input. Say what to judge it by: a link, a system with its
    references, or the nodes with their GPUs. A link bounds each message size by what healthy links of its class show
    (docs/reference/verdicts.md, day one). If you name nothing, only the curve by itself is judged: a fall, a step or an
    outlier fails it, and nothing passes. What needs the live run, such as the path proof, is not judged here, and does
    not count as passed.

    Collectives between GPUs (nccl-tests, rccl-tests) are judged by their curves, and by NCCL's log if FILE has it.
    --nodes-have compares them with what is possible, and with what healthy nodes show. --class compares your number
    with published ones. With --class, perftest is judged by the link of one NIC; what clouds demand of that NIC is
    printed below.

    Exit code: 0 pass, 1 fail or not judged, 2 wrong input.
    """
    given = _Options(**options)
    from railyard.base.files import shown_name
    from railyard.verdict.stored_outputs.judgement import as_json, text

    _refuse_mixed(given)
    for option, value in (
        ("--node-pairs", given.node_pairs),
        ("--nodes", given.nodes),
        ("--ranks-per-node", given.ranks_per_node),
    ):
        if value is not None and value < 1:
            raise RailyardError(f"{option}: found {value}, expected at least 1")
    of = _class(given)
    target = None if given.link is None else _target(given)
    if given.each_file:
        return _judge_each_file(given, of, target)
    judgements, against = _judge_file(given, of, target, given.file)
    name = shown_name(given.file)
    if given.as_json:
        click.echo(json.dumps(as_json(name, against, judgements), indent=1))
    else:
        say(text(name, against, judgements, why=given.why, command=_ask_why(given)))
    return 0 if all(judgement.is_pass for judgement in judgements) else 1


def _ask_why(given: _Options) -> str:
    """Return the command again with --why; empty if it was given, or if standard input is read already."""
    import shlex

    from railyard.base.files import STANDARD_INPUT

    if given.why or given.file == STANDARD_INPUT:
        return ""
    context = click.get_current_context()
    words = ["railyard", "judge", given.file]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if isinstance(option, click.Option) and value != option.default and value not in (None, False):
            words += [option.opts[0]] if option.is_flag else [option.opts[0], str(value)]
    return shlex.join([*words, "--why"])


def _judge_each_file(given: _Options, of: "TransportClass | None", target: "Target | None") -> int:
    """Print the verdict of each file below a folder, and return the exit code: 0 if all pass."""
    from functools import partial
    from pathlib import Path

    from railyard.base.files import STANDARD_INPUT, shown_name
    from railyard.benchmarks.table import micro
    from railyard.verdict.stored_outputs import each_file

    if given.file == STANDARD_INPUT:
        raise RailyardError("--each-file: found -, expected a folder of outputs")
    # Mistakes that would be the same in each file.
    _sizes(given.sizes)
    if given.benchmark is not None:
        micro.find(given.benchmark)
    if given.system is not None:
        target = _target(given)
    verdicts = []
    for verdict in each_file.judge_each_file(Path(given.file), partial(_judge_file, given, of, target)):
        verdicts.append(verdict if given.as_json else replace(verdict, judgements=()))  # or their curves pile up
        if not given.as_json:
            say(verdict.line)
    if given.as_json:
        click.echo(json.dumps(each_file.as_json(shown_name(given.file), verdicts), indent=1))
    else:
        say(each_file.summary(verdict.state for verdict in verdicts))
    return 0 if all(verdict.is_pass for verdict in verdicts) else 1


def _judge_file(
    given: _Options, of: "TransportClass | None", target: "Target | None", file: str
) -> "tuple[tuple[Judgement, ...], Target | GpuTarget]":
    """Return the judgements of one output, and what it was compared with. Raises RailyardError."""
    from railyard.base.files import read_output, shown_name

    output = read_output(file, sys.stdin.buffer)
    parsed = _parse(file, output, given.in_turn, given.tool)
    nic = _nic(given, of, parsed)
    gpus = None if nic is not None else _gpu_target(given, of, parsed)
    if gpus is not None:
        if given.node_pairs > 1:
            raise RailyardError(
                f"--node-pairs: found {given.node_pairs}, expected nothing: busbw between GPUs is not a sum over pairs"
            )
        from railyard.verdict.stored_outputs.collectives import judge_collectives

        sizes = _sizes(given.sizes)
        return judge_collectives(parsed, gpus, benchmark=given.benchmark, sizes=sizes, text=output), gpus
    from railyard.verdict.stored_outputs.judge import judge
    from railyard.verdict.stored_outputs.target import Nodes

    target = nic or target or _target(given)
    if not given.in_turn:
        _refuse_other_rails(parsed, None if nic is not None else given.rails or 1)
    sizes = _sizes(given.sizes)
    try:
        judgements = judge(
            parsed,
            target,
            benchmark=given.benchmark,
            nodes=Nodes(given.node_pairs, given.nodes, given.ranks_per_node),
            passes="apart" if given.each else "median" if given.median else "all",
            sizes=sizes,
            text=output,
        )
    except RailyardError as error:
        raise error if parsed.tables else RailyardError(f"{shown_name(file)}: {error}") from error
    if nic is not None and of is not None:
        from railyard.verdict.stored_outputs.system_target import with_demands

        judgements = with_demands(judgements, of)
    return judgements, target


def _target(given: _Options) -> "Target":
    """Return what to judge an output between hosts by."""
    from railyard.verdict.stored_outputs.target import of_link, unnamed_link

    if given.link is None and given.system is None:
        return unnamed_link()
    rails = 1 if given.rails is None else given.rails
    if given.link is not None:
        return of_link(given.link, given.slot, rails, given.mtu)
    from railyard.verdict.stored_outputs.system_target import of_system

    return of_system(_site(str(given.system)), given.fabric, given.stack, rails, given.policy, given.hops)


def _class(given: _Options) -> "TransportClass | None":
    if given.transport_class is None:
        return None
    from railyard.site.references.transport_class import find_class

    return find_class(_class_folder(), given.transport_class)


def _nic(given: _Options, of: "TransportClass | None", parsed: "ParsedOutput") -> "Target | None":
    """Return one NIC of the class, if nothing else is named to judge an output of perftest by."""
    if of is None or given.system is not None or given.nodes_have is not None:
        return None
    from railyard.verdict.stored_outputs.system_target import of_nic

    nic = of_nic(of, parsed)
    if nic is not None and given.nodes is not None:
        raise RailyardError(f"--nodes: found {given.nodes}, expected nothing: perftest runs between two NICs")
    return nic


def _gpu_target(given: _Options, of: "TransportClass | None", parsed: "ParsedOutput") -> "GpuTarget | None":
    """Return the nodes by which collectives between GPUs are judged; None for any other output.

    If a system's references name nccl-tests, and its file has no GPUs, they are judged like any other benchmark.
    """
    from railyard.benchmarks.table import micro

    between = bool(parsed.tables) and all(micro.tool(table.tool).between_gpus for table in parsed.tables)
    if of is None and given.nodes_have is None and (given.system is None or not between):
        return None
    from railyard.verdict.gpu.run import of_class, of_gpu_system, of_gpus, of_words

    if given.nodes_have is not None:
        return of_words(given.nodes_have, of, given.nodes)
    if given.system is None:
        return None if of is None else of_class(of, given.nodes)
    site = _site(given.system)
    if of is None and site.system.gpus is None and any(map(of_gpus, site.references.entries)):
        return None
    return of_gpu_system(site, given.fabric, given.rails, of, given.nodes, given.stack)


def _class_folder() -> "Path":
    """Return the folder of transport classes: the site's own, else Railyard's."""
    from railyard.base.errors import SetupError
    from railyard.base.paths import find_home, find_shipped, part

    try:
        home = find_home()
    except SetupError:  # published numbers need no site
        home = find_shipped()
    return part(home, "references/classes")


def read(file: str, in_turn: bool = False, tool: str | None = None) -> "ParsedOutput":
    """Return what one output holds; `-` is standard input. Raises RailyardError if it is not the output of one tool.

    With one pair of processes per rail, a line that names the rail comes before each client's output. The sum counts;
    with ``in_turn`` the worst counts, as in a run.
    """
    from railyard.base.files import read_output

    return _parse(file, read_output(file, sys.stdin.buffer), in_turn, tool)


def _parse(file: str, text: str, in_turn: bool, tool: str | None) -> "ParsedOutput":
    """Return what a text holds. If it is of no tool, but a library says why it did not start, that is a failure."""
    from functools import partial

    from railyard.base.files import shown_name
    from railyard.parsers import rail_parts
    from railyard.parsers.decorations import with_own_signs
    from railyard.parsers.detect import parse
    from railyard.parsers.output import ParsedOutput, ParseError, Remark
    from railyard.parsers.wrong_lines import with_wrong_lines

    try:
        parsed = rail_parts.parse(text, partial(parse, tool=tool), worst=in_turn)
        return with_wrong_lines(parsed, with_own_signs(text))
    except ParseError as error:
        from railyard.verdict.hints.first_cause import first_cause

        cause = first_cause(None, (with_own_signs(text),))
        if cause is not None:
            return ParsedOutput(failures=(Remark(cause.line, cause.quoted),))
        raise RailyardError(f"{shown_name(file)}: {error}") from error


def _sizes(given: str | None) -> tuple[int, ...]:
    """Return the message sizes that were asked for, in bytes; none if they are not given. Raises RailyardError."""
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


def _refuse_other_rails(parsed: "ParsedOutput", rails: int | None) -> None:
    """Raise RailyardError if an output of several rails would be compared with what another number of rails can do.

    ``rails`` None: it is compared with one NIC of a class.
    """
    for table in parsed.tables:
        found = table.context.get("rails")
        if isinstance(found, int) and found > 1 and rails is None:
            raise RailyardError(
                f"--class: found an output with a part for each of {found} rails, expected one NIC; --in-turn compares "
                "the slowest of them"
            )
        if isinstance(found, int) and found > 1 and found != rails:
            raise RailyardError(
                f"--rails: found {rails}, expected {found}: the output has a part for each of {found} rails"
            )


#: Options that need a system, and options that need a link.
_OF_SYSTEM = ("--fabric", "--stack", "--policy", "--hops")
_OF_LINK = ("--slot", "--mtu")


def _refuse_mixed(given: _Options) -> None:
    """Raise RailyardError if nothing is named to judge by, or two things, or options that do not fit together."""
    if given.each and given.median:
        raise RailyardError("--each and --median: found both, expected one of them: how do passes count?")
    named = {"--system": given.system, "--link": given.link, "--nodes-have": given.nodes_have}
    said = [option for option, value in named.items() if value is not None]
    if len(said) > 1 or (given.transport_class is not None and given.link is not None):
        found = " and ".join([*said, *(["--class"] if given.transport_class is not None else [])])
        raise RailyardError(f"{found}: found both, expected one of them: what should judge the output?")
    kind = said[0] if said else "--class" if given.transport_class is not None else "no --link and no --system"
    wrong = {
        "--system": _OF_LINK,
        "--link": _OF_SYSTEM,
        "--nodes-have": (*_OF_SYSTEM, *_OF_LINK, "--rails", "--ranks-per-node"),
    }.get(kind, (*_OF_SYSTEM, *_OF_LINK, "--rails"))
    first = next((o for o in wrong if getattr(given, o.removeprefix("--").replace("-", "_")) is not None), None)
    if first is not None:
        raise RailyardError(f"{first}: found it with {kind}, expected it only with another option; leave it out")


def _site(name: str) -> "Site":
    from railyard.base.paths import find_home
    from railyard.site.site import site_at
    from railyard.site.systems.load import find_system

    home = find_home()
    return site_at(home, find_system(home / "systems", name).system)
