"""The types of the stacks' table: what one MPI is told for one kind of fabric, and what it cannot be told.

A rail policy is one of POLICIES, striping with a threshold of its own behind it (``striping-8K``), or one rail of the
fabric alone that is not its first (``rail-2``): the stack is told that device, and does with it what it does with one.

A value may hold these blanks, which ``settings`` fills: ``{devices}`` (names, commas: ``mlx5_0,mlx5_1``),
``{ports}`` (name:port, commas: ``mlx5_0:1,mlx5_1:1``), ``{sets}`` (the same with semicolons), ``{hcas}`` (colons:
``mlx5_0:mlx5_1``), ``{port}`` (the one port that all cards share; two ports of one card are then refused), ``{units}``
(the numbers at the names' ends, commas:
``hfi1_0`` is 0), ``{unit_ports}`` (``0:1,1:1``), ``{rails}``, ``{threshold}`` (bytes,
in a Spread's ``tunable`` alone), and in a knob's value ``{knob}``. A Launch has blanks of its own, named there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.base.errors import did_you_mean

KINDS = ("tcp", "ib", "roce", "opa", "slingshot", "efa")
POLICIES = ("single", "striping", "round-robin", "nic-per-rank")
#: By what programs reach the memory of GPUs: NVIDIA's, AMD's.
MEMORIES = ("cuda", "rocm")
KNOBS = ("gid_index", "traffic_class", "service_level")
SINGLE = "single"
STRIPING = "striping"
NIC_PER_RANK = "nic-per-rank"
#: What a policy with a threshold looks like, for a schema; K is 1024 bytes.
TUNED_PATTERN = rf"{STRIPING}-[1-9][0-9]*[KMG]?"

#: What one rail alone looks like, for a schema: the fabric's second is rail-2. The first is what SINGLE uses.
ALONE_PATTERN = r"rail-(?:[2-9]|[1-9][0-9]+)"

_ALONE = re.compile(ALONE_PATTERN)
_TUNED = re.compile(rf"{STRIPING}-([1-9][0-9]*)([KMG]?)")
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

BLANKS = frozenset({"devices", "ports", "sets", "hcas", "port", "units", "unit_ports", "rails", "threshold", "knob"})
LAUNCH_BLANKS = frozenset(
    {"hosts", "host_slots", "ranks", "ranks_per_node", "agent", "network", "cores", "name", "value"}
)
_BLANK = re.compile(r"\{([a-z_]+)\}")


def blanks(text: str) -> set[str]:
    """Return the names of the blanks in a template."""
    return set(_BLANK.findall(text))


def tuned(threshold_bytes: int) -> str:
    """Return the name of striping with this threshold, in the largest unit that divides it: ``striping-8K``."""
    unit = max((unit for unit, factor in _FACTORS.items() if threshold_bytes % factor == 0), key=_FACTORS.__getitem__)
    return f"{STRIPING}-{threshold_bytes // _FACTORS[unit]}{unit}"


def alone(number: int) -> str:
    """Return the policy by which a rail of a fabric is used alone, counted from 1: ``rail-2``, of the first single."""
    return SINGLE if number == 1 else f"rail-{number}"


def number_alone(policy: str) -> int | None:
    """Return which rail of the fabric a policy uses alone, counted from 1; None where it names none."""
    return int(policy.removeprefix("rail-")) if _ALONE.fullmatch(policy) else None


def holds_for(stated: str, policy: str) -> bool:
    """Return whether what is stated for one policy is for another too: ``single`` is for each rail alone."""
    return stated == policy or (stated == SINGLE and number_alone(policy) is not None)


def parted(name: str) -> tuple[str, int | None]:
    """Return what a stack does by a policy, without its threshold, and the threshold in bytes; None where it has none.

    One rail alone is ``single``, whichever it is.
    """
    if number_alone(name) is not None:
        return SINGLE, None
    found = _TUNED.fullmatch(name)
    return (name, None) if found is None else (STRIPING, int(found[1]) * _FACTORS[found[2]])


def unknown(name: str) -> str | None:
    """Return what to write in place of an unknown policy, None for a known one. A threshold is written in one way."""
    policy, threshold = parted(name)
    if threshold is not None:
        return None if tuned(threshold) == name else did_you_mean(name, [tuned(threshold)])
    return None if policy in POLICIES else did_you_mean(name, POLICIES)


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable, with why it is set, where that was tried or documented, and where it is written."""

    name: str
    value: str
    why: str
    version: str
    source: str

    def __post_init__(self) -> None:
        others = blanks(self.value) - BLANKS
        if others:
            raise ValueError(f"{self.name}: unknown blanks {sorted(others)}")


@dataclass(frozen=True, slots=True)
class Words:
    """What a client and a server are told on their command lines, with the same reasons as a Setting.

    ``words`` have the blank ``{knob}``.
    """

    words: tuple[str, ...]
    why: str
    version: str
    source: str

    def __post_init__(self) -> None:
        if set().union(*map(blanks, self.words)) != {"knob"}:
            raise ValueError(f"{' '.join(self.words)}: expected the blank knob, and no other")


#: What a stack is told besides for messages in the memory of GPUs, by MEMORIES, or why they cannot lie there.
Memories = Mapping[str, tuple[Setting, ...] | str]

NO_TEST_SETS_IT = "no test here sets where its messages lie"

#: How a stack is told a GID index, a traffic class or a service level, or the sentence why it cannot be told.
Knob = Setting | Words | str


@dataclass(frozen=True, slots=True)
class Proof:
    """How a log shows which devices were used: what makes the library print it, and what to look for.

    ``pattern`` is a regular expression; its blank ``{device}`` is filled with each device in turn and every one of
    them must be found. A pattern without the blank must be found once. ``{rails}`` is the number of rails.
    """

    settings: tuple[Setting, ...]
    pattern: str
    says: str

    def __post_init__(self) -> None:
        re.compile(self.pattern.replace("{device}", "x").replace("{rails}", "1"))


@dataclass(frozen=True, slots=True)
class Spread:
    """One rail policy that a stack can do on one kind of fabric.

    ``threshold_bytes``: from this message size on one message is carried by all rails; None where no single message
    is ever split (single, round robin, NIC per rank) or where the stack documents no number. ``threshold`` says which
    of these it is, and where that stands. ``options``: words for the stack's own launcher. ``proof`` and ``knobs``
    replace the way's where this policy goes over another transport. ``tunable`` is the setting of the threshold, where
    another one may be asked for (``striping-8K``); it takes no less than ``least_bytes``, and with ``splits_above`` a
    message of just that size is still whole.
    ``rank_variable``, of NIC per rank, is the way's setting that lists the devices: each rank is given one of the list
    by it. Empty where the library itself gives local rank i the NIC i, or the nearest one.
    """

    policy: str
    threshold: str
    settings: tuple[Setting, ...] = ()
    threshold_bytes: int | None = None
    max_rails: int | None = None
    options: tuple[str, ...] = ()
    proof: Proof | None = None
    knobs: Mapping[str, Knob] | None = None
    tunable: Setting | None = None
    least_bytes: int = 1
    splits_above: bool = False
    rank_variable: str = ""

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"unknown policy {self.policy}")
        if self.tunable is not None and not any(line.name == self.tunable.name for line in self.settings):
            raise ValueError(f"{self.policy}: no setting {self.tunable.name} that another threshold could replace")


@dataclass(frozen=True, slots=True)
class Way:
    """How one stack is told one kind of fabric: what carries the messages, which policies, which knobs.

    Each of POLICIES is either in ``spreads`` (the first with more than one rail is taken where none is named) or in
    ``cannot`` with its sentence; each of KNOBS is a Setting, the tool's Words or the sentence why there is none.
    ``memories`` has for each of MEMORIES what is set besides, so that messages lie in the memory of such GPUs (nothing
    where nothing must be), or the sentence why they cannot. Of a setting that the way has already, this is the value.
    """

    transport: str
    settings: tuple[Setting, ...]
    spreads: tuple[Spread, ...]
    proof: Proof
    cannot: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    memories: Memories = field(default_factory=lambda: dict.fromkeys(MEMORIES, NO_TEST_SETS_IT))

    def __post_init__(self) -> None:
        if sorted(self.memories) != sorted(MEMORIES):
            raise ValueError(f"{self.transport}: memories {sorted(self.memories)} are not {sorted(MEMORIES)}")
        for spread in self.spreads:
            if spread.rank_variable and all(line.name != spread.rank_variable for line in self.settings):
                raise ValueError(f"{self.transport}: no setting {spread.rank_variable} that a rank's own could replace")
        policies = sorted([spread.policy for spread in self.spreads] + list(self.cannot))
        if policies != sorted(POLICIES):
            raise ValueError(f"{self.transport}: policies {policies} are not each of {sorted(POLICIES)} once")
        for knobs in [self.knobs, *(spread.knobs for spread in self.spreads if spread.knobs is not None)]:
            if sorted(knobs) != sorted(KNOBS):
                raise ValueError(f"{self.transport}: knobs {sorted(knobs)} are not {sorted(KNOBS)}")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a stack's own launcher is told where and how to start, as words with blanks.

    Blanks: ``{hosts}`` (a,b), ``{host_slots}`` (a:2,b:2), ``{ranks}``, ``{ranks_per_node}``, ``{agent}``,
    ``{network}``, ``{cores}``, ``{name}`` and ``{value}`` (one variable). ``share_cores`` holds the words for more
    ranks than cores: no binding, and give the core away when idle. ``cores_a_rank`` binds each rank to as many cores as
    it has threads, none of them another rank's. A string in place of words says why there are none. ``answer`` is a
    regular expression of what it prints when it is asked for its ``--version``, empty where that is not known; the
    group ``version`` is the library's own. ``between`` is the word between parts of one command, each with hosts and
    processes of its own, whose ranks are in the order of the command; empty where that is not known.
    """

    since: int
    program: str
    hosts: tuple[str, ...]
    ranks: tuple[str, ...]
    ranks_per_node: tuple[str, ...]
    agent: tuple[str, ...] | str
    network: tuple[str, ...] | str
    share_cores: tuple[str, ...]
    cores_a_rank: tuple[str, ...]
    forward: tuple[str, ...]
    version: str
    source: str
    answer: str = ""
    between: str = ""

    def __post_init__(self) -> None:
        re.compile(self.answer)
        words = [*self.hosts, *self.ranks, *self.ranks_per_node, *self.share_cores, *self.cores_a_rank, *self.forward]
        words += [word for part in (self.agent, self.network) if not isinstance(part, str) for word in part]
        others = {name for word in words for name in blanks(word)} - LAUNCH_BLANKS
        if others:
            raise ValueError(f"{self.program}: unknown blanks {sorted(others)}")


@dataclass(frozen=True, slots=True)
class VersionProgram:
    """A program of a library that says the library's version.

    ``names`` are its names on a search path, its own first, then what distributions call it. ``answer`` is a regular
    expression whose group is the version; it is searched line by line in what the program prints when it is given
    ``words``. ``within`` is in the program's path, where another library's program has its name and answers as it does.
    """

    names: tuple[str, ...]
    answer: str
    words: tuple[str, ...] = ()
    within: str = ""

    def __post_init__(self) -> None:
        if re.compile(self.answer).groups != 1:
            raise ValueError(f"{self.names}: {self.answer} has not one group, which is the version")


@dataclass(frozen=True, slots=True)
class ToolProgram:
    """A program that shows a tool of a stack that is no MPI; ``is_folder``: the tool's path is the program's folder."""

    name: str
    tool: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """One MPI library, another library, or a way without MPI: how it is recognised and launched, and a way per fabric.

    ``version_pattern`` is searched in MPI_Get_library_version's text; ``told_apart`` says what it cannot tell.
    ``launches`` are in rising order of ``since`` (major version). ``root_env`` lifts the launcher's refusal of root.
    ``sonames`` are the names of its library that a program is linked to (``*`` for a compiler's own); one name may be
    several stacks' (libmpi.so.12 is MPICH's ABI), so a path is held against the prefix too. ``spack_package`` is what
    Spack calls it. ``startup_pattern`` begins a line that no other library prints at its start, where it was told to.
    ``own_pinning`` are variables that keep the library from binding its processes itself when it starts.
    ``programs`` and ``module`` are how a node shows that it is there: programs that say its version, and a regular
    expression of its module's name, up to the version, as sites, EasyBuild and Spack call it.
    ``tool_programs`` are those of the benchmarks of a stack that is no MPI library: a client and a server, or programs
    that an MPI starts (``by_mpi``). ``not_built`` is why Spack cannot serve it, of a stack without a folder in
    ``spack_envs/``.
    ``addressed``: without MPI, whether an application that starts its own processes is told its rail by addresses.
    ``by_mpi``: it is no MPI library, and its benchmarks are MPI programs: MPI starts them, what they measure goes by
    this library. Which MPI, its entry in a system's file says; launcher and protocol are then that one's.
    """

    title: str
    version_pattern: str
    told_apart: str
    sonames: tuple[str, ...]
    spack_package: str
    local_rank_variables: tuple[str, ...]
    launches: tuple[Launch, ...]
    srun_mpi: str
    ways: Mapping[str, Way | str]
    root_env: Mapping[str, str] = field(default_factory=dict)
    startup_pattern: str | None = None
    own_pinning: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[VersionProgram, ...] = ()
    module: str | None = None
    tool_programs: tuple[ToolProgram, ...] = ()
    not_built: str | None = None
    addressed: bool = False
    by_mpi: bool = False

    def __post_init__(self) -> None:
        re.compile(self.version_pattern)
        if not (self.programs or self.module or self.tool_programs):
            raise ValueError(f"{self.title}: neither programs nor a module say how a node shows it")
        if sorted(self.ways) != sorted(KINDS):
            raise ValueError(f"{self.title}: kinds {sorted(self.ways)} are not {sorted(KINDS)}")

    @property
    def launch(self) -> Launch:
        """The oldest generation's launcher: the one that a system gets unless it names a major version."""
        return self.launches[0]

    @property
    def pair(self) -> bool:
        """Whether it has no MPI: its own benchmarks are a client and a server, a pair of them a rail."""
        return bool(self.tool_programs) and not self.by_mpi

    @property
    def is_mpi(self) -> bool:
        """Whether it is an MPI library."""
        return not (self.tool_programs or self.by_mpi)

    @property
    def tools(self) -> tuple[str, ...]:
        """The benchmarks of a stack that is no MPI library: it has no others."""
        return tuple(dict.fromkeys(each.tool for each in self.tool_programs))
