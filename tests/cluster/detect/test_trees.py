"""What is read from each kind of node: the trees in tests/trees. Their second line says whether they are recorded."""

from pathlib import Path

import pytest

from railyard.cluster.detect.detected_cluster import DetectedCluster, detect
from railyard.cluster.detect.source import Listing, parse_listing
from railyard.cluster.detect.system_text import (
    Texts,
    check_texts,
    missing_parts,
    references_text,
    switches_text,
    system_text,
    write,
)
from railyard.hardware.node import NodeHardware
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.hardware.test_processors import RECORDINGS

TREES = Path(__file__).parents[2] / "trees"
NAMES = sorted(path.stem for path in TREES.glob("*.tree"))
#: What spack_envs/ has.
ENVIRONMENTS = ("craympich", "hpcx", "intelmpi", "mpich", "mvapich", "mvapich2", "openmpi", "verbs")


def listing(name: str) -> Listing:
    return parse_listing((TREES / f"{name}.tree").read_text(encoding="utf-8"), f"{name}.tree")


def detect_listing(name: str) -> DetectedCluster:
    return detect(listing(name))


def text(of: DetectedCluster) -> str:
    return system_text(of, of.name, "from a recording", ENVIRONMENTS)


def system(of: DetectedCluster) -> System:
    return check_texts(Texts(of.name, text(of), references_text(of.name), switches_text(of)))


def rails(of: System, fabric: str) -> list[tuple[str, int | None, str | None, int, str]]:
    return [
        (rail.device, rail.port, rail.slot, rail.rails_per_card, rail.counters) for rail in of.fabrics[fabric].rails
    ]


MADE = ["dual-rail-hdr", "ndr-8-nics", "no-rdma", "roce", "slingshot"]
RECORDED = ["grid-engine-node", "slurm-node", "soft-roce-guest", "virtual-machine", "virtual-node"]


def test_there_are_the_kinds_that_are_promised() -> None:
    assert sorted([*MADE, *RECORDED]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_recording_says_what_it_is_and_gives_files_that_load(name: str) -> None:
    remark = (TREES / f"{name}.tree").read_text(encoding="utf-8").split("\n")[1]
    assert remark.startswith(("# made, not recorded: ", "# recorded: ", "# recorded, its name replaced: "))
    loaded = system(detect_listing(name))
    assert loaded.report_only == (
        "nothing has been measured here yet: runs are judged only by the limit and the day-one floor of their links"
    )


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_too_long_to_read(name: str) -> None:
    assert [line for line in text(detect_listing(name)).split("\n") if line.startswith("#") and len(line) > 118] == []


def test_two_rails_of_hdr_one_of_them_in_half_a_slot() -> None:
    of = detect_listing("dual-rail-hdr")
    assert of.traps == (
        "mlx5_1:1 (0000:a1:00.0) runs in pcie4-x8 and can pcie4-x16: a narrow slot or riser, a card that is not "
        "seated, or a slot's setting in the BIOS; its limit is that of pcie4-x8",
    )
    assert of.left_out == (
        "mlx5_2:1 has no link (DOWN, Polling): it is left out; if it is meant to be a rail, look at cable and switch",
        "eno2 has no link (down): it is left out; if it is meant to be a rail, look at cable and switch",
    )
    loaded = system(of)
    assert (loaded.system, list(loaded.fabrics), loaded.hostnames) == ("hdrsys", ["hdr", "eno"], ("node[0-9]*",))
    hdr = loaded.fabrics["hdr"]
    assert (hdr.kind, hdr.link.name, hdr.slot) == ("ib", "ib-hdr", "pcie4-x16")
    assert rails(loaded, "hdr") == [("mlx5_0", 1, None, 1, "mlx5"), ("mlx5_1", 1, "pcie4-x8", 1, "mlx5")]
    assert (loaded.fabrics["eno"].link.name, loaded.fabrics["eno"].mtu) == ("eth-1", 1500)
    assert (loaded.scheduler, loaded.launcher, loaded.access) == ("slurm", "srun", ("--partition=batch",))
    assert (loaded.nodes.count, loaded.modules_system) == (56, "lmod")
    assert list(loaded.stacks) == ["intelmpi", "openmpi", "verbs"]
    assert loaded.stacks["intelmpi"].modules == ("intel-oneapi-mpi/2021.10",)
    assert loaded.stacks["intelmpi"].tools == ("osu", "imb", "hpl")
    assert loaded.stacks["openmpi"].prefix == "/opt/ompi/5.0"
    assert loaded.stacks["openmpi"].benchmarks == {"osu": "/opt/osu/libexec/osu-micro-benchmarks/mpi"}
    assert loaded.stacks["verbs"].benchmarks == {"perftest": "/usr/bin"}


def test_the_file_says_what_was_read_and_what_was_guessed() -> None:
    lines = text(detect_listing("dual-rail-hdr")).split("\n")
    comment = "0000:21:00.0, NUMA 0, interface ib0, firmware 20.35.1012"
    assert f"      - {{device: mlx5_0, port: 1, counters: mlx5}}  # {comment}" in lines
    assert "# Other partitions: fat (4 nodes). A partition with different rails needs its own system file." in lines
    assert "  openmpi:  # ompi_info says version 5.0.3" in lines
    assert "    # GUESSED: its cards sit in unlike slots" in lines
    assert "# GUESSED: on hosts with this name this system is used without --system; add login hosts." in lines
    assert "    # Not found: imb. In place of these, `spack: {benchmarks: [osu, imb]}` builds both." in lines
    assert any(line.startswith("    # GUESSED: a network beside the fast one is measured too: ") for line in lines)
    assert (
        'description: "2 rails of InfiniBand 4X HDR, 200 Gbit/s and one rail of Ethernet 1 Gbit/s; AMD EPYC 7763 '
        '64-Core Processor"'
    ) in lines


def test_roce_with_a_small_mtu_on_both_ports_of_one_card() -> None:
    of = detect_listing("roce")
    assert of.traps == (
        "RoCE over ens1f0np0 and ens1f1np1 has a path MTU of 1024: set interfaces and switches to an MTU of 4200 or "
        "more for 4096 (at 1024 a 100 Gbit/s link carries 11.57 GB/s in place of 12.25)",
    )
    loaded = system(of)
    roce = loaded.fabrics["roce"]
    assert (roce.kind, roce.link.name, roce.slot, roce.mtu) == ("roce", "roce-100", "pcie4-x16", 1024)
    assert rails(loaded, "roce") == [("rocep59s0f0", 1, None, 2, "mlx5"), ("rocep59s0f1", 1, None, 2, "mlx5")]
    assert list(loaded.fabrics) == ["roce", "eno"]
    assert (loaded.scheduler, loaded.launcher, loaded.nodes.count, loaded.access) == ("pbs", "mpirun", 2, ())
    assert [(one.name, one.up) for one in of.scheduler.partitions] == [("workq", True), ("closed", False)]
    assert of.fabrics[0].first.gid_index == 3
    assert loaded.stacks["mpich"].prefix == "/usr/local"
    assert loaded.stacks["tcp"].benchmarks == {"iperf3": "/usr/bin/iperf3"}


@pytest.mark.parametrize(
    ("changes", "only"),
    [
        ({"types/3": "IB/RoCE v1"}, "RoCE v2 by link-local addresses"),
        ({"types/1": "IB/RoCE v1", "types/3": "IB/RoCE v1"}, "RoCE v1"),
        ({"types/1": "", "types/3": "IB/RoCE v1"}, "RoCE v1"),
    ],
)
def test_a_port_without_a_gid_that_routers_pass_on_is_a_trap(changes: dict[str, str], only: str) -> None:
    tree = listing("roce")
    for name, value in changes.items():
        tree.files[f"/sys/class/infiniband/rocep59s0f0/ports/1/gid_attrs/{name}"] = value
    assert [trap for trap in detect(tree).traps if "GID" in trap] == [
        f"rocep59s0f0:1 has only GIDs of {only}: give ens1f0np0 an IP address, or jobs stay within one Ethernet "
        "segment, or find no GID at all (show_gids lists them)"
    ]


def test_gids_that_cannot_be_read_are_no_trap() -> None:
    tree = listing("roce")
    for name in ("1", "3"):
        del tree.files[f"/sys/class/infiniband/rocep59s0f0/ports/1/gids/{name}"]
    assert [trap for trap in detect(tree).traps if "GID" in trap] == []
    tree.files["/sys/class/infiniband/rocep59s0f0/ports/1/gids/3"] = "2001:0db8:0000:0000:0000:0000:0000:0001"
    tree.files["/sys/class/infiniband/rocep59s0f0/ports/1/gids/1"] = "fe80:0000:0000:0000:0e42:a1ff:fe00:0000"
    assert [trap for trap in detect(tree).traps if "GID" in trap] == []


def test_eight_rails_by_number_each_with_its_domain_beside_a_gpu() -> None:
    of = detect_listing("ndr-8-nics")
    assert (of.traps, of.left_out) == ((), ())
    loaded = system(of)
    assert list(loaded.fabrics) == ["ndr", "hdr", "eno"]
    assert [rail.device for rail in loaded.fabrics["ndr"].rails] == [f"mlx5_{number}" for number in range(8)]
    assert [port.pci.numa for port in of.fabrics[0].ports] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {gpu.model for gpu in of.node.gpus} == {"NVIDIA H100 80GB HBM3"}
    assert [gpu.numa for gpu in of.node.gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [rail.device for rail in loaded.fabrics["hdr"].rails] == ["mlx5_10"]
    assert (loaded.fabrics["eno"].link.name, loaded.fabrics["eno"].mtu) == ("eth-25", 9000)
    assert (loaded.scheduler, loaded.launcher, loaded.access) == ("slurm-nodb", "mpirun", ("--partition=gpu",))
    assert of.scheduler.remarks == (
        "sacct does not answer (no accounting): scontrol says how a job ended",
        "srun lists no PMIx: each stack's own mpirun starts its processes inside the job",
        "no partition is the default: gpu has the most nodes",
    )
    assert (list(loaded.stacks), loaded.stacks["hpcx"].prefix) == (["hpcx"], "/opt/hpcx-v2.18/ompi")


def test_slingshot_takes_its_cards_and_not_their_interfaces() -> None:
    loaded = system(detect_listing("slingshot"))
    assert list(loaded.fabrics) == ["hsn"]
    hsn = loaded.fabrics["hsn"]
    assert (hsn.kind, hsn.link.name, hsn.slot) == ("slingshot", "slingshot-11", "pcie4-x16")
    assert rails(loaded, "hsn") == [(f"cxi{number}", None, None, 1, "cxi") for number in range(4)]
    assert (loaded.system, loaded.nodes.count, loaded.launcher) == ("shasta", 2688, "srun")
    assert loaded.stacks["craympich"].modules == ("cray-mpich/8.1.28",)


def test_a_node_without_rdma_scheduler_or_mpi_still_gives_a_file() -> None:
    of = detect_listing("no-rdma")
    loaded = system(of)
    assert list(loaded.fabrics) == ["bond"]
    bond = loaded.fabrics["bond"]
    # The kernel says 20 Gbit/s for the bond; a stream gets the 10 of one port.
    assert (bond.kind, bond.link.name, bond.link.data_rate_gbit_s) == ("tcp", "eth-10", 10.0)
    assert rails(loaded, "bond") == [("bond0", None, None, 1, "netdev")]
    assert [rail.bonded_ports for rail in bond.rails] == [2]
    assert of.fabrics[0].doubts == ()
    assert (loaded.scheduler, loaded.launcher, loaded.nodes.names) == ("local", "mpirun", ("www3",))
    assert loaded.stacks["openmpi"].tools == ("osu", "imb")


def test_a_bond_of_which_one_port_carries_all_is_one_port() -> None:
    tree = listing("no-rdma")
    tree.files["/sys/class/net/bond0/bonding/mode"] = "active-backup 1"
    assert [rail.bonded_ports for rail in system(detect(tree)).fabrics["bond"].rails] == [1]


def test_an_rdma_device_over_a_bond_has_its_ports() -> None:
    tree = listing("roce")
    tree.files["/sys/class/infiniband/rocep59s0f0/ports/1/gid_attrs/ndevs/0"] = "bond0"
    tree.files["/sys/class/net/bond0/bonding/slaves"] = "ens1f0np0 ens1f1np1"
    tree.files["/sys/class/net/bond0/bonding/mode"] = "802.3ad 4"
    rails = {rail.device: rail.bonded_ports for rail in system(detect(tree)).fabrics["roce"].rails}
    assert rails == {"rocep59s0f0": 2, "rocep59s0f1": 1}


def test_a_link_of_one_lane_is_named_beside_its_twin() -> None:
    tree = listing("dual-rail-hdr")
    tree.files["/sys/class/infiniband/mlx5_1/ports/1/rate"] = "50 Gb/sec (1X HDR)"
    of = detect(tree)
    assert of.traps[1] == (
        "mlx5_1:1 runs at 1X HDR, 50 Gbit/s, mlx5_0:1 of the same board (MT_0000000222) at 4X HDR, 200 Gbit/s: look at "
        "cable and switch port, or give each a fabric of its own"
    )
    assert [(fabric.name, [port.name for port in fabric.ports]) for fabric in of.fabrics[:2]] == [
        ("hdr", ["mlx5_0:1"]),
        ("ib", ["mlx5_1:1"]),
    ]
    assert system(of).fabrics["ib"].link.data_rate_gbit_s == 50.0


def test_a_driver_that_the_table_lacks_is_named() -> None:
    tree = listing("dual-rail-hdr")
    for device in ("mlx5_0", "mlx5_1"):
        path = f"/sys/class/infiniband/{device}/device/uevent"
        tree.files[path] = tree.files[path].replace("mlx5_core", "newcard")
    assert ("mlx5_0:1 has the driver newcard, which the table of counters lacks: nothing can prove its path") in detect(
        tree
    ).traps


@pytest.mark.parametrize("name", NAMES)
def test_whatever_file_of_a_tree_is_missing_or_strange_there_is_an_answer(name: str) -> None:
    whole = listing(name)
    for path in whole.files:
        others = {other: text for other, text in whole.files.items() if other != path}
        detect(Listing(others, whole.there, whole.programs, whole.outputs))
        detect(Listing({**whole.files, path: "N/A (\x7f"}, whole.there, whole.programs, whole.outputs))
    for words in whole.outputs:
        detect(Listing(whole.files, whole.there, whole.programs, {**whole.outputs, words: "error: |||\n\n x"}))


def test_a_node_of_the_virtual_cluster_has_rails_of_unknown_rate() -> None:
    tree = listing("virtual-node")
    # A veth prints this at any rate.
    tree.files |= {f"/sys/class/net/{name}/speed": "10000" for name in ("eth0", "hsn0", "hsn1")}
    of = detect(tree)
    loaded = system(of)
    assert {name: [rail.device for rail in fabric.rails] for name, fabric in loaded.fabrics.items()} == {
        "eth": ["eth0"],
        "hsn": ["hsn0", "hsn1"],
    }
    assert [fabric.link.data_rate_gbit_s for fabric in loaded.fabrics.values()] == [None, None]
    assert of.fabrics[0].doubts == (
        "these interfaces belong to no device of the machine, so that nothing says their rate",
    )
    assert loaded.stacks["tcp"].benchmarks == {"iperf3": "/usr/bin/iperf3", "netpipe": "/usr/bin/NPtcp"}


def test_a_virtual_machine_says_no_rate_and_hwloc_says_where_its_interface_sits() -> None:
    of = detect_listing("virtual-machine")
    assert [(port.device, port.pci.driver, port.pci.numa) for port in of.fabrics[0].ports] == [
        ("eth0", "virtio_net", 0)
    ]
    assert of.fabrics[0].doubts == ("no link of the table: the kernel says no rate of it",)
    assert system(of).fabrics["eth"].link.data_rate_gbit_s is None


@pytest.mark.parametrize(
    ("driver", "layer", "rate", "kind", "link", "counters", "port"),
    [
        ("hfi1", "InfiniBand", "100 Gb/sec (4X EDR)", "opa", "opa-100", "hfi1", 1),
        ("efa", "Unspecified", "100 Gb/sec (4X EDR)", "efa", "efa-100", "efa", None),
        ("mlx4_core", "InfiniBand", "40 Gb/sec (4X QDR)", "ib", "ib-qdr", "mlx4", 1),
        ("mlx4_core", "Ethernet", "40 Gb/sec (4X QDR)", "roce", "roce-40", "mlx4", 1),
        ("bnxt_en", "Ethernet", "25 Gb/sec (1X EDR)", "roce", "roce-25", "bnxt_re", 1),
        ("ice", "Ethernet", "100 Gb/sec (4X EDR)", "roce", "roce-100", "irdma", 1),
    ],
)
def test_kinds_by_driver_and_link_layer(
    driver: str, layer: str, rate: str, kind: str, link: str, counters: str, port: int | None
) -> None:
    folder = "/sys/class/infiniband/card0"
    tree = Listing(
        {
            f"{folder}/ports/1/state": "4: ACTIVE",
            f"{folder}/ports/1/phys_state": "5: LinkUp",
            f"{folder}/ports/1/rate": rate,
            f"{folder}/ports/1/link_layer": layer,
            f"{folder}/device/uevent": f"DRIVER={driver}\nPCI_SLOT_NAME=0000:01:00.0",
        }
    )
    loaded = system(detect(tree))
    ((_, fabric),) = loaded.fabrics.items()
    (rail,) = fabric.rails
    assert (fabric.kind, fabric.link.name, rail.counters, rail.port) == (kind, link, counters, port)


SPEEDS = [("BS_200G", "slingshot-11"), ("CK_400G", "slingshot-400"), ("bs200G", "slingshot-11")]


@pytest.mark.parametrize(("said", "link"), SPEEDS)
def test_slingshots_generation_is_told_by_its_drivers_word(said: str, link: str) -> None:
    tree = listing("slingshot")
    tree.files |= {f"/sys/class/cxi/cxi{number}/device/port/speed": said for number in range(4)}
    assert system(detect(tree)).fabrics["hsn"].link.name == link


def test_soft_roce_stands_on_its_interface() -> None:
    tree = Listing(
        {
            "/sys/class/infiniband/rxe0/ports/1/state": "4: ACTIVE",
            "/sys/class/infiniband/rxe0/ports/1/rate": "2.5 Gb/sec (1X SDR)",
            "/sys/class/infiniband/rxe0/ports/1/link_layer": "Ethernet",
            "/sys/class/infiniband/rxe0/parent": "ens3",
            "/sys/class/net/ens3/mtu": "4500",
            "/sys/class/net/ens3/type": "1",
            "/sys/class/net/ens3/operstate": "up",
            "/sys/class/net/ens3/device/uevent": "DRIVER=virtio_net",
        }
    )
    loaded = system(detect(tree))
    assert list(loaded.fabrics) == ["roce"], "its interface is no rail of its own"
    roce = loaded.fabrics["roce"]
    assert (roce.link.data_rate_gbit_s, [rail.counters for rail in roce.rails]) == (None, ["rxe"])


def test_in_a_job_the_file_does_not_doubt_that_the_rails_are_those_of_nodes() -> None:
    of = detect_listing("slingshot")
    outside = " ".join(text(of).replace("\n#", "").split())
    inside = " ".join(system_text(of, of.name, "inside a job of Slurm", ENVIRONMENTS).replace("\n#", "").split())
    doubt = ": a login host often has others than the nodes; run `railyard detect` inside a job to be sure."
    assert f"Rails are those of this host{doubt} MISSING: " in outside
    assert "Rails are those of this host. MISSING: " in inside


def test_what_keeps_benchmarks_from_running_is_said() -> None:
    assert missing_parts(detect_listing("no-rdma"), ENVIRONMENTS) == (
        "no scheduler was found, so this system has one node and no test between nodes runs: run this on a host "
        "with the scheduler's commands, or try stacks only on this host with --system local",
        "Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it",
    )
    assert missing_parts(detect_listing("slingshot"), ENVIRONMENTS) == (
        "Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it",
    )
    assert missing_parts(detect_listing("slingshot"), ()) == (
        "craympich has no benchmarks: none was found, and Spack builds none for it; build OSU or IMB with its compiler "
        "wrapper and name them under benchmarks",
    )
    tree = listing("dual-rail-hdr")
    tree.programs["spack"] = "/opt/spack/bin/spack"
    assert missing_parts(detect(tree), ENVIRONMENTS) == ()


def test_a_stack_that_no_fabric_of_the_file_can_use_is_a_remark_alone() -> None:
    tree = listing("no-rdma")
    tree.programs["ib_write_bw"] = "/usr/bin/ib_write_bw"
    of = detect(tree)
    assert list(system(of).stacks) == ["openmpi"]
    assert "  # verbs is there (on the search path), and nothing of it runs over these fabrics." in text(of).split("\n")


def test_a_module_that_the_site_marks_as_its_default_goes_before_a_newer_one() -> None:
    tree = listing("slingshot")
    tree.outputs["module -t avail"] = "cray-mpich/8.1.25(default)\ncray-mpich/8.1.28"
    assert system(detect(tree)).stacks["craympich"].modules == ("cray-mpich/8.1.25",)


def test_a_real_slurm_without_accounting_is_asked_by_scontrol_and_starts_by_pmix() -> None:
    of = detect_listing("slurm-node")
    loaded = system(of)
    assert (loaded.system, loaded.scheduler, loaded.launcher) == ("railyard", "slurm-nodb", "srun")
    assert (loaded.access, loaded.nodes.count) == (("--partition=all",), 4)
    assert of.scheduler.remarks == ("sacct does not answer (no accounting): scontrol says how a job ended",)
    assert missing_parts(of, ENVIRONMENTS) == ()


def test_a_real_grid_engine_is_asked_for_slots_of_a_fixed_number_on_each_node() -> None:
    of = detect_listing("grid-engine-node")
    loaded = system(of)
    assert (loaded.system, loaded.scheduler, loaded.launcher, loaded.nodes.count) == ("vn", "sge", "mpirun", 4)
    assert loaded.batch_options(4, 3) == ("-l exclusive=true", "-pe mpi-3 12")
    assert [(one.name, one.nodes, one.up) for one in of.scheduler.partitions] == [("all.q", 4, True)]
    assert [sentence for sentence in missing_parts(of, ENVIRONMENTS) if "Spack" not in sentence] == []


def test_without_such_environments_what_grid_engine_has_is_named_and_its_jobs_are_refused() -> None:
    tree = listing("grid-engine-node")
    tree.outputs["qconf -spl"] = "mpi-1\nmpi-2"
    tree.outputs["qconf -sp mpi-2"] = tree.outputs["qconf -sp mpi-2"].replace("rule    2", "rule    $fill_up")
    of = detect(tree)
    assert system(of).batch_options(2) == ("-l exclusive=true", "-pe MISSING 2")
    assert (
        "there are no parallel environments with a fixed number of slots on each node, one for each number (there is "
        "mpi-1 (1) and mpi-2 ($fill_up)): put another one in the place of MISSING (docs/howto/clusters.md, Grid Engine)"
    ) in missing_parts(of, ENVIRONMENTS)
    tree.outputs["qconf -spl"] = ""
    assert any(" (there is none): put " in sentence for sentence in missing_parts(detect(tree), ENVIRONMENTS))


def test_a_node_that_qconf_does_not_answer_has_no_resource_denied() -> None:
    tree = listing("grid-engine-node")
    tree.outputs = {words: said for words, said in tree.outputs.items() if not words.startswith("qconf ")}
    of = detect(tree)
    assert system(of).batch_options(2) == ("-l exclusive=true", "-pe MISSING 2")
    assert of.scheduler.missing == (
        "qconf -spl answers nothing here (is this a submit host?), so nobody knows the parallel environments: put one "
        "in the place of MISSING (docs/howto/clusters.md, Grid Engine)",
    )


def test_whole_nodes_of_grid_engine_are_asked_for_by_the_name_that_its_resource_has() -> None:
    tree = listing("grid-engine-node")
    resources = tree.outputs["qconf -sc"]
    tree.outputs["qconf -sc"] = resources.replace("exclusive           excl", "whole_node          wn  ")
    assert system(detect(tree)).batch_options(2) == ("-l whole_node=true", "-pe mpi-1 2")
    tree.outputs["qconf -sc"] = resources.replace(" EXCL ", " ==   ")
    of = detect(tree)
    assert system(of).batch_options(2) == ("-l exclusive=true", "-pe mpi-1 2")
    assert any(one.startswith("no resource has the relation EXCL (qconf -sc)") for one in missing_parts(of, ()))


@pytest.mark.parametrize(
    ("variable", "title", "program", "name"),
    [
        ("SLURM_JOB_ID", "Slurm", "sinfo", "slurm-nodb"),
        ("PBS_JOBID", "PBS", "qstat", "pbs"),
        ("LSB_JOBID", "LSF", "bqueues", "lsf"),
        ("FLUX_JOB_ID", "Flux", "flux", "flux-batch"),
        ("SGE_JOB_SPOOL_DIR", "Grid Engine", "qstat", "sge"),
    ],
)
def test_in_a_job_whose_scheduler_does_not_answer_the_file_says_which_one_it_is(
    variable: str, title: str, program: str, name: str
) -> None:
    tree = listing("virtual-node")
    of = detect(tree, variable)
    assert system(of).scheduler == "local" and of.scheduler.remarks == ()
    said = (
        f"this is a job of {title} ({variable} is set), and {program} is not on PATH here, so this file has one node "
        f"and no scheduler: let the job find {program}, and run this again; or write scheduler: {name} and nodes: "
        "{count: N}"
    )
    assert said in missing_parts(of, ENVIRONMENTS)
    tree.programs[program] = f"/opt/bin/{program}"
    assert f"{program} does not answer here" in missing_parts(detect(tree, variable), ENVIRONMENTS)[0]
    # A scheduler that answers is the one of the file, whatever the variable.
    assert system(detect(listing("slurm-node"), variable)).scheduler == "slurm-nodb"


def test_a_guest_with_soft_roce_has_two_rails_whose_rate_is_not_what_the_kernel_says() -> None:
    of = detect_listing("soft-roce-guest")
    loaded = system(of)
    assert list(loaded.fabrics) == ["roce", "eth", "host"]
    roce = loaded.fabrics["roce"]
    assert rails(loaded, "roce") == [("rxe0", 1, None, 1, "rxe"), ("rxe1", 1, None, 1, "rxe")]
    assert (roce.kind, roce.link.data_rate_gbit_s) == ("roce", None)
    assert of.fabrics[0].doubts == (
        "these are devices of software (Soft-RoCE), whose rate is that of the interfaces below them",
    )
    assert [(port.netdev, port.gid_index) for port in of.fabrics[0].ports] == [("eth1", 1), ("eth2", 1)]
    assert loaded.stacks["verbs"].benchmarks == {"perftest": "/usr/bin"}


@pytest.mark.parametrize(
    ("name", "cores", "memory", "threads", "sockets"),
    [
        ("ndr-8-nics", 112, 2015, 2, 2),
        ("dual-rail-hdr", 128, 503, 1, 2),
        ("roce", 56, 251, 1, 2),
        ("slingshot", 64, 502, 2, 1),
    ],
)
def test_a_file_has_cores_and_memory_of_a_node_and_asks_for_whole_ones(
    name: str, cores: int, memory: int, threads: int, sockets: int
) -> None:
    loaded = system(detect_listing(name))
    stated = NodeHardware(cores=cores, memory=memory << 30, threads_per_core=threads, sockets=sockets)
    assert loaded.nodes.hardware == stated
    assert loaded.jobs.exclusive and loaded.nodes.exclusive


def test_the_hardware_is_a_guess_outside_a_job_alone() -> None:
    of = detect_listing("ndr-8-nics")
    line = "  hardware: {cores: 112, memory: 2015G, threads_per_core: 2, sockets: 2}  # 2 sockets of 56 cores, "
    line += "2 threads a core"
    doubt = "  # GUESSED: cores and memory are those of this host; a job may have fewer."
    outside, inside = text(of).split("\n"), system_text(of, of.name, "inside a job of Slurm", ENVIRONMENTS).split("\n")
    assert outside[outside.index(line) - 1] == doubt
    assert line in inside and doubt not in inside


def test_the_processor_is_written_as_spack_names_it_and_outside_a_job_only_named() -> None:
    tree = listing("dual-rail-hdr")
    tree.files["/proc/cpuinfo"] = (RECORDINGS / "linux-ubuntu20.04-zen3").read_text(encoding="utf-8")
    of = detect(tree)
    assert of.as_json()["microarchitecture"] == "zen3"
    inside = system_text(of, of.name, "inside a job of Slurm", ENVIRONMENTS)
    line = (
        "  hardware: {cores: 128, memory: 503G, threads_per_core: 1, sockets: 2, microarchitecture: zen3}  # 2 sockets"
    )
    assert line in inside and "This host is a zen3" not in inside
    assert "microarchitecture: zen3}" not in text(of)
    said = "  # This host is a zen3: if the nodes are too, add microarchitecture: zen3, and Spack builds for it."
    assert said in text(of).split("\n")
    assert system(of).processor is None


def test_hardware_that_was_not_read_is_to_be_stated() -> None:
    of = detect_listing("slurm-node")  # recorded before Railyard read this file
    assert system(of).nodes.hardware is None
    lines = text(of).split("\n")
    at = lines.index("  # hardware: {cores: 64, memory: 256G}")
    assert lines[at - 1] == (
        "  # Not read: how many cores and how much memory a node has. State it: HPL needs both, others the cores."
    )


def test_no_whole_nodes_are_asked_for_where_no_scheduler_gives_any() -> None:
    assert not system(detect_listing("no-rdma")).jobs.exclusive


def test_an_hpl_on_the_search_path_is_taken() -> None:
    tree = listing("dual-rail-hdr")
    tree.programs["xhpl"] = "/opt/hpl/bin/xhpl"
    assert system(detect(tree)).stacks["openmpi"].benchmarks["hpl"] == "/opt/hpl/bin/xhpl"


#: What two nodes at each of two leaf switches look like to scontrol, and its answer without a tree.
SWITCHES = "SwitchName=l1 Level=0 LinkSpeed=1 Nodes=vn[1-2]\nSwitchName=l2 Level=0 LinkSpeed=1 Nodes=vn[3-4]"
NONE = "No topology information available"


def with_switches(text_: str) -> DetectedCluster:
    tree = listing("slurm-node")
    tree.outputs["scontrol show topology"] = text_
    return detect(tree)


def test_the_switches_that_slurm_states_are_those_of_the_first_fabric(tmp_path: Path) -> None:
    of = with_switches(SWITCHES)
    first, *others = text(of).split("    rails:")
    assert "    topology: {slurm: railyard.topology}\n" in first
    assert "GUESSED: the switches that Slurm knows (4 nodes at 2 leaf switches or blocks) are taken" in first
    assert not any("topology" in other for other in others)
    loaded = write(tmp_path, Texts(of.name, text(of), references_text(of.name), switches_text(of)), replace=False)
    assert next(iter(load_system(loaded[0]).fabrics.values())).leaf_switches == {
        "l1": ("vn1", "vn2"),
        "l2": ("vn3", "vn4"),
    }
    assert (loaded[0].parent / "railyard.topology").read_text() == f"{SWITCHES}\n"


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        (NONE, None),
        (SWITCHES.split("\n")[0], None),
        (
            SWITCHES.replace("vn[3-4]", "vn[2-4]"),
            "vn2 is at l1 and at l2: if each rail has its own, say whose they are",
        ),
        (SWITCHES.replace("vn[3-4]", "vn3"), "3 nodes at leaf switches, and jobs have 4"),
        (SWITCHES.replace("vn[3-4]", "vn[4-3]"), "scontrol show topology:2: found Nodes=vn[4-3]: '4-3' does not rise"),
    ],
)
def test_switches_that_no_file_can_name_are_a_comment(said: str, doubt: str | None) -> None:
    of = with_switches(said)
    assert switches_text(of) == ""
    assert "topology: {" not in text(of)
    seen = "" if of.switches is None else of.switches.doubt or ""
    assert seen.startswith(doubt) if doubt else of.switches is None
    assert ("Not used: scontrol show topology says" in text(of)) is (doubt is not None)


def test_a_card_of_slingshot_10_is_told_by_the_name_of_its_interface() -> None:
    tree = listing("roce")
    for number, path in enumerate(path for path in tree.files if path.endswith("/gid_attrs/ndevs/0")):
        tree.files[path] = f"hsn{number}"
    of = detect(tree)
    assert [(one.name, one.first.kind, one.first.link) for one in of.fabrics[:1]] == [("hsn", "roce", "slingshot-10")]
    assert of.fabrics[0].doubts[0].startswith("Slingshot 10 is told by the name of the interface (hsn0)")
    assert system(of).fabrics["hsn"].link.headers == "rocev2"
