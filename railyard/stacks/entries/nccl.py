"""NCCL and RCCL, the communication libraries of GPUs, with nccl-tests and rccl-tests: how to set network and NICs.

MPI starts the tests and exchanges a few bytes before they begin. What is measured goes over the library. RCCL is NCCL's
code for AMD's GPUs and reads the same variables. Nothing here could be tried on GPUs.
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
        "the log names the network, the NICs, and the way of each connection: only the log says what was really used",
        "NCCL 2.4 to 2.30, in genuine logs",
        f"{_GUIDE}, NCCL_DEBUG",
    ),
    Setting(
        "NCCL_DEBUG_SUBSYS",
        "INIT,ENV,NET",
        "only these parts of the log: TUNING and COLL print a line for each call of each GPU",
        "NCCL 2.4 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_DEBUG_SUBSYS",
    ),
)
_NO_PLUGIN = Setting(
    "NCCL_NET_PLUGIN",
    "none",
    "NCCL's own network: a plugin that a site has installed (HPC-X's for SHARP) would be loaded before it and would "
    "choose its own NICs",
    "NCCL 2.11 to 2.30, documented, not tried",
    f"{_GUIDE}, NCCL_NET_PLUGIN",
)
_CROSS = Setting(
    "NCCL_CROSS_NIC",
    "0",
    "a ring stays on one rail: traffic between rails takes a longer way if each rail has its own switches",
    _TESTS,
    f"{_GUIDE}, NCCL_CROSS_NIC; NVIDIA/nccl issue 2345",
)
_ALL_NICS = (
    "each GPU sends over the NICs nearest to it, and a collective is cut into channels over all of them; a rail with "
    "0.05 of a node's bytes counts as used, since the library chooses which channel takes which NIC"
)
_SINGLE = Spread("single", "one NIC for all GPUs of a node: nothing is split")
_STRIPING = Spread("striping", _ALL_NICS, (_CROSS,))
_CANNOT = {
    "round-robin": "NCCL cuts a collective into channels, and each channel keeps its NIC: use striping.",
    "nic-per-rank": "NCCL itself gives each GPU the NICs nearest to it, which is its striping: all ranks are given "
    "all rails.",
}

_VERBS_KNOBS: dict[str, Knob] = {
    "gid_index": Setting(
        "NCCL_IB_GID_INDEX",
        "{knob}",
        "which GID of the port; without it NCCL takes RoCE v2's from 2.21 on, and the first one before 2.21",
        "NCCL 2.1.4 to 2.30, documented, not tried",
        f"{_GUIDE}, NCCL_IB_GID_INDEX",
    ),
    "traffic_class": Setting(
        "NCCL_IB_TC",
        "{knob}",
        "the DSCP byte of RoCE v2 packets; 0 without it (UCX has 106)",
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
        _net("IB", "InfiniBand or RoCE, or none: without it NCCL falls back to sockets, and only its log says so"),
        _NO_PLUGIN,
        Setting(
            "NCCL_IB_HCA",
            "={ports}",
            "card and port of each rail; = means exactly these names, since otherwise mlx5_1 is mlx5_10 as well",
            "NCCL 2.4 to 2.30, documented, not tried",
            f"{_GUIDE}, NCCL_IB_HCA",
        ),
        Setting(
            "NCCL_IB_MERGE_NICS",
            "0",
            "two ports of a card stay two rails, as in the system's file; otherwise NCCL joins them into one",
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
            "the rails' interfaces; = means exactly these names",
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
    """Return the way over the plugin for libfabric. It has no list of NICs of its own, but its provider has."""
    return Way(
        transport=f"the plugin aws-ofi-nccl over libfabric's provider {provider}",
        settings=(
            Setting(
                "NCCL_NET",
                "AWS Libfabric",
                "the plugin, or none: otherwise NCCL falls back to sockets if it does not find it; releases after 1.11 "
                "call themselves Libfabric, and take this name too",
                "aws-ofi-nccl 1.6 to 1.19, documented, not tried",
                "github.com/aws/aws-ofi-nccl pull request 530",
            ),
            Setting(
                "FI_PROVIDER",
                provider,
                "only this provider: the plugin takes any other that it considers faster, even TCP's",
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
            "each process prints `NET/OFI Selected provider is …`; it does not name the devices; only the "
            "counters prove which ones",
        ),
        knobs=ofi.KNOBS[provider],
    )


_WAYS: Mapping[str, Way | str] = {
    "tcp": _SOCKETS,
    "ib": _VERBS,
    "roce": _VERBS,
    "opa": "NCCL reaches Omni-Path over its slow verbs, or over a plugin for PSM2 of which we know nothing.",
    "slingshot": _plugin("cxi", ofi.CXI_DEVICES),
    "efa": _plugin("efa", ofi.EFA_DEVICES),
}


def _library(title: str, soname: str, spack_package: str, tests: str) -> Stack:
    return Stack(
        title=title,
        version_pattern=r"(?!)",
        told_apart="it is not an MPI library: an MPI that its entry names starts its tests",
        errors_of=("openmpi", "mpich", "ucx"),  # of that MPI, whichever it is
        sonames=(soname,),
        spack_package=spack_package,
        local_rank_variables=(),
        launches=(),
        srun_mpi="",
        ways=_WAYS,
        tool_programs=(ToolProgram("all_reduce_perf", "nccl", is_folder=True),),
        not_built=f"{tests} is built with the site's own CUDA or ROCm, {title.split()[0]} and MPI (MPI=1)",
        by_mpi=True,
        rehearsed_as="nccl",
    )


STACKS: Mapping[str, Stack] = {
    "nccl": _library("NCCL, NVIDIA's library of collectives between GPUs", "libnccl.so.2", "nccl", "nccl-tests"),
    "rccl": _library("RCCL, AMD's library of collectives between GPUs", "librccl.so.1", "rccl", "rccl-tests"),
}
