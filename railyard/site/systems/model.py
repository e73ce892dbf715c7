"""The model of systems/*.yaml: the fields of a cluster's file."""

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from railyard.base.fields import Count, Duration, Model, Name, Positive, Prose, ScriptLine, Size, Template
from railyard.base.numbers import powers_of_two
from railyard.base.values import seconds
from railyard.benchmarks.apps.installed_applications import Application
from railyard.hardware import limits, links
from railyard.hardware.counters import rail_name
from railyard.hardware.node import NodeHardware
from railyard.site.systems.fields import (
    Benchmarks,
    Blocking,
    HostPattern,
    LauncherName,
    LinkName,
    ModulesSystem,
    NodeNames,
    Policy,
    Price,
    SchedulerName,
    SlotName,
    Subnet,
    sentence_or_false,
)
from railyard.site.systems.jobs import (
    FAMILIES,
    SchedulerSettings,
    chunk_words,
    export_variables,
    options,
    place_options,
    resource_options,
    split_words,
    total_options,
    without_export,
)
from railyard.site.systems.measure import Measure
from railyard.site.systems.node_view import (
    Counters,
    HeaderModel,
    Kind,
    LinkFamily,
    PayloadSize,
    Provider,
)
from railyard.site.systems.parts import FabricState, Gate, Gpus, TopologySource
from railyard.site.systems.stack_entry import Preparation, SpackSite, StackEntry
from railyard.stacks.ask import LARGEST, Knobs
from railyard.stacks.model import holds_for, number_alone

#: A shorter reading of an idle rail gives no rate (bound idle-interval). A longer one would delay every run.
IDLE_MS = (200, 5000)

Errors = Annotated[int, Field(strict=True, ge=0)]


class ProofRules(Model):
    """A site's rules for path proofs. None of them lets a failed path pass."""

    accept_unproven: Prose | None = Field(
        None, description="Why a run whose path could not be proven may pass. If it is left out, such a run fails"
    )
    idle_ms: Annotated[int, Field(strict=True, ge=IDLE_MS[0], le=IDLE_MS[1])] | None = Field(
        None,
        description="How long the idle rails are read before and after each run: their traffic of then is subtracted",
    )
    error_bounds: dict[Name, Errors] = Field(
        {},
        description="Counter of errors: by how much it may grow in a run. Hard errors not named here may not grow",
    )


#: fat-tree: 1 switch, 3 through a spine or within a pod, 5 between pods; dragonfly: 1, and 2 within a group.
Network = Literal["fat-tree", "dragonfly", "blocks"]
NpbClass = Literal["S", "W", "A", "B", "C", "D", "E"]


def _link_form(value: Any) -> str | None:
    # In brackets: pydantic puts the tag into an error's location, where no field may have the same name.
    if isinstance(value, (dict, DeclaredLink)):
        return "(declared)"
    return "(name)" if isinstance(value, str) else None


class DeclaredLink(Model):
    """A link that is not in the table: its rate, its headers, and who says so."""

    name: Name
    data_rate_gbit_s: Positive | None = Field(description="One rail, one way, after the line code; null: unknown")
    headers: HeaderModel = Field("none", description="What each packet carries besides payload")
    mtu: Count | None = Field(None, description="Path MTU (InfiniBand, RoCE) or interface MTU (TCP), bytes")
    limit_from: Size = Field(0, description="The limit holds for messages of at least this size")
    burst: Size = Field(
        0, description="How many bytes of each message pass at once, before the rate applies (a token bucket)"
    )
    family: LinkFamily = Field(
        "declared",
        description="The links that it is like: their day-one band bounds sizes without a reference; declared: none",
    )
    source: Prose
    note: Prose | None = None

    def as_link(self) -> links.Link:
        """Return it in the form of an entry of the table."""
        return limits.declared_link(self)


class Rail(Model):
    """One device and port of each node that carries MPI traffic."""

    device: Name
    port: Count | None = None
    slot: SlotName | None = Field(None, description="If it differs from the fabric's")
    rails_per_card: Count = Field(1, description="How many rails share this one's slot")
    rails_per_port: Count = Field(1, description="How many devices share one port (Socket Direct, multi-host)")
    bonded_ports: Count = Field(
        1,
        description="How many ports are bonded in it (LAG): one stream is judged by one of them, the limit counts all",
    )
    counters: Counters = Field(description="The driver whose counters prove the path; none: the path cannot be proven")
    subnet: Subnet | None = Field(
        None, description="The IPv4 network of this rail on every node (10.1.0.0/16); if left out, it is not compared"
    )
    leaf_switches: dict[Name, NodeNames] = Field(
        {},
        description="This rail's own leaf switches, each with its nodes, if each rail has its own (rail-optimized), in "
        "place of the fabric's",
    )

    @property
    def name(self) -> str:
        """The rail's name for stacks and counters: ``hsn0``, ``mlx5_0:1``."""
        return rail_name(self.device, self.port)


class Fabric(Preparation):
    """One interconnect, as a job sees it."""

    description: Prose
    kind: Kind
    declared_link: Annotated[
        Annotated[LinkName, Tag("(name)")] | Annotated[DeclaredLink, Tag("(declared)")], Discriminator(_link_form)
    ] = Field(alias="link", description="A link of the table, or a link declared here")
    slot: SlotName | None = None
    max_payload: PayloadSize = Field(256, description="PCIe max payload size, bytes")
    mtu: Count | None = Field(None, description="The path's MTU, if it is not the link's largest")
    blocking: Blocking = Field(
        1.0,
        description="How many times less half of the nodes send to the other half than their cards give: 2 for 2 to 1. "
        "Without up_links it bounds what SwitchGroups measures",
    )
    leaf_switches: dict[Name, NodeNames] = Field(
        {},
        description="Leaf switch: its nodes (node[001-018]). So the test of all pairs of nodes can name a slow side",
    )
    groups: dict[Name, NodeNames] = Field(
        {},
        description="Group of leaf switches (of a dragonfly, or a pod of a fat tree): its leaf switches (leaf[1-4])",
    )
    network: Network | None = Field(
        None,
        description="What joins leaf switches: so the switches between two nodes are known without measuring them. "
        "blocks: leaf_switches are blocks of nodes, not switches",
    )
    topology: TopologySource | None = Field(
        None, description="A file with the leaf switches and their groups, in place of leaf_switches and groups"
    )
    up_links: Count | None = Field(
        None,
        description="How many up-links of the fabric's link each leaf switch has. They bound what SwitchGroups "
        "measures, and a sample of the pairs needs them to state its coverage",
    )
    rails: tuple[Rail, ...] = Field(min_length=1)
    gid_index: Annotated[int, Field(strict=True, ge=0, le=LARGEST["gid_index"])] | None = Field(
        None, description="Only for ib and roce: the GID of each port that runs use; if left out, the library chooses"
    )
    traffic_class: Annotated[int, Field(strict=True, ge=0, le=LARGEST["traffic_class"])] | None = Field(
        None,
        description="Only for roce: the byte with the DSCP of each packet, DSCP times 4 (26 is 104; 106 with ECN)",
    )
    service_level: Annotated[int, Field(strict=True, ge=0, le=LARGEST["service_level"])] | None = Field(
        None, description="Only for ib, roce and opa: InfiniBand's service level, RoCE's Ethernet priority"
    )
    rail_counts: tuple[Count, ...] = Field(
        (), description="Numbers of rails that tests use, besides 1; if left out: 2, 4, 8 … and all"
    )
    each_rail: bool = Field(
        False, description="Whether micro-benchmarks of one rail also run over each other rail alone (rail-2 …)"
    )
    placement: Literal["near", "far"] | None = Field(
        None,
        description="Processors on which ranks of benchmarks run. near: of the NUMA node of their rails; far: all "
        "others; if left out, launcher and library choose. Applications always use whole nodes",
    )
    fabric_state: FabricState | None = Field(None, description="What else `railyard fabric` expects")
    proof: ProofRules = Field(default_factory=lambda: ProofRules.model_validate({}))

    @property
    def knobs(self) -> Knobs:
        """The GIDs, traffic classes and service levels that every stack is given here."""
        return Knobs(self.gid_index, self.traffic_class, self.service_level)

    @property
    def link(self) -> links.Link:
        """The link, from the table or as declared."""
        named = self.declared_link
        return links.LINKS[named] if isinstance(named, str) else named.as_link()

    @property
    def stated_mtu(self) -> int | None:
        """The MTU that the file states, bytes; None if it states none, or if a node's interfaces do not show it."""
        if self.kind not in ("tcp", "roce"):
            return None
        mtus = self.link.mtus
        return self.mtu or (mtus[0] if not isinstance(self.declared_link, str) and mtus else None)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of rails that tests use, rising: 1 and the stated ones, else powers of two and all."""
        most = len(self.rails)
        return tuple(sorted({1, *(self.rail_counts or (*powers_of_two(most), most))}))

    @property
    def has_counters(self) -> bool:
        """Whether all rails have counters, so that a path over them can be proven."""
        return all(rail.counters != "none" for rail in self.rails)

    def rates(self, devices: tuple[str, ...]) -> dict[str, float]:
        """Return the rate of each of its rails in Gbit/s, for the split: rails of one fabric share its link.

        1.0 if the link has none: only the ratios count.
        """
        return dict.fromkeys(devices, self.link.data_rate_gbit_s or 1.0)

    def has(self, rails: int, policy: str = "") -> bool:
        """Return whether it has so many rails, or the rail that a policy names."""
        return 1 <= (number_alone(policy) or rails) <= len(self.rails)

    def used_rails(self, rails: int, policy: str = "") -> tuple[Rail, ...]:
        """Return the rails that a run uses: the first ones, or the one that its policy names (``rail-2``).

        Raises ValueError for more rails than there are, and for a rail that does not exist.
        """
        number = number_alone(policy)
        if not self.has(rails, policy):
            raise ValueError(f"{policy if number else f'{rails} rails'} of {len(self.rails)}")
        return self.rails[:rails] if number is None else (self.rails[number - 1],)

    def limit(self, rails: int, directions: int, one_stream: bool = False, policy: str = "") -> limits.Limit | None:
        """Return the physical bound of the rails that a run uses, or None if the link's rate is unknown.

        ``one_stream``: only one of bonded ports counts. ``policy`` may name one rail alone. Raises ValueError for rails
        that do not exist.
        """
        return limits.limit_of_rails(self, self.used_rails(rails, policy), directions, one_stream)

    def message_limit(self, rails: int, directions: int, policy: str = "") -> limits.MessageLimit | None:
        """Return the most messages that these rails carry per second, or None if no link bounds them.

        Raises ValueError for rails that do not exist.
        """
        return limits.message_limit_of_rails(self, self.used_rails(rails, policy), directions)


class Nodes(Model):
    """The nodes: their names, or how many the scheduler can give."""

    names: tuple[Name, ...] = ()
    count: Count | None = None
    exclusive: bool = Field(
        True, description="Whether a run has its nodes for itself. If not, a path proof is a lower bound"
    )
    hardware: NodeHardware | None = Field(
        None,
        description="Processors and memory of every node: applications need its cores and memory, a peak its clocks",
    )

    @property
    def number(self) -> int:
        """How many nodes there are."""
        return len(self.names) or self.count or 0


class DisabledCombination(Model):
    """A combination that the site switches off. A field that is left out means all."""

    fabric: str | None = None
    stack: str | None = None
    rails: Count | None = None
    policy: Policy | None = None
    benchmark: Annotated[
        Benchmarks | None, Field(description="One or a list, such as osu/osu_allreduce; if left out: all")
    ] = None
    without_reference: bool = Field(
        default=False,
        description="Only in a replayed system: switches off only tests for which its references have no number",
    )
    reason: Prose

    def covers(
        self, fabric: str, stack: str, rails: int, benchmark: str | None = None, policy: str | None = None
    ) -> bool:
        """Return whether this entry switches the combination off. An entry for some benchmarks covers no others."""
        if self.benchmark is not None and benchmark not in self.benchmark:
            return False
        if self.policy is not None and not holds_for(self.policy, policy or ""):
            return False
        pairs = ((self.fabric, fabric), (self.stack, stack), (self.rails, rails))
        return all(mine is None or mine == theirs for mine, theirs in pairs)

    def is_of_stack(self, stack: str) -> bool:
        """Return whether this entry switches a stack off wherever it could be used."""
        others = (self.fabric, self.rails, self.policy, self.benchmark)
        return self.stack == stack and others == (None,) * len(others) and not self.without_reference


#: On a single host, a sweep goes up to this number of nodes: its processes take their place.
HOST_SWEEP = 64
#: ReFrame's launcher for steps in an allocation that exists already.
_OF_ALLOCATION = "srunalloc"


class System(Model):
    """A cluster."""

    system: Name
    description: Prose
    like: Name | None = Field(
        None,
        description="Another system. Its file gives the fields that this one leaves out; its references are used if "
        "this one has none",
    )
    provider: Provider = Field(
        "nodes",
        description="testbed: the virtual cluster; guests: two virtual machines with Soft-RoCE; nodes: the "
        "scheduler's; host: this host; replay: no nodes, outputs come from recordings/, and scheduler, launcher and "
        "stacks are not used",
    )
    hostnames: tuple[HostPattern, ...] = Field(
        (), description="Patterns of its hosts' names; if none: it is chosen only with --system"
    )
    scheduler: SchedulerName = "local"
    launcher: LauncherName = "local"
    site_launcher: tuple[ScriptLine, ...] = Field(
        (),
        description="The words of launcher: site, a command of your own, one per item: {ranks}, {ranks_per_node}, "
        "{nodes} and {cores} (per rank) are filled in",
    )
    access: tuple[ScriptLine, ...] = Field(
        (),
        description="Scheduler options of every job, as its directives have them, with blanks too (-p rome). For PBS "
        "and Torque also words of each chunk (mem=190gb)",
    )
    jobs: SchedulerSettings = Field(
        default_factory=lambda: SchedulerSettings.model_validate({}), description="How jobs are requested"
    )
    modules_system: ModulesSystem | None = None
    nodes: Nodes
    gpus: Gpus | None = Field(None, description="The GPUs of every node; if left out: none that tests use")
    report_only: Annotated[
        Prose | None,
        BeforeValidator(sentence_or_false),
        WithJsonSchema({"anyOf": [{"const": False}, {"type": "string", "minLength": 1}]}),
    ] = Field(None, description="false, or the sentence that says why there are no references")
    fabrics: dict[Name, Fabric] = Field(min_length=1)
    stacks: dict[Name, StackEntry] = Field(min_length=1)
    disabled: tuple[DisabledCombination, ...] = ()
    spack: SpackSite = Field(default_factory=lambda: SpackSite.model_validate({}))
    prices: tuple[Price, ...] = Field((), description="What a fabric costs per node, by the number of nodes")
    npb_classes: tuple[NpbClass, ...] = Field(
        (),
        description="Problem classes that NPB's checks run here; if left out: for each kernel the one of C, D and E "
        "that takes 20 s on these nodes, or C if nodes.hardware is left out",
    )
    applications: dict[Name, Application] = Field(
        {}, description="Installed applications to measure, each named as in a stack's benchmarks"
    )
    wrf_cases: dict[Name, Template] = Field({}, description="Case of WRF, such as conus12km-v4: folder of its inputs")
    time_limit: Duration = "10m"
    measure: Measure = Field(
        default_factory=lambda: Measure.model_validate({}),
        description="How it is measured, if the checks' own way does not suit it",
    )
    gate: Gate = Field(
        default_factory=lambda: Gate.model_validate({}), description="What `railyard gate` demands of each node"
    )

    @property
    def counter_drivers(self) -> dict[str, str]:
        """Each rail's row of the counters' table, for all fabrics; rails without counters are left out."""
        rails = (rail for fabric in self.fabrics.values() for rail in fabric.rails)
        return {rail.name: rail.counters for rail in rails if rail.counters != "none"}

    def using_spack(self, asked: bool) -> "System":
        """Return the system as a run sees it: each stack has installed tools, or those that Spack builds, not both."""
        return self.model_copy(
            update={"stacks": {name: entry.choose_origin(asked) for name, entry in self.stacks.items()}}
        )

    def as_replay(self) -> "System":
        """Return the system as a replay sees it: local jobs that play recordings, and no stack installed."""
        stacks = {
            name: entry.model_copy(
                update={"prefix": None, "env": {}, "spack": None, "launcher": None, "container": None}
                | {"benchmarks": {tool: tool for tool in entry.tools}}
            ).without_preparation()
            for name, entry in self.stacks.items()
        }
        fabrics = {
            name: fabric.model_copy(update={"env": {}, "launcher": None}).without_preparation()
            for name, fabric in self.fabrics.items()
        }
        local = {"scheduler": "local", "launcher": "replay", "access": (), "modules_system": None}
        return self.model_copy(update={"provider": "replay", "stacks": stacks, "fabrics": fabrics, **local})

    def as_allocation(self, nodes: tuple[str, ...]) -> "System":
        """Return the system as tests see it if they are steps in one allocation of these nodes."""
        there = self.nodes.model_copy(update={"names": nodes, "count": None})
        own = {"scheduler": "local", "launcher": _OF_ALLOCATION, "access": (), "nodes": there}
        parts = {
            part: {name: each.model_copy(update={"launcher": None}) for name, each in getattr(self, part).items()}
            for part in ("fabrics", "stacks")
        }
        return self.model_copy(update={**own, **parts})

    @property
    def processor(self) -> str | None:
        """The processor of its nodes as archspec names it; None if the file does not state it."""
        return None if self.nodes.hardware is None else self.nodes.hardware.microarchitecture

    @property
    def is_allocated(self) -> bool:
        """Whether its tests are steps in one allocation, and ReFrame runs inside it."""
        return self.launcher == _OF_ALLOCATION

    @property
    def job_options(self) -> tuple[str, ...]:
        """The scheduler options of every job: ``access``, those that follow from ``jobs``, and PBS's words."""
        gpus = None if self.gpus is None else self.gpus.per_node
        chunk = (
            ()
            if self.jobs.totals
            else chunk_words(self.scheduler, self.access, self.nodes.hardware, gpus, self.nodes.exclusive)
        )
        place = place_options(self.scheduler, self.jobs, self.access)
        return (*self.access, *options(self.scheduler, self.jobs), *place, *chunk)

    @property
    def job_words(self) -> tuple[str, ...]:
        """These options as words of a command line of Slurm."""
        return tuple(split_words(self.job_options))

    @property
    def step_words(self) -> tuple[str, ...]:
        """These words for srun and salloc: what they start has the variables of the command that starts it."""
        return tuple(without_export(self.job_words))

    def resource_options(self, nodes: int, slots: int) -> tuple[str, ...]:
        """Return the options that depend on a job's size; ``slots`` is how many processors it uses on all nodes."""
        hardware = self.nodes.hardware
        own = resource_options(self.jobs, slots, slots if hardware is None else nodes * hardware.cores, nodes)
        if hardware is None or not self.jobs.totals or self.scheduler not in FAMILIES:
            return own
        return (*total_options(nodes, hardware, None if self.gpus is None else self.gpus.per_node), *own)

    def batch_options(self, nodes: int, at_once: int = 1) -> tuple[str, ...]:
        """Return the scheduler options of a job with ``at_once`` processes on each of so many nodes."""
        return (*self.job_options, *self.resource_options(nodes, nodes * at_once))

    def job_variables(self, fabric: str, home: Path) -> dict[str, str]:
        """Return the variables of every job over a fabric; those of its stack come after them."""
        own = {name: value.replace("{home}", str(home)) for name, value in self.fabrics[fabric].env.items()}
        return {**export_variables(self.scheduler, self.access), **own}

    def launcher_of(self, fabric: str, stack: str) -> str:
        """Return ReFrame's name of the launcher that starts a stack over a fabric."""
        return self.stacks[stack].launcher or self.fabrics[fabric].launcher or self.launcher

    @property
    def sweep(self) -> tuple[int, ...]:
        """The numbers of nodes of a sweep, rising: powers of two below the largest requested number, and that number.

        A single host can replace any number of nodes.
        """
        there = HOST_SWEEP if self.provider == "host" else self.nodes.number
        most = min(self.measure.largest_sweep or there, there)
        return tuple(sorted({*powers_of_two(most), most}))

    def starter(self, stack: str) -> str:
        """Return the stack whose launcher starts a stack's programs: itself, or the MPI that its entry names."""
        return self.stacks[stack].mpi or stack

    def declared_words(self, stack: str) -> str | None:
        """Return what a record says about an MPI that this file declares; None for one of the table's own."""
        own = self.stacks[self.starter(stack)] if self.starter(stack) in self.stacks else self.stacks[stack]
        if own.differs is None:
            return None
        return f"{own.differs.title}, declared by the system's file, like {own.like} ({own.differs.source})"

    def modules_of(self, stack: str) -> tuple[str, ...]:
        """Return the modules of a stack, first those of the MPI that starts it."""
        return tuple(dict.fromkeys(module for each in self._prepared_by(stack) for module in each.modules))

    def prepare_lines_of(self, stack: str) -> tuple[str, ...]:
        """Return a stack's lines of a script before its modules, first those of the MPI that starts it."""
        return tuple(dict.fromkeys(line for each in self._prepared_by(stack) for line in each.prepare_lines))

    def _prepared_by(self, stack: str) -> list[StackEntry]:
        """Return the entries that prepare a stack: of the MPI that starts it, if the file has it, and its own."""
        starter = self.starter(stack)
        return [self.stacks[name] for name in dict.fromkeys((starter, stack)) if name in self.stacks]

    def script_lines(self, fabric: str, stack: str, home: Path) -> list[str]:
        """Return the lines of a script of ours that prepare a program, in the order in which ReFrame writes them.

        Without the stack's own variables: these are among those of its launch.
        """
        own = self.fabrics[fabric]
        return [
            *own.prepare_lines,
            *(f"module load {shlex.quote(module)}" for module in own.modules),
            *(f"export {name}={shlex.quote(value)}" for name, value in self.job_variables(fabric, home).items()),
            *self.prepare_lines_of(stack),
            *(f"module load {shlex.quote(module)}" for module in self.modules_of(stack)),
        ]

    @property
    def longest_s(self) -> int:
        """How long the longest run of any check may take, in seconds."""
        return max(self.limit_s("app"), self.limit_s("micro"))

    def limit_s(self, check_class: str = "micro") -> int:
        """Return how long a run of a class of checks (``app``, or any other) may take, in seconds."""
        return seconds(self.jobs.time_limit("app" if check_class == "app" else "micro", self.time_limit))
