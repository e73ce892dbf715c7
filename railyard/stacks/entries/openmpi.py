"""Open MPI, and NVIDIA's HPC-X, which is Open MPI with UCX and HCOLL: launcher and ways."""

from collections.abc import Mapping

from railyard.stacks import ofi, psm, ucx
from railyard.stacks.model import Launch, Proof, Setting, Spread, Stack, VersionProgram, Way

_TCP_BTL = "github.com/open-mpi/ompi v4.1.4 opal/mca/btl/tcp/btl_tcp_component.c"
_TCP_DOCS = "docs.open-mpi.org v5.0.x tuning-apps/networking/tcp"
_OFI_DOCS = "docs.open-mpi.org v5.0.x tuning-apps/networking/ofi"
_IB_DOCS = "docs.open-mpi.org v5.0.x tuning-apps/networking/ib-and-roce"

# ob1 sends messages up to btl_tcp_eager_limit (64 KiB) whole, over the rails in turn. The first 64 KiB of a longer
# message go over one rail. The rest is split only if it is itself longer than that limit: above 128 KiB in total.
# Two rails of 47.8 MB/s in a ping-pong (NetPIPE): 59 MB/s at 128 KiB, 93 MB/s at 256 KiB, the next power of two.
TCP_STRIPING_FROM_BYTES = 1 << 18

_BIND_NUMA = ("--map-by", "numa", "--bind-to", "numa")
# By default, 4.1.4 binds each of one or two ranks to a single core, which all its threads then share.
_CORES_A_RANK = ("--map-by", "slot:PE={cores}", "--bind-to", "core")
# A list of hosts with their slots would do it too, but in a job of PBS it must not replace the job's own list: PBS
# starts a process by the number of its line.
_EACH_NODE = ("--map-by", "ppr:{ranks_per_node}:node")


def _mca(name: str, value: str, why: str, version: str, source: str) -> Setting:
    """Return an MCA parameter as the variable that both mpirun and srun pass to the ranks."""
    return Setting(f"OMPI_MCA_{name}", value, why, version, source)


_TCP = Way(
    transport="ob1 over btl/tcp",
    settings=(
        _mca(
            "pml",
            "ob1",
            "without it pml/ucx may be selected and choose its own devices",
            "4.1.4 and 5.0.11, tried",
            "docs.open-mpi.org v5.0.x mca",
        ),
        _mca("btl", "tcp,self", "only TCP between processes", "4.1.4 and 5.0.11, tried", _TCP_DOCS),
        _mca(
            "osc",
            "^ucx",
            "one-sided windows take the same way; if osc/ucx is built in, it is selected and MPI_Win_allocate fails",
            "4.1.4, tried: invalid window without it",
            "docs.open-mpi.org v5.0.x mca",
        ),
        _mca(
            "btl_tcp_if_include",
            "{devices}",
            "the rails; without it all interfaces that are up, including the management network",
            "4.1.4 and 5.0.11, tried: bytes 92.4/92.4 MB over two rails, 0.0 over management",
            _TCP_DOCS,
        ),
    ),
    spreads=(
        Spread("single", "one rail: nothing is split"),
        Spread(
            "striping",
            "from 256 KiB one message goes over all rails, in proportion to btl_tcp_bandwidth_DEVICE; up to 64 KiB "
            "each message goes whole over one rail, in theory in turn: with NPB, 4.1.4 sent all of them over one rail",
            threshold_bytes=TCP_STRIPING_FROM_BYTES,
        ),
    ),
    cannot={
        "round-robin": "ob1 takes the rails in turn only for messages up to btl_tcp_eager_limit, and splits longer "
        "ones. It has no setting for that: use striping.",
        "nic-per-rank": "every rank of Open MPI's btl/tcp opens all interfaces of the list: use striping.",
    },
    proof=Proof(
        (
            _mca(
                "btl_base_verbose",
                "30",
                "prints the interfaces that btl/tcp opens",
                "4.1.4, tried",
                f"{_TCP_BTL}; the same words in v5.0.9",
            ),
        ),
        r"btl: ?tcp: Using interface: {device}\s",
        "each process prints `btl: tcp: Using interface: hsn0` for each interface that it opens; only the counters "
        "prove that messages went there",
    ),
    knobs=ucx.TCP_KNOBS,
    memories=ucx.NO_MEMORY_OVER_TCP,
)


_PML_UCX = _mca(
    "pml",
    "ucx",
    "UCX carries InfiniBand and RoCE; the openib BTL of 4.x refuses them unless allowed, and 5 no longer has it",
    "documented for 4.1 and 5.0",
    _IB_DOCS,
)

_RDMA = Way(
    transport="pml/ucx",
    settings=(_PML_UCX, *ucx.RDMA),
    spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(_BIND_NUMA)),
    cannot={"round-robin": ucx.NO_ROUND_ROBIN},
    proof=ucx.PROOF,
    knobs=ucx.RDMA_KNOBS,
    memories=ucx.RDMA_MEMORIES,
)


def _mtl_ofi(provider: str) -> tuple[Setting, ...]:
    return (
        _mca("pml", "cm", "the matching layer over Libfabric", "documented for 4.1 and 5.0", _OFI_DOCS),
        _mca("mtl", "ofi", "the matching layer over Libfabric", "documented for 4.1 and 5.0", _OFI_DOCS),
        _mca(
            "mtl_ofi_provider_include",
            provider,
            "this provider or none: if it is missing, tcp must not replace it",
            "documented for 4.1 and 5.0",
            _OFI_DOCS,
        ),
    )


_SELECTS_NEAREST = (
    "each rank opens one domain: the one that it is given, or the nearest of a whole list; ranks that are equally near "
    "take them in turn"
)
_ONE_DOMAIN = "mtl/ofi opens one Libfabric domain per process and never splits a message: use nic-per-rank."


# A build with CUDA finds out by itself in whose memory a message is, and Libfabric registers it (FI_HMEM).
_ROCM_OVER_OFI = (
    "Open MPI takes messages from the memory of AMD's GPUs over Libfabric from 6.0 on "
    "(docs.open-mpi.org v6.0.x tuning-apps/accelerators/rocm): use craympich or mpich"
)


def _ofi_way(provider: str, transport: str, devices: Setting) -> Way:
    return Way(
        transport=transport,
        settings=(*_mtl_ofi(provider), devices),
        spreads=(
            Spread("single", "one rail: nothing is split"),
            Spread("nic-per-rank", _SELECTS_NEAREST, options=_BIND_NUMA, rank_variable=devices.name),
        ),
        cannot={"striping": _ONE_DOMAIN, "round-robin": _ONE_DOMAIN},
        proof=ofi.PROVIDER_PROOF[provider],
        knobs=ofi.KNOBS[provider],
        memories={"cuda": (), "rocm": _ROCM_OVER_OFI},
    )


# "mpirun (Open MPI) 4.1.4"; Debian's 4.1.4 says "mpirun.openmpi (OpenRTE) 4.1.4".
_ANSWER = r"^\S*mpi(?:run|exec)\S* \((?:Open MPI|OpenRTE)\) (?P<version>\S+)"

# Inside a scheduler's job the hosts of one -H are used in the order of the job (4.1.4 under Slurm's variables, as
# --display-map shows), but those of "-H b:1 -np 1 … : -H a:1 -np 1 …" in the order of the command.
_BETWEEN = ":"

OPENMPI_LAUNCHES = (
    Launch(
        since=4,
        program="mpirun",
        hosts=("-H", "{host_slots}"),
        ranks=("-np", "{ranks}"),
        # The slots of each host say it. A second --map-by beside the one that binds to NUMA nodes would be refused.
        ranks_per_node=(),
        agent=("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "{agent}"),
        network=("--mca", "oob_tcp_if_include", "{network}"),
        share_cores=("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"),
        cores_a_rank=_CORES_A_RANK,
        forward=("-x", "{name}={value}"),
        version="4.1.4, tried",
        source="www.open-mpi.org doc/v4.1/man1/mpirun.1",
        answer=_ANSWER,
        between=_BETWEEN,
        each_node=_EACH_NODE,
    ),
    Launch(
        since=5,
        program="mpirun",
        hosts=("-H", "{host_slots}"),
        ranks=("-np", "{ranks}"),
        ranks_per_node=(),
        # PRRTE calls the component ssh, and has no plm_rsh_agent.
        agent=("--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", "{agent}"),
        network=("--prtemca", "oob_tcp_if_include", "{network}"),
        share_cores=("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"),
        cores_a_rank=_CORES_A_RANK,
        forward=("-x", "{name}={value}"),
        version="5.0.11, tried",
        source="docs.open-mpi.org v5.0.x man-openmpi/man1/mpirun.1; github.com/openpmix/prrte src/mca/plm/ssh",
        answer=_ANSWER,
        between=_BETWEEN,
        each_node=_EACH_NODE,
    ),
)

ROOT_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

OPENMPI = Stack(
    title="Open MPI",
    version_pattern=r"^Open MPI v",
    told_apart="HPC-X prints the same first words, but its prefix contains HPC-X (HPCX_MPI_DIR), and this one does not",
    errors_of=("openmpi", "ucx"),
    sonames=("libmpi.so.40",),
    spack_package="openmpi",
    programs=(VersionProgram(("ompi_info",), r"^Open MPI v(\S+)", ("--version",)),),
    module=r"openmpi(?:-x86_64)?",
    local_rank_variables=("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"),
    launches=OPENMPI_LAUNCHES,
    srun_mpi="pmix",
    root_env=ROOT_ENV,
    rehearsed_as="openmpi",
    ways={
        "tcp": _TCP,
        "ib": _RDMA,
        "roce": _RDMA,
        "opa": Way(
            transport="mtl/psm2",
            settings=(
                _mca("pml", "cm", "the matching layer over PSM2", "documented for 4.1 and 5.0", _OFI_DOCS),
                _mca("mtl", "psm2", "PSM2 drives Omni-Path's cards", "documented for 4.1 and 5.0", _OFI_DOCS),
            ),
            spreads=(psm.PSM2_SINGLE, psm.PSM2_STRIPING),
            cannot={"round-robin": psm.PSM2_NO_ROUND_ROBIN, "nic-per-rank": psm.PSM2_NO_NIC_PER_RANK},
            proof=psm.PSM2_PROOF,
            knobs=psm.PSM2_KNOBS,
            memories=psm.NO_MEMORIES,
        ),
        "slingshot": _ofi_way("cxi", "mtl/ofi over cxi", ofi.CXI_DEVICES),
        "efa": _ofi_way("efa", "mtl/ofi over efa", ofi.EFA_DEVICES),
    },
)

_HPCX_DOCS = "docs.nvidia.com networking display hpcxv223"
_NO_HCOLL = _mca(
    "coll_hcoll_enable",
    "0",
    "HCOLL chooses its own device (HCOLL_MAIN_IB), and the path proof would see it as a rail that was not intended",
    "documented for HPC-X 2.13 to 2.21",
    "docs.nvidia.com networking display hpcxv2212lts/HCOLL; github.com/open-mpi/ompi v5.0.9 ompi/mca/coll/hcoll",
)
_NOT_NVIDIA = "HPC-X carries messages only over UCX, which has no transport for this fabric: use openmpi."

HPCX = Stack(
    title="NVIDIA HPC-X (Open MPI with UCX and HCOLL)",
    version_pattern=r"^Open MPI v",
    told_apart="it prints Open MPI's own words, but its prefix contains HPC-X (HPCX_MPI_DIR)",
    errors_of=("openmpi", "ucx"),
    sonames=("libmpi.so.40",),
    spack_package="hpcx-mpi",
    programs=(VersionProgram(("ompi_info",), r"^Open MPI v(\S+)", ("--version",), within="hpcx"),),
    module=r"hpcx(?:-ompi|-mt-ompi)?",
    local_rank_variables=("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"),
    launches=OPENMPI_LAUNCHES,
    srun_mpi="pmix",
    root_env=ROOT_ENV,
    rehearsed_as="openmpi",
    ways={
        "tcp": Way(
            transport="pml/ucx over tcp",
            settings=(
                _mca("pml", "ucx", "HPC-X's own default", "5.0.11 with pml/ucx, tried", f"{_HPCX_DOCS}/UCX library"),
                _mca(
                    "pml_ucx_tls",
                    "any",
                    "pml/ucx steps back if UCX finds no RDMA transport, unless any transport is allowed",
                    "4.1.4 and 5.0.11, tried",
                    "github.com/open-mpi/ompi opal/mca/common/ucx/common_ucx.c",
                ),
                _mca(
                    "pml_ucx_devices",
                    "any",
                    "the same for devices, whose default is mlx*",
                    "4.1.4 and 5.0.11, tried",
                    "github.com/open-mpi/ompi opal/mca/common/ucx/common_ucx.c",
                ),
                _NO_HCOLL,
                *ucx.TCP,
            ),
            spreads=(ucx.SINGLE, ucx.TCP_STRIPING),
            cannot={"round-robin": ucx.NO_ROUND_ROBIN, "nic-per-rank": ucx.NO_TCP_NIC_PER_RANK},
            proof=ucx.PROOF,
            knobs=ucx.TCP_KNOBS,
            memories=ucx.NO_MEMORY_OVER_TCP,
        ),
        "ib": Way(
            transport="pml/ucx",
            settings=(_PML_UCX, _NO_HCOLL, *ucx.RDMA),
            spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(_BIND_NUMA)),
            cannot={"round-robin": ucx.NO_ROUND_ROBIN},
            proof=ucx.PROOF,
            knobs=ucx.RDMA_KNOBS,
            memories=ucx.RDMA_MEMORIES,
        ),
        "roce": Way(
            transport="pml/ucx",
            settings=(_PML_UCX, _NO_HCOLL, *ucx.RDMA),
            spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(_BIND_NUMA)),
            cannot={"round-robin": ucx.NO_ROUND_ROBIN},
            proof=ucx.PROOF,
            knobs=ucx.RDMA_KNOBS,
            memories=ucx.RDMA_MEMORIES,
        ),
        "opa": _NOT_NVIDIA,
        "slingshot": _NOT_NVIDIA,
        "efa": "HPC-X is built and supported for NVIDIA adapters: use openmpi.",
    },
)

STACKS: Mapping[str, Stack] = {"openmpi": OPENMPI, "hpcx": HPCX}
