"""HPE MPT, formerly SGI's: its own library over InfiniBand. Never run by us, and its manual was not at hand."""

from collections.abc import Mapping

from railyard.stacks.model import MEMORIES, Knob, Launch, Setting, Spread, Stack, Way, silent

_SCRIPTS = "published job scripts: MITgcm (ECCO) with mpi-hpe/mpt on Pleiades, COSMO with mpt-2.17"
_VERSION = "MPT 2.17 to 2.23, from job scripts; never run"


def _mpi(name: str, value: str, why: str) -> Setting:
    return Setting(f"MPI_{name}", value, why, _VERSION, _SCRIPTS)


_UNKNOWN = "no documentation at hand names its variable for it"
_KNOBS: Mapping[str, Knob] = {"gid_index": _UNKNOWN, "traffic_class": _UNKNOWN, "service_level": _UNKNOWN}

_IB = Way(
    # No setting that names cards is known: it takes the first ones, and the counters show which.
    transport="MPT's own InfiniBand layer",
    settings=(_mpi("USE_IB", "1", "InfiniBand, instead of what the library finds by itself"),),
    spreads=(
        Spread("single", "one rail: nothing is split", (_mpi("IB_RAILS", "1", "only one card"),)),
        Spread(
            "striping",
            "messages go over both cards; no size from which one is split is known",
            (_mpi("IB_RAILS", "{rails}", "the number of cards; scripts have 2"),),
            max_rails=2,
        ),
    ),
    cannot={
        "round-robin": "only the number of its rails can be set (MPI_IB_RAILS): use striping.",
        "nic-per-rank": "only the number of its rails can be set (MPI_IB_RAILS): use striping.",
    },
    proof=silent("HPE MPT"),
    knobs=_KNOBS,
    memories=dict.fromkeys(MEMORIES, "no documentation at hand says that its messages can be in the memory of GPUs"),
)

MPT = Stack(
    title="HPE MPT",
    # "HPE MPT 2.23  08/26/20 02:54:49-root": github.com/JuliaParallel/MPI.jl lib/MPIPreferences
    version_pattern=r"^HPE H?MPT",
    told_apart="nothing else prints HPE MPT; releases with MPICH's ABI print HPE HMPT",
    sonames=("libmpi.so",),
    spack_package="hpe-mpi",
    module=r"(?:mpt|hpe-mpi|mpi-hpe)",
    # No documentation at hand names its own variable: MPT_MPI_RANK counts the ranks of all nodes.
    local_rank_variables=("SLURM_LOCALID",),
    launches=(
        Launch(
            since=2,
            program="mpirun",
            hosts=("{hosts}",),
            ranks=(),
            ranks_per_node=("{ranks_per_node}",),
            agent="its array services start the ranks, and take no remote agent",
            network="its array services choose the start-up network",
            share_cores=(),
            cores_a_rank=(),
            forward=(),
            version=_VERSION,
            source=f"{_SCRIPTS}; in a job of PBS it is mpiexec_mpt, which a system's file names as its site_launcher",
        ),
    ),
    # Nothing at hand says which protocol it speaks with srun: srun_mpi of the system's file states it.
    srun_mpi="none",
    ways={
        "tcp": "no documentation at hand says how its TCP is given an interface: use openmpi or mpich.",
        "ib": _IB,
        "roce": "no documentation at hand says that it carries messages over RoCE: use openmpi or mpich.",
        "opa": "how it chooses cards of Omni-Path (MPI_USE_OPA) is not documented at hand: use openmpi or intelmpi.",
        "slingshot": "it is the library of HPE's InfiniBand systems; on Slingshot use craympich.",
        "efa": "no documentation at hand says that it knows EFA: use openmpi or mpich.",
    },
    not_built="HPE distributes only its binaries: install it, or use the site's module",
    not_rehearsed="it was never run, so neither its launcher's options nor the cards that it takes are known for sure",
)

STACKS: Mapping[str, Stack] = {"mpt": MPT}
