"""MPICH, and MVAPICH 4, which is MPICH's CH4 device with Ohio State's collectives: launcher and ways."""

from collections.abc import Mapping

from railyard.stacks import ofi, ucx
from railyard.stacks.model import MEMORIES, Launch, Proof, Setting, Spread, Stack, VersionProgram, Way

_CVARS = "github.com/pmodels/mpich src/mpid/ch4"
_HYDRA = "github.com/pmodels/mpich doc/wiki/how_to/Using_the_Hydra_Process_Manager.md"
_BIND_NUMA = ("-bind-to", "numa")
# MPICH 5.0.2: "HYDRA build details:", then "    Version:                                 5.0.2". MVAPICH brings Hydra
# too, and there it is the version of Hydra.
_HYDRA_ANSWER = r"^HYDRA build details:"

# The default of MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD, set explicitly.
OFI_STRIPING_FROM_BYTES = 1 << 20


_GPU_VERSION = "documented for MPICH 4.1 to 5.0, not tried; of MVAPICH only for the release MVAPICH-Plus"
_GPU = Setting(
    "MPIR_CVAR_ENABLE_GPU",
    "1",
    "messages in a GPU's memory; the default of a build with GPUs, set explicitly",
    _GPU_VERSION,
    "github.com/pmodels/mpich README.vin, GPU support",
)
_HMEM = Setting(
    "MPIR_CVAR_CH4_OFI_ENABLE_HMEM",
    "1",
    "the NIC reads and writes the GPU's memory itself; without it each message is copied through the host's",
    _GPU_VERSION,
    f"{_CVARS}/netmod/ofi/ofi_init.c; README.vin, GPU support",
)


def _netmod(name: str, version: str) -> Setting:
    return Setting(
        "MPIR_CVAR_CH4_NETMOD",
        name,
        f"a library that is built with both netmods must take {name}",
        version,
        f"{_CVARS}/src/ch4_init.c",
    )


def _ucx_tcp(version: str) -> Way:
    return Way(
        transport="ch4:ucx over tcp",
        settings=(_netmod("ucx", version), *ucx.TCP),
        spreads=(ucx.SINGLE, ucx.TCP_STRIPING),
        cannot={"round-robin": ucx.NO_ROUND_ROBIN, "nic-per-rank": ucx.NO_TCP_NIC_PER_RANK},
        proof=ucx.PROOF,
        knobs=ucx.TCP_KNOBS,
        memories=ucx.NO_MEMORY_OVER_TCP,
    )


def _ucx_rdma(version: str) -> Way:
    return Way(
        transport="ch4:ucx",
        settings=(_netmod("ucx", version), *ucx.RDMA),
        spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(_BIND_NUMA)),
        cannot={"round-robin": ucx.NO_ROUND_ROBIN},
        proof=ucx.PROOF,
        knobs=ucx.RDMA_KNOBS,
        memories={memory: (*ucx.to_memory(memory), _GPU) for memory in MEMORIES},
    )


def _provider(name: str) -> Setting:
    return Setting(
        "FI_PROVIDER",
        name,
        "this provider or none: if it is missing, tcp must not replace it",
        "documented for Libfabric 1.18 and newer",
        "ofiwg.github.io/libfabric fabric(7)",
    )


def _nics(number: str, why: str, version: str) -> Setting:
    return Setting("MPIR_CVAR_CH4_OFI_MAX_NICS", number, why, version, f"{_CVARS}/netmod/ofi/ofi_init.c")


def _summary(level: str, version: str) -> Setting:
    return Setting(
        "MPIR_CVAR_DEBUG_SUMMARY",
        level,
        "prints provider and number of NICs; with 2 also each rank's preferred NIC",
        version,
        "github.com/pmodels/mpich src/mpi/init/mpi_init.h",
    )


def _rank_nic_proof(version: str) -> Proof:
    return Proof(
        (_summary("2", version),),
        r"Local_rank: \d+, NIC: {device}\s",
        "each rank prints `Rank: 0, Local_rank: 0, NIC: cxi0`, the NIC that it prefers (uses, with one NIC per rank)",
    )


def _ofi_way(provider: str, devices: Setting, version: str) -> Way:
    """Return the way over a provider whose NICs are PCI devices. MPICH sees them and can use several by itself."""
    return Way(
        transport=f"ch4:ofi over {provider}",
        settings=(_netmod("ofi", version), _provider(provider), devices),
        spreads=(
            Spread("single", "one rail: nothing is split", (_nics("1", "one NIC per rank, the default", version),)),
            Spread(
                "striping",
                "from 1 MiB one message goes over all NICs (MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD, set to its "
                "default)",
                (
                    _nics("{rails}", "how many NICs one rank may use (1 is the default)", version),
                    Setting(
                        "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING",
                        "1",
                        "off by default",
                        version,
                        f"{_CVARS}/netmod/ofi/ofi_init.c",
                    ),
                    Setting(
                        "MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD",
                        str(OFI_STRIPING_FROM_BYTES),
                        "the default, set explicitly because the verdict relies on it",
                        version,
                        f"{_CVARS}/netmod/ofi/ofi_init.c",
                    ),
                ),
                OFI_STRIPING_FROM_BYTES,
                # MPIDI_OFI_MAX_NICS in 4.1.3 and 5.0.1.
                8,
                tunable=Setting(
                    "MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD",
                    "{threshold}",
                    "the size that was asked for",
                    version,
                    f"{_CVARS}/netmod/ofi/ofi_init.c",
                ),
                proof=Proof(
                    (_summary("1", version),),
                    r"num_nics: {rails}\b",
                    "rank 0 prints `num_nics: 2`, the number of NICs that it uses; it does not name them",
                ),
            ),
            Spread(
                "nic-per-rank",
                "each rank uses its nearest NIC for all sizes; ranks with the same nearest NICs take them in turn",
                (_nics("1", "one NIC per rank: the nearest; by local rank if several are equally near", version),),
                options=_BIND_NUMA,
            ),
        ),
        cannot={
            "round-robin": "ch4:ofi's multi-NIC hashing keeps the messages of one pair, communicator and tag on one "
            "NIC, which is not round robin: use striping.",
        },
        proof=_rank_nic_proof(version),
        knobs=ofi.KNOBS[provider],
        memories=dict.fromkeys(MEMORIES, (_GPU, _HMEM)),
    )


_OPX_ONE = (
    "OPX opens one card per process. It splits messages only on CN5000 and newer (FI_OPX_MULTI_HFI_STRIPING), never on "
    "Omni-Path 100: use openmpi or intelmpi with PSM2."
)


def _opx_way(version: str) -> Way:
    return Way(
        transport="ch4:ofi over opx",
        settings=(_netmod("ofi", version), _provider("opx"), ofi.OPX_DEVICE),
        spreads=(Spread("single", "one rail: nothing is split"),),
        cannot={
            "striping": _OPX_ONE,
            "round-robin": _OPX_ONE,
            "nic-per-rank": "OPX takes a card by NUMA node or core (FI_OPX_HFI_SELECT=numa:0:0,numa:1:1), which "
            "needs the node's topology instead of a list of devices.",
        },
        proof=ofi.PROVIDER_PROOF["opx"],
        knobs=ofi.KNOBS["opx"],
        memories=dict.fromkeys(MEMORIES, "we know no document that says that OPX reaches the memory of GPUs"),
    )


def _ways(version: str) -> Mapping[str, Way | str]:
    return {
        "tcp": _ucx_tcp(version),
        "ib": _ucx_rdma(version),
        "roce": _ucx_rdma(version),
        "opa": _opx_way(version),
        "slingshot": _ofi_way("cxi", ofi.CXI_DEVICES, version),
        "efa": _ofi_way("efa", ofi.EFA_DEVICES, version),
    }


def hydra(
    since: int,
    version: str,
    share_cores: tuple[str, ...] = ("-bind-to", "none"),
    source: str = _HYDRA,
    unbound: tuple[str, ...] = (),
    answer: str = _HYDRA_ANSWER,
) -> Launch:
    """Return the words for Hydra's mpiexec. ``share_cores`` has what this library needs if ranks share cores.

    ``unbound`` are the words that keep a library from binding its ranks again, differently from Hydra.
    """
    return Launch(
        since=since,
        program="mpiexec",
        hosts=("-hosts", "{hosts}"),
        ranks=("-n", "{ranks}"),
        ranks_per_node=("-ppn", "{ranks_per_node}"),
        agent=("-launcher", "ssh", "-launcher-exec", "{agent}"),
        network=("-iface", "{network}"),
        share_cores=share_cores,
        # 5.0.2 with a topology of eight cores: with core:4, each of two ranks has four cores.
        cores_a_rank=("-bind-to", "core:{cores}", *unbound),
        forward=("-genv", "{name}", "{value}"),
        version=version,
        source=source,
        answer=answer,
        each_node=("-ppn", "{ranks_per_node}"),
    )


MPICH = Stack(
    title="MPICH (CH4)",
    version_pattern=r"^MPICH Version:",
    told_apart="Intel MPI, MVAPICH and Cray MPICH derive from it, but begin with their own words",
    errors_of=("mpich", "ucx"),
    sonames=("libmpi.so.12", "libmpich.so.12"),
    spack_package="mpich",
    # Debian has MPICH's programs beside Open MPI's, with their own names.
    programs=(VersionProgram(("mpichversion", "mpichversion.mpich"), r"^MPICH Version:\s+(\S+)"),),
    module=r"mpich(?:-x86_64)?",
    local_rank_variables=("MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(hydra(4, "5.0.2 and 4.0.2, tried", answer=rf"{_HYDRA_ANSWER}\n\s+Version:\s+(?P<version>\S+)"),),
    srun_mpi="pmi2",
    rehearsed_as="mpich",
    ways=_ways("MPICH 5.0.2"),
)

MVAPICH = Stack(
    title="MVAPICH 4 (CH4)",
    version_pattern=r"^MVAPICH Version",
    told_apart="MVAPICH2 prints MVAPICH2 Version",
    errors_of=("mpich", "ucx"),
    sonames=("libmpi.so.12",),
    spack_package="mvapich",
    programs=(VersionProgram(("mpichversion",), r"^MVAPICH Version:\s+(\S+)"),),
    module=r"mvapich(?:-plus)?",
    local_rank_variables=("MVP_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(hydra(3, "documented for 4.0", source="mvapich-docs.readthedocs.io hydra"),),
    srun_mpi="pmi2",
    rehearsed_as="mvapich",
    ways=_ways(
        "documented for MVAPICH 4.0, which has MPICH's variables (MVP_ and MPICH_ are other spellings of MPIR_CVAR_)"
    ),
)

STACKS: Mapping[str, Stack] = {"mpich": MPICH, "mvapich": MVAPICH}
