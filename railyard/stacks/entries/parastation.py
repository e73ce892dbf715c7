"""ParaStation MPI: MPICH above ParTec's own layer (pscom), whose plugins speak UCX or PSM2. Never run by us."""

from collections.abc import Mapping

from railyard.stacks import psm, ucx
from railyard.stacks.entries.mpich import hydra
from railyard.stacks.model import Memories, Proof, Setting, Stack, Way

_VERSION = "documented for ParaStation MPI 5.13 and pscom of January 2026, never run"
_PSCOM = "github.com/ParaStation/pscom doc/antora/modules/ROOT/pages/runtime-config.adoc"
_PSMPI = "github.com/ParaStation/psmpi doc/antora/modules/ROOT/pages/runtime-parameters.adoc"


def _psp(name: str, value: str, why: str, source: str = f"{_PSCOM}, Customizing plugin priority") -> Setting:
    return Setting(f"PSP_{name}", value, why, _VERSION, source)


_NO_TCP = _psp("TCP", "0", "no fallback to TCP: 0 switches a plugin off, and TCP is the last that is tried")
_CONNECTIONS = _psp("DEBUG_CONTYPE", "1", "prints by which plugin each connection goes", f"{_PSCOM}, Debug options")

_MEMORIES: Memories = {
    "cuda": (
        *ucx.to_memory("cuda"),
        _psp("CUDA", "1", "messages in the memory of NVIDIA's GPUs; off by default", f"{_PSMPI}, Feature Activation"),
    ),
    "rocm": "the options of ParaStation MPI name only CUDA, and nothing for the memory of AMD's GPUs",
}

_UCX = Way(
    transport="pscom4ucp over UCX",
    settings=(
        _psp("UCP", "2", "the plugin for UCX before all others"),
        _psp("OPENIB", "0", "pscom's own verbs plugin takes only one card, and must not replace UCX"),
        _NO_TCP,
        *ucx.RDMA,
    ),
    spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(())),
    cannot={"round-robin": ucx.NO_ROUND_ROBIN},
    proof=Proof(
        (_CONNECTIONS, *ucx.PROOF.settings),
        ucx.PROOF.pattern,
        "pscom prints `CONNECT … via ucp` for each connection, and UCX, which it uses, `inter-node cfg#1 …` with the "
        "devices; the second was not seen with pscom",
    ),
    knobs=ucx.RDMA_KNOBS,
    memories=_MEMORIES,
)

_PSM2 = Way(
    transport="pscom4psm over PSM2",
    settings=(_psp("PSM", "2", "the plugin for Omni-Path before all others"), _NO_TCP),
    spreads=(psm.PSM2_SINGLE, psm.PSM2_STRIPING),
    cannot={"round-robin": psm.PSM2_NO_ROUND_ROBIN, "nic-per-rank": psm.PSM2_NO_NIC_PER_RANK},
    proof=psm.PSM2_PROOF,
    knobs=psm.PSM2_KNOBS,
    memories=psm.NO_MEMORIES,
)

PARASTATION = Stack(
    title="ParaStation MPI",
    # github.com/ParaStation/psmpi mpich2/src/mpid/psp/include/mpidpre.h, MPID_DEV_VERSION_STRING
    version_pattern=r"^=== ParaStation MPI",
    told_apart="MPICH's own lines follow it",
    also_prints=("mpich",),
    errors_of=("mpich", "ucx"),
    sonames=("libmpi.so.12",),
    spack_package="psmpi",
    module=r"(?:psmpi|ParaStationMPI)",
    local_rank_variables=("MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(
        hydra(
            5, _VERSION, source="github.com/ParaStation/psmpi doc/antora/modules/ROOT/pages/requirements.adoc (Hydra)"
        ),
    ),
    # anaconda.org/conda-forge/psmpi; a site with ParaStation Management has plugins of its own: srun_mpi states them.
    srun_mpi="pmix",
    ways={
        "tcp": "pscom4tcp takes a network's address (PSP_NETWORK), and a rail has only a device's name: use mpich.",
        "ib": _UCX,
        "roce": _UCX,
        "opa": _PSM2,
        "slingshot": "pscom's options name no plugin for Slingshot: use craympich or mpich.",
        "efa": "pscom's options name no plugin for EFA: use openmpi or mpich.",
    },
    not_built="it was never built by us: install it, or use the site's module",
    not_rehearsed="it was never run, and how pscom chooses among its plugins by default is not known for sure",
)

STACKS: Mapping[str, Stack] = {"parastation": PARASTATION}
