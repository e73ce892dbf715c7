"""What a check declares in groups: what it accepts, where its ranks are, how it starts, what it prints, what probes it.

A class gives only what differs from its base, for example ``layout = Layout(every_core=True)``: all other fields of the
group stay as the base has them.

Names that a check declared before they were in groups work for one release and say what to write instead.

Nodes and ranks that `-S` or the system's file gives a check are compared with what it takes.
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from railyard.benchmarks.table.applications import on_part
from railyard.site.systems.measure import NODES, RANKS, Takes

if TYPE_CHECKING:
    from railyard.site.systems.measure import StatedAmounts

Declared = TypeVar("Declared", bound="Group")

#: The message sizes that a tool may be asked to measure.
SIZES = ("full", "smallest", "largest")
#: Each old name, with its group's name in a check and its name there.
OLD_NAMES = {
    "kinds": "accepts.fabrics",
    "fewest_nodes": "accepts.fewest_nodes",
    "even_nodes": "accepts.even_nodes",
    "powers": "accepts.powers_to",
    "takes_ranks": "accepts.ranks",
    "sizes_told": "accepts.sizes",
    "pair_a_rail": "layout.pair_per_rail",
    "every_core": "layout.every_core",
    "gpus": "layout.gpus",
    "within_node": "layout.within_node",
    "pair": "start.client_and_server",
    "starts_itself": "start.by_itself",
    "starts_steps": "start.in_steps",
    "program_a_benchmark": "start.program_per_benchmark",
    "cleared": "start.without",
    "check_class": "start.time_limit",
    "output_file": "outputs.file",
    "more_outputs": "outputs.more",
    "rows_on_stderr": "outputs.on_stderr",
    "prints_threads": "outputs.has_threads",
    "probe_key": "probes.ping_pong",
    "probe_program": "probes.program",
    "one_way_key": "probes.one_way",
    "one_way_program": "probes.one_way_program",
    "other_way_seen_by": "probes.other_way_seen_by",
    "other_way_unless": "probes.other_way_unless",
    "told": "request.variables",
    "asked_nodes": "request.nodes",
    "asked_ranks": "request.ranks",
    "refused": "request.refused",
}
_SAID: set[str] = set()


@dataclass(frozen=True, kw_only=True)
class Group:
    """Values that belong together, with those that a class gives itself."""

    def __new__(cls, **given: object) -> "Group":
        """Note which fields are given: only these are set in a class that inherits the group."""
        group = super().__new__(cls)
        object.__setattr__(group, "_given", tuple(given))
        return group

    @property
    def own_fields(self) -> dict[str, Any]:
        """The fields that the class itself gives."""
        return {name: getattr(self, name) for name in vars(self)["_given"]}

    def merge_into(self: Declared, base: Declared) -> Declared:
        """Return the group of a class whose base has ``base``: what is given here, and the base's other fields."""
        merged = replace(base, **self.own_fields)
        object.__setattr__(merged, "_given", vars(self)["_given"])
        return merged


@dataclass(frozen=True, kw_only=True)
class Accepts(Group):
    """Which fabrics and numbers a check accepts, and which variables of message sizes have an effect on it."""

    #: The kinds of fabric that it is for; empty: every fabric on which a stack has its tool.
    fabrics: tuple[str, ...] = ()
    #: The fewest nodes that it can be given (``-S num_nodes``, ``nodes`` in the system's file); 0: only its own number.
    #: A check of all nodes can be given any number from its own on.
    fewest_nodes: int = 0
    #: Whether this number is even: half of the nodes are the partners of the others.
    even_nodes: bool = False
    #: The largest number of nodes of a sweep over powers of two only; 0 for any numbers.
    powers_to: int = 0
    #: Whether it can be given the number of ranks per node.
    ranks: bool = False
    sizes: tuple[str, ...] = SIZES


@dataclass(frozen=True, kw_only=True)
class Layout(Group):
    """Where the ranks of a check and their partners are."""

    #: Whether several ranks of a node each have their own partner, at least one per rail (see ``many_pairs``).
    pair_per_rail: bool = False
    #: Whether each core of its nodes has a rank: only if the system's file says how many cores there are.
    every_core: bool = False
    #: Whether the GPUs of its nodes take part: only if the system's file says which there are.
    gpus: bool = False
    #: Whether each rank's partner is on its own node, so that no rail should carry anything. Then the check belongs to
    #: no fabric, and runs only on the first one.
    within_node: bool = False


@dataclass(frozen=True, kw_only=True)
class Start(Group):
    """How the processes of a check start."""

    #: Whether the benchmark is a client and a server, not an MPI program: one pair of processes per rail
    #: (`client_server_words`).
    client_and_server: bool = False
    #: Whether it is an application that starts its own processes on a stack without MPI, from a process on the first
    #: node.
    by_itself: bool = False
    #: Whether its command is one process of the job, which itself starts the benchmark in steps of the job.
    in_steps: bool = False
    #: Whether the tool has one program per benchmark; else it is one program.
    program_per_benchmark: bool = False
    #: Variables of the user who starts the run that must not reach the benchmark.
    without: tuple[str, ...] = ()
    #: Which of the system's time limits applies: ``micro``, or ``app`` for an application.
    time_limit: str = "micro"


@dataclass(frozen=True, kw_only=True)
class Outputs(Group):
    """Where the benchmark's output is, besides standard output, and what it says."""

    #: The file that the benchmark appends its output to, if it does not print it.
    file: str = ""
    #: Files with more of the benchmark's output, from lines after its launch (``after``).
    more: tuple[str, ...] = ()
    #: Whether the tool prints its rows on standard error.
    on_stderr: bool = False
    #: Whether the tool prints how many threads it had. This is then compared with the number that it was given.
    has_threads: bool = False


@dataclass(frozen=True, kw_only=True)
class Probes(Group):
    """What measures each rail of a check alone after a run, by the tool's own short tests."""

    #: What ``probe_arguments`` runs: a ping-pong, and its executable if the tool has several.
    ping_pong: str = ""
    program: str = ""
    #: The same for a stream one way, which shows in which direction a slow rail is slow; empty for a tool without one.
    one_way: str = ""
    one_way_program: str = ""
    #: For a check that streams one way: the tests that see the other direction, in words; empty for other checks.
    other_way_seen_by: str = ""
    #: After a pass each rail is measured the other way too (``rfm.checks.other_way``), about a second per rail, unless
    #: the stack has one of these tools, whose tests do that. None: never.
    other_way_unless: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a check was given for this run. The run sets it, no check declares it."""

    #: The variables that ``-S`` set, each with the check's own value.
    variables: Mapping[str, Any] = field(default_factory=dict)
    #: The number of nodes and of ranks per node that it was given, 0 if none; and why it refuses what it was given.
    nodes: int = 0
    ranks: int = 0
    refused: str = ""


#: The groups that a class may declare, by their names in a check.
GROUPS: Mapping[str, type[Group]] = {
    "accepts": Accepts,
    "layout": Layout,
    "start": Start,
    "outputs": Outputs,
    "probes": Probes,
}


def merge_groups(check: type) -> Iterator[tuple[str, Group]]:
    """Yield each group of a class with the fields that its bases give; not one that a property of the class returns."""
    for name in GROUPS:
        declared = [vars(each)[name] for each in check.__mro__ if name in vars(each)]
        groups = list(takewhile(lambda each: isinstance(each, Group), declared))
        if len(groups) > 1:
            yield name, reduce(lambda base, own: own.merge_into(base), reversed(groups))


class OldName:
    """A name that is now a field of a group: gives and sets this field, and prints its new name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._group, _, self._field = OLD_NAMES[name].partition(".")

    def __get__(self, check: Any, owner: type) -> Any:
        """Return the field of a test, or of its class."""
        _say(_caller(), f"{owner.__name__}.{self._name}", OLD_NAMES[self._name])
        return getattr(getattr(owner if check is None else check, self._group), self._field)

    def __set__(self, check: Any, value: Any) -> None:
        """Set the field of a test."""
        group = getattr(check, self._group)
        new = f"self.{self._group} = replace(self.{self._group}, {self._field}={value!r})"
        _say(_caller(), f"{type(check).__name__}.{self._name}", new)
        setattr(check, self._group, replace(group, **{self._field: value}))


def group_old_names(check: type) -> list[tuple[str, Group]]:
    """Return the groups that the body of a class gives by old names, remove these, and print the new names.

    What is no value of a group stays: ``find_override`` says so when a test is made.
    """
    found: dict[str, dict[str, Any]] = {}
    where = getattr(sys.modules.get(check.__module__), "__file__", None) or check.__module__
    for name in [name for name in OLD_NAMES if name in vars(check)]:
        group, _, field = OLD_NAMES[name].partition(".")
        value = vars(check)[name]
        if group not in GROUPS or hasattr(value, "__get__"):
            continue
        _say(where, f"{check.__name__}.{name}", f"{group} = {GROUPS[group].__name__}({field}={value!r})")
        found.setdefault(group, {})[field] = value
        type.__delattr__(check, name)
    own = {group: vars(check).get(group, GROUPS[group]()) for group in found}
    return [(group, GROUPS[group](**{**own[group].own_fields, **fields})) for group, fields in found.items()]


@cache
def find_override(check: type) -> str | None:
    """Return why a class cannot have an old name: as a property or method, or for what only a run sets; else None."""
    for each in check.__mro__:
        for name in [name for name in OLD_NAMES if name in vars(each) and not isinstance(vars(each)[name], OldName)]:
            group, _, field = OLD_NAMES[name].partition(".")
            if group not in GROUPS:
                return f"{each.__name__}: found {name}, expected another name: a run sets {group}.{field}"
            new = f"a property {group} that returns {GROUPS[group].__name__}({field}=…)"
            return f"{each.__name__}: found {name}, expected {new}"
    return None


def _caller() -> str:
    """Return file and line of who uses the name: ReFrame may stand between."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "reframe":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _say(where: str, old: str, new: str) -> None:
    """Print once who uses an old name. This also works under ReFrame, which hides Python's own warnings."""
    sentence = f"railyard: {where}: found {old}, expected {new} (railyard.check); the next release removes the old name"
    if sentence not in _SAID:
        _SAID.add(sentence)
        print(sentence, file=sys.stderr)


_BUILT = "spack of the stack in the system's file"
#: Variables of ReFrame that every check sets itself or does not use, each with what to use instead.
SET_BY_CHECKS: Mapping[str, str] = {
    "num_tasks": "num_nodes and ranks_per_node",
    "num_tasks_per_node": "ranks_per_node",
    "executable": "benchmarks of the stack in the system's file",
    "executable_opts": "variables of the check, such as repetitions",
    "variables": "env of the stack in the system's file",
    "env_vars": "env of the stack in the system's file",
    "prerun_cmds": "modules and env of the stack in the system's file",
    "postrun_cmds": "a check of your own",
    "time_limit": "time_limit and jobs: time_limits in the system's file",
    "reference": "references/*.yaml",
    "perf_variables": "references/*.yaml",
    "valid_systems": "--system",
    "valid_prog_environs": "-p",
    # No check compiles anything.
    "build_system": _BUILT,
    "build_locally": _BUILT,
    "build_time_limit": _BUILT,
    "prebuild_cmds": _BUILT,
    "postbuild_cmds": _BUILT,
    "sourcepath": _BUILT,
}


def take_numbers(check: Any, takes: Takes, told: Collection[str], stated: "StatedAmounts | None") -> None:
    """Set a check's nodes and ranks as `-S` gives them (``told`` names the variables), else as the file states them.

    ``check`` has its benchmark, and the numbers that `-S` set. What it does not take is in its ``request.refused``, and
    fails its set-up. A check that is given a number of nodes no longer runs on all.
    """
    instead = {**SET_BY_CHECKS, **{name: f"{new} in a check of your own" for name, new in OLD_NAMES.items()}}
    sentences = [f"-S {name}: no check takes it, expected {new}" for name, new in instead.items() if name in told]
    has_nodes = NODES in told or ("all_nodes" in told and not check.all_nodes)
    # A sweep has set its own already; ranks may be stated for it too.
    nodes = int(type(check).num_nodes) if has_nodes else None
    ranks = check.ranks_per_node if RANKS in told else None
    by_nodes, by_ranks = f"-S {NODES}", f"-S {RANKS}"
    if stated is not None:
        if nodes is None and stated.nodes is not None and not takes.swept:
            nodes, by_nodes = stated.nodes, "nodes of the system's file"
        if ranks is None and stated.ranks_per_node is not None and takes.ranks:
            ranks, by_ranks = stated.ranks_per_node, "ranks_per_node of the system's file"
    why_nodes = None if nodes is None else takes.why_not_nodes(nodes)
    why_ranks = None if ranks is None else takes.why_not_ranks(ranks)
    sentences += [f"{by_nodes}: found {nodes}, expected {why_nodes}"] if why_nodes else []
    sentences += [f"{by_ranks}: found {ranks}, expected {why_ranks}"] if why_ranks else []
    check.request = replace(check.request, refused=next(iter(sentences), ""))
    if why_nodes and not takes.swept:
        check.num_nodes = takes.nodes
    if nodes is not None and why_nodes is None:
        key = check.benchmark
        check.num_nodes, check.all_nodes = nodes, False
        check.request = replace(check.request, nodes=nodes)
        check.benchmark = on_part(f"{check.tool}/{key}", nodes).partition("/")[2]
        if check.benchmark == key and nodes != takes.nodes:
            check.remarks = (*check.remarks, f"{nodes} nodes ({by_nodes}), compared with the same references")
    if ranks is not None and why_ranks is None:
        check.ranks_per_node, check.request = ranks, replace(check.request, ranks=ranks)
        check.remarks = (*check.remarks, f"{ranks} ranks per node ({by_ranks}), compared with the same references")


def why_refused(check: Any, replayed: bool) -> str | None:
    """Return why a check refuses what it was given; None if it takes it. A recording is as it was made."""
    numbers = [name for name in (NODES, RANKS) if name in check.request.variables]
    if replayed and numbers:
        return f"-S {numbers[0]}: a recording is played, expected the nodes and ranks that it was made with"
    return str(check.request.refused) or None


def why_not_taken(check: Any) -> str | None:
    """Return why a check chose other nodes or ranks than it was asked for; None if it has those.

    A problem of an application may take only squares, or no more ranks than it has parts.
    """
    for name, asked, has in (
        (NODES, check.request.nodes, check.num_nodes),
        (RANKS, check.request.ranks, check.ranks_per_node),
    ):
        if asked and asked != has:
            return f"{name}: found {asked}, but {check.benchmark} takes {has}: ask for {has}, or another problem"
    return None
