"""What an OSU benchmark prints above its rows -> benchmark, version, columns with units, and context.

Every function takes a stripped line and knows no line that is longer than ``LONGEST``.

The banner that an OSU benchmark prints -> the name of its executable.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from railyard.base.patterns import late_regex
from railyard.parsers.output import ContextValue

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

_DEVICE_NAME = late_regex(r"-(?:cuda managed|cuda|rocm|openacc|sycl|managed)\b")
_RATE = late_regex(r"_(?:bw|bibw|mbw)(?:_|\Z)")
_PREFIX = late_regex(r"\A(?:mpi |one sided )+")
_OTHER = late_regex(r"\A(openshmem|upc\+\+|upc|nccl|rccl|hccl|xccl|spark|jni) ")


def benchmark_of(name: str, version: str | None = None) -> str:
    """Return the executable's name for the words between "OSU" and "Test" in a banner.

    A title that no known release prints gives ``osu_`` and its own words: no executable is ever guessed.
    """
    plain = " ".join(_DEVICE_NAME.sub(" ", name.lower()).split())
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
    plain = " ".join(_DEVICE_NAME.sub(" ", name.lower()).split())
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


LONGEST = 600
Heading = tuple[str, str | None]  # column and unit

# Printed heading -> column and unit, old and new wording side by side. A new heading is a new line here.
HEADINGS: MappingProxyType[str, Heading] = MappingProxyType(
    {
        "Size": ("size", "B"),
        "Latency (us)": ("latency", "us"),
        "Avg Latency(us)": ("avg", "us"),  # point to point since 7.5: the column is latency
        "Min Latency(us)": ("min", "us"),
        "Max Latency(us)": ("max", "us"),
        "Iterations": ("iterations", None),
        "Bandwidth (MB/s)": ("bandwidth", "MB/s"),
        "Bi-Directional Bandwidth (MB/s)": ("bandwidth", "MB/s"),
        "MB/s": ("bandwidth", "MB/s"),
        "Messages/s": ("message_rate", "1/s"),
        "Overall(us)": ("overall", "us"),
        "Compute(us)": ("compute", "us"),
        "Coll. Init(us)": ("coll_init", "us"),
        "MPI_Test(us)": ("mpi_test", "us"),
        "MPI_Wait(us)": ("mpi_wait", "us"),
        "Pure Comm.(us)": ("pure_comm", "us"),
        "Min Comm.(us)": ("min_comm", "us"),
        "Max Comm.(us)": ("max_comm", "us"),
        "Overlap(%)": ("overlap", "%"),
        "Validation": ("validation", None),
        "Transmit Size": ("transmit_size", "B"),  # 7.4, -D: what a derived datatype moves
        # OMB-Py
        "Size (B)": ("size", "B"),
        "Wait avg(us)": ("wait_avg", "us"),
        "Init avg(us)": ("init_avg", "us"),
        # OMB-J, which prints its units in brackets; its Gb/s are the same figures again, in 10^9 bit/s
        "Lat Avg(us)": ("avg", "us"),
        "Lat Min(us)": ("min", "us"),
        "Lat Max(us)": ("max", "us"),
        "Avg. Latency (us)": ("avg", "us"),
        "Min. Latency (us)": ("min", "us"),
        "Max. Latency (us)": ("max", "us"),
        "Bandwidth (Gb/s)": ("bandwidth_gbit", "Gbit/s"),
        # osu_oshm_atomics: the operation in place of a size
        "Operation": ("operation", None),
        "Million ops/s": ("million_ops", "10^6/s"),
    }
)
_RATES = frozenset({"MB/s", "Gbit/s", "1/s"})
_BRACKETS = str.maketrans("[]", "()")
_BY_TEXT = {re.sub(r"\s", "", text).lower(): value for text, value in HEADINGS.items()}
_ONE_HEADING = late_regex(
    r"\s*(?:"
    + "|".join(re.escape(text).replace(r"\ ", r"\s?") for text in sorted(HEADINGS, key=len, reverse=True))
    # P99 Tail Lat(us): any percentile since 7.4
    + r"|P(?P<percent>[0-9]{1,3})\s?Tail\s?(?:(?P<latency>Lat\(us\))|BW\(MB/s\)))"
    r"(?=\s|\Z)",
    re.IGNORECASE,
)
# osu_mbw_mr -V: "#                 1           2           4 …" under "# Uni-directional Bandwidth (MB/sec)"
_WINDOWS = late_regex(r"^#((?:\s{1,20}[0-9]{1,9}){2,20})$")

# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5   |   # OSU MPI Latency Test (Version 2.1)   |   #OSU … Test v5.7
# OMB-Py MPI Bandwidth Test   |   # OSU MPI Bandwidth Test Persistent v8.0
_TITLE = late_regex(
    r"^#\s{0,20}(?:OSU|OMB-Py|OMB Python) (?P<name>\S.{0,120}?)(?: Test)? Test(?P<persistent> Persistent)?\s{0,20}"
    r"(?:v\.?(?P<v>[0-9]\S{0,40})|\(Version (?P<version>[^)\s]{1,40})\))?$",
    re.IGNORECASE,
)
# MPI Latency Test   of mpi4py's demo/osu_latency.py
_DEMO_TITLE = late_regex(r"^#\s{0,20}MPI (?P<name>Latency|Bandwidth|Bi-Directional Bandwidth) Test$")
_TITLE_BEGUN = late_regex(r"^#\s{0,20}(?:OSU|OMB-Py|OMB Python) (?P<name>.{0,200})$", re.IGNORECASE)
_HEADING_BEGUN = late_regex(r"^#\s{0,20}Size\b.{0,300}$", re.IGNORECASE)
# # Size      Bandwidth (MiB/s)
_SIZE_AND_MORE = late_regex(
    r"^#\s{0,20}Size(?:\s?\(B\))?\s{1,40}(?=\S.{0,120}\(\S{1,20}\)|\S{1,20}/s\b)", re.IGNORECASE
)
_NO_HEADING = "#0123456789"  # no heading begins with one of these
#: OSU multiplies by two: size / 1e6 * iterations * window * 2; mpi4py's demo has no factor.
_COUNT_ONE_DIRECTION = {
    "osu_bibw": "osu_bibw.py of mpi4py counts the bytes of one direction, OSU's osu_bibw those of both: do not compare"
}
_DEVICE = late_regex(r"-(CUDA|ROCM|OPENACC|SYCL|MANAGED)\b", re.IGNORECASE)

_CONTEXT = late_regex(
    r"^(?:"
    # [ pairs: 4 ] [ window size: 64 ]   |   # [ pairs: 4 ] [ window size: varied ]
    r"#?\s{0,20}\[ pairs: (?P<pairs>[0-9]{1,9}) \](?: \[ window size: (?:(?P<window>[0-9]{1,9})|varied) \])?"
    r"|#\s{0,20}Pairs: (?P<get_pairs>[0-9]{1,9})"
    r"|#\s{0,20}Datatype: (?P<datatype>[A-Za-z0-9_]{1,60})\.?"
    # Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)   |   # Rank 0 Memory on … and Rank 1 Memory on …
    r"|#\s{0,20}(?:Send Buffer|Rank 0 Memory) on (?P<send_buffer>[A-Z ]{1,20}) \(\S{1,20}\) and "
    r"(?:Receive Buffer|Rank 1 Memory) on (?P<receive_buffer>[A-Z ]{1,20}) \(.{1,20}"
    r"|#\s{0,20}Window(?: creation)?: (?P<window_creation>\S{1,60})"
    r"|#\s{0,20}Synchronization: (?P<synchronization>\S{1,60})"
    r")$"
)
# Number of Sender threads: 1   |   # Number of forked processes in sender: 2
_CROWD = late_regex(
    r"^#\s{0,20}Number of (?:forked )?(?:(?P<side>Sender|Receiver) threads|processes in (?P<of>sender|receiver)):"
    r"\s{0,9}(?P<count>[0-9]{1,9})$"
)


@dataclass(frozen=True, slots=True)
class Title:
    """What a banner says."""

    benchmark: str
    version: str | None
    device: str | None
    remark: str | None = None  # what a reader has to know of the figures


@lru_cache(maxsize=256)  # a long output repeats few different lines
def title_of(text: str) -> Title | None:
    """Return what this line says as a banner, None if it is not a banner."""
    found = _TITLE.match(text)
    if not found:
        return _demo_title_of(text)
    name, version = found["name"] + (found["persistent"] or ""), found["v"] or found["version"]
    device = _DEVICE.search(name)
    return Title(benchmark_of(name, version), version, device[1].upper() if device else None)


def _demo_title_of(text: str) -> Title | None:
    """Return the title of one of mpi4py's three demos that measure as OSU's programs of the same name do.

    Its collectives take the time of the root alone, and are no OSU benchmark. Source: demo/osu_*.py of mpi4py 4.
    """
    found = _DEMO_TITLE.match(text)
    benchmark = benchmark_of(found["name"]) if found else ""
    if benchmark in _COUNT_ONE_DIRECTION:
        return Title(f"{benchmark}_of_one_direction", None, None, f"{text}: {_COUNT_ONE_DIRECTION[benchmark]}")
    return Title(benchmark, None, None) if found else None


@lru_cache(maxsize=256)
def is_cut_title(text: str) -> bool:
    """Return whether a line is the beginning of a banner that has lost its end: "# OSU MPI Bi-Dir"."""
    begun = _TITLE_BEGUN.match(text)
    return begun is not None and title_of(text) is None and is_cut(begun["name"])


def foreign_columns(benchmark: str | None, heading: tuple[Heading, ...]) -> str | None:
    """Return what the columns of a heading measure if the benchmark of the banner cannot: "times"; else None."""
    rate, units = is_rate(benchmark), {unit for _, unit in heading}
    if rate and "us" in units and not units & _RATES:
        return "times"
    return "rates" if rate is False and "us" not in units and units & _RATES else None


@lru_cache(maxsize=256)
def headings_of(text: str) -> tuple[Heading, ...]:
    """Return column and unit of each heading of this line; none if it has anything but headings."""
    plain = text.translate(_BRACKETS) if len(text) <= LONGEST else ""
    position = 1 if plain.startswith("#") else 0
    found: list[Heading] = []
    while position < len(plain):
        one = _ONE_HEADING.match(plain, position)
        if not one:
            return ()
        found.append(_heading(one))
        position = one.end()
    return tuple(found)


def unknown_heading(text: str) -> str | None:
    """Return the first unknown column of a heading over message sizes; None for any other line."""
    begun = _SIZE_AND_MORE.match(text) if len(text) <= LONGEST else None
    if begun is None:
        return None
    plain, position = text.translate(_BRACKETS), begun.end()
    while one := _ONE_HEADING.match(plain, position):
        position = one.end()
    return text[position:].strip() or None


def _heading(found: re.Match[str]) -> Heading:
    if found["percent"]:
        kind, unit = ("lat", "us") if found["latency"] else ("bw", "MB/s")
        return f"p{int(found['percent'])}_tail_{kind}", unit
    return _BY_TEXT[re.sub(r"\s", "", found[0]).lower()]


def windows_of(text: str) -> tuple[str, ...]:
    """Return the columns of an osu_mbw_mr with several windows, ``window_1`` …; none for any other line."""
    found = _WINDOWS.match(text)
    return tuple(f"window_{word}" for word in found[1].split()) if found else ()


@lru_cache(maxsize=256)
def context_of(text: str) -> tuple[tuple[str, ContextValue], ...]:
    """Return what this line says about the table below it, as pairs of key and value; none if nothing."""
    found = _CONTEXT.match(text)
    if not found:
        return ()
    given = found.groupdict().items()
    return tuple((k.removeprefix("get_"), int(v) if v.isdigit() else v) for k, v in given if v is not None)


@lru_cache(maxsize=256)
def crowd_of(text: str) -> tuple[str, int] | None:
    """Return how many threads or processes a side has, ``("sender_threads", 2)``; None for any other line."""
    found = _CROWD.match(text)
    if not found:
        return None
    if found["side"]:
        return f"{found['side'].lower()}_threads", int(found["count"])
    return f"{found['of']}_processes", int(found["count"])


@lru_cache(maxsize=256)
def is_begun(text: str) -> bool:
    """Return whether this line may be the first part of a banner or a heading that a mailer wrapped."""
    return bool(_HEADING_BEGUN.match(text)) or (bool(_TITLE_BEGUN.match(text)) and not title_of(text))


def is_wrapped(before: str, following: str) -> bool:
    """Return whether the second line is the rest of the first, for which ``is_begun`` is true."""
    if not following:
        return False
    if _TITLE_BEGUN.match(before):
        return title_of(f"{before} {following}") is not None
    # a row has no headings; a heading that is broken inside ("Bandwidth" / "(MB/s)") is a heading only after joining
    if following[0] in _NO_HEADING:
        return False
    joined = headings_of(f"{before} {following}")
    # the same heading again, without its "#", is not the rest of the first
    return bool(joined) and len(set(joined)) == len(joined)


@lru_cache(maxsize=256)
def columns_of(benchmark: str | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns: the only value of a collective is avg, that of a point to point test is latency."""
    one = "min" not in names and "max" not in names
    if is_collective(benchmark):
        return tuple("avg" if name == "latency" else name for name in names)
    if benchmark is not None and one:
        return tuple("latency" if name == "avg" else name for name in names)
    return names
