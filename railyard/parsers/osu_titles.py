"""The banner that an OSU benchmark prints -> the name of its executable."""

import re

# Titles in OSU's sources, 5.3, 7.4 and 8.0, without "OSU", "MPI", the device and "Test", and older titles and those of
# OMB-J and OMB-Py. osu_bw_fan_in and osu_bw_fan_out of 7.4 print the title of osu_bw.
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
    "partitioned latency": "osu_partitioned_latency",
    "bandwidth congestion in": "osu_bw_fan_in",
    "bandwidth congestion out": "osu_bw_fan_out",
    "bi-bandwidth": "osu_bibw",
    "open mpi bandwidth": "osu_bw",
    "open mpi bi-bandwidth": "osu_bibw",
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
# How the window is synchronised: 3.3 to 4.2 had programs of their own (osu_passive_put_bw, osu_fop_flush), later
# releases the option -s of the same program. "OSU MPI One Sided MPI_Accumulate Passive Latency Test"
_SYNCHRONIZATIONS = ("", " passive", " with flush")
_ONE_SIDED = {
    f"{operation}{synchronization} {printed}": f"osu_{short}_{name}"
    for operation, short in _OPERATIONS.items()
    for synchronization in _SYNCHRONIZATIONS
    for printed, name in (
        ("latency", "latency"),
        ("bandwidth", "bw"),
        ("bi-directional bandwidth", "bibw"),
        ("bidirectional bandwidth", "bibw"),
        ("multi latency", "multi_lat"),
        ("multiple bandwidth bandwidth", "mbw"),
    )
}
# the words before "Latency Test"
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
    "bcast": "bcast",
    "broadcast": "bcast",
    "gather": "gather",
    "gatherv": "gatherv",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reducescatter": "reduce_scatter",
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
EXECUTABLES = frozenset(_TITLES.values())

# Titles of the other programming models -> executables; their collectives are in the second table.
_OTHERS = {
    "openshmem": (
        "osu_oshm_",
        {"barrier", "broadcast", "collect", "fcollect", "reduce"},
        {
            "put_nbi": "put_nb",
            "get_nbi": "get_nb",
            "put message rate": "put_mr",
            "put_nb message rate": "put_mr_nb",
            "get_nb message rate": "get_mr_nb",
            "atomic operation rate": "atomics",
        },
    ),
    "upc": (
        "osu_upc_all_",
        {"barrier", "broadcast", "exchange", "gather", "gather_all", "reduce", "scatter"},
        {"gatherall": "gather_all", "memput": "../memput", "memget": "../memget"},
    ),
    "upc++": (
        "osu_upcxx_",
        {"allgather", "alltoall", "bcast", "gather", "reduce", "scatter"},
        {"broadcast": "bcast", "async copy (put)": "async_copy_put", "async copy (get)": "async_copy_get"},
    ),
}
_XCCL = ("nccl", "rccl", "hccl", "xccl")
_ONLY_NCCL = (7, 2)  # osu_nccl_* up to this release, osu_xccl_* from 7.3 on

_DEVICE = re.compile(r"-(?:cuda managed|cuda|rocm|openacc|sycl|managed)\b")
_RATE = re.compile(r"_(?:bw|bibw|mbw)(?:_|\Z)")
_PREFIX = re.compile(r"\A(?:mpi |one sided )+")
_OTHER = re.compile(r"\A(openshmem|upc\+\+|upc|nccl|rccl|hccl|xccl|spark|jni) ")


def benchmark_of(name: str, version: str | None = None) -> str:
    """Return the executable's name for the words between "OSU" and "Test" in a banner.

    A title that no known release prints gives ``osu_`` and its own words: no executable is ever guessed.
    """
    plain = " ".join(_DEVICE.sub(" ", name.lower()).split())
    library = _OTHER.match(plain)
    if not library:
        plain = _PREFIX.sub("", plain)
        # OMB-J names its collectives without "Latency"
        known = _TITLES.get(plain) or _TITLES.get(f"{plain} latency")
    else:
        known = _of_library(library[1], plain[library.end() :], version)
    if known:
        return known
    short = plain.replace("openshmem", "oshm").replace("upc++", "upcxx").removesuffix(" latency")
    return "osu_" + re.sub(r"[^a-z0-9]+", "_", short).strip("_")


def _of_library(library: str, title: str, version: str | None) -> str | None:
    if library in _XCCL:
        known = _TITLES.get(title)
        release = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version or "")
        older = release is not None and (int(release[1]), int(release[2])) <= _ONLY_NCCL
        return known.replace("osu_", "osu_nccl_" if older else "osu_xccl_", 1) if known else None
    if library not in _OTHERS:
        return None
    prefix, collectives, titles = _OTHERS[library]
    short = title.removesuffix(" latency")
    name = titles.get(short, short)
    if name.startswith("../"):
        return f"osu_{library}_{name[3:]}"
    return prefix + name if name in collectives or short in titles or library == "openshmem" else None


def is_cut(name: str) -> bool:
    """Return whether the words behind "OSU" in a banner are the beginning of a known one, without its end."""
    plain = " ".join(_DEVICE.sub(" ", name.lower()).split())
    if any(before.startswith(plain) for before in ("mpi", "mpi one sided")):
        return True
    plain = _PREFIX.sub("", plain)
    return any(f"{title} test".startswith(plain) and plain != f"{title} test" for title in _TITLES)


def is_rate(benchmark: str | None) -> bool | None:
    """Return whether this executable of OSU's measures rates (else times); None if no known release has it."""
    if benchmark in _STARTUP.values() or not (benchmark in EXECUTABLES or is_collective(benchmark)):
        return None
    return _RATE.search(benchmark or "") is not None


def is_collective(benchmark: str | None) -> bool:
    """Return whether this executable measures a collective operation, of MPI, NCCL, OpenSHMEM, UPC or UPC++."""
    if benchmark is None:
        return False
    return re.sub(r"\Aosu_[nx]ccl_", "osu_", benchmark) in COLLECTIVES or any(
        benchmark.removeprefix(prefix) in names for prefix, names, _ in _OTHERS.values()
    )
