"""NCCL and RCCL, the communication libraries of GPUs, by nccl-tests and rccl-tests: how each is told network and NICs.

MPI starts the tests, and hands around a few bytes before they begin; what is measured goes by the library. RCCL is
NCCL's code for AMD's GPUs and reads the same variables. Nothing here could be tried on GPUs.
"""

from collections.abc import Mapping

from railyard.stacks import ofi, ucx
from railyard.stacks.model import Knob, Proof, Setting, Spread, Stack, ToolProgram, Way

_GUIDE = "docs.nvidia.com deeplearning nccl user-guide, Environment Variables"
_TESTS = "NCCL 2.10 to 2.30, documented, not tried"


def _net(name: str, why: str) -> Setting:
    return Setting("NCCL_NET", name, why, _TESTS, f"{_GUIDE}, NCCL_NET")


_LOG = (
    Setting(
        "NCCL_DEBUG",
        "INFO",
        "the log says the network, the NICs, and the way of each connection: only the log says what was really used",
        "NCCL 2.4 to 2.30, in genuine logs",
        f"{_GUIDE}, NCCL_DEBUG",
    ),
    Setting(
        "NCCL_DEBUG_SUBSYS",
        "INIT,ENV,NET",
        "these parts of it alone: TUNING and COLL print a line for each call of each GPU",
        "NCCL 2.4 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_DEBUG_SUBSYS",
    ),
)
_NO_PLUGIN = Setting(
    "NCCL_NET_PLUGIN",
    "none",
    "NCCL's own network: a plugin that a site has installed (HPC-X's, of SHARP) would be loaded before it and choose "
    "its own NICs",
    "NCCL 2.11 to 2.30, documented, not tried",
    f"{_GUIDE}, NCCL_NET_PLUGIN",
)
_CROSS = Setting(
    "NCCL_CROSS_NIC",
    "0",
    "a ring stays on one rail: what crosses from rail to rail takes a longer way where each has switches of its own",
    _TESTS,
    f"{_GUIDE}, NCCL_CROSS_NIC; NVIDIA/nccl issue 2345",
)
_ALL_NICS = (
    "each GPU sends by the NICs nearest to it, and a collective is cut into channels over all of them; with 0.05 of a "
    "node's bytes per rail counts as used, since which channel takes which NIC is the library's choice"
)
_SINGLE = Spread("single", "one NIC for all GPUs of a node: nothing is split")
_STRIPING = Spread("striping", _ALL_NICS, (_CROSS,))
_CANNOT = {
    "round-robin": "NCCL cuts a collective into channels, each of which keeps its NIC: use striping.",
    "nic-per-rank": "NCCL gives each GPU the NICs nearest to it by itself, which is its striping: all ranks are given "
    "all ranks.",
}

_VERBS_KNOBS: dict[str, Knob] = {
    "gid_index": Setting(
        "NCCL_IB_GID_INDEX",
        "{knob}",
        "which GID of the port; without it NCCL takes the one of RoCE v2 from 2.21 on, and the first before",
        "NCCL 2.1.4 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_IB_GID_INDEX",
    ),
    "traffic_class": Setting(
        "NCCL_IB_TC",
        "{knob}",
        "the DSCP byte of RoCE v2 packets; 0 without it, where UCX has 106",
        "NCCL 2.1.15 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_IB_TC",
    ),
    "service_level": Setting(
        "NCCL_IB_SL",
        "{knob}",
        "InfiniBand's service level, and RoCE's Ethernet priority",
        "NCCL 2.1.4 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_IB_SL",
    ),
}

_VERBS = Way(
    transport="NCCL's own verbs (NET/IB)",
    settings=(
        _net("IB", "InfiniBand or RoCE, or none: without it NCCL falls back to sockets and says so in its log alone"),
        _NO_PLUGIN,
        Setting(
            "NCCL_IB_HCA",
            "={ports}",
            "card and port of each rail; the = asks for these names alone, since mlx5_1 is else mlx5_10 as well",
            "NCCL 2.4 to 2.30, documented, not tried",
            f"{_GUIDE}, NCCL_IB_HCA",
        ),
        Setting(
            "NCCL_IB_MERGE_NICS",
            "0",
            "two ports of a card stay two rails, as the system's file names them; NCCL joins them to one else",
            "NCCL 2.20 to 2.30, documented, not tried",
            f"{_GUIDE}, NCCL_IB_MERGE_NICS",
        ),
        *_LOG,
    ),
    spreads=(_SINGLE, _STRIPING),
    cannot=_CANNOT,
    proof=Proof(
        (),
        r"NET/IB : Using .*\]\s?{device}:",
        "each process prints `NET/IB : Using [0]mlx5_0:1/IB …` with the NICs that it may use",
    ),
    knobs=_VERBS_KNOBS,
)
_SOCKETS = Way(
    transport="TCP sockets (NET/Socket)",
    settings=(
        _net("Socket", "sockets, also where a card has verbs"),
        _NO_PLUGIN,
        Setting(
            "NCCL_SOCKET_IFNAME",
            "={devices}",
            "the rails' interfaces; the = asks for these names alone",
            "NCCL 2.4 to 2.30, documented, not tried",
            f"{_GUIDE}, NCCL_SOCKET_IFNAME",
        ),
        *_LOG,
    ),
    spreads=(_SINGLE, _STRIPING),
    cannot=_CANNOT,
    proof=Proof(
        (),
        r"NET/Socket ?: Using .*\]\s?{device}:",
        "each process prints `NET/Socket : Using [0]hsn0:10.1.0.1<0> …` with the interfaces that it may use",
    ),
    knobs=ucx.TCP_KNOBS,
)


def _plugin(provider: str, devices: Setting) -> Way:
    """Return the way over the plugin for libfabric, which has no list of NICs of its own: its provider has."""
    return Way(
        transport=f"the plugin aws-ofi-nccl over libfabric's provider {provider}",
        settings=(
            Setting(
                "NCCL_NET",
                "AWS Libfabric",
                "the plugin, or none: where it is not found NCCL would else fall back to sockets; releases after 1.11 "
                "call themselves Libfabric, and take this name too",
                "aws-ofi-nccl 1.6 to 1.19, documented, not tried",
                "github.com/aws/aws-ofi-nccl pull request 530",
            ),
            Setting(
                "FI_PROVIDER",
                provider,
                "this provider alone: the plugin takes any other that is faster to it, TCP's too",
                "Libfabric 1.11 to 2.4, documented, not tried",
                "ofiwg.github.io/libfabric fabric(7)",
            ),
            devices,
            *_LOG,
        ),
        spreads=(_SINGLE, _STRIPING),
        cannot=_CANNOT,
        proof=Proof(
            (),
            rf"NET/OFI Selected [Pp]rovider is {provider}",
            "each process prints `NET/OFI Selected provider is …`: it does not name the devices, and only the "
            "counters prove those",
        ),
        knobs=ofi.KNOBS[provider],
    )


_WAYS: Mapping[str, Way | str] = {
    "tcp": _SOCKETS,
    "ib": _VERBS,
    "roce": _VERBS,
    "opa": "NCCL reaches Omni-Path by its slow verbs or by a plugin for PSM2, of which nothing is known here.",
    "slingshot": _plugin("cxi", ofi.CXI_DEVICES),
    "efa": _plugin("efa", ofi.EFA_DEVICES),
}


def _library(title: str, soname: str, spack_package: str, tests: str) -> Stack:
    return Stack(
        title=title,
        version_pattern=r"(?!)",
        told_apart="it is no MPI library: an MPI that its entry names starts its tests",
        sonames=(soname,),
        spack_package=spack_package,
        local_rank_variables=(),
        launches=(),
        srun_mpi="",
        ways=_WAYS,
        tool_programs=(ToolProgram("all_reduce_perf", "nccl", is_folder=True),),
        not_built=f"{tests} is built with the site's own CUDA or ROCm, {title.split()[0]} and MPI (MPI=1)",
        by_mpi=True,
    )


STACKS: Mapping[str, Stack] = {
    "nccl": _library("NCCL, NVIDIA's library of collectives between GPUs", "libnccl.so.2", "nccl", "nccl-tests"),
    "rccl": _library("RCCL, AMD's library of collectives between GPUs", "librccl.so.1", "rccl", "rccl-tests"),
}
