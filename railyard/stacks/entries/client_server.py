"""The stacks without MPI: sockets, verbs, libfabric and libcxi. A client and a server measure them, one pair per rail.

An installed application that starts its own processes may also run over sockets: its addresses tell it the rail.
"""

from collections.abc import Mapping

from railyard.stacks import ofi, ucx
from railyard.stacks.model import MEMORIES, Proof, Setting, Spread, Stack, ToolProgram, Way, Words

_SINGLE = Spread("single", "one rail, one pair of processes: nothing is split")
_PAIR_A_RAIL = Spread(
    "nic-per-rank",
    "one pair of processes per rail, all at once: each message stays on its pair's rail, and the pairs are added up",
)


def _spreads_and_refusals(one_connection: str) -> tuple[tuple[Spread, ...], dict[str, str]]:
    """Return what any client and server can do over several rails, and what a single connection cannot."""
    sentence = f"{one_connection}: one pair of processes per rail (nic-per-rank) uses several."
    return (_SINGLE, _PAIR_A_RAIL), {"striping": sentence, "round-robin": sentence}


_TCP_SPREADS, _TCP_CANNOT = _spreads_and_refusals("A TCP connection has one address at each end, so one rail")
_VERBS_SPREADS, _VERBS_CANNOT = _spreads_and_refusals("A queue pair belongs to one port of one card")
_OFI_SPREADS, _OFI_CANNOT = _spreads_and_refusals("A libfabric endpoint belongs to one domain, which is one device")

_NO_NAMES = "the addresses at both ends, not the devices; only the counters prove which ones"


def _without_mpi(
    title: str,
    tool_programs: tuple[ToolProgram, ...],
    sonames: tuple[str, ...],
    ways: Mapping[str, Way | str],
    addressed: bool = False,
    not_built: str | None = None,
) -> Stack:
    return Stack(
        title=title,
        version_pattern=r"(?!)",
        told_apart="it is not an MPI library, and has none",
        sonames=sonames,
        spack_package="",
        local_rank_variables=(),
        launches=(),
        srun_mpi="none",
        ways=ways,
        tool_programs=tool_programs,
        addressed=addressed,
        not_built=not_built,
    )


def _own_fabric(what: str) -> str:
    return f"A socket takes an IP interface, not a card: give {what} its own fabric of kind tcp."


TCP = _without_mpi(
    "TCP sockets of the operating system",
    (ToolProgram("iperf3", "iperf3"), ToolProgram("NPtcp", "netpipe")),
    (),
    {
        "tcp": Way(
            transport="TCP sockets bound to the rail's address",
            settings=(),
            spreads=_TCP_SPREADS,
            cannot=_TCP_CANNOT,
            proof=Proof((), r'"local_host"|connected to|Now starting the main loop', f"a client prints {_NO_NAMES}"),
            knobs={
                "gid_index": "a GID index belongs to RDMA devices, and TCP has none",
                "traffic_class": "iperf3 takes it as an option (-S), NetPIPE does not take it: it is left as it is",
                "service_level": "a service level belongs to RDMA devices, and TCP has none",
            },
            memories=ucx.NO_MEMORY_OVER_TCP,
        ),
        "ib": _own_fabric("IP over InfiniBand (ib0)"),
        "roce": _own_fabric("the card's network interface (ens1f0)"),
        "opa": _own_fabric("IP over Omni-Path (ib0)"),
        "slingshot": _own_fabric("the card's network interface (hsn0)"),
        "efa": _own_fabric("the instance's network interface (ens5)"),
    },
    addressed=True,
    not_built="iperf3 and NPtcp come with every distribution, and their version does not change what a socket carries",
)

_PERFTEST_VERSION = "in the source of 5.5 (2015) to 6.29, not tried"
_PERFTEST_SOURCE = "github.com/linux-rdma/perftest src/perftest_parameters.c, usage"

_VERBS_WAY = Way(
    transport="verbs on the rail's card and port",
    settings=(),
    spreads=_VERBS_SPREADS,
    cannot=_VERBS_CANNOT,
    proof=Proof((), r"Device +: {device}\s", "a client prints the card (`Device : mlx5_0`), not the port"),
    knobs={
        "gid_index": Words(
            ("-x", "{knob}"),
            "which GID of the port; without it perftest finds RoCE v2's own entry",
            _PERFTEST_VERSION,
            _PERFTEST_SOURCE,
        ),
        # Not -T: that is for connections by rdma_cm (-R), which we do not use.
        "traffic_class": Words(
            ("--tclass={knob}",),
            "the DSCP byte of RoCE v2 packets (0 without it; UCX has 106)",
            _PERFTEST_VERSION,
            _PERFTEST_SOURCE,
        ),
        "service_level": Words(
            ("-S", "{knob}"),
            "InfiniBand's service level, and RoCE's Ethernet priority",
            _PERFTEST_VERSION,
            _PERFTEST_SOURCE,
        ),
    },
    # Its programs have their own options for this: --use_cuda=0, --use_rocm=0.
    memories=dict.fromkeys(MEMORIES, ()),
)

VERBS = _without_mpi(
    "RDMA verbs of the card, by perftest",
    (ToolProgram("ib_write_bw", "perftest", is_folder=True),),
    ("libibverbs.so.1",),
    {
        "tcp": "A network interface has no verbs: if its card has (RoCE, Soft-RoCE), give it a fabric of kind roce.",
        "ib": _VERBS_WAY,
        "roce": _VERBS_WAY,
        "opa": _VERBS_WAY,
        "slingshot": "Slingshot's cards have no verbs: libfabric's own tests measure them (stack libfabric).",
        "efa": (
            "EFA has its own datagrams (SRD), not the queue pairs that perftest's writes need: libfabric's own tests "
            "measure it (stack libfabric)."
        ),
    },
)

_HAS_VERBS = "This fabric has verbs, which are nearer to the card: perftest measures them (stack verbs)."
_FABTESTS_DOCS = "ofiwg.github.io/libfabric fabtests(7) and fi_pingpong(1)"


def _provider(name: str, device: str, proof: str) -> Way:
    return Way(
        transport=f"libfabric's provider {name}",
        settings=(
            Setting(
                "FI_PROVIDER",
                name,
                f"only this provider; {device}",
                "libfabric 1.17, tried with tcp",
                _FABTESTS_DOCS,
            ),
        ),
        spreads=_OFI_SPREADS,
        cannot=_OFI_CANNOT,
        proof=Proof((), r"^bytes +#?(?:sent|iters)", proof),
        knobs={
            "gid_index": "libfabric's tests have no option for it",
            "traffic_class": "libfabric's tests have no option for it",
            "service_level": "libfabric's tests have no option for it",
        },
    )


_SILENT = "a test prints its rows, but no device; only the counters prove it"
LIBFABRIC = _without_mpi(
    "libfabric, by its own tests",
    (ToolProgram("fi_pingpong", "fabtests", is_folder=True),),
    ("libfabric.so.1",),
    {
        "tcp": _provider("tcp", "FI_TCP_IFACE names the rail of each pair", _SILENT),
        "ib": _HAS_VERBS,
        "roce": _HAS_VERBS,
        "opa": _HAS_VERBS,
        "slingshot": _provider("cxi", "the rail is its domain (-d cxi0)", _SILENT),
        "efa": _provider("efa", "the rail is its domain (-d rdmap0s6-rdm)", _SILENT),
    },
    not_built="fabtests must have the same release as the site's libfabric",
)

_CXI_SPREADS, _CXI_CANNOT = _spreads_and_refusals("A write belongs to one card at each end")
_HAS_NO_CXI = "libcxi drives only Slingshot's cards: see the stacks verbs, libfabric and tcp."

CXI = _without_mpi(
    "Slingshot's cards, by libcxi's own tests",
    (ToolProgram("cxi_write_bw", "cxi", is_folder=True),),
    ("libcxi.so.1",),
    {
        **dict.fromkeys(("tcp", "ib", "roce", "opa", "efa"), _HAS_NO_CXI),
        "slingshot": Way(
            transport="RDMA writes of the rail's card",
            settings=(),
            spreads=_CXI_SPREADS,
            cannot=_CXI_CANNOT,
            proof=Proof(
                (), r"CXI RDMA Write Bandwidth Test", "a client prints the test's name; only the counters prove it"
            ),
            knobs=ofi.KNOBS["cxi"],
        ),
    },
    not_built="cxi_write_bw must have the same release as the site's Slingshot host software",
)

STACKS: Mapping[str, Stack] = {"tcp": TCP, "verbs": VERBS, "libfabric": LIBFABRIC, "cxi": CXI}
