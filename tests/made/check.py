"""A check as the parts that run it see it, without ReFrame: IMB's Uniband, unless a test changes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Pace
from railyard.job.client_server import Command, Program
from railyard.parsers import imb
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.groups import Layout, Outputs, Probes, Request, Start
from railyard.site.systems.measure import StatedAmounts


@dataclass
class MadeCheck:
    """What ``Declaration`` has, as plain values."""

    stagedir: str = "/stage"
    rails: int = 1
    policy: str = "default"
    tool: str = "imb"
    benchmark: str = "Uniband"
    parse: Callable[[str], ParsedOutput] = imb.parse
    num_nodes: int = 2
    all_nodes: bool = False
    ranks_per_node: int = 1
    request: Request = field(default_factory=Request)
    lasting_s: int = 0
    layout: Layout = field(default_factory=Layout)
    in_turn: bool = False
    window: int = 16
    passes: int = 3
    largest: int = 4 << 20
    start: Start = field(default_factory=Start)
    outputs: Outputs = field(default_factory=Outputs)
    probes: Probes = field(default_factory=Probes)
    use_launcher: str = ""
    placement: str = ""
    remarks: tuple[str, ...] = ()
    threads_a_rank: int = 1
    told_ranks: Mapping[str, str] = field(default_factory=dict)
    memory: str | None = None
    programs: tuple[str, ...] = ("",)
    message_sizes: tuple[int, ...] = (1, 4 << 20)
    asked_sizes: tuple[int, ...] = ()
    fixed_repetitions: Repetitions | None = None
    validates: bool = False
    command: Command = field(default_factory=Program)
    files: Mapping[str, str] = field(default_factory=dict)
    earlier: tuple[tuple[int, ...], ...] = ()
    shaped: int = 0
    paces: list[tuple[Pace | None, StatedAmounts | None]] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        return self.ranks_per_node

    @property
    def launches(self) -> tuple[tuple[int, ...], ...]:
        return (*self.earlier, self.message_sizes)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [self.benchmark, "-msglen", f"{sizes[0]} to {sizes[-1]}"]

    def before(self, program: str) -> list[str]:
        return [f"echo before {program}"]

    def after(self) -> list[str]:
        return ["echo after"]

    def input_files(self) -> Mapping[str, str]:
        return self.files

    def choose_amounts(self, pace: Pace | None, stated: StatedAmounts | None) -> None:
        self.paces.append((pace, stated))

    def shape(self) -> None:
        self.shaped += 1
