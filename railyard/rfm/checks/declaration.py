"""What a check declares of its benchmark: ReFrame's variables and parameters, and what follows from them alone."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, variable
from reframe.core.exceptions import ReframeError
from reframe.core.meta import RegressionTestMeta

from railyard.base.errors import RailyardError
from railyard.rfm.checks.variants import rail_counts, rail_policies
from railyard.rfm.current import site_of
from railyard.site.policies import DEFAULT
from railyard.site.site import Site
from railyard.site.sizes import FULL_SIZES, QUICK_SIZES, sizes_within
from railyard.site.takes import NODES, RANKS, Takes

if TYPE_CHECKING:
    from railyard.benchmarks.moved_bytes import Repetitions
    from railyard.benchmarks.repetitions import Pace
    from railyard.job.command import Command
    from railyard.rfm.checks.prober import Prober, RailProber
    from railyard.rfm.checks.runner import Runner
    from railyard.rfm.checks.way_back import WayBack
    from railyard.site.systems.measure import StatedAmounts


#: Numbers that a tool may be told, and the message sizes that it may be told to measure.
AMOUNTS, SIZES = ("repetitions", "warm_up", "window"), ("full", "smallest", "largest")
#: What a site may choose of any check besides those; the other variables of this class say what a check is.
_CHOSEN = ("placement", "use_launcher")


class Declaration(rfm.RegressionTestPlugin):
    """What a check says, each with what most checks say: no hook, and no decision."""

    tags: Any
    rails = parameter(rail_counts(), type=int, loggable=True)
    #: How messages are spread over the rails; ``default`` is the stack's own way, and stands in no name.
    policy = parameter(rail_policies(), type=str, loggable=True)
    full = variable(typ.Bool, value=False, loggable=True)
    tool = variable(str)
    benchmark = variable(str)
    #: The parser of the tool's output.
    parse: Any
    #: Whether an everyday run leaves it out: what it asks is answered, less closely, by another.
    extended = variable(typ.Bool, value=False)
    num_nodes = variable(int, value=2)
    #: Whether it spans all nodes of the system, of which there must be ``num_nodes``.
    all_nodes = variable(typ.Bool, value=False)
    ranks_per_node = variable(int, value=1)
    #: The fewest nodes that it can be told to have (``-S num_nodes``, ``nodes`` in the system's file); 0: its own
    #: number alone. One that spans all can be told any number from its own on.
    fewest_nodes = 0
    #: Whether such a number is even: half of the nodes are the others' partners.
    even_nodes = False
    #: Whether it can be told how many ranks a node has.
    takes_ranks = False
    #: The largest of a sweep over powers of two alone; 0 for any numbers of nodes.
    powers = 0
    #: What it was told, 0 where it was told nothing; and why it cannot be told what it was.
    asked_nodes = 0
    asked_ranks = 0
    refused = ""
    #: The variables that ``-S`` set, each with what the check has by itself.
    told: Mapping[str, Any] = MappingProxyType({})
    #: Whether each rank's partner is on its own node, so that no rail is meant to carry anything: then it belongs to
    #: no fabric, and runs on the first one alone.
    within_node = variable(typ.Bool, value=False)
    #: Whether several ranks of a node each have a partner of their own, at least one a rail (see ``many_pairs``).
    pair_a_rail = variable(typ.Bool, value=False)
    #: Whether each core of its nodes has a rank: only where the system's file says how many there are.
    every_core = variable(typ.Bool, value=False)
    #: Whether the GPUs of its nodes take part: only where the system's file says which there are.
    gpus = variable(typ.Bool, value=False)
    #: Whether the benchmark is a client and a server, no MPI program: one pair of processes per rail
    #: (`client_server_words`).
    pair = variable(typ.Bool, value=False)
    #: Whether it is an application that starts its own processes on a stack without MPI, as the first node's process.
    starts_itself = variable(typ.Bool, value=False)
    #: Whether such pairs run one rail after the other, and the worst rail is judged; else all at once, and summed.
    in_turn = variable(typ.Bool, value=False)
    #: Whether the tool has a program a benchmark; else it is one program.
    program_a_benchmark = variable(typ.Bool, value=False)
    #: Messages in flight of a windowed test; 1 for all others.
    window = variable(int, value=1)
    #: How often one job measures everything; the median at each size is judged.
    passes = variable(int, value=1)
    #: Which of the variables of message sizes say something to it.
    sizes_told: tuple[str, ...] = SIZES
    #: The smallest and largest message that make sense for this benchmark, in bytes.
    smallest = variable(int, value=1)
    largest = variable(int, value=4 << 20)
    #: The kinds of fabric that it is for; empty: all on which a stack has its tool.
    kinds: tuple[str, ...] = ()
    #: The file that the benchmark appends its output to, where it prints none.
    output_file = variable(str, value="")
    #: Which of the system's time limits holds: ``micro``, or ``app`` for an application.
    check_class = variable(str, value="micro")
    #: Another launcher of ReFrame than the system's (``-S use_launcher=mpirun``: the stack's own, inside the job).
    use_launcher = variable(str, value="", loggable=True)
    #: Near the rails or far from them, in place of what the system's file says of the fabric (``-S placement=far``);
    #: ``launcher`` leaves processes where launcher and library put them.
    placement = variable(str, value="", loggable=True)
    #: Variables that must not reach the benchmark from whoever starts the run.
    cleared: tuple[str, ...] = ()
    #: What the check chose and why, behind the verdict's sentence.
    remarks: tuple[str, ...] = ()
    #: Files with more of the benchmark's output, which lines behind its launch made (``after``).
    more_outputs: tuple[str, ...] = ()
    #: Whether its command is one process of the job, which starts the benchmark itself in steps of the job.
    starts_steps = False
    #: Whether the tool prints how many threads it had, which is then held against what it was given.
    prints_threads = False
    #: Whether the tool prints its rows on standard error.
    rows_on_stderr = False
    #: What ``probe_arguments`` runs: a ping-pong, and its executable, of a tool that is a folder of them.
    probe_key = ""
    probe_program = ""
    #: The same of a stream one way, which tells which way a slow rail is slow; empty for a tool without one.
    one_way_key = ""
    one_way_program = ""
    #: Of a check that streams one way: the tests that see the other, in words; empty for any other check.
    other_way_seen_by = ""
    #: Each rail is measured the other way, too, after a pass (``rfm.checks.other_way``), about a second a rail, unless
    #: the stack has one of these tools, whose tests do that; None: never.
    other_way_unless: tuple[str, ...] | None = None
    #: What makes its output, from its set-up on: the benchmark itself, or a recording.
    runner: "Runner"

    @classmethod
    def setvar(cls, name: str, value: Any) -> bool:
        """Set a variable, as ReFrame does for ``-S``, and note that it was set: a hook may set it, too."""
        if hasattr(value, "__get__"):  # ReFrame gives the class its variables so, when it makes the first test
            return bool(RegressionTestMeta.setvar(cls, name, value))
        # As a number, since ReFrame gives the variable itself, which is about to change.
        own = int(getattr(cls, name)) if name in (NODES, RANKS, "all_nodes") else None
        done = bool(RegressionTestMeta.setvar(cls, name, value))
        if done:
            cls.told = {name: own, **cls.told}
        return done

    @classmethod
    def takes_of(cls, parameters: Mapping[str, str]) -> Takes:
        """Return which numbers of nodes and ranks such a variant can be told."""
        own = int(cls.told.get(NODES, cls.num_nodes))
        return Takes(
            nodes=own,
            fewest=own if cls.told.get("all_nodes", cls.all_nodes) else cls.fewest_nodes,
            even=cls.even_nodes,
            swept="nodes" in parameters,
            powers=cls.powers,
            ranks=cls.takes_ranks,
            idle=cls.idle(),
            variables=cls.answers_to(),
        )

    @classmethod
    def idle(cls) -> frozenset[str]:
        """Return the variables that change nothing of it, though every check has them."""
        unsaid = {name for name in AMOUNTS if name not in cls.takes()}
        unsaid |= {name for name in SIZES if name not in cls.sizes_told}
        # A client and a server are started by the system's own launcher; without them nothing runs in turn.
        return frozenset(unsaid | {"use_launcher" if cls.pair else "in_turn"})

    @classmethod
    def answers_to(cls) -> tuple[str, ...]:
        """Return the variables that change something of it: its own, and those of all checks that are not idle."""
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
        return bool(cls.within_node)

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        """Return the feature by which a system asks for the problem of such a variant (``npb-W``); empty for none."""
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
        """Return the words of a short stream one way at one size, of a tool whose ``one_way_key`` names it."""
        raise ReframeError(
            f"{type(self).__name__}: found no one_way_arguments(), expected the words of a short stream one way"
        )

    def again_arguments(self, size: int) -> list[str]:
        """Return the words of the check's own benchmark at one size, which measures all rails at once."""
        return self.arguments((size,))

    @property
    def lasting_s(self) -> int:
        """How long a run takes that is told so, in seconds; 0 where the system's limit is all that bounds it."""
        return 0

    def before(self, program: str) -> list[str]:
        """Return lines of the job before the benchmark's launch, for what it needs there; ``program`` is its path."""
        return []

    def after(self) -> list[str]:
        """Return lines of the job behind the benchmark's launch."""
        return []

    def input_files(self) -> Mapping[str, str]:
        """Return the files that the benchmark reads in its folder: name and text."""
        return {}

    def choose_amounts(self, pace: "Pace | None", stated: "StatedAmounts | None") -> None:
        """Choose repetitions and messages in flight for a link (None: its rate is not known), or as the file states.

        Raises RailyardError where the system's file states a number that the tool cannot be told.
        """
        self.refuse_others(stated)

    def refuse_others(self, stated: "StatedAmounts | None") -> None:
        """Raise RailyardError where the system's file states a number that is none of what the check ``takes()``."""
        for name, value in ({} if stated is None else stated.given).items():
            if name not in self.takes():
                known = ", ".join(self.takes()) or "nothing"
                raise RailyardError(f"measure: benchmarks: {self.key}: {name}: found {value}, expected {known}")

    def shape(self) -> None:
        """Choose nodes and ranks a node once it is known how many nodes there are; most checks have fixed numbers."""

    @property
    def program(self) -> str:
        """The executable of a tool that has one a benchmark, of its name; empty for a tool that is one executable."""
        return str(self.benchmark).partition("/")[0] if self.program_a_benchmark else ""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names that its executable may have, of which the first that is installed runs."""
        return (self.program,)

    @property
    def cores(self) -> int:
        """How many ranks a node can have: its cores, one where the system's file states none."""
        hardware = self.site.system.nodes.hardware
        return 1 if hardware is None else hardware.cores

    @property
    def memory(self) -> str | None:
        """By what its messages lie in the memory of GPUs on this stack (cuda, rocm); None: in the host's."""
        return None

    @property
    def told_ranks(self) -> Mapping[str, str]:
        """The variables that every rank is given besides what its stack is told."""
        return {}

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has, each on a core of its own."""
        return 1

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        """Return the numbers that ``measure: benchmarks`` of the system's file may set, since the tool takes them."""
        return ()

    @property
    def fixed_repetitions(self) -> "Repetitions | None":
        """What a tool that prints no repetitions is told."""
        return None

    @property
    def validates(self) -> bool:
        """Whether the benchmark is told to check the data that it moves."""
        return False

    @property
    def command(self) -> "Command":
        """How the processes are told what to run: each is a rank, or one end of a pair a rail."""
        from railyard.job.command import ClientAndServer, Program

        kind = self.site.system.fabrics[self.current_partition.name].kind
        return ClientAndServer(self.tool, kind, self.in_turn) if self.pair else Program()

    @property
    def prober(self) -> "Prober":
        """Who is asked after a failure: each rail alone, by the tool's own ping-pong.

        Where other tests see the direction that this one leaves out, also after a pass.
        """
        if not self.other_way_seen_by:
            return self.rail_prober
        from railyard.rfm.checks.other_way import OneWay, OtherWay

        if not self.measures_other_way:
            return OneWay(self.rail_prober, self.other_way_seen_by)
        return OtherWay(self.rail_prober, self.other_way_seen_by, self.way_back)

    @property
    def measures_other_way(self) -> bool:
        """Whether each rail is measured the other way, too, on this stack."""
        elsewhere = self.other_way_unless
        return elsewhere is not None and not any(tool in self.current_environ.features for tool in elsewhere)

    @property
    def way_back(self) -> "WayBack | None":
        """The streams of the run's own job in the other direction; None of a job that makes none."""
        return None

    @property
    def rail_prober(self) -> "RailProber":
        """What measures each rail of the run alone, once there was one."""
        raise ReframeError(f"{type(self).__name__}: found no run, expected one whose rails can be measured alone")

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        return site_of(self)

    @property
    def display_name(self) -> str:
        """The test's name with its parameters; a policy that it leaves to the stack is none of them."""
        return str(super().display_name).replace(f" %policy={DEFAULT}", "")

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``imb/Uniband``."""
        return f"{self.tool}/{self.benchmark}"

    @property
    def pairs(self) -> int:
        """How many pairs of ranks, or of a client and a server, two nodes have between them."""
        return int(self.rails if self.pair else self.ranks_per_node)

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of this run, in bytes."""
        return sizes_within(self.smallest, self.largest, FULL_SIZES if self.full else QUICK_SIZES)

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        """The message sizes that the output must have, in bytes; none where the tool goes through its own."""
        return ()
