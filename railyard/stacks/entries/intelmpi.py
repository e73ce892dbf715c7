"""Intel MPI: launcher and ways. Its Libfabric providers differ in how they can use several rails."""

from collections.abc import Mapping

from railyard.stacks import ofi, psm, ucx
from railyard.stacks.model import Launch, Memories, Proof, Setting, Spread, Stack, VersionProgram, Way

_REFERENCE = "Intel MPI Library Developer Reference for Linux 2021"
_GUIDE = "Intel MPI Library Developer Guide for Linux 2021"
_TRIED = "2021.18.1, tried"

_FABRICS = Setting(
    "I_MPI_FABRICS",
    "ofi",
    "only Libfabric: ranks on the same node also use the fabric that is measured",
    _TRIED,
    f"{_REFERENCE}, Communication Fabrics Control",
)


def _provider(name: str, version: str = _TRIED) -> Setting:
    return Setting(
        "I_MPI_OFI_PROVIDER",
        name,
        "this provider or none",
        version,
        f"{_REFERENCE}, OFI-capable Network Fabrics Control",
    )


_DEBUG = Setting(
    "I_MPI_DEBUG",
    "3",
    "prints provider and NIC pinning",
    _TRIED,
    f"{_REFERENCE}, Other Environment Variables; NIC Pinning",
)


def _provider_proof(name: str) -> Proof:
    return Proof(
        (_DEBUG,),
        rf"MPI startup\(\): libfabric provider: {name}\b",
        f"rank 0 prints `MPI startup(): libfabric provider: {name}`; it does not name the devices; only the counters "
        "prove which ones",
    )


_TCP = Way(
    transport="OFI tcp (one rail) or PSM3 over sockets (several)",
    settings=(_FABRICS,),
    spreads=(
        Spread(
            "single",
            "one rail: nothing is split",
            (
                _provider("tcp"),
                Setting(
                    "FI_TCP_IFACE",
                    "{devices}",
                    "the interface; of two in a list it silently uses one",
                    _TRIED,
                    f"{_GUIDE}, OFI Providers Support; ofiwg.github.io/libfabric fi_tcp(7)",
                ),
            ),
        ),
        psm.psm3_round_robin("sockets", _provider("psm3")),
        # Not with I_MPI_MULTIRAIL, which sees one NIC on tcp.
        psm.psm3_nic_per_rank("sockets", _provider("psm3")),
    ),
    cannot={
        "striping": "Intel MPI over OFI tcp takes two interfaces and silently uses one. PSM3 over sockets uses both "
        "but sends whole messages in turn: use round-robin.",
    },
    proof=_provider_proof("tcp"),
    knobs=ucx.TCP_KNOBS,
    memories=ucx.NO_MEMORY_OVER_TCP,
)

_GPU_SUPPORT = f"{_REFERENCE}, GPU Support"
_GPU_VERSION = "documented for 2021.16, not tried"
_MLX = "documented for 2019 Update 6 to 2021.18 (from 2021.19 the provider is ucx)"
_MULTIRAIL = Setting(
    "I_MPI_MULTIRAIL",
    "1",
    "each rank gets a NIC of the list, the nearest first",
    "documented for 2021.12 to 2021.15",
    f"{_REFERENCE}, NIC Pinning",
)
_NIC_PINNING = Proof(
    (_DEBUG,),
    r"MPI startup\(\): Number of NICs: +{rails}\b",
    "rank 0 prints `MPI startup(): Number of NICs: 2` and a table of the NIC that each rank is pinned to",
)
_NIC_PER_RANK = Spread(
    "nic-per-rank",
    "each rank uses one NIC for all sizes (NIC pinning)",
    (_MULTIRAIL,),
    proof=_NIC_PINNING,
)

_OFFLOAD = (
    Setting("I_MPI_OFFLOAD", "1", "off by default: messages in a GPU's memory", _GPU_VERSION, _GPU_SUPPORT),
    Setting("I_MPI_OFFLOAD_MODE", "cuda", "NVIDIA's GPUs, not what it finds by itself", _GPU_VERSION, _GPU_SUPPORT),
)
_NO_ROCM = "Intel MPI takes messages only from the memory of Intel's and NVIDIA's GPUs (its reference, GPU Support)"
_MEMORIES: Memories = {"cuda": (*_OFFLOAD, *ucx.to_memory("cuda")), "rocm": _NO_ROCM}

_IB = Way(
    transport="OFI mlx (UCX)",
    settings=(_FABRICS, _provider("mlx", _MLX), *ucx.RDMA),
    spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, _NIC_PER_RANK),
    cannot={"round-robin": ucx.NO_ROUND_ROBIN},
    proof=ucx.PROOF,
    knobs=ucx.RDMA_KNOBS,
    memories=_MEMORIES,
)

# RoCE differs in round robin: with two soft-RoCE rails of 40 Mbit/s, PSM3 over verbs went from 38.9 to 75.1 Mbit/s.
_MLX_LINES = (_provider("mlx", _MLX), *ucx.RDMA)
_ROCE = Way(
    transport="OFI mlx (UCX), or PSM3 over verbs for round robin",
    settings=(_FABRICS,),
    spreads=(
        Spread("single", ucx.SINGLE.threshold, (*_MLX_LINES, *ucx.SINGLE.settings)),
        Spread(
            "striping",
            ucx.RDMA_STRIPING.threshold,
            (*_MLX_LINES, *ucx.RDMA_STRIPING.settings),
            ucx.RDMA_STRIPING.threshold_bytes,
            max_rails=ucx.MAX_RAILS,
        ),
        psm.psm3_round_robin("verbs", _provider("psm3")),
        Spread("nic-per-rank", _NIC_PER_RANK.threshold, (*_MLX_LINES, _MULTIRAIL), proof=_NIC_PINNING),
    ),
    proof=ucx.PROOF,
    knobs=ucx.RDMA_KNOBS,
    memories=_MEMORIES,
)

_EFA_ONE = "Intel MPI pins each rank to one EFA device and never splits a message over several: use nic-per-rank."

INTELMPI = Stack(
    title="Intel MPI",
    version_pattern=r"^Intel\(R\) MPI Library",
    # I_MPI_DEBUG: "[0] MPI startup(): Intel(R) MPI Library, Version 2021.4  Build …", "[0] MPI startup(): libfabric …"
    startup_pattern=r"^\[[0-9]+\] MPI startup\(\): ",
    told_apart="no other library begins like this",
    errors_of=("mpich", "ucx"),
    sonames=("libmpi.so.12",),
    spack_package="intel-oneapi-mpi",
    families=("x86_64",),  # Intel ships it only for its own processors: Spack's recipe demands target=x86_64:
    programs=(VersionProgram(("mpirun",), r"Intel\(R\) MPI Library[^\n]*Version ([0-9][\w.]*)", ("--version",)),),
    module=r"(?:impi|intel-?mpi|intel-oneapi-mpi)",
    local_rank_variables=("MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(
        Launch(
            since=2021,
            program="mpiexec.hydra",
            # In a job of Grid Engine 2021.18 takes no notice of -ppn with -hosts: two ranks for two hosts were both on
            # the first one. With a number at each host they are where they should be.
            hosts=("-hosts", "{host_slots}"),
            ranks=("-n", "{ranks}"),
            ranks_per_node=("-ppn", "{ranks_per_node}"),
            agent=("-launcher", "ssh", "-launcher-exec", "{agent}"),
            network=("-iface", "{network}"),
            share_cores=("-genv", "I_MPI_PIN", "0"),
            # An 8 B allreduce of 4 ranks on 2 cores takes 8000 us at I_MPI_THREAD_YIELD 0 and 1, 8 at 2, 120 at 3. But
            # beside an endless loop on each of 2 cores, a message of 1 B between 2 ranks takes 500 us at 2 in every
            # second run, and 10 to 16 us at 0.
            give_cores=("-genv", "I_MPI_THREAD_YIELD", "2"),
            # One domain per rank: the node's logical processors divided by its ranks. A number would count logical
            # processors too: two per core with SMT. And with omp or 2, 2021.18 gave two ranks the same two processors.
            cores_a_rank=("-genv", "I_MPI_PIN_DOMAIN", "auto:compact"),
            forward=("-genv", "{name}", "{value}"),
            version=_TRIED,
            source=f"{_REFERENCE}, Global Hydra Options",
            answer=r"^Intel\(R\) MPI Library for Linux\* OS, Version (?P<version>\S+)",
            each_node=("-ppn", "{ranks_per_node}"),
            # In a job of OpenPBS with 16 slots on each of two nodes, 2021.18 otherwise ignores -ppn 1 and starts both
            # ranks on the first node; MPICH's Hydra obeys -ppn there.
            each_node_env={"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "off"},
        ),
    ),
    srun_mpi="pmi2",
    own_pinning={"I_MPI_PIN": "0"},
    rehearsed_as="intelmpi",
    ways={
        "tcp": _TCP,
        "ib": _IB,
        "roce": _ROCE,
        "opa": Way(
            transport="OFI psm2",
            settings=(_FABRICS, _provider("psm2", "documented to 2021.18 (2021.19 no longer brings PSM2)")),
            spreads=(psm.PSM2_SINGLE, psm.PSM2_STRIPING),
            cannot={"round-robin": psm.PSM2_NO_ROUND_ROBIN, "nic-per-rank": psm.PSM2_NO_NIC_PER_RANK},
            proof=_provider_proof("psm2"),
            knobs=psm.PSM2_KNOBS,
            memories=psm.NO_MEMORIES,
        ),
        "slingshot": "Intel MPI has no cxi provider, and its guide (OFI Providers Support) names none: use "
        "craympich, openmpi or mpich.",
        "efa": Way(
            transport="OFI efa",
            settings=(
                _FABRICS,
                _provider("efa", f"documented; the provider comes from AWS ({_GUIDE})"),
                ofi.EFA_DEVICES,
            ),
            spreads=(Spread("single", "one rail: nothing is split"), _NIC_PER_RANK),
            cannot={"striping": _EFA_ONE, "round-robin": _EFA_ONE},
            proof=_provider_proof("efa"),
            knobs=ofi.KNOBS["efa"],
            memories={"cuda": _OFFLOAD, "rocm": _NO_ROCM},
        ),
    },
)

STACKS: Mapping[str, Stack] = {"intelmpi": INTELMPI}
