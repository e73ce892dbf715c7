"""The banner that an OSU benchmark prints -> the name of its executable."""

import re

# Titles of OSU's sources, 5.3 and 7.4, without "OSU", "MPI", the device and "Test"; older wordings beside them.
_POINT_TO_POINT = {
    "latency": "osu_latency",
    "bandwidth": "osu_bw",
    "bi-directional bandwidth": "osu_bibw",
    "bidirectional bandwidth": "osu_bibw",
    "multiple bandwidth / message rate": "osu_mbw_mr",
    "multi latency": "osu_multi_lat",
    "multi-threaded latency": "osu_latency_mt",
    "multithreaded latency": "osu_latency_mt",
    "multi-process latency": "osu_latency_mp",
    "latency persistent": "osu_latency_persistent",
    "bandwidth persistent": "osu_bw_persistent",
    "bi-directional bandwidth persistent": "osu_bibw_persistent",
}
_STARTUP = {"init": "osu_init", "hello world": "osu_hello"}
_OPERATIONS = {
    "mpi_put": "put",
    "mpi_get": "get",
    "mpi_accumulate": "acc",
    "mpi_get_accumulate": "get_acc",
    "mpi_compare_and_swap": "cas",
    "mpi_fetch_and_op": "fop",
}
_ONE_SIDED = {
    f"{operation} {printed}": f"osu_{short}_{name}"
    for operation, short in _OPERATIONS.items()
    for printed, name in (
        ("latency", "latency"),
        ("bandwidth", "bw"),
        ("bi-directional bandwidth", "bibw"),
        ("bidirectional bandwidth", "bibw"),
        ("multi latency", "multi_lat"),
        ("multiple bandwidth bandwidth", "mbw"),
    )
}
# what stands before "Latency Test"
_OF_ALL = {
    "allgather": "allgather",
    "allgatherv": "allgatherv",
    "allreduce": "allreduce",
    "all-to-all personalized exchange": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
    "all-to-allw personalized exchange": "alltoallw",
    "all-to-all": "alltoall",
    "all-to-allv": "alltoallv",
    "all-to-allw": "alltoallw",
    "alltoall": "alltoall",
    "alltoallv": "alltoallv",
    "alltoallw": "alltoallw",
    "barrier": "barrier",
    "broadcast": "bcast",
    "gather": "gather",
    "gatherv": "gatherv",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_block": "reduce_scatter_block",
    "scatter": "scatter",
    "scatterv": "scatterv",
}
_COLLECTIVE = {
    f"{before}{printed}{after} latency": f"osu_{letter}{name}{tail}"
    for printed, name in _OF_ALL.items()
    for before, letter in (
        ("", ""),
        ("non-blocking ", "i"),
        ("neighborhood ", "neighbor_"),
        ("non-blocking neighborhood ", "ineighbor_"),
    )
    for after, tail in (("", ""), (" persistent", "_persistent"))
}
_TITLES = {**_POINT_TO_POINT, **_STARTUP, **_ONE_SIDED, **_COLLECTIVE}

COLLECTIVES = frozenset(_COLLECTIVE.values())

_DEVICE = re.compile(r"-(?:cuda|rocm|openacc|sycl|managed)\b")
_PREFIX = re.compile(r"\A(?:mpi |one sided )+")
_OTHER = re.compile(r"\A(openshmem|upc\+\+|upc|nccl|rccl|hccl|xccl|spark|jni) ")


def benchmark_of(name: str) -> str:
    """Return the executable's name for what stands between "OSU" and "Test" in a banner.

    A title that no release known here prints gives ``osu_`` and its own words: a name is never guessed to be another's.
    """
    plain = " ".join(_DEVICE.sub(" ", name.lower()).split())
    library = _OTHER.match(plain)
    if not library:
        plain = _PREFIX.sub("", plain)
        if plain in _TITLES:
            return _TITLES[plain]
    elif library[1] in ("nccl", "rccl", "hccl", "xccl"):
        known = _TITLES.get(plain[library.end() :])
        if known:
            return known.replace("osu_", "osu_xccl_", 1)
    short = plain.replace("openshmem", "oshm").replace("upc++", "upcxx").removesuffix(" latency")
    return "osu_" + re.sub(r"[^a-z0-9]+", "_", short).strip("_")
