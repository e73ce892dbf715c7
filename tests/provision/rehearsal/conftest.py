"""A rehearsal without Slurm: shells as ranks, a synthetic /sys per node, the real reader and launch, stand-ins."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job.case import Case, Evidence
from railyard.job.client_server import Command, Program
from railyard.job.counters import reader_script
from railyard.job.launch import Launch, Ranks, plan_launch
from railyard.parsers.output import ParsedOutput
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.rehearsal.prepare import write
from railyard.site.site import Site, site_at
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment, assess
from tests.made.sysfs import Tree
from tests.made.sysfs import write as write_files
from tests.patience import PATIENCE_S

#: A client and a server have TCP ports of this host by it: each process of pytest has ports of its own.
TAG = f"1a2b3c4d-{os.getpid():x}"
SYSTEM = """\
system: roomy
description: Two rails of NDR a node, and Gigabit Ethernet beside them
provider: nodes
scheduler: slurm
launcher: srun
nodes:
  names: [n8, n9, n10, n11]
  hardware: {cores: 8, memory: 64G, base_ghz: 2.0, flop_per_cycle: 16}
report_only: nobody has measured it yet
fabrics:
  ndr:
    description: NDR
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    leaf_switches: {left: [n8, n9], right: [n10, n11]}
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
  eth:
    description: management
    kind: tcp
    link: eth-1
    rails:
      - {device: eth0, counters: netdev}
stacks:
  openmpi:
    modules: [openmpi]
    benchmarks: {osu: osu, imb: imb, netpipe: netpipe, pairs: pairs, hpl: hpl, npb: npb, milc: milc, hpcc: hpcc,
                 gpcnet: gpcnet, stream: stream, wrf: wrf, npb-mz: npb-mz, sharing: sharing}
  intelmpi:
    modules: [impi]
    benchmarks: {osu: osu, imb: imb}
  mvapich2:
    modules: [mvapich2]
    benchmarks: {osu: osu}
  verbs:
    modules: [perftest]
    benchmarks: {perftest: perftest}
npb_classes: [A, C]
wrf_cases: {conus12km-v4: wrf_cases/conus12km-v4}
"""
NODES = ("n8", "n9", "n10", "n11")


@dataclass
class Bed:
    """A site with its stand-ins, and nodes whose /sys are folders."""

    root: Path
    site: Site
    trees: dict[str, Tree] = field(default_factory=dict)
    patience_s: int = 200

    def plant(self, *faults: Fault) -> None:
        """Plant faults, in place of those before."""
        nodes = tuple(self.trees)
        Rehearsal("roomy", str(self.root), str(self.root), nodes, faults).write()

    def launch(
        self, stack: str, devices: tuple[str, ...], nodes: tuple[str, ...], per_node: int, fabric: str
    ) -> Launch:
        """Return how a run over these devices is launched, as a check has it."""
        ranks = Ranks(len(nodes) * per_node, per_node)
        return plan_launch(self.site, fabric, stack, devices, nodes, ranks, as_root=False)

    def program(self, stack: str, tool: str, name: str) -> str:
        """Return the path of a stand-in."""
        path = self.site.system.stacks[stack].executable(tool, self.site.home)
        return path if Path(path).is_file() else str(Path(path, name))

    def run(
        self,
        stack: str,
        tool: str,
        program: str,
        arguments: Sequence[str],
        *,
        rails: int = 1,
        nodes: tuple[str, ...] = ("n9", "n10"),
        per_node: int = 1,
        fabric: str = "ndr",
        variables: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        command: Command | None = None,
    ) -> "Ran":
        """Run a stand-in on nodes, each rank a shell with the reader, and return what it left."""
        devices = tuple(rail.name for rail in self.site.system.fabrics[fabric].rails[:rails])
        launch = self.launch(stack, devices, nodes, per_node, fabric)
        stage = self.root / "stage"
        stage.mkdir(exist_ok=True)
        (stage / "counters").mkdir(exist_ok=True)
        (stage / "reader.sh").write_text(reader_script())
        for name, text in (files or {}).items():
            (stage / name).write_text(text)
        words = (command or Program()).words(self.program(stack, tool, program), arguments, launch.meant, TAG)
        reader = ["sh", "reader.sh", "counters", TAG, ",".join(launch.meant), ",".join(launch.watched), "--", *words]
        running, step = [], len(list(stage.glob("rehearsed/*")))
        for rank, node in enumerate(node for node in nodes for _ in range(per_node)):
            own = {
                "PATH": os.environ["PATH"],
                "RAILYARD_REHEARSAL": str(self.root),
                "RAILYARD_REHEARSAL_PATIENCE": str(self.patience_s),
                "RAILYARD_PAIR_PATIENCE": str(self.patience_s),
                "RAILYARD_SYSFS": str(self.trees[node].root / "sys"),
                "RAILYARD_PROC": str(self.trees[node].root / "proc"),
                "SLURM_PROCID": str(rank),
                "SLURM_LOCALID": str(rank % per_node),
                "SLURM_NTASKS": str(len(nodes) * per_node),
                "SLURM_JOB_ID": "7",
                "SLURM_STEP_ID": str(step),
            }
            env = {**own, **{k: v for k, v in launch.env.items() if k != "PATH"}, **(variables or {})}
            with (stage / f"out-{rank}").open("w") as out, (stage / f"err-{rank}").open("w") as err:
                running.append(subprocess.Popen(reader, cwd=stage, env=env, stdout=out, stderr=err))
        codes = [process.wait(timeout=PATIENCE_S) for process in running]
        texts = [[(stage / f"{kind}-{rank}").read_text() for rank in range(len(running))] for kind in ("out", "err")]
        counters = tuple((stage / f"counters/{node}.counters").read_text() for node in nodes)
        return Ran(
            self, stack, launch, "".join(texts[0]), "".join(texts[1]), max(codes), counters, rails, per_node, fabric
        )


@dataclass(frozen=True)
class Ran:
    """What a run of a stand-in left."""

    bed: Bed
    stack: str
    launch: Launch
    stdout: str
    stderr: str
    exit_code: int
    counters: tuple[str, ...]
    rails: int
    per_node: int
    fabric: str

    def assess_run(
        self,
        benchmark: str,
        parse: Callable[[str], ParsedOutput],
        *,
        window: int = 1,
        told: Repetitions | None = None,
        passes: int = 1,
        validates: bool = False,
        node_pairs: int = 1,
        pairs: int = 1,
        output: str | None = None,
    ) -> Assessment:
        """Return what the library makes of it, like for any run."""
        test = TestId(
            self.fabric, self.stack, self.rails, benchmark, benchmark, self.launch.settings.policy_name, "roomy"
        )
        case = Case(
            test, self.bed.site, self.launch, self.per_node, window, told, passes, 600,
            node_pairs=node_pairs, pairs=pairs * self.per_node, validates=validates,
        )  # fmt: skip
        return assess(case, self.evidence(output), parse, date(2026, 11, 23))

    def evidence(self, output: str | None = None) -> Evidence:
        """Return what it left, with ``output`` in place of what it printed."""
        text = f"{self.stdout}\n{self.stderr}" if output is None else output
        return Evidence(
            text, self.stderr, self.exit_code, counters=self.counters, tag=TAG, linked="\tnot a dynamic executable\n"
        )


@pytest.fixture
def roomy(tmp_path: Path) -> Site:
    """The site alone."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "systems/roomy.yaml").write_text(SYSTEM)
    return site_at(tmp_path, "roomy")


def with_stand_ins(site: Site, folder: Path) -> Site:
    """Write the stand-ins of a site's tools below a folder, and return the site with them as its programs."""
    paths = write(folder, site.system)
    stacks = {name: entry.model_copy(update={"benchmarks": paths[name]}) for name, entry in site.system.stacks.items()}
    return Site(site.home, site.system.model_copy(update={"stacks": stacks}), site.references)


@pytest.fixture
def bed(tmp_path: Path, roomy: Site) -> Bed:
    """Four nodes with two rails of NDR, and nothing planted."""
    site = with_stand_ins(roomy, tmp_path)
    trees = {}
    for node in NODES:
        tree = trees[node] = Tree.empty_node(tmp_path / "nodes" / node, node)
        for card in ("mlx5_0", "mlx5_1"):
            port = tree.port(card, counters={"port_xmit_data": 1 << 40, "port_rcv_data": 1 << 41, "symbol_error": 0})
            write_files(port, {"rate": "400 Gb/sec (4X NDR)"})
        tree.interface("eth0", "eth-card")
    made = Bed(tmp_path, site, trees)
    made.plant()
    return made
