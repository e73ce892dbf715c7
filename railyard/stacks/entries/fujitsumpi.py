"""Fujitsu MPI: Open MPI on the Tofu interconnect. It is only recognised, since no kind of fabric here is Tofu."""

from collections.abc import Mapping

from railyard.stacks.model import Launch, Stack

_REVIEW = "www.fujitsu.com/global/about/resources/publications/technicalreview/2020-03/article07.html"
_VERSION = "documented for 4.0.1, never run"
_TOFU = "Fujitsu MPI is described on the Tofu interconnect, which is no kind of fabric of a system's file"

FUJITSUMPI = Stack(
    title="Fujitsu MPI",
    # "FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)": github.com/JuliaParallel/MPI.jl lib/MPIPreferences
    version_pattern=r"^FUJITSU MPI Library",
    told_apart="nothing else prints FUJITSU MPI",
    also_prints=("openmpi", "hpcx"),
    errors_of=("openmpi",),
    sonames=("libmpi.so*",),
    spack_package="fujitsu-mpi",
    module=r"(?:fujitsu-mpi|tcsds)",
    local_rank_variables=("OMPI_COMM_WORLD_LOCAL_RANK",),
    launches=(
        Launch(
            since=4,
            program="mpiexec",
            # Its job manager (PJM) gives a job its nodes; the output of each rank goes to the file after -of.
            hosts=(),
            ranks=("-n", "{ranks}"),
            ranks_per_node=(),
            agent="its job manager (PJM) starts the ranks, and takes no remote agent",
            network="its job manager (PJM) starts the ranks, over a network of its own",
            share_cores=(),
            cores_a_rank=(),
            forward=("-x", "{name}={value}"),
            version=_VERSION,
            source=_REVIEW,
        ),
    ),
    srun_mpi="none",
    ways={
        "tcp": f"{_TOFU}: use openmpi or mpich.",
        "ib": f"{_TOFU}: use openmpi, or declare yours with its variables (like: openmpi).",
        "roce": f"{_TOFU}: use openmpi or mpich.",
        "opa": f"{_TOFU}: use openmpi or intelmpi.",
        "slingshot": f"{_TOFU}: use craympich.",
        "efa": f"{_TOFU}: use openmpi or mpich.",
    },
    not_built="Fujitsu distributes only its binaries: install it, or use the site's module",
    not_rehearsed="no kind of fabric here is Tofu, so no test can run with it",
)

STACKS: Mapping[str, Stack] = {"fujitsumpi": FUJITSUMPI}
