"""What all stacks over UCX share: devices, rails, knobs, and the line in the log that proves them."""

from railyard.stacks.model import MEMORIES, Knob, Memories, Proof, Setting, Spread

_FAQ = "github.com/openucx/ucx docs/source/faq.md"
_CONTEXT = "github.com/openucx/ucx src/ucp/core/ucp_context.c"

# In UCX 1.20.1's own table of protocols (UCX_PROTO_INFO=y) a blocking send over two tcp devices is split from 532706 B.
# A ping-pong gives 50.7 MB/s at 512 KiB and 97.7 MB/s at 1 MiB on two rails of 47.8 MB/s.
TCP_STRIPING_FROM_BYTES = 1 << 20
# Two pieces of UCX_MIN_RNDV_CHUNK_SIZE, 16 KiB: _CONTEXT, MIN_RNDV_CHUNK_SIZE. No shorter message is split.
RDMA_STRIPING_FROM_BYTES = 1 << 15

# "Currently up to 4 are supported" (faq.md, Multi-rail).
MAX_RAILS = 4

TCP = (
    Setting(
        "UCX_TLS",
        "tcp,self",
        "only these transports: without it UCX takes whatever is fastest, even a fabric that was not intended",
        "UCX 1.20.1, tried with MPICH 5.0.2",
        f"{_CONTEXT}, TLS",
    ),
    Setting(
        "UCX_NET_DEVICES",
        "{devices}",
        "the net devices; without it UCX takes the best of all devices, including the management network",
        "UCX 1.20.1, tried with MPICH 5.0.2",
        f"{_CONTEXT}, NET_DEVICES",
    ),
)

RDMA = (
    Setting(
        "UCX_TLS",
        "ib,sm,self",
        "only verbs (rc, ud, dc), and shared memory within a node: UCX must not fall back to tcp on the same wire",
        "documented for UCX 1.13 to 1.22",
        f"{_CONTEXT}, TLS",
    ),
    Setting(
        "UCX_NET_DEVICES",
        "{ports}",
        "card and port, as `ucx_info -d` prints them (mlx5_0:1)",
        "documented for UCX 1.13 to 1.22",
        f"{_FAQ}, Which network devices does UCX use?",
    ),
)

_RAILS = Setting(
    "UCX_MAX_RNDV_RAILS",
    "{rails}",
    "over how many devices one rendezvous message is split; the default is 2, however long the list is",
    "UCX 1.20.1, tried with 1 and 2",
    f"{_FAQ}, Multi-rail; {_CONTEXT}, MAX_RNDV_RAILS",
)
_EAGER = Setting(
    "UCX_MAX_EAGER_RAILS",
    "1",
    "small messages stay on one device (the default, set explicitly so that a site's setting cannot move the split)",
    "UCX 1.20.1, the default",
    f"{_CONTEXT}, MAX_EAGER_RAILS",
)
_ONE_EACH = Setting(
    "UCX_MAX_RNDV_RAILS",
    "1",
    "each process uses one device of its list: of several, the nearest by NUMA locality",
    "documented for UCX 1.13 to 1.22",
    f"{_FAQ}, Is it possible that each process would just use the closest device?",
)

#: Variables of users and sites by which UCX leaves messages whole, and so rails idle, with what each does.
#: Source: github.com/openucx/ucx src/ucp/core/ucp_context.c, RNDV_THRESH and MIN_RNDV_CHUNK_SIZE.
KEEPS_WHOLE = {
    "UCX_RNDV_THRESH": "UCX splits only messages of that size and more over several rails",
    "UCX_MIN_RNDV_CHUNK_SIZE": "UCX splits a message only into pieces of that size and more",
}

SINGLE = Spread("single", "one rail: nothing is split", (_RAILS, _EAGER))

TCP_STRIPING = Spread(
    "striping",
    "from 1 MiB one message goes over all rails (UCX 1.20.1: 532706 B in its own table, measured at 1 MiB)",
    (_RAILS, _EAGER),
    TCP_STRIPING_FROM_BYTES,
    MAX_RAILS,
)

RDMA_STRIPING = Spread(
    "striping",
    "only rendezvous messages of 32 KiB and more: no piece is smaller than 16 KiB (UCX_MIN_RNDV_CHUNK_SIZE). UCX "
    "estimates at its start, from the devices, where rendezvous begins: UCX_PROTO_INFO=y prints it",
    (_RAILS, _EAGER),
    RDMA_STRIPING_FROM_BYTES,
    MAX_RAILS,
)

NIC_PER_RANK_THRESHOLD = "each rank uses one device for all sizes: the one that it is given"


def nic_per_rank(options: tuple[str, ...]) -> Spread:
    """Return UCX's NIC per rank. ``options`` are the launcher's words that bind ranks to NUMA nodes."""
    return Spread(
        "nic-per-rank",
        NIC_PER_RANK_THRESHOLD,
        (_ONE_EACH, _EAGER),
        options=options,
        rank_variable="UCX_NET_DEVICES",
    )


NO_ROUND_ROBIN = (
    "UCX splits one large message over its devices and sends small ones over the first: it has no round robin "
    "(mvapich2 has)."
)
NO_TCP_NIC_PER_RANK = (
    "UCX chooses a process's device by NUMA locality, which is the same for virtual and most Ethernet devices, and all "
    "ranks share one list of devices: use striping."
)

PROOF = Proof(
    (
        Setting(
            "UCX_LOG_LEVEL",
            "info",
            "at this level each new connection prints its devices",
            "UCX 1.20.1, tried",
            "github.com/openucx/ucx src/ucp/core/ucp_worker.c",
        ),
        Setting(
            "UCX_PROTO_INFO",
            "y",
            "prints which share goes over which device, and from which size on (1.13 only with UCX_PROTO_ENABLE=y)",
            "UCX 1.20.1, tried",
            f"{_FAQ}; {_CONTEXT}, PROTO_INFO",
        ),
    ),
    r"UCX +INFO .*inter-node cfg#\d+ .*/{device}[: )]",
    "each process prints `inter-node cfg#1 tag(tcp/hsn0 tcp/hsn1)`, and a table with `50% on tcp/hsn0 and 50% on "
    "tcp/hsn1` for the sizes at which messages are split",
)

RDMA_KNOBS: dict[str, Knob] = {
    "gid_index": Setting(
        "UCX_IB_GID_INDEX",
        "{knob}",
        "which GID of the port: it decides RoCE v1 or v2 and the VLAN (`show_gids` lists them)",
        "documented for UCX 1.13 to 1.22",
        f"{_FAQ}, How to specify which address to use?",
    ),
    "traffic_class": Setting(
        "UCX_IB_TRAFFIC_CLASS",
        "{knob}",
        "the DSCP byte of RoCE v2 packets (auto is 106 there), and the TClass of InfiniBand's global header",
        "documented for UCX 1.13 to 1.22",
        f"{_FAQ}, How to specify DSCP priority?; src/uct/ib/base/ib_iface.c, TRAFFIC_CLASS",
    ),
    "service_level": Setting(
        "UCX_IB_SL",
        "{knob}",
        "InfiniBand's service level, and RoCE's Ethernet priority",
        "documented for UCX 1.13 to 1.22",
        f"{_FAQ}, How to specify service level with UCX?; src/uct/ib/base/ib_iface.c, SL",
    ),
}

TCP_KNOBS: dict[str, Knob] = {
    "gid_index": "a GID index belongs to RDMA devices, and TCP has none",
    "traffic_class": "this stack cannot set the class of its TCP packets",
    "service_level": "a service level belongs to RDMA devices, and TCP has none",
}


_WAYS_TO = {
    "cuda": "NVIDIA's GPUs (cuda_copy, cuda_ipc, gdr_copy)",
    "rocm": "AMD's GPUs (rocm_copy, rocm_ipc, rocm_gdr)",
}


def to_memory(memory: str) -> tuple[Setting, ...]:
    """Return the settings with which UCX takes messages from the memory of such GPUs; they replace ``RDMA``'s."""
    return (
        Setting(
            "UCX_TLS",
            f"ib,sm,self,{memory}",
            f"verbs, and the ways to the memory of {_WAYS_TO[memory]}: without them a message there is an error or a "
            "crash",
            "documented for UCX 1.13 to 1.22, not tried",
            f"{_CONTEXT}, alias {memory}",
        ),
    )


#: Messages in the memory of GPUs: the card reads and writes it directly if the kernel lets it (GPUDirect RDMA).
RDMA_MEMORIES: Memories = {memory: to_memory(memory) for memory in MEMORIES}
NO_MEMORY_OVER_TCP: Memories = dict.fromkeys(
    MEMORIES,
    "TCP does not reach the memory of GPUs: each message is copied through host memory, and the tests of host buffers "
    "measure that",
)
