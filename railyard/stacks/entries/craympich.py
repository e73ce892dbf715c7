"""HPE Cray MPICH: launcher and ways. On Slingshot 11 each rank has one NIC. Systems with UCX use other modules."""

from collections.abc import Mapping

from railyard.stacks import ofi, ucx
from railyard.stacks.model import MEMORIES, Launch, Memories, Proof, Setting, Spread, Stack, Way

_MAN = "cpe.ext.hpe.com docs mpt/mpich/intro_mpi"
_VERSION = "documented for 8.1 and 9.0"

_ONE_NIC = "Cray MPICH gives each rank exactly one NIC and never splits a message: use nic-per-rank."

_PROOF = Proof(
    (Setting("MPICH_OFI_NIC_VERBOSE", "2", "prints the NIC that each rank selected", _VERSION, _MAN),),
    r"selected NIC index=\d+, domain_name={device}\b",
    "each rank prints `PE 3: Host nid005187 selected NIC index=1, domain_name=cxi1, numa_node=1, …`",
)


def _nics(number: str, why: str) -> Setting:
    return Setting("MPICH_OFI_NUM_NICS", number, why, _VERSION, _MAN)


_GPU_SUPPORT = (
    Setting(
        "MPICH_GPU_SUPPORT_ENABLED",
        "1",
        "off by default, and a message in a GPU's memory would crash; the program must be linked to the GTL library",
        f"{_VERSION}, not tried",
        _MAN,
    ),
)
_MEMORIES: Memories = dict.fromkeys(MEMORIES, _GPU_SUPPORT)

_SLINGSHOT = Way(
    transport="OFI cxi",
    settings=(ofi.CXI_DEVICES,),
    spreads=(
        Spread("single", "one rail: nothing is split", (_nics("1", "one NIC per node"),)),
        Spread(
            "nic-per-rank",
            "each rank uses one NIC for all sizes, local rank i the NIC i modulo their number",
            (
                _nics("{rails}", "number of NICs per node (default: all)"),
                Setting(
                    "MPICH_OFI_NIC_POLICY",
                    "ROUND-ROBIN",
                    "ranks get the NICs in turn; BLOCK, the default, would put two neighbours on one",
                    _VERSION,
                    _MAN,
                ),
            ),
        ),
    ),
    cannot={"striping": _ONE_NIC, "round-robin": _ONE_NIC},
    proof=_PROOF,
    knobs={
        **ofi.KNOBS["cxi"],
        "traffic_class": "Cray MPICH takes a class by name (MPICH_OFI_DEFAULT_TCLASS=TC_BEST_EFFORT), not by number",
    },
    memories=_MEMORIES,
)

_UCX = Way(
    transport="UCX netmod (modules craype-network-ucx and cray-mpich-ucx)",
    settings=ucx.RDMA,
    spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(())),
    cannot={"round-robin": ucx.NO_ROUND_ROBIN},
    proof=ucx.PROOF,
    knobs=ucx.RDMA_KNOBS,
    memories={memory: (*ucx.to_memory(memory), *_GPU_SUPPORT) for memory in MEMORIES},
)

CRAYMPICH = Stack(
    title="HPE Cray MPICH",
    version_pattern=r"^MPI VERSION +: CRAY MPICH version",
    told_apart="nothing else prints CRAY MPICH",
    errors_of=("mpich", "ucx"),
    sonames=("libmpi_*.so.12", "libmpi.so.12"),
    spack_package="cray-mpich",
    module=r"cray-mpich",
    local_rank_variables=("PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"),
    launches=(
        Launch(
            since=8,
            program="mpiexec",
            hosts=("--hosts", "{hosts}"),
            ranks=("-n", "{ranks}"),
            ranks_per_node=("--ppn", "{ranks_per_node}"),
            agent="PALS starts ranks through its own daemons and takes no remote agent",
            network="PALS takes its network from the site's configuration, not from the command line",
            share_cores=("--cpu-bind", "none"),
            cores_a_rank=("--depth", "{cores}", "--cpu-bind", "depth"),
            forward=("--env", "{name}={value}"),
            each_node=("--ppn", "{ranks_per_node}"),
            version=_VERSION,
            source="cpe.ext.hpe.com docs pals mpiexec(1)",
        ),
    ),
    srun_mpi="cray_shasta",
    rehearsed_as="craympich",
    ways={
        "tcp": "Cray MPICH is built for Slingshot and InfiniBand (cxi, verbs, UCX), not for TCP: use openmpi or mpich.",
        "ib": _UCX,
        "roce": _UCX,
        "opa": "Cray MPICH's man page names no transport for Omni-Path: use openmpi or intelmpi.",
        "slingshot": _SLINGSHOT,
        "efa": "Cray MPICH's man page names no transport for EFA: use openmpi, mpich or intelmpi.",
    },
)

STACKS: Mapping[str, Stack] = {"craympich": CRAYMPICH}
