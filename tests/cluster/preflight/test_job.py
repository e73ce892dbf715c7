"""A preflight in its job: which nodes it has under each scheduler, what it launches, and whom counters blame."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import HOME_VARIABLE
from railyard.cluster.preflight import job
from railyard.cluster.rolling.under_scheduler import KeptRun, jobs
from railyard.results.record.form import Suspect
from railyard.site.site import Site, site_at

SYSTEM = """\
system: made
description: Four nodes with GPUs, made for this test
scheduler: SCHEDULER
launcher: LAUNCHER
jobs: {JOBS}
nodes: {names: [n1, n2, n3, n4]}
gpus: {per_node: 4, kind: a100}
report_only: made for this test
fabrics:
  hdr:
    description: Two rails of HDR
    kind: ib
    link: ib-hdr
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
stacks:
  openmpi:
    modules: [openmpi/5.0]
    benchmarks: {pairs: "{home}/railyard-pairs", osu: "{home}/osu_allreduce"}
  nccl:
    modules: [nccl]
    mpi: openmpi
    benchmarks: {nccl: "{home}/all_reduce_perf"}
"""


def make(home: Path, scheduler: str = "slurm", launcher: str = "srun", system: str = SYSTEM) -> Site:
    """Return the site with its system under a scheduler."""
    for folder in ("systems", "references"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    for name in ("railyard-pairs", "osu_allreduce", "all_reduce_perf"):
        (home / name).write_text("#!/bin/sh\n", encoding="ascii")
        (home / name).chmod(0o755)
    jobs_ = 'resources: ["-pe mpi {num_slots}"]' if scheduler == "sge" else "exclusive: true"
    text = system.replace("JOBS", jobs_).replace("SCHEDULER", scheduler).replace("LAUNCHER", launcher)
    (home / "systems/made.yaml").write_text(text, encoding="utf-8")
    return site_at.__wrapped__(home, "made")


@pytest.fixture(autouse=True)
def outside_of_any_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "FLUX_JOB_ID", "FLUX_URI", "PE_HOSTFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("scheduler", "variable", "text"),
    [
        ("pbs", "PBS_NODEFILE", "n2\nn2\nn1\nn1\n"),
        ("sge", "PE_HOSTFILE", "n2 4 all.q@n2 UNDEFINED\nn2 1 b.q@n2 UNDEFINED\nn1 4 all.q@n1 UNDEFINED\n"),
    ],
)
def test_the_nodes_are_those_of_the_job_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str, variable: str, text: str
) -> None:
    (tmp_path / "hosts").write_text(text, encoding="ascii")
    monkeypatch.setenv(variable, str(tmp_path / "hosts"))
    assert job.nodes_of_job(make(tmp_path / "site", scheduler, "mpirun")) == ("n2", "n1")


def test_slurm_lists_its_nodes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/scontrol"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n[ \"$*\" = 'show hostnames n[3,4]' ] && printf 'n3\\nn4\\n'\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[3,4]")
    assert job.nodes_of_job(make(tmp_path / "site")) == ("n3", "n4")


def test_a_job_of_one_node_has_no_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hosts").write_text("n1\nn1\n", encoding="ascii")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "hosts"))
    with pytest.raises(SetupError, match="preflight: found n1 as the nodes of this job, expected two or more"):
        job.nodes_of_job(make(tmp_path / "site", "pbs", "mpirun"))


def test_outside_of_a_job_it_says_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"found no SLURM_JOB_ID, expected to run in a job of slurm: put it into the"):
        job.nodes_of_job(make(tmp_path / "site"))


def test_an_allreduce_is_between_gpus_first_and_then_by_mpi(tmp_path: Path) -> None:
    site = make(tmp_path / "site")
    first, second = job.list_allreduces(site, "hdr", "openmpi")
    assert (first.stack, first.by.benchmark, first.per_node, first.rails) == ("nccl", "nccl/all_reduce", 4, 2)
    assert first.words(16)[:4] == ["-b", "1073741824", "-e", "1073741824"]
    assert (second.stack, second.by.benchmark, second.per_node) == ("openmpi", "osu/osu_allreduce", 1)
    assert second.words(4) == ["-m", "1048576:4194304", "-i", "10", "-x", "1"]


def test_without_gpus_it_is_by_mpi_and_without_a_program_there_is_none(tmp_path: Path) -> None:
    text = SYSTEM.replace("gpus: {per_node: 4, kind: a100}\n", "")
    (only,) = job.list_allreduces(make(tmp_path / "a", system=text), "hdr", "openmpi")
    assert only.by.benchmark == "osu/osu_allreduce"
    text = text.replace(', osu: "{home}/osu_allreduce"', "")
    assert job.list_allreduces(make(tmp_path / "b", system=text), "hdr", "openmpi") == []


def kept_run(site: Site) -> KeptRun:
    return KeptRun(
        id="T", railyard="1", system="made", fabric="hdr", stack="openmpi", rails=1, policy="single", size=1 << 20,
        words=("1048576", "8", "30", "1", "20"), tag="T", submitted=0.0, at_most=1, budget_s=60.0, seed=0, steps=(),
    )  # fmt: skip


def test_a_step_is_launched_over_one_rail_of_the_nodes_that_are_left(tmp_path: Path) -> None:
    site = make(tmp_path / "site")
    over = jobs(site, kept_run(site), tmp_path / "T").limit_to_rail("mlx5_1:1")
    alone = over.step_script("own", ("n1", "n3"), 12, "sample").splitlines()
    assert "export UCX_NET_DEVICES=mlx5_1:1" in alone
    assert alone[-1].startswith("printf '%s\\n' n1 n3 | sh ")
    assert "timeout -k 2 12 srun --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n3 " in alone[-1]
    assert " counters T mlx5_1:1 mlx5_0:1 -- " in alone[-1]
    # Beside another launch its nodes are shared, and the other rail's traffic is not its own.
    beside = over.step_script("own", ("n1", "n3"), 12, "sample", ["mlx5_0:1"]).splitlines()
    assert "srun --overlap --cpu-bind=none --ntasks=2" in beside[-1]
    assert " counters T mlx5_1:1 '' -- " in beside[-1]


def test_counters_blame_a_node_only_if_most_others_are_good() -> None:
    names = ("n1", "n2", "n3", "n4")

    def of(*nodes: str) -> tuple[Suspect, ...]:
        return tuple(Suspect("rail", "it lost its link", node, "hsn0") for node in nodes)

    assert job.blamed_nodes(of("n2.cluster"), names, "said") == {"n2": "n2.cluster: it lost its link"}
    assert job.blamed_nodes(of("n1", "n2", "n3"), names, "all lost it") == {None: "all lost it"}
    assert job.blamed_nodes((), names, "not known") == {None: "not known"}


@pytest.mark.parametrize(("nodes", "seconds"), [(2, 60), (64, 60), (65, 90), (512, 90), (513, 120)])
def test_more_nodes_have_more_time(nodes: int, seconds: int) -> None:
    assert job.default_limit_s(nodes) == seconds
