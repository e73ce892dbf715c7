"""What a check declares about its benchmark, ReFrame's variables and parameters, and which variants a system gives it.

ReFrame would never select a variant that no partition can run, and needs 2 ms to make it. If ReFrame has no system, all
variants are made: the matrix reads the checks this way, and leaves out what a system lacks.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable
from reframe.core.exceptions import ReframeError
from reframe.core.meta import RegressionTestMeta, make_test

from railyard.base.errors import RailyardError
from railyard.base.numbers import powers_of_two
from railyard.rfm.checks.groups import (
    OLD_NAMES,
    SIZES,
    Accepts,
    Layout,
    OldName,
    Outputs,
    Probes,
    Request,
    Start,
    group_old_names,
    merge_groups,
)
from railyard.rfm.system_choice import environment_features, partition_features, partitions, site_of, sweep
from railyard.rfm.versions import Plugin, typed_parameter
from railyard.site.matrix import DEFAULT, HAS_GPUS, NO_APPLICATION, RAIL_COUNTS, named_policies
from railyard.site.site import Site
from railyard.site.systems.measure import FULL_SIZES, NODES, QUICK_SIZES, RANKS, Takes, sizes_within
from railyard.site.systems.model import HOST_SWEEP
from railyard.stacks.model import NIC_PER_RANK

if TYPE_CHECKING:
    from railyard.benchmarks.moved_bytes import Repetitions
    from railyard.benchmarks.repetitions import Pace
    from railyard.job.client_server import Command
    from railyard.rfm.checks.other_way import WayBack
    from railyard.rfm.checks.plan import Runner
    from railyard.rfm.checks.prober import Prober, RailProber
    from railyard.site.matrix import Need
    from railyard.site.systems.measure import StatedAmounts
    from railyard.site.systems.model import System


Check = TypeVar("Check", bound=type)
Value = TypeVar("Value")

_RAILS = re.compile(r"rails([1-9][0-9]*)")
#: The numbers of nodes of a sweep if no system is known.
_COUNTS = powers_of_two(HOST_SWEEP)


def rail_counts() -> tuple[int, ...]:
    """Return the numbers of rails that tests are made for: those that the current system has."""
    features = partition_features() or ()
    return tuple(sorted(int(found[1]) for found in map(_RAILS.fullmatch, features) if found)) or RAIL_COUNTS


def rail_policies(pair_per_rail: bool = False) -> tuple[str, ...]:
    """Return the rail policies that tests are made for: each stack's own, and others that some stack has.

    NIC per rank is among them only if there is one pair per rail.
    """
    named = named_policies(environ.features for each in partitions() or () for environ in each.environs)
    return (DEFAULT, *(policy for policy in named if pair_per_rail or policy != NIC_PER_RANK))


def of_gpus(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the values of a parameter of a check between GPUs; only the first if the current system has no GPUs."""
    features = partition_features()
    return values if features is None or HAS_GPUS in features else values[:1]


def many_pairs(check: Check) -> Check:
    """Give a check at least one pair of ranks per rail, and tests of the policy that needs these: a NIC per rank.

    This decorates a class, or a base, whose ranks each have their own partner on another node.
    """
    policy = typed_parameter(rail_policies(pair_per_rail=True), type=str, loggable=True)
    layout = Layout(pair_per_rail=True)
    body = {"layout": layout, "policy": policy, "__doc__": check.__doc__, "__qualname__": check.__qualname__}
    made: Check = make_test(check.__name__, (check,), body, module=check.__module__)
    return made


def builds_with_spack() -> bool:
    """Return whether the current system has stacks whose benchmarks Spack builds."""
    return any(each.extras.get("railyard_spack") for each in partitions() or ())


def stated(prefix: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these problems the current system asks for, by features such as ``npb-W`` of its environments.

    If it asks for none, return the first, since a parameter must have a value.
    """
    features = environment_features()
    if features is None:
        return every
    return tuple(name for name in every if f"{prefix}-{name}" in features) or every[:1]


def stated_names(prefix: str) -> tuple[str, ...]:
    """Return the names that the current system states, by features such as ``app-gamess``; ``none`` if it has none.

    A parameter must have a value, and no stack has a tool of that name.
    """
    features = environment_features() or ()
    return tuple(sorted(f.removeprefix(f"{prefix}-") for f in features if f.startswith(f"{prefix}-"))) or (
        NO_APPLICATION,
    )


def node_counts(powers: int = 0) -> tuple[int, ...]:
    """Return on how many nodes a sweep is measured: up to what the current system has, or what its file asks for.

    ``powers``: only on powers of two, up to this one.
    """
    takes = Takes(swept=True, powers=powers)
    return tuple(count for count in sweep() or _COUNTS if takes.sweeps(count)) or (1,)


#: Numbers that a tool may be given.
AMOUNTS = ("repetitions", "warm_up", "window")
#: What else a site may choose for any check; the other variables of this class say what a check is.
_CHOSEN = ("placement", "use_launcher")


class Declaration(Plugin):
    """All that a check declares, with the values of most checks as defaults. It has no hooks and decides nothing."""

    tags: Any
    rails = typed_parameter(rail_counts(), type=int, loggable=True)
    #: How messages are spread over the rails. ``default`` is the stack's own way; no test has it in its name.
    policy = typed_parameter(rail_policies(), type=str, loggable=True)
    full = variable(typ.Bool, value=False, loggable=True)
    tool = variable(str)
    benchmark = variable(str)
    #: The parser of the tool's output.
    parse: Any
    #: Whether an everyday run leaves it out: another check answers its question, less closely.
    extended = variable(typ.Bool, value=False)
    num_nodes = variable(int, value=2)
    #: Whether it runs on all nodes of the system; there must be at least ``num_nodes``.
    all_nodes = variable(typ.Bool, value=False)
    ranks_per_node = variable(int, value=1)
    #: Whether the pairs of a client and a server run one rail after the other, so that the worst rail is judged; else
    #: all at once, as a sum.
    in_turn = variable(typ.Bool, value=False)
    #: Messages in flight of a windowed test; 1 for all others.
    window = variable(int, value=1)
    #: How often one job measures everything; the median at each size is judged.
    passes = variable(int, value=1)
    #: The smallest and largest message that make sense for this benchmark, in bytes.
    smallest = variable(int, value=1)
    largest = variable(int, value=4 << 20)
    #: A launcher of ReFrame instead of the system's (``-S use_launcher=mpirun``: the stack's own, inside the job).
    use_launcher = variable(str, value="", loggable=True)
    #: Near the rails or far from them, instead of what the system's file says for the fabric (``-S placement=far``).
    #: ``launcher`` leaves processes where launcher and library put them.
    placement = variable(str, value="", loggable=True)
    #: What the check chose and why, after the verdict's sentence.
    remarks: tuple[str, ...] = ()
    #: What else differs from most checks: ``railyard.rfm.checks.groups`` has each group's fields.
    accepts = Accepts()
    layout = Layout()
    start = Start()
    outputs = Outputs()
    probes = Probes()
    #: What it was given for this run.
    request = Request()
    #: What makes its output, from its set-up on: the benchmark itself, or a recording.
    runner: "Runner"

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a class its groups: the fields that its body gives, and those of its bases."""
        super().__init_subclass__(**options)
        for groups in (group_old_names, merge_groups):
            for name, group in [*groups(cls)]:
                type.__setattr__(cls, name, group)

    @classmethod
    def setvar(cls, name: str, value: Any) -> bool:
        """Set a variable, as ReFrame does for ``-S``, and note that it was set: a hook may set it too."""
        if hasattr(value, "__get__"):  # ReFrame gives the class its variables this way when it makes the first test
            return bool(RegressionTestMeta.setvar(cls, name, value))
        # As a number, since ReFrame gives the variable itself, which is about to change.
        own = int(getattr(cls, name)) if name in (NODES, RANKS, "all_nodes") else None
        # An old name is noted too, so that the test is refused with the new one (``take_numbers``).
        done = bool(RegressionTestMeta.setvar(cls, name, value)) or name in OLD_NAMES
        if done:
            cls.request = replace(cls.request, variables={name: own, **cls.request.variables})
        return done

    @classmethod
    def takes_of(cls, parameters: Mapping[str, str]) -> Takes:
        """Return which numbers of nodes and ranks such a variant can be given."""
        accepts, told = cls.accepts, cls.request.variables
        own = int(told.get(NODES, cls.num_nodes))
        return Takes(
            nodes=own,
            fewest=own if told.get("all_nodes", cls.all_nodes) else accepts.fewest_nodes,
            even=accepts.even_nodes,
            swept="nodes" in parameters,
            powers=accepts.powers_to,
            ranks=accepts.ranks,
            idle=cls.idle(),
            variables=cls.answers_to(),
        )

    @classmethod
    def idle(cls) -> frozenset[str]:
        """Return the variables that have no effect on it, although every check has them."""
        unsaid = {name for name in AMOUNTS if name not in cls.takes()}
        unsaid |= {name for name in SIZES if name not in cls.accepts.sizes}
        # The system's own launcher starts a client and a server; without these nothing runs in turn.
        return frozenset(unsaid | {"use_launcher" if cls.start.client_and_server else "in_turn"})

    @classmethod
    def answers_to(cls) -> tuple[str, ...]:
        """Return the variables that have an effect on it: its own, and those of all checks that are not idle."""
        own = {name for name in cls._rfm_var_space if name not in Declaration._rfm_var_space}
        own -= set(rfm.RunOnlyRegressionTest._rfm_var_space)
        return tuple(sorted((own | {*AMOUNTS, *SIZES, *_CHOSEN}) - cls.idle()))

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the benchmark of a variant with these values of the check's own parameters, which may choose it."""
        return str(cls.benchmark)

    @classmethod
    def tool_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the tool that a stack must have for such a variant."""
        return str(cls.tool)

    @classmethod
    def nodes_of(cls, parameters: Mapping[str, str]) -> int:
        """Return the nodes of such a variant."""
        return int(cls.num_nodes)

    @classmethod
    def is_within_node(cls, parameters: Mapping[str, str]) -> bool:
        """Return whether such a variant keeps off every network."""
        return cls.layout.within_node

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the feature with which a system asks for such a variant's problem (``npb-W``); empty for none."""
        return ""

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        """Return the benchmark's own words for these message sizes in bytes."""
        raise ReframeError(
            f"{type(self).__name__}: found no arguments(), expected the benchmark's words for some sizes"
        )

    def probe_arguments(self, size: int) -> list[str]:
        """Return the words of a short two-rank ping-pong at one size, which measures a rail alone."""
        raise ReframeError(
            f"{type(self).__name__}: found no probe_arguments(), expected the words of a short ping-pong"
        )

    def probe_files(self, size: int) -> Mapping[str, str]:
        """Return the files that a probe of one size reads in the test's folder: name and text."""
        return {}

    def one_way_arguments(self, size: int) -> list[str]:
        """Return the words of a short stream one way at one size, of a tool whose ``probes`` name it."""
        raise ReframeError(
            f"{type(self).__name__}: found no one_way_arguments(), expected the words of a short stream one way"
        )

    def again_arguments(self, size: int) -> list[str]:
        """Return the words of the check's own benchmark at one size, which measures all rails at once."""
        return self.arguments((size,))

    @property
    def launches(self) -> tuple[tuple[int, ...], ...]:
        """The message sizes of each launch of the benchmark, in order. Most checks have one launch, with all sizes."""
        return (self.message_sizes,)

    @property
    def lasting_s(self) -> int:
        """How long a run takes if its duration is set, in seconds; 0 if only the system's time limit bounds it."""
        return 0

    @property
    def predicted_s(self) -> float | None:
        """How long its benchmark should compute, in seconds, once its shape is known; None if nobody knows."""
        return None

    @classmethod
    def limit_of(cls, parameters: Mapping[str, str], system: "System", need: "Need") -> int:
        """Return the time limit that a variant's runs give themselves on a system, in seconds, before they are made.

        ``need`` is what the variant asks for, with what it was given. 0: only the system's file bounds them.
        """
        return 0

    def before(self, program: str) -> list[str]:
        """Return the lines of the job that prepare the benchmark's launch; ``program`` is its path."""
        return []

    def after(self) -> list[str]:
        """Return the lines of the job after the benchmark's launch."""
        return []

    def input_files(self) -> Mapping[str, str]:
        """Return the files that the benchmark reads in its folder: name and text."""
        return {}

    def choose_amounts(self, pace: "Pace | None", stated: "StatedAmounts | None") -> None:
        """Choose repetitions and messages in flight for a link (None: its rate is not known), or as the file states.

        Raises RailyardError if the system's file states a number that the tool does not take.
        """
        self.refuse_others(stated)

    def refuse_others(self, stated: "StatedAmounts | None") -> None:
        """Raise RailyardError if the system's file states a number that the check does not take (``takes()``)."""
        for name, value in ({} if stated is None else stated.given_amounts).items():
            if name not in self.takes():
                known = ", ".join(self.takes()) or "nothing"
                raise RailyardError(f"measure: benchmarks: {self.key}: {name}: found {value}, expected {known}")

    def shape(self) -> None:
        """Choose nodes and ranks per node once the number of nodes is known; most checks have fixed numbers."""

    @property
    def program(self) -> str:
        """The executable of a tool that has one per benchmark; empty for a tool with one executable."""
        return str(self.benchmark).partition("/")[0] if self.start.program_per_benchmark else ""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names that its executable may have; the first that is installed runs."""
        return (self.program,)

    @property
    def cores(self) -> int:
        """How many ranks a node can have: its cores, or one if the system's file states no cores."""
        hardware = self.site.system.nodes.hardware
        return 1 if hardware is None else hardware.cores

    @property
    def memory(self) -> str | None:
        """How this stack reaches the GPU memory of its messages (cuda, rocm); None: they are in the host's memory."""
        return None

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank is given besides those of its stack."""
        return {}

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has, each on its own core."""
        return 1

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        """Return the numbers that ``measure: benchmarks`` of the system's file may set: those that the tool takes."""
        return ()

    @property
    def fixed_repetitions(self) -> "Repetitions | None":
        """The repetitions that a tool is given if it does not print them."""
        return None

    @property
    def validates(self) -> bool:
        """Whether the benchmark checks the data that it moves."""
        return False

    @property
    def command(self) -> "Command":
        """How the processes learn what to run: each is a rank, or one end of a pair per rail."""
        from railyard.job.client_server import ClientAndServer, Program

        kind = self.site.system.fabrics[self.current_partition.name].kind
        return ClientAndServer(self.tool, kind, self.in_turn) if self.start.client_and_server else Program()

    @property
    def prober(self) -> "Prober":
        """What is measured after a failure: each rail alone, by the tool's own ping-pong.

        It is also used after a pass if other tests see the direction that this test leaves out.
        """
        if not self.probes.other_way_seen_by:
            return self.rail_prober
        from railyard.rfm.checks.other_way import OneWayProber, OtherWayProber

        if not self.measures_other_way:
            return OneWayProber(self.rail_prober, self.probes.other_way_seen_by)
        return OtherWayProber(self.rail_prober, self.probes.other_way_seen_by, self.way_back)

    @property
    def measures_other_way(self) -> bool:
        """Whether each rail is also measured the other way on this stack."""
        elsewhere = self.probes.other_way_unless
        return elsewhere is not None and not any(tool in self.current_environ.features for tool in elsewhere)

    @property
    def way_back(self) -> "WayBack | None":
        """The streams of the run's own job in the other direction; None for a job without them."""
        return None

    @property
    def rail_prober(self) -> "RailProber":
        """What measures each rail of the run alone, once there was a run."""
        raise ReframeError(f"{type(self).__name__}: found no run, expected one whose rails can be measured alone")

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        return site_of(self)

    @property
    def display_name(self) -> str:
        """The test's name with its parameters, without a policy that it leaves to the stack."""
        return str(super().display_name).replace(f" %policy={DEFAULT}", "")

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``imb/Uniband``."""
        return f"{self.tool}/{self.benchmark}"

    @property
    def pairs(self) -> int:
        """How many pairs of ranks, or of a client and a server, two nodes have between them."""
        return int(self.rails if self.start.client_and_server else self.ranks_per_node)

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of this run, in bytes."""
        return sizes_within(self.smallest, self.largest, FULL_SIZES if self.full else QUICK_SIZES)

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        """The message sizes that the output must have, in bytes; none if the tool uses its own sizes."""
        return ()


for _old in OLD_NAMES:
    type.__setattr__(Declaration, _old, OldName(_old))
