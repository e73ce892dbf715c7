"""The one table of all tools that have a parser: by which words a text shows that it can be the tool's, and its parser.

A parser is asked, and its module imported, only if one of its tool's signs is in the text. A sign only says that the
text *can* be the tool's; the parser decides. So every line by which a parser knows its tool must have a sign here, else
it never sees the text. tests/parsers/test_tool_signs.py compares signs and parsers, on whole and on cut samples.

A new tool is a module with its name, in this package or in ``fabric``, and a line here.

A second table has what tools of nodes and fabrics print when they read nothing, and what to do then.

Each parser is imported when it is first asked for. To import all of them takes longer than to read a small output: most
have some twenty patterns.

The garbage collector is off while a text is read: it would walk all that was read so far again and again. A parser
makes hundreds of thousands of tuples and no cycles, so there is nothing to collect. The parsers that make most tuples
save a fifth of their time (Python 3.11).
"""

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from railyard.parsers.output import ParsedOutput


class Parsers(Mapping[str, Callable[[str], "ParsedOutput"]]):
    """By tool its ``parse``, in the order of the tools given; a tool's module has its name."""

    def __init__(self, package: str, tools: Iterable[str]) -> None:
        self._package = package
        self._known: dict[str, Callable[[str], ParsedOutput] | None] = dict.fromkeys(tools)

    def __getitem__(self, tool: str) -> Callable[[str], "ParsedOutput"]:
        read = self._known[tool]
        if read is None:
            read = self._known[tool] = without_collector(import_module(f"{self._package}.{tool}").parse)
        return read

    def __contains__(self, tool: object) -> bool:
        return tool in self._known  # without an import

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class Form(NamedTuple):
    """A pattern as a sign, and a word without which it cannot match: a search for a word is much faster."""

    word: str
    pattern: str


#: Part of a text as ``lines.fold_text`` returns it. A newline at its beginning means a line's beginning.
Sign = str | Form
#: By tool, in the order in which the parsers are asked.
SIGNS: Mapping[str, tuple[Sign, ...]] = MappingProxyType(
    {
        "clusterkit": tuple(
            f"{which} {what}:" for which in ("minimum", "maximum", "average") for what in ("bandwidth", "latency")
        ),
        "cxi": ("cxi rdma write bandwidth test", "cxi_write_bw: "),
        "fabtests": ("usec/xfer", ", ret=", "[error] "),
        "gpcnet": ("network tests", "networkload tests", "congestion tests", "application must be run on at least"),
        "hp2p": ("== summary ==", "=== benchmark configuration ==="),
        "hpcc": ("hpc challenge benchmark version", " section."),
        "hpcg": ("hpcg-benchmark", "hpcg result is"),
        "hpl": ("hpl", "t/v"),
        "imb": ("imb-", "mpi benchmark", "benchmarking", "#repetitions"),
        "iperf2": (
            *(" connected with ", "client connecting to ", "server listening on "),
            Form("sec ", r"\n\[ {0,3}(?:sum|[0-9]{1,5})\] {1,3}[0-9.]{3,14}- {0,3}[0-9.]{3,14} sec "),
        ),
        "iperf3": (
            *("iperf3", "iperf 3", "iperf done", '"start"', '"event"', "connecting to host", " connected to "),
            # UCX says so, too, without the port
            Form("accepted connection from ", r"accepted connection from [^\s,]{1,200}, port "),
            *("starting test: ", "sender"),
            # ethtool says it of an optical module, too
            Form("receiver", r"receiver(?! signal)"),
        ),
        "milc": ("mimd version", "time = ", "time= "),
        "nccl": (
            *("nthread", "busbw", "collective test", "avg bus bandwidth", "out of bounds values", "nccl-tests version"),
            *("rccl-tests", "nccl info", "nccl warn", "nccl version", "rccl version", '"bus_bw"', '"busbw"'),
            *("using devices", "test nccl failure", "test cuda failure", "test timeout"),
        ),
        "netperf": (
            Form(" test ", r"\b(?:stream|maerts|sendfile|request/response|omni [a-z|]{4,12}) test (?:from|to) "),
            *("throughput_units=", "\nthroughput=", "throughput units", "netserver"),
        ),
        "netpipe": (
            *("now starting the main loop", "start testing with", " times -->"),
            Form("np", r"np(?<!\wnp)[a-z0-9]{2,12}\b"),  # a program's name: NPtcp
            Form("", r"\A\s*[0-9.]+\s"),  # np.out has only rows of numbers
        ),
        "npb": (
            *("benchmark completed", "nas parallel benchmark"),
            Form(".", r"\.[swa-f]\.[x0-9]"),  # the end of a program's name: ft.C.16
        ),
        "nvbandwidth": (
            *("nvbandwidth", "&&&& perf "),
            Form("running ", r"\brunning [a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80}\."),
            Form("waiving ", r"\bwaiving [a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80}\."),
            Form("sum ", r"\bsum [a-z][a-z0-9]{1,40}_[a-z0-9_]{1,80} "),
        ),
        # a banner or an executable's name, the unit of a heading, what osu_init prints, and words of each refusal
        "osu": (
            *("osu", "omb-py", "omb python", "(us)", "[us]", "messages/s", "ops/s", "nprocs:"),
            *("# mpi latency test", "# mpi bandwidth test", "# mpi bi-directional bandwidth test"),
            # libcxi prints BW[MB/s], ucx_perftest "bandwidth (MB/s)  |"
            Form("mb/s", r"(?<!bw)\[mb/s\]|\(mb/s\)(?! {0,8}\|)"),
            *("test requires", "support not enabled", "than 1 node", "benchmarks expect", "failed: "),
            *("error initializ", "could not initializ", "error allocat", "could not allocat"),
        ),
        "pairs": ("railyard-pairs",),
        # headings, keys of JSON, and a part of each alternative of perftest_formats.SIGN
        "perftest": (
            *("#iterations", "#flows", "bw average[", "t_typical[usec]", "msgsize", "test_info"),
            *("ib_write_", "ib_read_", "ib_send_", "ib_atomic_", "raw_ethernet_", "parser function exited"),
            *("unable to init the socket", "waiting for client", "unable to find the infiniband"),
            *("failed to exchange data", "couldn't init gpu context", "couldn't initialize rocm device"),
        ),
        "qperf": ("qperf", "_bw:", "_lat:", "_compare_swap", "_fetch_add", "conf:", "quit:"),
        "sharing": ("railyard-sharing",),
        "sockperf": ("sockperf: ", "sockperf["),
        "ucx_perftest": (
            *("# iterations", "| api: "),
            Form("perf", r"\b(?:perftest|libperf)[a-z_]{0,20}\.c"),
        ),
        "wrf": ("timing for ", "fatal called", "taskid:", "starting wrf task", "wrf: ", "wrf v", "ntasks in x"),
    }
)
#: By tool of a fabric.
FABRIC_SIGNS: Mapping[str, tuple[Sign, ...]] = MappingProxyType(
    {
        # the first line of a module, the beginning of its JSON, and what is printed in place of one
        "ethtool": (
            *("ethtool", '"identifier"', "netlink error: ", "cannot get module eeprom information"),
            Form("identifier", r"\bidentifier\s{1,40}: 0x[0-9a-f]{2}\b"),
        ),
        "iblinkinfo": ("iblinkinfo", "==("),
        # GUIDs in the topology, a GUID and a width in the report
        "ibnetdiscover": (
            *("ibnetdiscover", '"s-', '"h-', '"r-', '"?-'),
            Form("0x", r"0x[0-9a-f]{1,16}\s+(?:[0-9]{1,2}x|\?\?)\s"),
        ),
        "ibportstate": ("ibportstate", "port info: "),
        "ibqueryerrors": ("ibqueryerrors", "errors for ", "data counters for ", "guid 0x", "\n## "),
        # a device, ibpanic's words, and the beginning of a list of port GUIDs
        "ibstat": (
            "ibstat",
            *(f"{kind}{colon} '" for kind in ("ca", "switch", "router", "rnic", "???") for colon in ("", ":")),
            "stat of ib device",
            Form("", r"\A\s*(?:vm_hostname |(?:0x)?[0-9a-f]{16}\b)"),
        ),
        "ibstatus": ("ibstatus", "infiniband device '", "fatal error: "),
        "ibv_devinfo": (
            *("ibv_devinfo", "hca_id", " hca found:", " hcas found:", "no ib devices found", "ib device '"),
        ),
        "lspci": ("lspci", "lnksta:", "lnkcap:"),
        "mlxlink": ("mlxlink", "operational info", '"status"', '"result"'),
        "nvidia_smi": (
            *("nvidia-smi", "cpu affinity", "nic legend:"),
            Form("gpu0", r"\sgpu0\s+(?:gpu1|nic0|mlx)"),
        ),
        "perfquery": ("perfquery", " counters: "),
        "rdma_link": (
            *("rdma link", "\nlink ", '"ifname"'),
            Form("/", r"\n[0-9]{1,5}/[0-9]{1,5}: "),
        ),
        "rdma_statistic": ("rdma statistic", "\nlink ", '"ifname"'),
        "show_gids": (
            "show_gids",
            Form("ipv4", r"\bdev\s{1,40}port\s{1,40}index\s{1,40}gid\s{1,40}ipv4\b"),
        ),
    }
)


class Refusal(NamedTuple):
    """What a tool prints when it read nothing: its name, the pattern of such a line, and what to do.

    ``or_else``: which other tools print the same.
    """

    tool: str
    or_else: str
    pattern: str
    fix: str


_DRIVER = "is the card's driver loaded (dmesg, lspci -k)? A container also needs /dev/infiniband and /sys"
_LONGEST_REFUSAL = 300  # characters of a line that is looked at
#: So many lines beside the errors may be a prompt, the command, or a heading. With more, the tool read something.
_MOST_BESIDE = 3
#: A pattern is for one line without the blanks before it. Seen on Debian 12 without cards: ethtool, ibstat, ibstatus,
#: perfquery, iblinkinfo, ibqueryerrors, ibv_devinfo and mstlink. From its source: utils/cxi_stat.c
#: (HewlettPackard/shs-libcxi). From what users posted: older words of ethtool and ibstat, nvidia-smi, pcilib.
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "ethtool",
        "",
        r"(?:ethtool: )?netlink error: |ethtool: bad command line argument|No data available$|no stats available$"
        r"|Cannot get [\w -]{1,60}: (?:Operation|No such device|Invalid argument|Input/output|No data)",
        "run it as root, for the port's own interface: no bond, bridge, VLAN or virtual function (ip -d link); where a "
        "driver of NVIDIA's cards shows no module, mlxlink -d DEVICE -m does",
    ),
    Refusal(
        "mlxlink",
        "another tool of mstflint, MFT or ibutils",
        r"-E- ",
        "run it as root, with a device that mst status or ibstat -l shows (-d mlx5_0), and one that the tool knows",
    ),
    Refusal(
        "ibstat",
        "",
        r"(?:ibstat: )?ib(?:panic|warn|error): .{0,80}(?:\bstat of IB device |IB device can't be found)",
        "name a device that ibstat -l shows; if it shows none, is the card's driver loaded (dmesg, lspci -k)?",
    ),
    Refusal(
        "a tool of infiniband-diags",
        "perfquery, iblinkinfo, ibqueryerrors …",
        r"(?:\S{1,60}: )?ib(?:panic|warn|error): ",
        "run it as root (it opens /dev/infiniband/umad*), with a device and port that ibstat shows as Active (-C, -P)",
    ),
    Refusal("ibstatus", "", r"Fatal error: {1,4}(?:No devices|device ')", _DRIVER),
    Refusal(
        "ibv_devinfo",
        "another tool of libibverbs",
        r"No IB devices found|Failed to get IB devices list|IB device '[^']{1,80}' wasn't found|0 HCAs? found",
        _DRIVER,
    ),
    Refusal(
        "nvidia-smi",
        "",
        r"NVIDIA-SMI (?:has failed because|couldn't find libnvidia)|Failed to initialize NVML: "
        r"|No devices were found$",
        "does the node have GPUs (lspci), and is NVIDIA's driver loaded, in its library's release (dmesg, modinfo "
        "nvidia)?",
    ),
    Refusal(
        "cxi_stat",
        "another tool of libcxi",
        r"Cannot get the list of CXI devices|Failed to open CXI device: ",
        "is the driver of Slingshot's card loaded (ls /sys/class/cxi, dmesg)? A container also needs /dev/cxi*",
    ),
    Refusal(
        "lspci",
        "",
        r"(?:pcilib|lspci): (?:Cannot|Unable|Couldn't) ",
        "run it on the node itself, as root: a container may have no /sys/bus/pci",
    ),
)


def refusal_in(line: str) -> Refusal | None:
    """Return which tool says in a line that it read nothing; None for any other line."""
    shown = line[:_LONGEST_REFUSAL].strip()
    if not _any_refusal().match(shown):
        return None
    return next(refusal for refusal in REFUSALS if re.match(refusal.pattern, shown))


@cache
def _any_refusal() -> re.Pattern[str]:
    """Return one pattern for all: an output has up to a million lines, and hardly one is a refusal."""
    return re.compile("|".join(f"(?:{refusal.pattern})" for refusal in REFUSALS))


def is_refusal(failures: Sequence[str], beside: int) -> bool:
    """Return whether an output is only what a tool says that read nothing: its ``failures``, and few lines beside."""
    return beside <= _MOST_BESIDE + len(failures) and any(map(refusal_in, failures))


def without_collector(read: Callable[[str], "ParsedOutput"]) -> Callable[[str], "ParsedOutput"]:
    """Return a parser that reads with the collector off and then restores it, even if the parser raises."""

    @wraps(read)
    def parse(text: str) -> "ParsedOutput":
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return read(text)
        finally:
            if was_enabled:
                gc.enable()

    return parse
