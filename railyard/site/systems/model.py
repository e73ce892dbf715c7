"""The model of systems/*.yaml: what a cluster's file may say, field by field."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from railyard.base.fields import (
    Count,
    Duration,
    Model,
    Name,
    Option,
    Positive,
    Prose,
    Size,
    Template,
)
from railyard.base.numbers import powers_of_two
from railyard.benchmarks.apps.installed import Application
from railyard.hardware import limits, links
from railyard.hardware.node import NodeHardware
from railyard.site.references.model import Benchmarks, Policy
from railyard.site.systems.fabric_state import FabricState
from railyard.site.systems.fields import (
    Blocking,
    HostPattern,
    LauncherName,
    LinkName,
    ModulesSystem,
    NodeNames,
    SchedulerName,
    SlotName,
    StackName,
    Subnet,
    sentence_or_false,
)
from railyard.site.systems.gate import Gate
from railyard.site.systems.gpus import Gpus
from railyard.site.systems.jobs import SchedulerSettings, options, seconds
from railyard.site.systems.measure import Measure
from railyard.site.systems.prices import Price
from railyard.site.systems.stack_entry import SpackSite, StackEntry
from railyard.stacks.ask import LARGEST, Knobs
from railyard.stacks.model import holds_for, number_alone

#: A shorter reading of an idle rail gives no rate (bound idle-interval); a longer one would hold every run.
IDLE_MS = (200, 5000)

Errors = Annotated[int, Field(strict=True, ge=0)]


class ProofRules(Model):
    """What a site says of its path proofs; nothing of it makes a path that failed pass."""

    accept_unproven: Prose | None = Field(
        None, description="Why a run whose path could not be proven may pass; without it such a run fails"
    )
    idle_ms: Annotated[int, Field(strict=True, ge=IDLE_MS[0], le=IDLE_MS[1])] | None = Field(
        None, description="For how long the idle rails are read before each run, so that their traffic is subtracted"
    )
    error_bounds: dict[Name, Errors] = Field(
        {}, description="Counter of errors: by how much it may grow in a run; hard errors not named here may not grow"
    )


Kind = Literal["tcp", "ib", "roce", "opa", "slingshot", "efa"]
Counters = Literal["netdev", "mlx4", "mlx5", "hfi1", "bnxt_re", "irdma", "efa", "cxi", "rxe", "none"]
Provider = Literal["testbed", "guests", "nodes", "host", "replay"]
HeaderModel = Literal["infiniband", "rocev2", "tcp", "tcp-shaped", "opa", "none"]
NpbClass = Literal["S", "W", "A", "B", "C", "D", "E"]


def _link_form(value: Any) -> str | None:
    # In brackets: pydantic puts the tag into an error's location, where no field may have the same name.
    if isinstance(value, (dict, DeclaredLink)):
        return "(declared)"
    return "(name)" if isinstance(value, str) else None


class DeclaredLink(Model):
    """A link that the table lacks: its rate, its headers, and who says so."""

    name: Name
    data_rate_gbit_s: Positive | None = Field(description="One rail, one way, after the line code; null: not known")
    headers: HeaderModel = Field("none", description="What each packet carries besides payload")
    mtu: Count | None = Field(None, description="Path MTU (InfiniBand, RoCE) or interface MTU (TCP), bytes")
    limit_from: Size = Field(0, description="The limit holds for messages of this size and more")
    burst: Size = Field(
        0, description="So many bytes of each message pass at once, before the rate holds (a token bucket)"
    )
    source: Prose
    note: Prose | None = None

    def as_link(self) -> links.Link:
        """Return it as an entry of the table would look."""
        mtus = (self.mtu,) if self.mtu else ()
        return links.Link(
            *(self.name, self.name, None, None, "declared by the system", self.data_rate_gbit_s, "declared"),
            *(self.headers, mtus, self.source, self.note or "", self.limit_from, self.burst),
        )


class Rail(Model):
    """One device and port of every node that carries MPI traffic."""

    device: Name
    port: Count | None = None
    slot: SlotName | None = Field(None, description="Where it differs from the fabric's")
    rails_per_card: Count = Field(1, description="How many rails share this one's slot")
    rails_per_port: Count = Field(1, description="How many devices share one port (Socket Direct, multi-host)")
    bonded_ports: Count = Field(
        1, description="How many ports are bonded to it (LAG): a stream is held to one of them, the limit is of all"
    )
    counters: Counters = Field(description="The driver whose counters prove the path; none: nothing can be proven")
    subnet: Subnet | None = Field(
        None, description="The IPv4 network that it leads to on every node (10.1.0.0/16); left out: not compared"
    )

    @property
    def name(self) -> str:
        """The rail as stacks and counters name it: ``hsn0``, ``mlx5_0:1``."""
        return self.device if self.port is None else f"{self.device}:{self.port}"


class Fabric(Model):
    """One interconnect as a job sees it."""

    description: Prose
    kind: Kind
    declared_link: Annotated[
        Annotated[LinkName, Tag("(name)")] | Annotated[DeclaredLink, Tag("(declared)")], Discriminator(_link_form)
    ] = Field(alias="link", description="A link of the table, or one declared here")
    slot: SlotName | None = None
    max_payload: Literal[128, 256, 512, 1024, 2048, 4096] = Field(256, description="PCIe max payload size, bytes")
    mtu: Count | None = Field(None, description="The path's MTU, where it is not the link's largest")
    blocking: Blocking = Field(
        1.0, description="What half of the nodes against the other half gets less than their cards give: 2 for 2 to 1"
    )
    leaf_switches: dict[Name, NodeNames] = Field(
        {}, description="Leaf switch: the nodes at it (node[001-018]); all pairs of nodes tells a slow side by it"
    )
    up_links: Count | None = Field(
        None,
        description="How many up-links each leaf switch has, as far as a sample of the pairs is to tell its coverage",
    )
    rails: tuple[Rail, ...] = Field(min_length=1)
    gid_index: Annotated[int, Field(strict=True, ge=0, le=LARGEST["gid_index"])] | None = Field(
        None, description="Of ib and roce: the GID of every port that runs use; left out: the library's own choice"
    )
    traffic_class: Annotated[int, Field(strict=True, ge=0, le=LARGEST["traffic_class"])] | None = Field(
        None,
        description="Of roce: the byte that holds the DSCP of every packet, DSCP times 4 (26 is 104; 106 with ECN)",
    )
    service_level: Annotated[int, Field(strict=True, ge=0, le=LARGEST["service_level"])] | None = Field(
        None, description="Of ib, roce and opa: InfiniBand's service level, RoCE's Ethernet priority"
    )
    rail_counts: tuple[Count, ...] = Field(
        (), description="Numbers of rails that tests use, besides 1; left out: 2, 4, 8 … and all"
    )
    each_rail: bool = Field(
        False, description="Whether micro-benchmarks of one rail are made over each other rail alone, too (rail-2 …)"
    )
    placement: Literal["near", "far"] | None = Field(
        None,
        description="Processors that ranks of benchmarks run on: near, of the NUMA node of their rails; far, all "
        "others; left out: where launcher and library put them. Applications use whole nodes, whatever is set here",
    )
    fabric_state: FabricState | None = Field(None, description="What `railyard fabric` expects besides")
    proof: ProofRules = Field(default_factory=lambda: ProofRules.model_validate({}))

    @property
    def knobs(self) -> Knobs:
        """What every stack is told of GIDs, traffic classes and service levels here."""
        return Knobs(self.gid_index, self.traffic_class, self.service_level)

    @property
    def link(self) -> links.Link:
        """The link, from the table or as declared."""
        named = self.declared_link
        return links.LINKS[named] if isinstance(named, str) else named.as_link()

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of rails that tests use, rising: 1 and those that are stated, else powers of two and all."""
        most = len(self.rails)
        return tuple(sorted({1, *(self.rail_counts or (*powers_of_two(most), most))}))

    def has(self, rails: int, policy: str = "") -> bool:
        """Return whether it has so many rails, or the one that a policy names."""
        return 1 <= (number_alone(policy) or rails) <= len(self.rails)

    def used(self, rails: int, policy: str = "") -> tuple[Rail, ...]:
        """Return the rails that a run uses: the first so many, or the one that its policy names (``rail-2``).

        Raises ValueError for more rails than there are, and for one that is not there.
        """
        number = number_alone(policy)
        if not self.has(rails, policy):
            raise ValueError(f"{policy if number else f'{rails} rails'} of {len(self.rails)}")
        return self.rails[:rails] if number is None else (self.rails[number - 1],)

    def limit(self, rails: int, directions: int, one_stream: bool = False, policy: str = "") -> limits.Limit | None:
        """Return the physical bound of the rails that a run uses, or None where the link's rate is not known.

        Rails that sit alike are bounded together, unlike ones apart. ``one_stream``: of bonded ports one counts, as
        what must be reached. ``policy`` may name one rail alone. Raises ValueError for rails that are not there.
        """
        groups: dict[tuple[str | None, limits.Sharing], int] = {}
        for rail in self.used(rails, policy):
            bonded = 1 if one_stream else rail.bonded_ports
            place = (rail.slot or self.slot, limits.Sharing(rail.rails_per_card, rail.rails_per_port, bonded))
            groups[place] = groups.get(place, 0) + 1
        return limits.combine(
            limits.limit(
                *(self.link, links.SLOTS[slot] if slot else None, count, sharing),
                mtu=self.mtu,
                directions=directions,
                max_payload=self.max_payload,
            )
            for (slot, sharing), count in groups.items()
        )

    def message_limit(self, rails: int, directions: int, policy: str = "") -> limits.MessageLimit | None:
        """Return the most messages that these rails carry in a second, or None where no link bounds them.

        Rails that share a port are counted as ports of their own: the bound stays an upper one. Raises ValueError for
        rails that are not there.
        """
        ports = sum(rail.bonded_ports for rail in self.used(rails, policy))
        return limits.message_limit(self.link, ports, directions)


class Nodes(Model):
    """Which nodes there are: names, or how many the scheduler can give."""

    names: tuple[Name, ...] = ()
    count: Count | None = None
    exclusive: bool = Field(
        True, description="Whether a run has its nodes for itself; if not, a path proof is a lower bound"
    )
    hardware: NodeHardware | None = Field(
        None, description="What every node computes with: applications need its cores and memory, a peak its clocks"
    )

    @property
    def number(self) -> int:
        """How many nodes there are."""
        return len(self.names) or self.count or 0


class Disabled(Model):
    """A combination that the site switches off; what is left out means all."""

    fabric: str | None = None
    stack: str | None = None
    rails: Count | None = None
    policy: Policy | None = None
    benchmark: Annotated[
        Benchmarks | None, Field(description="One or a list, such as osu/osu_allreduce; left out: all")
    ] = None
    without_reference: bool = Field(
        default=False, description="Of a replayed system: only tests that its references have no number for"
    )
    reason: Prose

    def covers(
        self, fabric: str, stack: str, rails: int, benchmark: str | None = None, policy: str | None = None
    ) -> bool:
        """Return whether this entry switches the combination off; one of some benchmarks covers no others."""
        if self.benchmark is not None and benchmark not in self.benchmark:
            return False
        if self.policy is not None and not holds_for(self.policy, policy or ""):
            return False
        pairs = ((self.fabric, fabric), (self.stack, stack), (self.rails, rails))
        return all(mine is None or mine == theirs for mine, theirs in pairs)


#: The most nodes that a single host stands in for in a sweep.
HOST_SWEEP = 64
#: ReFrame's launcher of steps in an allocation that is there already.
_OF_ALLOCATION = "srunalloc"


class System(Model):
    """A cluster."""

    system: Name
    description: Prose
    like: Name | None = Field(
        None,
        description="Another system: what this file leaves out is taken from its file, and from its references where "
        "this one has none",
    )
    provider: Provider = Field(
        "nodes",
        description="testbed: the virtual cluster; guests: two virtual machines with Soft-RoCE; nodes: the "
        "scheduler's; host: this one; replay: none, outputs are played from recordings/ and nothing of its scheduler, "
        "launcher or stacks is used",
    )
    hostnames: tuple[HostPattern, ...] = Field((), description="Patterns of its hosts; none: only chosen by --system")
    scheduler: SchedulerName = "local"
    launcher: LauncherName = "local"
    access: tuple[Option, ...] = Field((), description="Options that every job gives the scheduler")
    jobs: SchedulerSettings = Field(
        default_factory=lambda: SchedulerSettings.model_validate({}), description="How jobs are asked for"
    )
    modules_system: ModulesSystem | None = None
    nodes: Nodes
    gpus: Gpus | None = Field(None, description="The GPUs of every node; left out: none that tests use")
    report_only: Annotated[
        Prose | None,
        BeforeValidator(sentence_or_false),
        WithJsonSchema({"anyOf": [{"const": False}, {"type": "string", "minLength": 1}]}),
    ] = Field(None, description="false, or the sentence that says why there are no references")
    fabrics: dict[Name, Fabric] = Field(min_length=1)
    stacks: dict[StackName, StackEntry] = Field(min_length=1)
    disabled: tuple[Disabled, ...] = ()
    spack: SpackSite = Field(default_factory=lambda: SpackSite.model_validate({}))
    prices: tuple[Price, ...] = Field((), description="What a node pays for a fabric, by the number of nodes")
    npb_classes: tuple[NpbClass, ...] = Field(("C",), description="Problem classes that the checks of NPB run here")
    applications: dict[Name, Application] = Field(
        {}, description="Installed applications to measure, each named as in a stack's benchmarks"
    )
    wrf_cases: dict[Name, Template] = Field({}, description="Case of WRF, such as conus12km-v4: folder of its inputs")
    time_limit: Duration = "10m"
    measure: Measure = Field(
        default_factory=lambda: Measure.model_validate({}),
        description="How it is measured, where checks have other ways",
    )
    gate: Gate = Field(
        default_factory=lambda: Gate.model_validate({}), description="What `railyard gate` holds each node to"
    )

    def using_spack(self, asked: bool) -> "System":
        """Return the system as a run sees it: each stack has what is installed, or what Spack builds, never both."""
        return self.model_copy(update={"stacks": {name: entry.chosen(asked) for name, entry in self.stacks.items()}})

    def played(self) -> "System":
        """Return the system as a replay sees it: local jobs that play recordings, and no stack installed."""
        stacks = {
            name: entry.model_copy(
                update={"prefix": None, "modules": (), "env": {}, "spack": None}
                | {"benchmarks": {tool: tool for tool in entry.tools}}
            )
            for name, entry in self.stacks.items()
        }
        local = {"scheduler": "local", "launcher": "replay", "access": (), "modules_system": None}
        return self.model_copy(update={"provider": "replay", "stacks": stacks, **local})

    def allocated(self, nodes: tuple[str, ...]) -> "System":
        """Return the system as tests see it that are steps of one allocation of these nodes."""
        there = self.nodes.model_copy(update={"names": nodes, "count": None})
        return self.model_copy(update={"scheduler": "local", "launcher": _OF_ALLOCATION, "access": (), "nodes": there})

    @property
    def is_allocated(self) -> bool:
        """Whether its tests are steps of one allocation, and ReFrame runs within it."""
        return self.launcher == _OF_ALLOCATION

    @property
    def job_options(self) -> tuple[str, ...]:
        """The options that every job gives the scheduler: ``access``, and what ``jobs`` says."""
        return (*self.access, *options(self.scheduler, self.jobs))

    @property
    def sweep(self) -> tuple[int, ...]:
        """On how many nodes a sweep is measured, rising: powers of two up to the largest that is asked for, and that.

        A single host stands in for any number of nodes.
        """
        there = HOST_SWEEP if self.provider == "host" else self.nodes.number
        most = min(self.measure.largest_sweep or there, there)
        return tuple(sorted({*powers_of_two(most), most}))

    def starter(self, stack: str) -> str:
        """Return the stack whose launcher starts another's programs: itself, or the MPI that its entry names."""
        return self.stacks[stack].mpi or stack

    def modules_of(self, stack: str) -> tuple[str, ...]:
        """Return the modules of a stack, those of the MPI that starts it first."""
        starter = self.starter(stack)
        of_mpi = self.stacks[starter].modules if starter != stack and starter in self.stacks else ()
        return tuple(dict.fromkeys((*of_mpi, *self.stacks[stack].modules)))

    def limit_s(self, check_class: str = "micro") -> int:
        """Return how long a run may take, in seconds, of a class of checks (``app``, or any other)."""
        return seconds(self.jobs.time_limit("app" if check_class == "app" else "micro", self.time_limit))
