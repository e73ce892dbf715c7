"""How a run is launched: every variable and every word, for each stack of the virtual cluster."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.hardware.node import NodeHardware
from railyard.job.launch import Launch, watched_devices
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.spec import DEFAULT_SPEC
from railyard.site.references.load import References
from railyard.site.site import Site, site_at
from railyard.site.systems.jobs import escape_exports
from railyard.site.systems.model import Rail
from railyard.site.test_id import TestId
from tests.conftest import ROOT
from tests.made.judged_run import launch_of

#: A site folder with a short path; nothing in it is read.
HOME = Path("/site")


@pytest.fixture
def site(virtual: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr("railyard.job.launch.cores_of_host", lambda: 2)
    return replace(virtual, home=HOME)


def planned_launch(site: Site, stack: str, *devices: str, fabric: str = "hsn", **changes: Any) -> Launch:
    return launch_of(site, stack, devices, fabric=fabric, **{"nodes": ("vn1", "vn2"), **changes})


def rail(**fields: Any) -> Rail:
    return Rail.model_validate({"counters": "netdev", **fields})


UCX = "LD_LIBRARY_PATH=/site/.stacks/mpich/lib MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=tcp,self"
IMPI = (
    "I_MPI_ROOT=/site/.stacks/intelmpi LD_LIBRARY_PATH=/site/.stacks/intelmpi/lib "
    "FI_PROVIDER_PATH=/site/.stacks/intelmpi/lib"
)
OMPI = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_osc=^ucx"
PSM3 = (
    "I_MPI_OFI_PROVIDER=psm3 PSM3_HAL=sockets PSM3_MULTIRAIL=1 PSM3_MULTIRAIL_MAP=hsn0:1,hsn1:1 PSM3_ALLOW_ROUTERS=1 "
    "PSM3_DEVICES=self,nic"
)
#: fabric, stack, devices, the variables except PATH, policy, bytes from which a message is striped.
PLANS: list[tuple[str, str, tuple[str, ...], str, str, int | None]] = [
    ("hsn", "openmpi", ("hsn0",), f"{OMPI} OMPI_MCA_btl_tcp_if_include=hsn0", "single", None),
    ("hsn", "openmpi", ("hsn0", "hsn1"), f"{OMPI} OMPI_MCA_btl_tcp_if_include=hsn0,hsn1", "striping", 262144),
    ("eth", "openmpi", ("eth0",), f"{OMPI} OMPI_MCA_btl_tcp_if_include=eth0", "single", None),
    (
        *("hsn", "mpich", ("hsn0",)),
        f"{UCX} UCX_NET_DEVICES=hsn0 UCX_MAX_RNDV_RAILS=1 UCX_MAX_EAGER_RAILS=1",
        *("single", None),
    ),
    (
        *("hsn", "mpich", ("hsn0", "hsn1")),
        f"{UCX} UCX_NET_DEVICES=hsn0,hsn1 UCX_MAX_RNDV_RAILS=2 UCX_MAX_EAGER_RAILS=1",
        *("striping", 1 << 20),
    ),
    (
        *("eth", "mpich", ("eth0",)),
        f"{UCX} UCX_NET_DEVICES=eth0 UCX_MAX_RNDV_RAILS=1 UCX_MAX_EAGER_RAILS=1",
        *("single", None),
    ),
    (
        *("hsn", "intelmpi", ("hsn0",)),
        f"{IMPI} I_MPI_FABRICS=ofi I_MPI_OFI_PROVIDER=tcp FI_TCP_IFACE=hsn0",
        *("single", None),
    ),
    ("hsn", "intelmpi", ("hsn0", "hsn1"), f"{IMPI} I_MPI_FABRICS=ofi {PSM3}", "round-robin", None),
    (
        *("eth", "intelmpi", ("eth0",)),
        f"{IMPI} I_MPI_FABRICS=ofi I_MPI_OFI_PROVIDER=tcp FI_TCP_IFACE=eth0",
        *("single", None),
    ),
]
HYDRA = (
    "-hosts {hosts} -n 2 -ppn 1 -launcher ssh -launcher-exec /site/.railyard/testbed/agent -iface eth0 "
    "{share} {forwarded}"
)
WORDS = {
    "openmpi": (
        "-H vn1:1,vn2:1 -np 2 --mca plm rsh --mca plm_rsh_agent /site/.railyard/testbed/agent --mca oob_tcp_if_include "
        "eth0 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 {forwarded}"
    ),
    "mpich": HYDRA.replace("{share}", "-bind-to none").replace("{hosts}", "vn1,vn2"),
    "intelmpi": HYDRA.replace("{share}", "-genv I_MPI_PIN 0").replace("{hosts}", "vn1:1,vn2:1"),
}


@pytest.mark.parametrize(("fabric", "stack", "devices", "env", "policy", "threshold"), PLANS)
def test_a_stack_is_told_its_devices_and_nothing_is_left_to_chance(
    site: Site, fabric: str, stack: str, devices: tuple[str, ...], env: str, policy: str, threshold: int | None
) -> None:
    launch = planned_launch(site, stack, *devices, fabric=fabric)
    told = dict(word.split("=", 1) for word in env.split())
    assert launch.env == {**told, "PATH": f"/site/.stacks/{stack}/bin:$PATH"}
    assert launch.program == f"/site/.stacks/{stack}/bin/mpirun"
    forwarded = " ".join(f"-x {n}={v}" if stack == "openmpi" else f"-genv {n} {v}" for n, v in told.items())
    assert " ".join(launch.options) == WORDS[stack].format(forwarded=forwarded)
    assert (launch.settings.policy, launch.settings.threshold_bytes) == (policy, threshold)
    assert (launch.meant, launch.nodes) == (devices, ("vn1", "vn2"))
    assert launch.watched == tuple(name for name in ("hsn0", "hsn1", "eth0") if name not in devices)


def test_ranks_of_intel_mpi_give_their_core_away_if_they_are_more_than_the_cores(site: Site) -> None:
    words = "-genv I_MPI_PIN 0 -genv I_MPI_THREAD_YIELD 2"
    four = planned_launch(site, "intelmpi", "hsn0", nodes=("vn1", "vn2", "vn3", "vn4"), ranks=4)
    assert words in " ".join(four.options)
    assert "I_MPI_THREAD_YIELD" not in planned_launch(site, "intelmpi", "hsn0").options


def test_only_open_mpi_is_told_that_root_is_meant_and_its_ranks_too(site: Site) -> None:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    user, root = planned_launch(site, "openmpi", "hsn0"), planned_launch(site, "openmpi", "hsn0", as_root=True)
    assert root.env == {**user.env, **allowed}
    assert root.options == (*user.options, *"-x OMPI_ALLOW_RUN_AS_ROOT=1 -x OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1".split())
    for stack in ("mpich", "intelmpi"):
        assert planned_launch(site, stack, "hsn0", as_root=True) == planned_launch(site, stack, "hsn0")


def test_nodes_and_ranks_are_those_asked_for(site: Site) -> None:
    launch = planned_launch(site, "mpich", "hsn0", nodes=("vn1", "vn2", "vn3", "vn4"), ranks=8, ranks_per_node=2)
    assert launch.options[:6] == ("-hosts", "vn1,vn2,vn3,vn4", "-n", "8", "-ppn", "2")
    assert launch.nodes == ("vn1", "vn2", "vn3", "vn4")


def test_the_agent_and_the_start_up_network_are_the_virtual_clusters_own(tmp_path: Path, virtual: Site) -> None:
    options = planned_launch(replace(virtual, home=tmp_path), "mpich", "hsn0").options
    assert options[options.index("-launcher-exec") + 1] == str(Testbed(tmp_path).agent)
    assert options[options.index("-iface") + 1] == DEFAULT_SPEC.networks[0].device


def test_a_launcher_of_reframe_gets_the_stacks_own_words_alone(site: Site) -> None:
    slurm = replace(site, system=site.system.model_copy(update={"launcher": "srun"}))
    launch = planned_launch(slurm, "mpich", "hsn0", "hsn1")
    assert launch.options == ("--mpi=pmi2",)
    assert launch.env == planned_launch(site, "mpich", "hsn0", "hsn1").env


@pytest.mark.parametrize(
    ("stack", "policy", "per_node", "told"),
    [
        ("mpich", "nic-per-rank", 8, ("--distribution=block:block",)),
        ("mpich", "nic-per-rank", 2, ()),
        ("mpich", "striping", 8, ()),
        ("openmpi", "nic-per-rank", 8, ("--distribution=block:cyclic",)),
        ("openmpi", "nic-per-rank", 2, ("--distribution=block:cyclic",)),
    ],
)
def test_ranks_with_a_rail_each_lie_as_their_rails_are_dealt_to_them(
    virtual: Site, stack: str, policy: str, per_node: int, told: tuple[str, ...]
) -> None:
    """In turn over two sockets, even ranks would all take the first rail; so Open MPI gets each rank's rail."""
    hsn = virtual.system.fabrics["hsn"]
    rails = tuple(rail(device=f"cxi{n}", counters="cxi") for n in range(2))
    fabric = hsn.model_copy(update={"kind": "slingshot", "rails": rails})
    nodes = virtual.system.nodes.model_copy(
        update={
            "hardware": NodeHardware.model_validate(
                {"cores": 8, "memory": "16G", "base_ghz": 2.0, "flop_per_cycle": 16}
            )
        }
    )
    own = {"launcher": "srun", "provider": "nodes", "nodes": nodes, "fabrics": {"hsn": fabric}}
    site = replace(virtual, system=virtual.system.model_copy(update=own))
    launch = planned_launch(site, stack, "cxi0", "cxi1", policy=policy, ranks_per_node=per_node)
    assert launch.options[1:] == told


def test_srun_is_told_how_the_library_speaks_with_it(site: Site) -> None:
    slurm = replace(site, system=site.system.model_copy(update={"launcher": "srun"}))
    told = {stack: planned_launch(slurm, stack, "hsn0").options for stack in ("openmpi", "mpich", "intelmpi", "tcp")}
    assert told == {"openmpi": ("--mpi=pmix",), "mpich": ("--mpi=pmi2",), "intelmpi": ("--mpi=pmi2",), "tcp": ()}
    entry = slurm.system.stacks["openmpi"].model_copy(update={"srun_mpi": "pmix_v4"})
    stacks = {**slurm.system.stacks, "openmpi": entry}
    own = replace(slurm, system=slurm.system.model_copy(update={"stacks": stacks}))
    assert planned_launch(own, "openmpi", "hsn0").options == ("--mpi=pmix_v4",)


def test_mpirun_in_a_job_shares_the_hosts_cores(site: Site) -> None:
    slurm = replace(site, system=site.system.model_copy(update={"launcher": "srun", "scheduler": "slurm-nodb"}))
    launch = planned_launch(slurm, "openmpi", "hsn0", launcher="mpirun")
    assert launch.options == ("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
    elsewhere = slurm.system.model_copy(update={"provider": "nodes"})
    assert planned_launch(replace(slurm, system=elsewhere), "openmpi", "hsn0", launcher="mpirun").options == ()


BOUND: dict[str, tuple[str, ...]] = {
    "openmpi": ("--map-by", "slot:PE=4", "--bind-to", "core"),
    "mpich": ("-bind-to", "core:4"),
    "intelmpi": ("-genv", "I_MPI_PIN_DOMAIN", "auto:compact"),
}


@pytest.mark.parametrize("stack", BOUND)
def test_a_rank_of_several_threads_has_as_many_cores_of_its_own(site: Site, stack: str) -> None:
    nodes = replace(site, system=site.system.model_copy(update={"provider": "nodes", "launcher": "mpirun"}))
    assert planned_launch(nodes, stack, "hsn0", threads=4).options == BOUND[stack]
    assert planned_launch(nodes, stack, "hsn0", threads=1).options == ()
    assert planned_launch(nodes, "tcp", "hsn0", threads=4).options == ()


ON_EACH: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "openmpi": (("--map-by", "ppr:1:node"), ("--map-by", "ppr:1:node:PE=4", "--bind-to", "core"), {}),
    "mpich": (("-ppn", "1"), ("-bind-to", "core:4", "-ppn", "1"), {}),
    "intelmpi": (
        ("-ppn", "1"),
        ("-genv", "I_MPI_PIN_DOMAIN", "auto:compact", "-ppn", "1"),
        {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "off"},
    ),
}


@pytest.mark.parametrize("stack", ON_EACH)
def test_in_a_job_with_totals_each_node_gets_its_ranks_and_not_the_first_one_all(site: Site, stack: str) -> None:
    jobs = site.system.jobs.model_copy(update={"totals": True})
    update = {"provider": "nodes", "scheduler": "pbs", "launcher": "mpirun", "jobs": jobs}
    totals = replace(site, system=site.system.model_copy(update=update))
    chunks = replace(site, system=site.system.model_copy(update={**update, "jobs": site.system.jobs}))
    alone, threaded, variables = ON_EACH[stack]
    launch = planned_launch(totals, stack, "hsn0", nodes=())
    assert launch.options == alone
    assert planned_launch(totals, stack, "hsn0", nodes=(), threads=4).options == threaded
    before = planned_launch(chunks, stack, "hsn0", nodes=())
    assert before.options == ()
    assert {name: value for name, value in launch.env.items() if name not in before.env} == variables
    # A step on named nodes says it in words of its own.
    assert planned_launch(totals, stack, "hsn0").options == ()


def test_a_policy_that_binds_to_numa_nodes_keeps_that_beside_the_ranks_of_each_node(site: Site) -> None:
    fabrics = {"hsn": site.system.fabrics["hsn"].model_copy(update={"kind": "slingshot"})}
    jobs = site.system.jobs.model_copy(update={"totals": True})
    update = {"provider": "nodes", "scheduler": "pbs", "launcher": "mpirun", "jobs": jobs, "fabrics": fabrics}
    launch = planned_launch(
        replace(site, system=site.system.model_copy(update=update)), "openmpi", "cxi0", "cxi1", nodes=()
    )
    assert launch.options == ("--map-by", "ppr:1:node", "--bind-to", "numa")


def test_nodes_that_share_the_hosts_cores_bind_no_rank(site: Site) -> None:
    assert planned_launch(site, "openmpi", "hsn0", threads=4) == planned_launch(site, "openmpi", "hsn0")
    slurm = replace(site, system=site.system.model_copy(update={"launcher": "mpirun", "scheduler": "slurm-nodb"}))
    assert planned_launch(slurm, "openmpi", "hsn0", threads=4).options[1:3] == ("--bind-to", "none")


def test_srun_binds_a_rank_to_its_cores_and_the_library_does_not(site: Site) -> None:
    slurm = replace(site, system=site.system.model_copy(update={"provider": "nodes", "launcher": "srun"}))
    one, four = (planned_launch(slurm, "intelmpi", "hsn0", threads=threads) for threads in (1, 4))
    assert one.options == four.options == ("--mpi=pmi2",)
    assert {name: four.env[name] for name in four.env if name not in one.env} == {"I_MPI_PIN": "0"}


def test_a_policy_may_have_words_of_its_own_for_the_launcher(site: Site) -> None:
    """Open MPI over Slingshot gives each rank one NIC, the nearest: ranks must be bound to NUMA nodes."""
    fabrics = {"hsn": site.system.fabrics["hsn"].model_copy(update={"kind": "slingshot"})}
    system = site.system.model_copy(update={"launcher": "mpirun", "fabrics": fabrics})
    launch = planned_launch(replace(site, system=system), "openmpi", "cxi0", "cxi1")
    assert launch.settings.policy == "nic-per-rank"
    assert launch.options == ("--map-by", "numa", "--bind-to", "numa")
    nodes = replace(site, system=system.model_copy(update={"provider": "nodes"}))
    assert planned_launch(nodes, "openmpi", "cxi0", "cxi1", threads=4).options == launch.options


def test_a_jobs_script_exports_what_a_shell_would_cut_in_quotes(site: Site, tmp_path: Path) -> None:
    """PSM3's NICs are separated by semicolons, and ReFrame writes ``export NAME=VALUE`` without quotes."""
    env = planned_launch(site, "intelmpi", "hsn0", "hsn1", policy="nic-per-rank").env
    lines = [
        f"export {name}={value}"
        for name, value in escape_exports({**env, "A": "a b*", "PATH": "/mpi/bin:$PATH"}).items()
    ]
    shown = subprocess.run(
        ["sh", "-c", "\n".join([*lines, 'echo "$PSM3_MULTIRAIL_MAP/$A/$PATH/$I_MPI_ROOT"'])],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"PATH": "/bin"},
    )  # fmt: skip
    assert shown.stdout == "hsn0:1;hsn1:1/a b*//mpi/bin:/bin//site/.stacks/intelmpi\n"


def test_a_stack_without_a_prefix_is_found_by_its_module(site: Site) -> None:
    entry = site.system.stacks["mpich"].model_copy(update={"prefix": None, "env": {}})
    bare = replace(site, system=site.system.model_copy(update={"stacks": {"mpich": entry}}))
    launch = planned_launch(bare, "mpich", "hsn0")
    assert launch.program == "mpirun"
    assert "PATH" not in launch.env


def test_a_stack_that_cannot_use_so_many_rails_says_why(site: Site) -> None:
    five = [f"hsn{n}" for n in range(5)]
    with pytest.raises(RailyardError) as caught:
        planned_launch(site, "mpich", *five)
    assert str(caught.value) == "mpich on tcp: striping over ch4:ucx over tcp uses at most 4 rails, 5 were asked for"


def test_a_rail_with_a_port_is_named_with_it() -> None:
    assert rail(device="hsn0").name == "hsn0"
    assert rail(device="mlx5_0", port=2).name == "mlx5_0:2"


def test_what_has_no_counters_is_not_watched_and_cannot_prove(virtual: Site) -> None:
    assert watched_devices(virtual, ("hsn1",)) == ("hsn0", "eth0")
    assert [virtual.system.fabrics[name].has_counters for name in ("hsn", "eth")] == [True, True]
    bare = virtual.system.fabrics["eth"].model_copy(update={"rails": (rail(device="eth0", counters="none"),)})
    fabrics = {**virtual.system.fabrics, "eth": bare}
    without = replace(virtual, system=virtual.system.model_copy(update={"fabrics": fabrics}))
    assert watched_devices(without, ("hsn0",)) == ("hsn1",)
    assert [without.system.fabrics[name].has_counters for name in ("hsn", "eth")] == [True, False]


def test_rails_of_one_fabric_have_one_rate(virtual: Site) -> None:
    assert virtual.system.fabrics["hsn"].rates(("hsn0", "hsn1")) == {"hsn0": 0.4, "hsn1": 0.4}
    assert site_at(ROOT, "local").system.fabrics["loopback"].rates(("lo",)) == {"lo": 1.0}


def test_every_cell_that_runs_can_be_launched() -> None:
    """`plan_launch` can do what `why_not` allows and the site does not switch off, in every system's file.

    What Spack builds for a system counts as built.
    """
    from railyard.site.matrix import RAIL_COUNTS, disabled_reason, fabric_reason, stack_reason
    from railyard.site.systems.load import load_systems

    launched = 0
    for system in load_systems(ROOT / "systems").values():
        stacks = {
            name: stack if stack.spack is None else stack.model_copy(update={"spack": None, "prefix": "/opt/mpi"})
            for name, stack in system.stacks.items()
        }
        here = Site(ROOT, system.model_copy(update={"stacks": stacks}), References(system))
        for name, fabric in system.fabrics.items():
            for stack in system.stacks:
                for count in RAIL_COUNTS:
                    reason = (
                        fabric_reason(name, fabric, count)
                        or stack_reason(fabric, stack, count)
                        or disabled_reason(system, TestId(name, stack, count))
                    )
                    if reason is None:
                        devices = tuple(rail.name for rail in fabric.rails[:count])
                        launch_of(here, stack, devices, fabric=name, nodes=("n1", "n2"), as_root=True)
                        launched += 1
    assert launched >= 12


def test_a_single_host_is_told_no_rail() -> None:
    local = site_at(ROOT, "local")
    launch = launch_of(local, "mpich", ("lo",), fabric="loopback", nodes=("localhost",), ranks_per_node=2)
    assert launch.env == {
        "LD_LIBRARY_PATH": f"{ROOT}/.stacks/mpich/lib",
        "PATH": f"{ROOT}/.stacks/mpich/bin:$PATH",
    }
    assert launch.options == ()


def test_a_client_and_a_server_are_started_without_any_mpi(site: Site) -> None:
    launch = planned_launch(site, "tcp", "hsn0", "hsn1")
    assert (launch.program, launch.settings.policy, launch.mpi) == ("sh", "nic-per-rank", None)
    assert launch.options == ("start.sh", "/site/.railyard/testbed/enter", "vn1", "vn2", "--")
    assert launch.env == {"PATH": "/usr/bin:$PATH"}
    assert (launch.meant, launch.watched) == (("hsn0", "hsn1"), ("eth0",))
    slurm = replace(site, system=site.system.model_copy(update={"launcher": "srun"}))
    assert planned_launch(slurm, "tcp", "hsn0").options == ()
