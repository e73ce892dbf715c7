"""What perftest prints, 1.2 to 26.07, as data: headings, titles, settings, its own lines and its own errors.

``columns`` reads a heading, ``title_of`` a title; both take the printed text and the names of ``--out_json`` alike.
"MB/sec" and "MiB/sec" are both 2^20 B/s: ``format_factor = 0x100000`` in perftest_parameters.c since 2013, the same
divisor in each program before; 1d202bb of March 2024 corrected the name only. "Gb/sec" is 10^9 bit/s (125000000 B/s).
Source: the RESULT_FMT and REPORT_FMT definitions of perftest_parameters.h in all commits from 2006 to July 2026.

What it prints about buffers in a GPU's memory (``--use_cuda``, ``--use_rocm``) are settings of its run too. These
lines are above the title, in one of these forms: 2014 to 2020 "There are N devices supporting CUDA, picking …";
then "Listing all CUDA devices in system:" and "Picking device No. N", since 2022 with "using DMA-BUF"; since 2024 with
the kind of memory. ROCm prints one line and the setting "Use ROCm memory". Nothing else in an output differs. Source:
src/perftest_resources.c up to 2022, then src/cuda_memory.c and src/rocm_memory.c, up to July 2026.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, not_a_number, number
from railyard.parsers.output import Cell, ContextValue

GBIT = 125.0  # MB/s in one Gb/s
_RATE = 1e6  # messages per second in one Mpps
_ADDRESS = re.compile(r"CUDA device (?P<gpu>[0-9]{1,4}): PCIe address is (?P<bus>[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})")
_PICKED = re.compile(
    r"Picking (?:device No\.|GPU number) (?P<gpu>[0-9]{1,4})"
    r"|There are [0-9]{1,4} devices supporting CUDA, picking (?:(?P<old>[0-9]{1,4})|first)\.{0,3}"
)
_NAME = re.compile(r"\[pid = [0-9]{1,12}, dev = (?P<gpu>[0-9]{1,4})\] device name = \[(?P<name>[^\[\]]{1,120})\]")
_ROCM = re.compile(
    r"Using ROCm Device with ID: (?P<gpu>[0-9]{1,4}), Name: (?P<name>.{0,120}), PCI Bus ID: 0x(?P<bus>[0-9a-f]{1,4}), "
    r"GCN Arch: (?P<arch>\S{1,60})"
)
_DMABUF = re.compile(r"using DMA-BUF for GPU buffer address at .{1,200}")
_KIND = re.compile(r"allocated GPU buffer of a [0-9]{1,20} address at \S{1,40} for type CUDA_MEM_(?P<kind>[A-Z]{1,20})")
_BEGINS = "initializing CUDA"
_OWN = (
    *(_BEGINS, "Listing all CUDA devices", "creating CUDA Ctx", "making it the current CUDA Ctx", "cuMemAlloc"),
    *("allocated ", "deallocating ", "destroying current CUDA Ctx", "CUDA device integrated", "Finding PCIe BUS "),
    *("Got PCIe address of", "Host allocation selected", "dmabuf export addr", "stopping CUDA gpu touch"),
    *("Perftest doesn't supports CUDA tests with inline messages", "Starting GPU touching process"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Heading:
    """One printed column: its name, unit, the factor that converts it, and the decimals that never vary."""

    column: str
    unit: str | None
    factor: float = 1.0
    decimals: int = 0  # 0 for whole numbers; bandwidths have 2, or 6 below 0.1 Gb/s


def _bandwidths() -> dict[str, Heading]:
    units = {"MB": BINARY_MB, "MiB": BINARY_MB, "Gb": GBIT}
    names = {
        "BW peak": "bandwidth_peak",
        "BW average": "bandwidth",
        "BW Port1": "bandwidth_port1",  # --report-per-port, with -D and two ports
        "BW Port2": "bandwidth_port2",
    }
    return {
        f"{text}[{unit}/sec]": Heading(column, "MB/s", factor, 2)
        for text, column in names.items()
        for unit, factor in units.items()
    }


# It is -nan if rounding leaves the root of a negative sum (seen with five messages of 3.4 s each). No figure uses it.
STDEV = "time_stdev"
# Printed heading -> how its column is read. A new heading is a new line here.
HEADINGS: MappingProxyType[str, Heading] = MappingProxyType(
    {
        "#bytes": Heading("size", "B"),
        "#iterations": Heading("iterations", None),
        "#sl": Heading("sl", None),  # --raw_qos: a row for each service level
        **_bandwidths(),
        "MsgRate[Mpps]": Heading("message_rate", "1/s", _RATE, 6),  # since June 2012
        "MsgRate Port1[Mpps]": Heading("message_rate_port1", "1/s", _RATE, 6),
        "MsgRate Port2[Mpps]": Heading("message_rate_port2", "1/s", _RATE, 6),
        "CPU_Util[%]": Heading("cpu_util", "%", 1.0, 2),
        "t_min[usec]": Heading("time_min", "us", 1.0, 2),
        "t_max[usec]": Heading("time_max", "us", 1.0, 2),
        "t_typical[usec]": Heading("time_typical", "us", 1.0, 2),
        "t_avg[usec]": Heading("time_avg", "us", 1.0, 2),  # this and the next three since July 2016
        "t_stdev[usec]": Heading(STDEV, "us", 1.0, 2),
        "99% percentile[usec]": Heading("time_p99", "us", 1.0, 2),
        "99.9% percentile[usec]": Heading("time_p999", "us", 1.0, 2),
        "tps average": Heading("transactions", "1/s", 1.0, 2),
        "#flows": Heading("flows", None),  # raw_ethernet_fs_rate
        "fs_min_time[usec]": Heading("time_min", "us", 1.0, 2),
        "fs_max_time[usec]": Heading("time_max", "us", 1.0, 2),
        "fs_typical_time[usec]": Heading("time_typical", "us", 1.0, 2),
        "fs_avg_time[usec]": Heading("time_avg", "us", 1.0, 2),
        "fps[flow per sec]": Heading("flow_rate", "1/s", 1.0, 2),
    }
)
# Key of --out_json -> the printed heading; the file names no unit of a bandwidth (perftest_json.py)
JSON_KEYS: MappingProxyType[str, str] = MappingProxyType(
    {
        "MsgSize": "#bytes",
        "sl": "#sl",
        "n_iterations": "#iterations",
        "BW_peak": "BW peak[MiB/sec]",
        "BW_average": "BW average[MiB/sec]",
        "MsgRate": "MsgRate[Mpps]",
        "CPU_util": "CPU_Util[%]",
        "t_min": "t_min[usec]",
        "t_max": "t_max[usec]",
        "t_typical": "t_typical[usec]",
        "t_avg": "t_avg[usec]",
        "t_stdev": "t_stdev[usec]",
        "percentile_99": "99% percentile[usec]",
        "percentile_99.9": "99.9% percentile[usec]",
        "tps_average": "tps average",
    }
)
_COMPACT = {text.replace(" ", "").lower(): heading for text, heading in HEADINGS.items()}
# a page or a mailer that takes "#" for its own sign
_LOST_HASH = re.compile(r"\A(?:bytes|flows)|(?<!#)iterations")
_ONE_HEADING = re.compile("|".join(re.escape(text) for text in sorted(_COMPACT, key=len, reverse=True)))

# RDMA_Write Bidirectional Post List BW Test  |  Send BW  -  Multicast Test  |  Atomic_FETCH_AND_ADD_Latency_Test
_TITLE = re.compile(
    r"^\s{0,80}(?:RDMA_(?P<rdma>Write|Read)(?P<imm>_imm)?|(?P<req>Read Req)|(?P<send>Send)(?P<send_imm>_imm)?"
    r"|Atomic[ _](?P<operation>CMP_AND_SWAP|FETCH_AND_ADD))"
    r"(?P<both>[ _]Bidirectional)?(?P<list>[ _]Post[ _]List)?[ _](?P<kind>BW|Latency)"
    r"(?P<forward>[ _]forwarding)?(?P<multicast>(?:  - )?[ _]Multicast)?[ _]Test\s{0,80}$",
    re.IGNORECASE,
)
# Lines under a title, name and value: " Dual-port       : OFF\t\tDevice         : mlx5_0", "Mtu": 4096,
_SETTINGS: MappingProxyType[str, str] = MappingProxyType(
    {
        "dual-port": "dual_port",
        "device": "device",
        "number of qps": "qps",
        "transport type": "transport",
        "connection type": "connection",
        "tx depth": "tx_depth",
        "rx depth": "rx_depth",
        "post list": "post_list",
        "cq moderation": "cq_moderation",
        "mtu": "mtu",
        "link type": "link",
        "gid index": "gid_index",
        "rdma_cm qps": "rdma_cm",
        "use rocm memory": "use_rocm",
        "cuda device": "cuda_device",
    }
)
_SETTING = re.compile(
    r"(?P<name>" + "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in _SETTINGS) + r")\s{0,20}:\s{0,4}"
    r"(?P<value>[^\s\[]{1,60})",
    re.IGNORECASE,
)
_QPS = re.compile(r"^\s{0,8}Number of qp's running (?P<value>[0-9]{1,9})\s{0,8}$")  # up to 2011
_ANY_SETTING = re.compile(r"^\s{0,8}(?:PCIe relax order|[A-Za-z][A-Za-z0-9 \t.*_-]{1,40}\s): \S.{0,200}$")
_FLAGS = frozenset({"dual_port", "rdma_cm", "use_rocm"})

# Perftest's own lines without a figure or an error; compared with the text without its indent
OWN = (
    *("local address", "remote address", "GID:", "local:", "remote:", "Mcast ", "* Waiting for client"),
    *("Waiting for client rdma_cm", "Please run the same command", "Local results:", "Remote results:"),
    *("Inline data is used up to", "Connected:", "Completed:", "Total run time", "===", "MultiCast runs on UD!"),
    *("Test with events.", "#, usec", "#, cycles"),
)
# Printed when a run begins, before its first rule: no rule will come for a run that was killed before
BEGINNINGS = ("Device not recognized to implement inline", "Disabling dynamic polling", "WARNING: BW peak won't be")
# Errors of perftest itself and of shells that lines.is_failure does not know
_FAILURE = re.compile(
    r"Couldn't |Could not |Unable to |[Ff]ailed(?:[ :]|$)|exited with Error|Completion with error|Problems? in "
    r"|Problems? with |Error occurred|Error: |ERROR|FAILED|\berror=|Can't produce|does not exist|not available on"
    r"|device \S{1,60} not found|No IB devices found|No such device|Did not detect|cannot run |can only run on"
    r"|(?:not|n't) supported|Unsupported (?:transport|address)|Invalid |cannot be changed"
    r"|Found Incompatibility|closed connection|Bad wc status|no available device"
    r"|avavilible in|timed out|is below (?:bw|msg_rate) limit"
)
# A text with one of these is perftest's even if it has no heading
SIGN = re.compile(
    r"\b(?:ib_(?:write|read|send|atomic)_(?:bw|lat)|raw_ethernet_(?:bw|lat|fs_rate|burst_lat))\b"
    r"|Parser function exited with Error|Unable to init the socket connection|Waiting for client to connect\.\.\. \*"
    r"|Couldn't init GPU context|Couldn't initialize ROCm device"
    r"|Unable to find the Infiniband/RoCE device|Failed to exchange data between server and clients"
)


def is_own_failure(text: str) -> bool:
    """Return whether a line is one of perftest's own errors. Two of them are only warnings: the run goes on."""
    return bool(_FAILURE.search(text[:2000])) and not text.lstrip().startswith(("WARNING", "Warning"))


def cells(heads: tuple[Heading, ...], words: list[str]) -> tuple[Cell, ...] | None:
    """Return one row's cells, converted; a cell is None for a printed NaN. None if these words are not such a row."""
    joined = "".join(words)
    if len(words) != len(heads) or len(joined) > 200:
        return None
    factors = _factors(heads)
    if factors and joined.isascii() and joined.replace(".", "").isdigit():  # nearly every row; three times faster
        try:
            return (int(words[0]), int(words[1]), *map(mul, map(float, words[2:]), factors))
        except ValueError:
            return None  # "1.2.3", or a size with a point
    found: list[Cell] = []
    for head, word in zip(heads, words, strict=True):
        value = number(word)
        if head.decimals == 0 and not isinstance(value, int):
            return None
        if value is None and not not_a_number(word):
            return None
        found.append(value if value is None or head.decimals == 0 else value * head.factor)
    return tuple(found) if all(cell is None or math.isfinite(cell) for cell in found) else None


def in_gbits(heads: tuple[Heading, ...]) -> dict[str, ContextValue]:
    """Return the option that a table's bandwidths in Gb/s show, since they are rounded to coarse steps; else empty."""
    return {"report_gbits": True} if any(head.factor == GBIT for head in heads) else {}


@lru_cache(maxsize=64)
def _factors(heads: tuple[Heading, ...]) -> tuple[float, ...]:
    """Return the factors after size and iterations; none if other columns hold whole numbers too."""
    counts = [head.decimals == 0 for head in heads]
    return tuple(head.factor for head in heads[2:]) if counts[:2] == [True, True] and not any(counts[2:]) else ()


@lru_cache(maxsize=256)
def columns(text: str) -> tuple[Heading, ...]:
    """Return the columns of a heading; none if the text has anything but headings, or does not begin like a heading."""
    compact = _LOST_HASH.sub(r"#\g<0>", "".join(text.split()).lower().replace("%%", "%"))
    if not compact.startswith(("#bytes", "#flows")) or len(compact) > 400:
        return ()
    found: list[Heading] = []
    position = 0
    while position < len(compact):
        one = _ONE_HEADING.match(compact, position)
        if not one:
            return ()
        found.append(_COMPACT[one[0]])
        position = one.end()
    once = len({heading.column for heading in found}) == len(found)
    return tuple(found) if once and len(found) > 2 else ()


@lru_cache(maxsize=256)
def title_of(text: str) -> tuple[str, dict[str, ContextValue]] | None:
    """Return the executable's name and what else a title says (bidirectional, atomic …); None for any other text.

    Read only, like ``settings``: the same text gives the same dictionary.
    """
    title = _TITLE.match(text)
    if not title:
        return None
    verb = "read" if title["req"] else "send" if title["send"] else (title["rdma"] or "atomic").lower()
    said: dict[str, ContextValue] = {}
    if title["both"]:
        said["bidirectional"] = True
    if title["operation"]:
        said["atomic"] = title["operation"].upper()
    if title["imm"] or title["send_imm"]:
        said["immediate"] = True
    if title["multicast"]:
        said["multicast"] = True
    return f"ib_{verb}_{'bw' if title['kind'].lower() == 'bw' else 'lat'}", said


@lru_cache(maxsize=1024)
def settings(text: str) -> dict[str, ContextValue] | None:
    """Return the settings that a line under a title names; empty if none is used here, None for any other text."""
    old = _QPS.match(text)
    if old:
        return {"qps": int(old["value"])}
    if ":" not in text or len(text) > 300 or not _ANY_SETTING.match(text):
        return None
    found: dict[str, ContextValue] = {}
    for one in _SETTING.finditer(text):
        name, value = _SETTINGS[one["name"].lower().replace("_", " ").replace("rdma cm", "rdma_cm")], one["value"]
        found[name] = value.upper() == "ON" if name in _FLAGS else int(value) if value.isdecimal() else value
    return found


def executable(benchmark: str | None, context: dict[str, ContextValue]) -> str | None:
    """Return the benchmark's name. Raw Ethernet has the title "Send", but no ib_ program can run over it."""
    raw = context.get("connection") == "RawEth" and benchmark in ("ib_send_bw", "ib_send_lat")
    return f"raw_ethernet_{benchmark[8:]}" if raw and benchmark else benchmark


class Device:
    """The GPU whose memory the next title's run uses, from the lines above it."""

    def __init__(self) -> None:
        self.context: dict[str, ContextValue] = {}
        self._addresses: dict[int, str] = {}

    def take_line(self, text: str) -> bool:
        """Take one line, without the blanks around it; return whether it is only about a GPU's buffer."""
        if text[0] not in "[ACDFGHLPSTUacdimsu" or "error" in text or "no available" in text:
            return False
        if text == _BEGINS:
            self.context, self._addresses = {"memory": "cuda"}, {}
            return True
        address, picked, name, rocm = (each.fullmatch(text) for each in (_ADDRESS, _PICKED, _NAME, _ROCM))
        if address:
            self._addresses[int(address["gpu"])] = address["bus"]
        elif picked:
            self._pick(int(picked["gpu"] or picked["old"] or 0))
        elif name:
            self._pick(int(name["gpu"]))
            self.context["gpu_name"] = name["name"]
        elif rocm:
            self.context = {"memory": "rocm", "gpu": int(rocm["gpu"]), "gpu_bus": f"{int(rocm['bus'], 16):02x}"}
            self.context |= {"gpu_name": rocm["name"].strip()} if rocm["name"].strip() else {}
        elif _DMABUF.fullmatch(text):
            self.context["dmabuf"] = True
        elif kind := _KIND.fullmatch(text):
            self.context["memory_kind"] = kind["kind"].lower()
        else:
            return text.startswith(_OWN)
        return True

    def _pick(self, gpu: int) -> None:
        self.context |= {"memory": "cuda", "gpu": gpu}
        if gpu in self._addresses:
            self.context["gpu_bus"] = self._addresses[gpu].lower()


def with_memory(context: dict[str, ContextValue]) -> dict[str, ContextValue]:
    """Return a run's settings, with ``memory`` if only "Use ROCm memory" or a device of ``--out_json`` says it."""
    context = dict(context)
    rocm, cuda = context.pop("use_rocm", None), context.pop("cuda_device", None)
    if rocm is True:
        context.setdefault("memory", "rocm")
    if isinstance(cuda, int):
        context |= {"memory": "cuda", "gpu": cuda}
    return context
