"""The types of the stacks' table: what one MPI can be set to on one kind of fabric, and what it cannot.

A rail policy is one of POLICIES, or striping followed by its own threshold (``striping-8K``), or a single rail of the
fabric other than its first (``rail-2``): the stack gets only that device, and treats it like any single device.

A value may have these blanks, which ``settings`` fills: ``{devices}`` (names, commas: ``mlx5_0,mlx5_1``),
``{ports}`` (name:port, commas: ``mlx5_0:1,mlx5_1:1``), ``{sets}`` (the same with semicolons), ``{hcas}`` (colons:
``mlx5_0:mlx5_1``), ``{port}`` (the one port that all cards share; two ports of one card are then refused), ``{units}``
(the numbers at the ends of the names, commas: ``hfi1_0`` is 0), ``{unit_ports}`` (``0:1,1:1``), ``{rails}``,
``{threshold}`` (bytes, only in a Spread's ``tunable``), and ``{knob}`` in a knob's value. A Launch has its own blanks,
described there.

The table of stacks, collected from the modules of ``entries/``. A new stack is one module there.

A system's file may declare further ones, for the process that reads it.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from railyard.base.errors import RailyardError, did_you_mean
from railyard.stacks import entries

KINDS = ("tcp", "ib", "roce", "opa", "slingshot", "efa")
POLICIES = ("single", "striping", "round-robin", "nic-per-rank")
#: How programs reach the memory of GPUs: NVIDIA's, AMD's.
MEMORIES = ("cuda", "rocm")
KNOBS = ("gid_index", "traffic_class", "service_level")
SINGLE = "single"
STRIPING = "striping"
NIC_PER_RANK = "nic-per-rank"
#: The form of a policy with a threshold, for a schema; K is 1024 bytes.
TUNED_PATTERN = rf"{STRIPING}-[1-9][0-9]*[KMG]?"

#: The form of a single rail, for a schema: the fabric's second rail is rail-2. SINGLE uses the first.
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


def tuned_name(threshold_bytes: int) -> str:
    """Return the name of striping with this threshold, in the largest unit that divides it: ``striping-8K``."""
    unit = max((unit for unit, factor in _FACTORS.items() if threshold_bytes % factor == 0), key=_FACTORS.__getitem__)
    return f"{STRIPING}-{threshold_bytes // _FACTORS[unit]}{unit}"


def policy_of_rail(number: int) -> str:
    """Return the policy that uses only this rail of a fabric, counted from 1: ``rail-2``; single for the first."""
    return SINGLE if number == 1 else f"rail-{number}"


def number_alone(policy: str) -> int | None:
    """Return the number of the only rail that a policy uses, counted from 1; None if it names none."""
    return int(policy.removeprefix("rail-")) if _ALONE.fullmatch(policy) else None


def holds_for(stated: str, policy: str) -> bool:
    """Return whether a statement for one policy holds for another too: ``single`` holds for each rail alone."""
    return stated == policy or (stated == SINGLE and number_alone(policy) is not None)


def split_threshold(name: str) -> tuple[str, int | None]:
    """Return a policy without its threshold, and the threshold in bytes, or None if it has none.

    A single rail is ``single``, whichever rail it is.
    """
    if number_alone(name) is not None:
        return SINGLE, None
    found = _TUNED.fullmatch(name)
    return (name, None) if found is None else (STRIPING, int(found[1]) * _FACTORS[found[2]])


def unknown(name: str) -> str | None:
    """Return what to write instead of an unknown policy, None for a known one. A threshold has only one spelling."""
    policy, threshold = split_threshold(name)
    if threshold is not None:
        return None if tuned_name(threshold) == name else did_you_mean(name, [tuned_name(threshold)])
    return None if policy in POLICIES else did_you_mean(name, POLICIES)


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable: why it is set, which version was tried or documented, and where this is written."""

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
    """What is set on the command lines of a client and a server, with the same reasons as for a Setting.

    ``words`` have the blank ``{knob}``.
    """

    words: tuple[str, ...]
    why: str
    version: str
    source: str

    def __post_init__(self) -> None:
        if set().union(*map(blanks, self.words)) != {"knob"}:
            raise ValueError(f"{' '.join(self.words)}: expected the blank knob, and no other")


#: What a stack also needs for messages in the memory of GPUs, by MEMORIES, or why they cannot be there.
Memories = Mapping[str, tuple[Setting, ...] | str]

NO_TEST_SETS_IT = "no test here sets where its messages are"

#: How to set a stack's GID index, traffic class or service level, or a sentence that says why it cannot be set.
Knob = Setting | Words | str


@dataclass(frozen=True, slots=True)
class Proof:
    """How a log shows which devices were used: what makes the library print it, and what to look for.

    ``pattern`` is a regular expression. Its blank ``{device}`` is filled with each device in turn, and the log must
    have all of them. A pattern without the blank must be found once. ``{rails}`` is the number of rails.
    """

    settings: tuple[Setting, ...]
    pattern: str
    says: str

    def __post_init__(self) -> None:
        re.compile(self.pattern.replace("{device}", "x").replace("{rails}", "1"))


def silent(library: str) -> Proof:
    """Return the proof of a library whose documentation does not say how its log names the network that it used.

    No line fits it, so the counters alone prove the path; without counters the path is not proven.
    """
    says = f"no documentation at hand says how {library} prints which network it used; only the counters prove the path"
    return Proof((), r"(?!)", says)


@dataclass(frozen=True, slots=True)
class Spread:
    """One rail policy that a stack can do on one kind of fabric.

    ``threshold_bytes``: from this message size on, all rails carry one message together; None if a single message is
    never split (single, round robin, NIC per rank), or if the stack documents no number. ``threshold`` says which of
    these it is, and where this is written. ``options`` are words for the stack's own launcher. ``proof`` and ``knobs``
    replace the way's if this policy goes over another transport. ``tunable`` is the setting of the threshold, if
    another one may be asked for (``striping-8K``). It takes no less than ``least_bytes``, and with ``splits_above`` a
    message of exactly that size is still whole.
    ``rank_variable``, for NIC per rank, is the way's setting that lists the devices: it gives each rank one of them. It
    is empty if the library itself gives local rank i the NIC i, or the nearest one.
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
    """How one stack uses one kind of fabric: what carries the messages, which policies, which knobs.

    Each of POLICIES is either in ``spreads`` (the first with more than one rail is the default) or in ``cannot`` with
    its sentence. Each of KNOBS is a Setting, the tool's Words, or a sentence that says why there is none.
    ``memories`` has for each of MEMORIES the additional settings for messages in the memory of such GPUs (empty if none
    are needed), or a sentence that says why it is impossible. If the way has the same setting, this value replaces it.
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

    def find_mistake(self) -> str | None:
        """Return which policies or knobs it lacks or has too many of, and what to do; None for a whole way."""
        policies = [*(spread.policy for spread in self.spreads), *self.cannot]
        if twice := sorted({name for name in policies if policies.count(name) > 1}):
            return f"found {', '.join(twice)} twice, expected each policy once, in spreads or in cannot: leave one out"
        if wrong := _differences("policy", "policies", policies, POLICIES):
            return f"{wrong}: state each in spreads, or in cannot with the reason why it has none"
        for knobs in (self.knobs, *(spread.knobs for spread in self.spreads if spread.knobs is not None)):
            if wrong := _differences("knob", "knobs", knobs, KNOBS):
                return f"{wrong}: state each in knobs, as a Setting or with the reason why it cannot be set"
        return None


def _differences(one: str, several: str, found: Collection[str], expected: Collection[str]) -> str | None:
    """Return which of the expected names are not there, or else which others are; None if they are the same."""
    for what, names in (
        ("no", [name for name in expected if name not in found]),
        ("the unknown", sorted(set(found) - set(expected))),
    ):
        if names:
            each = one if len(names) == 1 else several
            return f"found {what} {each} {', '.join(names)}, expected each of {', '.join(expected)}, and no other"
    return None


@dataclass(frozen=True, slots=True)
class Launch:
    """How to tell a stack's own launcher where and how to start, as words with blanks.

    Blanks: ``{hosts}`` (a,b), ``{host_slots}`` (a:2,b:2), ``{ranks}``, ``{ranks_per_node}``, ``{agent}``,
    ``{network}``, ``{cores}``, ``{name}`` and ``{value}`` (one variable). ``share_cores`` has the words for ranks
    that are bound to no core, since they share the cores of a host, and ``give_cores`` those with which a rank that
    waits gives its core away: for more ranks than cores. ``cores_a_rank`` binds each rank to as many cores as it
    has threads, and no two ranks share a core. A string instead of words says why there are none. ``answer`` is a
    regular expression for what it prints with ``--version``, empty if that is unknown; its group ``version`` is the
    library's own. ``between`` is the word between parts of one command, where each part has its own hosts and processes
    and ranks follow the order of the command; empty if that is unknown. ``each_node`` are the words, an option with its
    value, that put so many ranks on each node of a job, however many slots the job has there; ``each_node_env`` are the
    variables without which the launcher would not obey them.
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
    give_cores: tuple[str, ...] = ()
    each_node: tuple[str, str] | str = "no words are known that give each node of a job so many ranks"
    each_node_env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        re.compile(self.answer)
        words = [*self.hosts, *self.ranks, *self.ranks_per_node, *self.share_cores, *self.give_cores]
        words += [*self.cores_a_rank, *self.forward]
        words += [
            word for part in (self.agent, self.network, self.each_node) if not isinstance(part, str) for word in part
        ]
        others = {name for word in words for name in blanks(word)} - LAUNCH_BLANKS
        if others:
            raise ValueError(f"{self.program}: unknown blanks {sorted(others)}")


@dataclass(frozen=True, slots=True)
class VersionProgram:
    """A program of a library that says the library's version.

    ``names`` are its names on a search path: its own first, then those that distributions use. ``answer`` is a regular
    expression whose group is the version; it is searched line by line in what the program prints with ``words``.
    ``within`` must be in the program's path, if another library's program has the same name and the same answer.
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
    """A program that shows a tool of a stack that is not an MPI; ``is_folder``: the tool's path is its folder."""

    name: str
    tool: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """An MPI library, another library, or a way without MPI: how to recognise and launch it, and a way per fabric.

    ``version_pattern`` is searched in the text of MPI_Get_library_version; ``told_apart`` says what it cannot tell.
    ``also_prints``: the stacks from which it derives, whose first words it may print too. ``errors_of``: the libraries
    whose error messages it prints (``verdict.hints.first_cause.LIBRARIES``): its own or its origin's, and UCX's.
    ``launches`` are in rising order of ``since`` (major version). ``root_env`` lets the launcher run as root.
    ``sonames`` are the names of its library to which a program is linked (``*`` for a compiler's own). Several stacks
    may share a name (libmpi.so.12 is MPICH's ABI), so the path is compared with the prefix too. ``spack_package`` is
    its name in Spack. ``startup_pattern`` begins a line that only this library prints at its start, if set to do so.
    ``own_pinning`` are variables that keep the library from binding its processes itself when it starts.
    ``programs`` and ``module`` tell whether a node has it: programs that say its version, and a regular expression for
    its module's name, up to the version, as sites, EasyBuild and Spack call it.
    ``tool_programs`` are the programs of the benchmarks of a stack that is not an MPI library: a client and a server,
    or programs that an MPI starts (``by_mpi``). ``not_built`` says why Spack cannot build for it, if the stack has no
    folder in ``spack_envs/``. ``families``: the only families of processors for which it exists; if empty: all.
    ``addressed``: without MPI, whether addresses tell an application that starts its own processes which rail to use.
    ``by_mpi``: it is not an MPI library, but its benchmarks are MPI programs. MPI starts them; what they measure goes
    over this library. Its entry in a system's file says which MPI; launcher and protocol are then that MPI's.
    ``rehearsed_as`` is the library whose variables and launcher a rehearsal plays for it, one of
    ``railyard.provision.rehearsal.rank_ports.LIBRARIES``; a client and a server need none. If it is empty,
    ``not_rehearsed`` says why, and a rehearsal leaves the stack out.
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
    families: tuple[str, ...] = ()
    addressed: bool = False
    by_mpi: bool = False
    also_prints: tuple[str, ...] = ()
    errors_of: tuple[str, ...] = ()
    rehearsed_as: str = ""
    not_rehearsed: str | None = None

    def __post_init__(self) -> None:
        re.compile(self.version_pattern)
        if not (self.programs or self.module or self.tool_programs):
            raise ValueError(f"{self.title}: neither programs nor a module say how a node shows it")
        if sorted(self.ways) != sorted(KINDS):
            raise ValueError(f"{self.title}: kinds {sorted(self.ways)} are not {sorted(KINDS)}")

    def find_mistake(self) -> str | None:
        """Return the first way that is not whole, and what to do; None if all are."""
        for kind, way in self.ways.items():
            if not isinstance(way, str) and (wrong := way.find_mistake()):
                return f"ways[{kind}] ({way.transport}): {wrong}"
        return None

    @property
    def launch(self) -> Launch:
        """The oldest generation's launcher. A system gets this one unless it names a major version."""
        return self.launches[0]

    @property
    def pair(self) -> bool:
        """Whether it has no MPI: its own benchmarks are a client and a server, one pair of them per rail."""
        return bool(self.tool_programs) and not self.by_mpi

    @property
    def is_mpi(self) -> bool:
        """Whether it is an MPI library."""
        return not (self.tool_programs or self.by_mpi)

    @property
    def tools(self) -> tuple[str, ...]:
        """The benchmarks of a stack that is not an MPI library. It has no others."""
        return tuple(dict.fromkeys(each.tool for each in self.tool_programs))


def _read_entries(module: str) -> Mapping[str, Stack]:
    """Return the stacks of a module of ``entries/``. Raises RailyardError, which names file and stack, for a wrong one.

    A stack without its knobs would be set to nothing, and no run would notice.
    """
    file = f"{entries.__path__[0]}/{module}.py"
    try:
        stacks: Mapping[str, Stack] = import_module(f"{entries.__name__}.{module}").STACKS
    except Exception as error:  # whatever an entry raises, the sentence names its file
        import traceback  # only an error needs it

        inner = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f"{file}:{inner[-1]}" if inner else file
        raise RailyardError(
            f"{where}: found {type(error).__name__}: {error}, expected an entry of a stack "
            f"(docs/developers/add.md): fix it there"
        ) from error
    for name, stack in stacks.items():
        if wrong := stack.find_mistake():
            raise RailyardError(f"{file}: {name}: {wrong}")
    return stacks


def _find_stacks() -> Mapping[str, Stack]:
    """Return all stacks by name: MPI libraries first, families together. A family prints its first stack's words.

    Raises RailyardError, one sentence, for a wrong entry.
    """
    found: dict[str, Stack] = {}
    for module in sorted(each.name for each in iter_modules(entries.__path__)):
        stacks = _read_entries(module)
        if twice := found.keys() & stacks.keys():
            raise RailyardError(
                f"{entries.__path__[0]}/{module}.py: found {', '.join(sorted(twice))}, which another module there has "
                f"already, expected a new name: rename one"
            )
        found |= stacks
    return dict(sorted(found.items(), key=lambda item: (not item[1].is_mpi, item[1].pair)))


#: The stacks of ``entries/``.
OWN: Mapping[str, Stack] = MappingProxyType(_find_stacks())
_known = dict(OWN)
#: These, and those that the systems' files declare that were read so far.
STACKS: Mapping[str, Stack] = MappingProxyType(_known)


def declare(name: str, stack: Stack) -> bool:
    """Add a stack that a system's file declares. Return whether there is another one of that name, which then stays.

    Raises ValueError for a stack with a way that is not whole.
    """
    if wrong := stack.find_mistake():
        raise ValueError(wrong)
    return _known.setdefault(name, stack) != stack
