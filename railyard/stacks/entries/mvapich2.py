"""MVAPICH2 (CH3, gen2): launcher and ways. It is the only stack here with all four rail policies."""

from collections.abc import Mapping

from railyard.stacks.entries.mpich import hydra
from railyard.stacks.model import Memories, Proof, Setting, Spread, Stack, VersionProgram, Way

_SOURCE = "github.com/kumattau/mvapich2 2.3.7 src/mpid/ch3/channels/mrail/src/gen2"
_GUIDE = "mvapich.cse.ohio-state.edu userguide MVAPICH2 2.3.7"
_VERSION = "2.3.7 source and user guide"

# The library's default is its buffer size, which differs by card. It is set explicitly so the verdict can rely on it.
STRIPING_FROM_BYTES = 16 * 1024
_NEVER_BYTES = 1 << 30
# Source: G. K. Lockwood, "Dual-Rail QDR as an Alternative to FDR Infiniband", 2013: the lowest value that was accepted.
_LEAST_BYTES = 8 * 1024


def _mv2(name: str, value: str, why: str, where: str = "ibv_param.c") -> Setting:
    return Setting(f"MV2_{name}", value, why, _VERSION, f"{_SOURCE}/{where}; {_GUIDE}")


_DEVICES = (
    _mv2("IBA_HCA", "{hcas}", "the cards, colons between them; without it all cards of the first one's kind"),
    _mv2("NUM_PORTS", "1", "rails per card: the library is built for one port (MAX_NUM_PORTS 1 in ibv_param.h)"),
    _mv2("DEFAULT_PORT", "{port}", "which port of each card"),
)


def _threshold(size_bytes: int | str, why: str) -> Setting:
    return _mv2("RAIL_SHARING_LARGE_MSG_THRESHOLD", str(size_bytes), why, "ibv_rndv.c")


_WHOLE = _threshold(_NEVER_BYTES, "no message up to 1 GiB is split")

_SPREADS = (
    Spread("single", "one rail: nothing is split"),
    Spread(
        "striping",
        "from 16 KiB one message goes over all rails (MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD is set to this)",
        (
            _threshold(
                STRIPING_FROM_BYTES, "messages above it are split evenly; the default is the card's buffer size"
            ),
            _mv2("RAIL_SHARING_POLICY", "FIXED_MAPPING", "shorter messages stay on the rank's own rail (the default)"),
        ),
        # "above": so the next power of two is the first that is split.
        threshold_bytes=2 * STRIPING_FROM_BYTES,
        max_rails=10,
        tunable=_threshold("{threshold}", "the size that was asked for: messages above it are split evenly"),
        least_bytes=_LEAST_BYTES,
        splits_above=True,
    ),
    Spread(
        "round-robin",
        "whole messages take the rails in turn up to 1 GiB",
        (_WHOLE, _mv2("RAIL_SHARING_POLICY", "ROUND_ROBIN", "the next rail for each message", "ibv_priv.c")),
        max_rails=10,
    ),
    Spread(
        "nic-per-rank",
        "each rank uses the card with its local rank's number, counted round, for all sizes up to 1 GiB",
        (
            _WHOLE,
            _mv2("RAIL_SHARING_POLICY", "FIXED_MAPPING", "each rank stays on its own rail", "ibv_priv.c"),
            _mv2("PROCESS_TO_RAIL_MAPPING", "SCATTER", "local rank modulo number of cards", "ibv_param.c"),
        ),
        max_rails=10,
    ),
)

_PROOF = Proof(
    (_mv2("SHOW_ENV_INFO", "2", "rank 0 prints all parameters as the library took them", "ibv_param.c"),),
    r"MV2_IBA_HCA +: .*\b{device}\b",
    "rank 0 prints its table of parameters with MV2_IBA_HCA, which is what it was given; only the counters prove what "
    "it used",
)

_NO_TRAFFIC_CLASS = "mvapich2 has no setting for it (only for a service level)"

_SERVICE_LEVEL = _mv2("DEFAULT_SERVICE_LEVEL", "{knob}", "the service level of all its queue pairs")
_GID = _mv2("DEFAULT_GID_INDEX", "{knob}", "which GID of the port: it decides RoCE v1 or v2 and the VLAN")

_GDR_GUIDE = "mvapich.cse.ohio-state.edu userguide gdr 2.3"
_GDR_VERSION = "documented for MVAPICH2-GDR 2.3, not tried"


def _to_memory(name: str, whose: str) -> tuple[Setting, ...]:
    why = f"off by default: messages in the memory of {whose} GPUs"
    return (Setting(f"MV2_USE_{name}", "1", why, _GDR_VERSION, _GDR_GUIDE),)


_MEMORIES: Memories = {"cuda": _to_memory("CUDA", "NVIDIA's"), "rocm": _to_memory("ROCM", "AMD's")}

_IB = Way(
    transport="ch3:mrail over verbs",
    settings=_DEVICES,
    spreads=_SPREADS,
    proof=_PROOF,
    knobs={"gid_index": _GID, "traffic_class": _NO_TRAFFIC_CLASS, "service_level": _SERVICE_LEVEL},
    memories=_MEMORIES,
)

_ROCE = Way(
    transport="ch3:mrail over RoCE",
    settings=(_mv2("USE_RoCE", "1", "addresses by GID: Ethernet has no LIDs"), *_DEVICES),
    spreads=_SPREADS,
    proof=_PROOF,
    knobs={"gid_index": _GID, "traffic_class": _NO_TRAFFIC_CLASS, "service_level": _SERVICE_LEVEL},
    memories=_MEMORIES,
)

MVAPICH2 = Stack(
    title="MVAPICH2 (CH3)",
    version_pattern=r"^MVAPICH2 Version",
    # MV2_SHOW_ENV_INFO: " MVAPICH2-2.3.7 Parameters"
    startup_pattern=r"^\s*MVAPICH2-[0-9]\S* Parameters",
    told_apart="MVAPICH 4 prints MVAPICH Version, without the 2",
    sonames=("libmpi.so.12", "libmpich.so.12"),
    spack_package="mvapich2",
    programs=(VersionProgram(("mpichversion",), r"^MVAPICH2 Version:\s+(\S+)"),),
    module=r"mvapich2(?:-gdr)?",
    local_rank_variables=("MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(
        hydra(
            2,
            "documented for 2.3.7",
            ("-bind-to", "none", "-genv", "MV2_ENABLE_AFFINITY", "0", "-genv", "MV2_USE_BLOCKING", "1"),
            _GUIDE,
            unbound=("-genv", "MV2_ENABLE_AFFINITY", "0"),
        ),
    ),
    srun_mpi="pmi2",
    own_pinning={"MV2_ENABLE_AFFINITY": "0"},
    rehearsed_as="mvapich2",
    ways={
        "tcp": "the gen2 build (verbs) has no TCP transport, and the separate TCP build has no rails: use "
        "openmpi or mpich.",
        "ib": _IB,
        "roce": _ROCE,
        "opa": "Omni-Path needs mvapich2's PSM2 build, which has none of its rail settings: use openmpi or intelmpi.",
        "slingshot": "mvapich2 (CH3) speaks verbs and has no provider for Slingshot 11: use mvapich.",
        "efa": "EFA needs a separate build (MVAPICH2-X-AWS): use openmpi or mpich.",
    },
)

STACKS: Mapping[str, Stack] = {"mvapich2": MVAPICH2}
