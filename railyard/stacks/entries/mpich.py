"""MPICH, and the libraries made from it: MVAPICH 2 and 4, Cray MPICH and ParaStation MPI: launcher and ways.

MPICH, and MVAPICH 4, which is MPICH's CH4 device with Ohio State's collectives: launcher and ways.

HPE Cray MPICH: launcher and ways. On Slingshot 11 each rank has one NIC. Systems with UCX use other modules.

ParaStation MPI: MPICH above ParTec's own layer (pscom), whose plugins speak UCX or PSM2. Never run by us.

MVAPICH2 (CH3, gen2): launcher and ways. It is the only stack here with all four rail policies.
"""

from collections.abc import Mapping

from railyard.stacks import ofi, ucx
from railyard.stacks.model import MEMORIES, Launch, Memories, Proof, Setting, Spread, Stack, VersionProgram, Way

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
        knobs=ofi.PROVIDER_KNOBS[provider],
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
        knobs=ofi.PROVIDER_KNOBS["opx"],
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
    sonames=("libmpi.so.12", "libmpich.so.12"),
    spack_package="mpich",
    # Debian has MPICH's programs beside Open MPI's, with their own names.
    programs=(VersionProgram(("mpichversion", "mpichversion.mpich"), r"^MPICH Version:\s+(\S+)"),),
    module=r"mpich(?:-x86_64)?",
    local_rank_variables=("MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(hydra(4, "5.0.2 and 4.0.2, tried", answer=rf"{_HYDRA_ANSWER}\n\s+Version:\s+(?P<version>\S+)"),),
    srun_mpi="pmi2",
    ways=_ways("MPICH 5.0.2"),
)

MVAPICH = Stack(
    title="MVAPICH 4 (CH4)",
    version_pattern=r"^MVAPICH Version",
    told_apart="MVAPICH2 prints MVAPICH2 Version",
    sonames=("libmpi.so.12",),
    spack_package="mvapich",
    programs=(VersionProgram(("mpichversion",), r"^MVAPICH Version:\s+(\S+)"),),
    module=r"mvapich(?:-plus)?",
    local_rank_variables=("MVP_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(hydra(3, "documented for 4.0", source="mvapich-docs.readthedocs.io hydra"),),
    srun_mpi="pmi2",
    ways=_ways(
        "documented for MVAPICH 4.0, which has MPICH's variables (MVP_ and MPICH_ are other spellings of MPIR_CVAR_)"
    ),
)


_CRAY_MAN = "cpe.ext.hpe.com docs mpt/mpich/intro_mpi"
_CRAY_VERSION = "documented for 8.1 and 9.0"

_CRAY_ONE_NIC = "Cray MPICH gives each rank exactly one NIC and never splits a message: use nic-per-rank."

_CRAY_PROOF = Proof(
    (Setting("MPICH_OFI_NIC_VERBOSE", "2", "prints the NIC that each rank selected", _CRAY_VERSION, _CRAY_MAN),),
    r"selected NIC index=\d+, domain_name={device}\b",
    "each rank prints `PE 3: Host nid005187 selected NIC index=1, domain_name=cxi1, numa_node=1, …`",
)


def _cray_nics(number: str, why: str) -> Setting:
    return Setting("MPICH_OFI_NUM_NICS", number, why, _CRAY_VERSION, _CRAY_MAN)


_CRAY_GPU_SUPPORT = (
    Setting(
        "MPICH_GPU_SUPPORT_ENABLED",
        "1",
        "off by default, and a message in a GPU's memory would crash; the program must be linked to the GTL library",
        f"{_CRAY_VERSION}, not tried",
        _CRAY_MAN,
    ),
)
_CRAY_MEMORIES: Memories = dict.fromkeys(MEMORIES, _CRAY_GPU_SUPPORT)

_SLINGSHOT = Way(
    transport="OFI cxi",
    settings=(ofi.CXI_DEVICES,),
    spreads=(
        Spread("single", "one rail: nothing is split", (_cray_nics("1", "one NIC per node"),)),
        Spread(
            "nic-per-rank",
            "each rank uses one NIC for all sizes, local rank i the NIC i modulo their number",
            (
                _cray_nics("{rails}", "number of NICs per node (default: all)"),
                Setting(
                    "MPICH_OFI_NIC_POLICY",
                    "ROUND-ROBIN",
                    "ranks get the NICs in turn; BLOCK, the default, would put two neighbours on one",
                    _CRAY_VERSION,
                    _CRAY_MAN,
                ),
            ),
        ),
    ),
    cannot={"striping": _CRAY_ONE_NIC, "round-robin": _CRAY_ONE_NIC},
    proof=_CRAY_PROOF,
    knobs={
        **ofi.PROVIDER_KNOBS["cxi"],
        "traffic_class": "Cray MPICH takes a class by name (MPICH_OFI_DEFAULT_TCLASS=TC_BEST_EFFORT), not by number",
    },
    memories=_CRAY_MEMORIES,
)

_CRAY_UCX = Way(
    transport="UCX netmod (modules craype-network-ucx and cray-mpich-ucx)",
    settings=ucx.RDMA,
    spreads=(ucx.SINGLE, ucx.RDMA_STRIPING, ucx.nic_per_rank(())),
    cannot={"round-robin": ucx.NO_ROUND_ROBIN},
    proof=ucx.PROOF,
    knobs=ucx.RDMA_KNOBS,
    memories={memory: (*ucx.to_memory(memory), *_CRAY_GPU_SUPPORT) for memory in MEMORIES},
)

CRAYMPICH = Stack(
    title="HPE Cray MPICH",
    version_pattern=r"^MPI VERSION +: CRAY MPICH version",
    told_apart="nothing else prints CRAY MPICH",
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
            version=_CRAY_VERSION,
            source="cpe.ext.hpe.com docs pals mpiexec(1)",
        ),
    ),
    srun_mpi="cray_shasta",
    ways={
        "tcp": "Cray MPICH is built for Slingshot and InfiniBand (cxi, verbs, UCX), not for TCP: use openmpi or mpich.",
        "ib": _CRAY_UCX,
        "roce": _CRAY_UCX,
        "opa": "Cray MPICH's man page names no transport for Omni-Path: use openmpi or intelmpi.",
        "slingshot": _SLINGSHOT,
        "efa": "Cray MPICH's man page names no transport for EFA: use openmpi, mpich or intelmpi.",
    },
)


_PARASTATION_VERSION = "documented for ParaStation MPI 5.13 and pscom of January 2026, never run"
_PSCOM = "github.com/ParaStation/pscom doc/antora/modules/ROOT/pages/runtime-config.adoc"
_PSMPI = "github.com/ParaStation/psmpi doc/antora/modules/ROOT/pages/runtime-parameters.adoc"


def _psp(name: str, value: str, why: str, source: str = f"{_PSCOM}, Customizing plugin priority") -> Setting:
    return Setting(f"PSP_{name}", value, why, _PARASTATION_VERSION, source)


_NO_TCP = _psp("TCP", "0", "no fallback to TCP: 0 switches a plugin off, and TCP is the last that is tried")
_CONNECTIONS = _psp("DEBUG_CONTYPE", "1", "prints by which plugin each connection goes", f"{_PSCOM}, Debug options")

_PARASTATION_MEMORIES: Memories = {
    "cuda": (
        *ucx.to_memory("cuda"),
        _psp("CUDA", "1", "messages in the memory of NVIDIA's GPUs; off by default", f"{_PSMPI}, Feature Activation"),
    ),
    "rocm": "the options of ParaStation MPI name only CUDA, and nothing for the memory of AMD's GPUs",
}

_PARASTATION_UCX = Way(
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
    memories=_PARASTATION_MEMORIES,
)

_PSM2 = Way(
    transport="pscom4psm over PSM2",
    settings=(_psp("PSM", "2", "the plugin for Omni-Path before all others"), _NO_TCP),
    spreads=(ofi.PSM2_SINGLE, ofi.PSM2_STRIPING),
    cannot={"round-robin": ofi.PSM2_NO_ROUND_ROBIN, "nic-per-rank": ofi.PSM2_NO_NIC_PER_RANK},
    proof=ofi.PSM2_PROOF,
    knobs=ofi.PSM2_KNOBS,
    memories=ofi.PSM_NO_MEMORIES,
)

PARASTATION = Stack(
    title="ParaStation MPI",
    # github.com/ParaStation/psmpi mpich2/src/mpid/psp/include/mpidpre.h, MPID_DEV_VERSION_STRING
    version_pattern=r"^=== ParaStation MPI",
    told_apart="MPICH's own lines follow it",
    also_prints=("mpich",),
    sonames=("libmpi.so.12",),
    spack_package="psmpi",
    module=r"(?:psmpi|ParaStationMPI)",
    local_rank_variables=("MPI_LOCALRANKID", "SLURM_LOCALID"),
    launches=(
        hydra(
            5,
            _PARASTATION_VERSION,
            source="github.com/ParaStation/psmpi doc/antora/modules/ROOT/pages/requirements.adoc (Hydra)",
        ),
    ),
    # anaconda.org/conda-forge/psmpi; a site with ParaStation Management has plugins of its own: srun_mpi states them.
    srun_mpi="pmix",
    ways={
        "tcp": "pscom4tcp takes a network's address (PSP_NETWORK), and a rail has only a device's name: use mpich.",
        "ib": _PARASTATION_UCX,
        "roce": _PARASTATION_UCX,
        "opa": _PSM2,
        "slingshot": "pscom's options name no plugin for Slingshot: use craympich or mpich.",
        "efa": "pscom's options name no plugin for EFA: use openmpi or mpich.",
    },
    not_built="it was never built by us: install it, or use the site's module",
)


_MVAPICH2_SOURCE = "github.com/kumattau/mvapich2 2.3.7 src/mpid/ch3/channels/mrail/src/gen2"
_MVAPICH2_GUIDE = "mvapich.cse.ohio-state.edu userguide MVAPICH2 2.3.7"
_MVAPICH2_VERSION = "2.3.7 source and user guide"

# The library's default is its buffer size, which differs by card. It is set explicitly so the verdict can rely on it.
MVAPICH2_STRIPING_FROM_BYTES = 16 * 1024
_NEVER_BYTES = 1 << 30
# Source: G. K. Lockwood, "Dual-Rail QDR as an Alternative to FDR Infiniband", 2013: the lowest value that was accepted.
_LEAST_BYTES = 8 * 1024


def _mv2(name: str, value: str, why: str, where: str = "ibv_param.c") -> Setting:
    return Setting(f"MV2_{name}", value, why, _MVAPICH2_VERSION, f"{_MVAPICH2_SOURCE}/{where}; {_MVAPICH2_GUIDE}")


_MVAPICH2_DEVICES = (
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
                MVAPICH2_STRIPING_FROM_BYTES,
                "messages above it are split evenly; the default is the card's buffer size",
            ),
            _mv2("RAIL_SHARING_POLICY", "FIXED_MAPPING", "shorter messages stay on the rank's own rail (the default)"),
        ),
        # "above": so the next power of two is the first that is split.
        threshold_bytes=2 * MVAPICH2_STRIPING_FROM_BYTES,
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

_MVAPICH2_PROOF = Proof(
    (_mv2("SHOW_ENV_INFO", "2", "rank 0 prints all parameters as the library took them", "ibv_param.c"),),
    r"MV2_IBA_HCA +: .*\b{device}\b",
    "rank 0 prints its table of parameters with MV2_IBA_HCA, which is what it was given; only the counters prove what "
    "it used",
)

_MVAPICH2_NO_TRAFFIC_CLASS = "mvapich2 has no setting for it (only for a service level)"

_SERVICE_LEVEL = _mv2("DEFAULT_SERVICE_LEVEL", "{knob}", "the service level of all its queue pairs")
_MVAPICH2_GID = _mv2("DEFAULT_GID_INDEX", "{knob}", "which GID of the port: it decides RoCE v1 or v2 and the VLAN")

_GDR_GUIDE = "mvapich.cse.ohio-state.edu userguide gdr 2.3"
_GDR_VERSION = "documented for MVAPICH2-GDR 2.3, not tried"


def _to_memory(name: str, whose: str) -> tuple[Setting, ...]:
    why = f"off by default: messages in the memory of {whose} GPUs"
    return (Setting(f"MV2_USE_{name}", "1", why, _GDR_VERSION, _GDR_GUIDE),)


_MVAPICH2_MEMORIES: Memories = {"cuda": _to_memory("CUDA", "NVIDIA's"), "rocm": _to_memory("ROCM", "AMD's")}

_MVAPICH2_IB = Way(
    transport="ch3:mrail over verbs",
    settings=_MVAPICH2_DEVICES,
    spreads=_SPREADS,
    proof=_MVAPICH2_PROOF,
    knobs={"gid_index": _MVAPICH2_GID, "traffic_class": _MVAPICH2_NO_TRAFFIC_CLASS, "service_level": _SERVICE_LEVEL},
    memories=_MVAPICH2_MEMORIES,
)

_MVAPICH2_ROCE = Way(
    transport="ch3:mrail over RoCE",
    settings=(_mv2("USE_RoCE", "1", "addresses by GID: Ethernet has no LIDs"), *_MVAPICH2_DEVICES),
    spreads=_SPREADS,
    proof=_MVAPICH2_PROOF,
    knobs={"gid_index": _MVAPICH2_GID, "traffic_class": _MVAPICH2_NO_TRAFFIC_CLASS, "service_level": _SERVICE_LEVEL},
    memories=_MVAPICH2_MEMORIES,
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
            _MVAPICH2_GUIDE,
            unbound=("-genv", "MV2_ENABLE_AFFINITY", "0"),
        ),
    ),
    srun_mpi="pmi2",
    own_pinning={"MV2_ENABLE_AFFINITY": "0"},
    ways={
        "tcp": "the gen2 build (verbs) has no TCP transport, and the separate TCP build has no rails: use "
        "openmpi or mpich.",
        "ib": _MVAPICH2_IB,
        "roce": _MVAPICH2_ROCE,
        "opa": "Omni-Path needs mvapich2's PSM2 build, which has none of its rail settings: use openmpi or intelmpi.",
        "slingshot": "mvapich2 (CH3) speaks verbs and has no provider for Slingshot 11: use mvapich.",
        "efa": "EFA needs a separate build (MVAPICH2-X-AWS): use openmpi or mpich.",
    },
)

STACKS: Mapping[str, Stack] = {
    "mpich": MPICH,
    "mvapich": MVAPICH,
    "craympich": CRAYMPICH,
    "parastation": PARASTATION,
    "mvapich2": MVAPICH2,
}
