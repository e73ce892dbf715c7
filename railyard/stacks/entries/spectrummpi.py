"""IBM Spectrum MPI: Open MPI with IBM's own layer (PAMI) over InfiniBand. Never run by us."""

from collections.abc import Mapping

from railyard.stacks.model import MEMORIES, Knob, Launch, Setting, Spread, Stack, Way, silent

_GUIDE = "docs.olcf.ornl.gov systems/summit_user_guide, Spectrum MPI tunings needed for maximum bandwidth"
_IBM = "www.ibm.com/docs/en/SSZTET_EOS/eos/guide_101.pdf, IBM Spectrum MPI 10.1 User's Guide"
_VERSION = "documented for 10.1 to 10.4, never run"


def _pami(name: str, value: str, why: str) -> Setting:
    return Setting(f"PAMI_{name}", value, why, _VERSION, _GUIDE)


_UNKNOWN = "no documentation at hand names PAMI's variable for it"
_KNOBS: Mapping[str, Knob] = {
    "gid_index": _UNKNOWN,
    "traffic_class": _UNKNOWN,
    "service_level": _UNKNOWN,
}

_PAMI = Way(
    transport="PAMI over verbs",
    settings=(
        _pami("IBV_ADAPTER_AFFINITY", "1", "ranks of the first socket take the first list of cards, others the second"),
        _pami("IBV_DEVICE_NAME", "{ports}", "cards and ports (mlx5_0:1) for ranks of the first socket"),
        _pami("IBV_DEVICE_NAME_1", "{ports}", "the same cards for ranks of the second socket"),
    ),
    spreads=(
        Spread("single", "one rail: nothing is split", (_pami("ENABLE_STRIPING", "0", "one card for a message"),)),
        Spread(
            "striping",
            "one message goes over all cards of the list; the guide states no size from which it does",
            (_pami("ENABLE_STRIPING", "1", "all cards of the list; the default is one, for the least latency"),),
        ),
    ),
    cannot={
        "round-robin": "the guide has only striping over all cards, or one card: use striping.",
        "nic-per-rank": "the guide has no setting for it: sites give each rank its PAMI_IBV_DEVICE_NAME by a script.",
    },
    proof=silent("Spectrum MPI"),
    knobs=_KNOBS,
    memories=dict.fromkeys(
        MEMORIES, "its launcher needs -gpu for messages in the memory of GPUs, which was not tried and is not given"
    ),
)

SPECTRUMMPI = Stack(
    title="IBM Spectrum MPI",
    version_pattern=r"^IBM Spectrum MPI",
    told_apart="it is an Open MPI, and may print Open MPI's words too",
    also_prints=("openmpi", "hpcx"),
    errors_of=("openmpi",),
    # github.com/mpi4py/mpi4py src/lib-mpi/compat/openmpi.h (OMPI_MAJOR_VERSION >= 10)
    sonames=("libmpi_ibm.so.*",),
    spack_package="spectrum-mpi",
    module=r"(?:spectrum-mpi|smpi)",
    local_rank_variables=("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"),
    launches=(
        Launch(
            since=10,
            program="mpirun",
            hosts=("-H", "{host_slots}"),
            ranks=("-np", "{ranks}"),
            ranks_per_node=(),
            agent="how its mpirun is given another agent than ssh was not found in its guide",
            network="its start-up network was not found in its guide",
            share_cores=("-aff", "off"),
            cores_a_rank=("--map-by", "slot:PE={cores}", "--bind-to", "core"),
            forward=("-x", "{name}={value}"),
            version=_VERSION,
            source=f"{_IBM}, mpirun options",
        ),
    ),
    srun_mpi="pmix",
    ways={
        "tcp": "how its TCP is given an interface was not found in its guide: use openmpi.",
        "ib": _PAMI,
        "roce": "its guide describes PAMI over InfiniBand, and says nothing about RoCE: use openmpi.",
        "opa": "its guide describes PAMI over InfiniBand, and nothing for Omni-Path: use openmpi or intelmpi.",
        "slingshot": "its guide describes PAMI over InfiniBand, and nothing for Slingshot: use craympich.",
        "efa": "its guide describes PAMI over InfiniBand, and nothing for EFA: use openmpi or mpich.",
    },
    not_built="IBM distributes only its binaries: install it, or use the site's module",
    not_rehearsed="it was never run, so neither its launcher's options nor the ways of PAMI are known for sure",
)

STACKS: Mapping[str, Stack] = {"spectrummpi": SPECTRUMMPI}
