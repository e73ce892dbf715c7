"""What an output says of a run that left RDMA for TCP: one table; each entry has its words and its source.

A row that is *sure* is printed for the transport that the run uses. Any other row says that a device could not be used,
or that TCP was requested: a library may then have used RDMA all the same, so figures that TCP cannot reach speak
against it. Neither is a failure of a run whose network is meant to carry TCP.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from railyard.base.patterns import late_regex
from railyard.base.values import one_line
from railyard.benchmarks.metrics import curves, key_of
from railyard.benchmarks.moved_bytes import pairs_of
from railyard.benchmarks.table import micro
from railyard.hardware.links import Link
from railyard.parsers.lines import LONGEST_NOTE, clean_text
from railyard.parsers.output import Table
from railyard.verdict.hints.causes import RDMA_FAMILIES, branches, surely_holds
from railyard.verdict.own_fault import starts_as_rdma
from railyard.verdict.rule_model import OutputLine
from railyard.verdict.wording.causes import against_fallback, fallback_of_unknown, faster_than_tcp

_QUOTED = 100  # characters of a line in a remark
#: From EFA, too, a library falls back to TCP.
FAMILIES = RDMA_FAMILIES | {"efa"}


@dataclass(frozen=True, slots=True)
class Fallback:
    """One message: its library, its words, its pattern for a line, what it means, what to do, and its source.

    Groups of the pattern fill the blanks of ``means``. ``except_with``: a pattern of other lines that speak against it.
    ``setting``: the pattern of the variable that asks for it. ``leaves_tcp``: a setting with which the library that
    reads it has no way but TCP. (Open MPI's btl is not such: with UCX it sends past it.)
    """

    library: str
    words: str
    pattern: str
    means: str
    fix: str
    source: str
    is_sure: bool
    except_with: str = ""
    setting: str = ""
    leaves_tcp: bool = False


@dataclass(frozen=True, slots=True)
class FallbackLine:
    """A message that was found: its line (1-based), as it reads, and what it means, with what to do."""

    line: int
    quoted: str
    means: str
    is_sure: bool
    leaves_tcp: bool = False


_PROVIDER = r"(?P<name>(?:tcp|sockets|udp)(?:;ofi_rx[md])?)(?![\w;])"
_OF_RDMA = r"(?:verbs|cxi|psm[23x]?|efa|opx|mlx|gni)\b"
_RDMA_PROVIDER = rf"\bprovider:? {_OF_RDMA}"
#: What may be before a setting in a prompt's line, in a shell's trace, or in what env prints; no comment and no prose.
BEFORE_SETTING = (
    r"^(?!\s{0,20}#)"
    r"(?:[^\n]{0,300}?(?:[$#%>+,]|\bexport|\bsetenv|-x|-genv|-env|\benv|variables:|\w=\S{0,99})[ \t,]{1,4}"
    r"|[^\n]{0,300}?--export=\S{1,99},|\s{0,8})[\"']?"
)
ENDS_VALUE = r"""(?![\w;,.:])[^\n]{0,1500}$"""
#: What may have started a run: a launcher, a benchmark, or a script.
_MAY_RUN = late_regex(r"run\b|exec|\bosu_|\bIMB-|_perftest|\bib_|\bfi_|\./|\bsh\b|^\s{0,9}[0-9]")


def removal(variable: str) -> str:
    """Return the pattern of a command that removes a variable or makes it empty."""
    begins = r"^(?:\[[^\]\n]{1,60}\]#|[^\n#]{0,300}[;&$>%+])?\s{0,20}"
    removes = r"(?:unset(?:env)?|export -n|env -u)[ \t](?:[^\n;#|&]{0,200}[ \t])?"
    empties = rf"{BEFORE_SETTING}{variable}=[\"']{{0,2}}\s{{0,9}}$"
    return rf"{empties}|{begins}{removes}{variable}(?!\w)"


#: With these, Open MPI sends by UCX or by a library below its mtl, whatever its btl is.
NOT_BTL = (
    r"(?:\b|MCA_)pml[= ][\"']?(?:ucx|cm|yalla|mxm)\b|(?:\b|MCA_)mtl[= ][\"']?(?:ofi|psm2?|mxm|portals4)\b"
    r"|\bUCX_(?:TLS=(?!tcp|sm|self)|NET_DEVICES=\w{1,40}:)"
)
_NETWORK_OF_BTL = "openib|ugni|usnic|uct|ofi|portals4"
_NOT_TCP_OF_UCX = r"(?:rc|dc|ud|ib|ugni|gga|all|cm|srd)(?:_\w{1,20})?"
_FIX_OFI = "name the provider of the fabric in FI_PROVIDER; fi_info lists those that the node has"
_FIX_NCCL = "NET/IB and NET/OFI in the lines above say why no RDMA device was taken; see NCCL_IB_HCA and NCCL_NET"
_FIX_UCX = "ucx_info -d on the node lists the devices; see UCX_TLS and UCX_NET_DEVICES"

FALLBACKS: tuple[Fallback, ...] = (
    Fallback(
        "PSM2",
        "PSM2 no hfi units are active; PSM2 can't open hfi unit",
        r"^[^\n]{0,200}(?<![A-Za-z])PSM2 (?:no hfi units are active|can't open hfi unit: -?[0-9]{1,4})[^\n]{0,80}$",
        "PSM2 found no Omni-Path card that is up, so the library went on over another network, mostly TCP",
        "look at hfi1_0 with opainfo or ibstat",
        "github.com/cornelisnetworks/opa-psm2, psm_ep.c",
        is_sure=False,
    ),
    Fallback(
        "PSM2",
        "hfi_wait_for_device: The … device failed to appear after … seconds",
        r"^[^\n]{0,200}\bhfi_wait_for_device: The \S{1,60} device failed to appear after [^\n]{1,80}$",
        "PSM2 waited in vain for the Omni-Path card, so the library went on over another network, mostly TCP",
        "is the driver hfi1 loaded, and is the port up?",
        "github.com/cornelisnetworks/opa-psm2, opa_service.c",
        is_sure=False,
    ),
    Fallback(
        "PSM3",
        "PSM3 no nic units are active; PSM3 can't open nic unit",
        r"^[^\n]{0,200}(?<![A-Za-z])PSM3 (?:no nic units are active|can't open nic unit: -?[0-9]{1,4})[^\n]{0,80}$",
        "PSM3 found no card that it can use, so the library went on with another provider, mostly TCP",
        "look at the card with ibstat, and at the limit of locked memory (ulimit -l)",
        "github.com/ofiwg/libfabric, prov/psm3/psm3/psm_ep.c",
        is_sure=False,
    ),
    Fallback(
        "Open MPI",
        "no active ports detected",
        r"^[^\n]{0,200}\bno active ports detected\b[^\n]{0,120}$",
        "Open MPI found an RDMA device but no port of it that is up, and left it out of the job",
        "look at cable, subnet manager and ibstat of the node",
        "github.com/open-mpi/ompi, v4.1.x, opal/mca/btl/openib/help-mpi-btl-openib.txt",
        is_sure=False,
    ),
    Fallback(
        "Open MPI",
        "There was an error initializing an OpenFabrics device",
        r"^[^\n]{0,200}\bThere was an error initializing an OpenFabrics device\b[^\n]{0,80}$",
        "Open MPI could not use the RDMA device with its own driver (btl/openib); without UCX the job runs over TCP",
        "ask for UCX: --mca pml ucx --mca btl ^openib",
        "github.com/open-mpi/ompi, v4.1.x, opal/mca/btl/openib/help-mpi-btl-openib.txt",
        is_sure=False,
    ),
    Fallback(
        "Open MPI",
        "No OpenFabrics connection schemes reported",
        r"^[^\n]{0,200}\bNo OpenFabrics connection schemes reported\b[^\n]{0,80}$",
        "Open MPI's own driver (btl/openib) could not use a port of the RDMA device; without UCX the job runs over TCP",
        "ask for UCX: --mca pml ucx --mca btl ^openib",
        "github.com/open-mpi/ompi, v4.1.x, opal/mca/btl/openib/help-mpi-btl-openib-cpc-base.txt",
        is_sure=False,
        except_with=rf"{NOT_BTL}|\bUCX {{1,2}}(?:WARN|INFO|DEBUG)\b",
    ),
    Fallback(
        "Open MPI",
        "Using tcp btl (for send) to …",
        r"^[^\n]{0,200}\bmca: bml: Using tcp btl (?:for send )?to [^\n]{1,120}$",
        "Open MPI sends to that process over TCP (btl/tcp)",
        "ask for the fabric's own way, and it fails if it is not there: --mca pml ucx, or --mca pml cm --mca mtl ofi",
        "github.com/open-mpi/ompi, v4.1.x, ompi/mca/bml/r2/bml_r2.c",
        is_sure=True,
    ),
    Fallback(
        "Open MPI",
        "btl: tcp: attempting to connect()",
        r"^[^\n]{0,200}\bbtl: tcp: attempting to connect\(\) to [^\n]{1,120}$",
        "Open MPI connects to another process over TCP (btl/tcp)",
        "ask for the fabric's own way, and it fails if it is not there: --mca pml ucx, or --mca pml cm --mca mtl ofi",
        "github.com/open-mpi/ompi, opal/mca/btl/tcp/btl_tcp_endpoint.c (btl_base_verbose)",
        is_sure=False,
        except_with=NOT_BTL,
    ),
    Fallback(
        "UCX",
        "UCX  WARN  transports … are not available",
        r"^[^\n]{0,100}UCX {1,2}WARN {1,4}transports? (?!'tcp' is)(?P<name>'[^\n]{1,160}') (?:is|are) not available, "
        rf"please use one or more of:(?![^\n]{{0,400}}[ ,'](?:{_NOT_TCP_OF_UCX})(?!\w))[^\n]{{0,400}}$",
        "this UCX finds no transport of RDMA on that node ({name}), so it may use TCP",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/core/ucp_context.c, ucp_report_unavailable",
        is_sure=False,
    ),
    Fallback(
        "UCX",
        "UCX  WARN  network device … is not available",
        r"^[^\n]{0,100}UCX {1,2}WARN {1,4}network device '(?P<name>[^'\n]{1,80})' is not available, please use"
        r"[^\n]{0,400}$",
        "UCX_NET_DEVICES names {name}, which that node does not have, so UCX may use TCP",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/core/ucp_context.c",
        is_sure=False,
    ),
    Fallback(
        "UCX",
        "inter-node cfg … tag(tcp/…)",
        r"^[^\n]{0,200}\binter-node cfg#[0-9]{1,6} (?:tag|am|rma|rma_am)\((?P<name>tcp/[\w.:-]{1,40})[^\n]{0,300}$",
        "UCX chose TCP between the nodes ({name})",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/core/ucp_worker.c (UCX_LOG_LEVEL=info)",
        is_sure=True,
        except_with=rf"\binter-node cfg#[^\n]{{0,200}}\((?:{_NOT_TCP_OF_UCX})/",
    ),
    Fallback(
        "Intel MPI",
        "MPI startup(): libfabric provider: tcp;ofi_rxm",
        rf"^[^\n]{{0,120}}\bMPI startup\(\): libfabric provider: {_PROVIDER}[^\n]{{0,80}}$",
        "Intel MPI chose the provider {name} of Libfabric: TCP",
        "name the provider of the fabric in I_MPI_OFI_PROVIDER (mlx, verbs, psm3, cxi)",
        "I_MPI_DEBUG of the Intel MPI Library Developer Reference",
        is_sure=True,
    ),
    Fallback(
        "Intel MPI",
        "MPI startup(): (shm and) tcp data transfer mode(s)",
        r"^[^\n]{0,120}\bMPI startup\(\): (?:shm and )?tcp data transfer modes?\b[^\n]{0,80}$",
        "Intel MPI chose TCP between the nodes",
        "set I_MPI_FABRICS to the fabric, and I_MPI_FALLBACK=0",
        "I_MPI_DEBUG of the Intel MPI Library, releases before 2019",
        is_sure=True,
    ),
    Fallback(
        "NCCL",
        "NET/OFI Selected Provider is tcp;ofi_rxm",
        rf"^[^\n]{{0,200}}\bNET/OFI Selected [Pp]rovider is {_PROVIDER}[^\n]{{0,120}}$",
        "NCCL's plugin chose the provider {name} of Libfabric: TCP",
        _FIX_OFI,
        "github.com/aws/aws-ofi-nccl, src/nccl_ofi_net.cpp",
        is_sure=True,
    ),
    Fallback(
        "Libfabric",
        "libfabric provider: tcp;ofi_rxm; FI provider: tcp",
        rf"^[^\n]{{0,200}}\b(?:[Ll]ibfabric|OFI|FI)[ _][Pp]rovider(?: is|:) ?{_PROVIDER}[^\n]{{0,120}}$",
        "the library chose the provider {name} of Libfabric: TCP",
        _FIX_OFI,
        "github.com/pmodels/mpich, src/mpid/ch4/netmod/ofi/ofi_init.c, and what launch scripts print",
        is_sure=True,
    ),
    Fallback(
        "Libfabric",
        "Found provider with the highest priority tcp",
        rf"^[^\n]{{0,200}}\bFound provider with the highest priority {_PROVIDER}[^\n]{{0,120}}$",
        "of the providers of Libfabric that fit, {name} came first: TCP",
        _FIX_OFI,
        "github.com/ofiwg/libfabric, src/fabric.c (FI_LOG_LEVEL=info)",
        is_sure=False,
        except_with=rf"highest priority {_OF_RDMA}",
    ),
    Fallback(
        "Libfabric",
        "provider: tcp;ofi_rxm",
        rf"^\s{{0,8}}provider:? {_PROVIDER}[^\n]{{0,120}}$",
        "only a provider of TCP is named here ({name})",
        _FIX_OFI,
        "github.com/pmodels/mpich, src/mpid/ch4/netmod/ofi/util.c; fi_info of Libfabric",
        is_sure=False,
        except_with=_RDMA_PROVIDER,
    ),
    Fallback(
        "NCCL",
        "NET/Socket : Using [0]docker0",
        r"^[^\n]{0,200}\bNET/Socket ?: Using \[0\](?P<name>[\w.-]{1,40}):[^\n]{0,400}$",
        "NCCL found no RDMA device and uses sockets (TCP) over {name}",
        _FIX_NCCL,
        "github.com/NVIDIA/nccl, src/transport/net_socket.cc",
        is_sure=True,
        except_with=r"\bUsing network (?!Socket)\w",
    ),
    Fallback(
        "NCCL",
        "Using network Socket",
        r"^[^\n]{0,200}\bNCCL INFO Using network Socket\b[^\n]{0,80}$",
        "NCCL uses sockets (TCP)",
        _FIX_NCCL,
        "github.com/NVIDIA/nccl, src/init.cc",
        is_sure=True,
    ),
    Fallback(
        "UCX",
        "ep_cfg[2]: tag(tcp/…)",
        r"^[^\n]{0,200}\bep_cfg\[[0-9]{1,6}\]: (?:tag|am|rma|rma_am)\((?P<name>tcp/[\w.:-]{1,40})[^\n]{0,300}$",
        "UCX chose TCP to another process ({name})",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/core/ucp_worker.c, ucp_worker_print_used_tls (UCX_LOG_LEVEL=info)",
        is_sure=True,
        except_with=rf"\((?:{_NOT_TCP_OF_UCX})/",
    ),
    Fallback(
        "UCX",
        "… short … tcp/eth0, a row of UCX_PROTO_INFO",
        r"^[^\n]{0,200}\| {0,40}(?P<name>tcp/[\w.:-]{1,40})[^|\n]{0,80}\|\s{0,9}$",
        "UCX moves messages over TCP ({name})",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/proto/proto_debug.c (UCX_PROTO_INFO=y)",
        is_sure=False,
        except_with=rf"\b(?:{_NOT_TCP_OF_UCX})/\w",
    ),
    Fallback(
        "UCX",
        "UCX_TLS=tcp,self",
        rf"{BEFORE_SETTING}UCX_TLS[= ][\"']?(?P<name>(?:\w{{1,20}},){{0,9}}tcp(?:,\w{{1,20}}){{0,9}}){ENDS_VALUE}",
        "only TCP was allowed to UCX ({name})",
        _FIX_UCX,
        "github.com/openucx/ucx, src/ucp/core/ucp_context.c, TLS",
        is_sure=False,
        except_with=rf"\bUCX_TLS[= ][\"']?(?:\w{{1,20}},){{0,9}}{_NOT_TCP_OF_UCX}(?!\w)",
        setting="UCX_TLS",
        leaves_tcp=True,
    ),
    Fallback(
        "UCX",
        "UCX_NET_DEVICES=eth0; UCX_NET_DEVICES=ib0",
        rf"{BEFORE_SETTING}UCX_NET_DEVICES[= ][\"']?"
        rf"(?P<name>(?:eth|en[ospx]|em|bond|lo|ib[ps]?|hsn)[0-9]\w{{0,20}}){ENDS_VALUE}",
        "UCX was limited to {name}, the name of a network interface for TCP",
        _FIX_UCX,
        "github.com/openucx/ucx, src/uct/tcp/tcp_iface.c; RDMA devices are like mlx5_0:1",
        is_sure=False,
        except_with=r"\bUCX_NET_DEVICES[= ][\"']?\w{1,40}:[0-9]",
        setting="UCX_NET_DEVICES",
    ),
    Fallback(
        "Open MPI",
        "mtl:ofi:prov: tcp",
        rf"^[^\n]{{0,200}}\bmtl:ofi:prov: {_PROVIDER}[^\n]{{0,80}}$",
        "Open MPI chose the provider {name} of Libfabric: TCP",
        _FIX_OFI,
        "github.com/open-mpi/ompi, ompi/mca/mtl/ofi/mtl_ofi_component.c (mtl_base_verbose)",
        is_sure=True,
    ),
    Fallback(
        "Open MPI",
        "--mca btl tcp,self; OMPI_MCA_btl=tcp,self",
        rf"^(?!\s{{0,20}}#)[^\n]{{0,600}}(?:-mca[ \t]{{1,4}}btl[ \t]{{1,4}}|\bOMPI_MCA_btl[= ])[\"']?"
        rf"(?!\S{{0,60}}(?:{_NETWORK_OF_BTL}))(?:\w{{1,12}},){{0,6}}tcp(?:,\w{{1,12}}){{0,6}}(?![\w,])[^\n]{{0,1200}}$",
        "no network but TCP was allowed to Open MPI's btl",
        "ask for the fabric's own way: --mca pml ucx, or --mca pml cm --mca mtl ofi",
        "github.com/open-mpi/ompi, opal/mca/btl",
        is_sure=False,
        except_with=NOT_BTL,
        setting="OMPI_MCA_btl",
    ),
    Fallback(
        "Intel MPI",
        "I_MPI_FABRICS=shm:tcp",
        rf"{BEFORE_SETTING}I_MPI_FABRICS[= ][\"']?(?P<name>(?:shm:)?tcp){ENDS_VALUE}",
        "TCP was requested of Intel MPI ({name})",
        "set I_MPI_FABRICS to the fabric (shm:ofi, before 2019 shm:dapl or shm:ofa)",
        "I_MPI_FABRICS of the Intel MPI Library, releases before 2019",
        is_sure=False,
        except_with=r"\bI_MPI_FABRICS[= ][\"']?(?:shm:)?(?:ofi|ofa|dapl|tmi)\b",
        setting="I_MPI_FABRICS",
        leaves_tcp=True,
    ),
    Fallback(
        "Libfabric",
        "FI_PROVIDER=tcp; I_MPI_OFI_PROVIDER=tcp",
        rf"{BEFORE_SETTING}(?:FI_PROVIDER|I_MPI_OFI_PROVIDER|MPIR_CVAR_OFI_USE_PROVIDER)[= ][\"']?"
        rf"{_PROVIDER}[^\n]{{0,1500}}$",
        "the provider {name} of Libfabric was requested: TCP",
        _FIX_OFI,
        "man fabric(7) of Libfabric; I_MPI_OFI_PROVIDER of the Intel MPI Library Developer Reference",
        is_sure=False,
        except_with=rf"PROVIDER[= ][\"']?{_OF_RDMA}|\bpml[= ]ucx\b|{_RDMA_PROVIDER}",
        setting=r"(?:FI_PROVIDER|I_MPI_OFI_PROVIDER|MPIR_CVAR_OFI_USE_PROVIDER)",
        leaves_tcp=True,
    ),
    Fallback(
        "Libfabric",
        "--mca mtl_ofi_provider_include tcp; fi_pingpong -p tcp",
        r"^(?!\s{0,20}#)[^\n]{0,600}(?:\bmtl_ofi_provider_include[= ]{1,4}|\bfi_\w{1,30} (?:[^\n]{0,200} )?-p ?)[\"']?"
        rf"{_PROVIDER}[^\n]{{0,1200}}$",
        "the provider {name} of Libfabric was requested: TCP",
        _FIX_OFI,
        "github.com/open-mpi/ompi, ompi/mca/mtl/ofi; github.com/ofiwg/libfabric, fabtests",
        is_sure=False,
        except_with=rf"\b(?:mtl_ofi_provider_include[= ]|-p ?)[\"']?{_OF_RDMA}",
        leaves_tcp=True,
    ),
)
#: Every line that a pattern matches has one of these: to look for them first is much faster than all patterns.
_ROOTS = (
    *(
        "PSM2 ",
        "PSM3 ",
        "hfi_wait",
        "active ports",
        "OpenFabrics device",
        "OpenFabrics conn",
        "tcp btl",
        "network device '",
        "inter-node cfg",
    ),
    *("MPI startup()", "rovider", "NET/Socket", "network Socket", "ep_cfg[", "tcp/", "ofi:prov", "UCX_TLS"),
    *("UCX_NET_DEVICES", "WARN", "btl: tcp", "mca btl", "MCA_btl", "I_MPI_FABRICS", "PROVIDER", "fi_"),
)


def fallbacks(text: str) -> tuple[FallbackLine, ...]:
    """Return the messages of a text that say that RDMA was left, each row of the table once, in the order of lines."""
    plain = clean_text(text)
    if not _has_root(plain):
        return ()
    text_lines = plain.split("\n")
    lines = [(number, line[:LONGEST_NOTE]) for number, line in enumerate(text_lines, 1) if _has_root(line)]
    found: dict[int, FallbackLine] = {}
    for row in FALLBACKS:
        pattern = re.compile(row.pattern)
        matches = ((number, match) for number, line in lines if (match := pattern.match(line)))
        own = [each for each in matches if not _is_removed(row, each[1], text_lines[each[0] :])]
        first = next(iter(own), None) if not row.setting or _holds(own, plain) else None
        if first is None or first[0] in found or (row.except_with and re.search(row.except_with, plain)):
            continue
        number, match = first
        means = row.means.format_map({name: one_line(value or "") for name, value in match.groupdict().items()})
        found[number] = FallbackLine(
            number, one_line(match[0]).strip(), f"{means}; {row.fix}", row.is_sure, row.leaves_tcp
        )
    return tuple(found[line] for line in sorted(found))


def _is_removed(row: Fallback, match: re.Match[str], below: Sequence[str]) -> bool:
    """Return whether the variable that a line sets is removed in the lines below it, before anything may have run."""
    if not row.setting or not (variable := re.search(row.setting, match[0])) or _MAY_RUN.search(match[0]):
        return False
    pattern = re.compile(removal(variable[0]))
    first = next((line for line in below if pattern.search(line[:LONGEST_NOTE]) or _MAY_RUN.search(line)), "")
    return pattern.search(first[:LONGEST_NOTE]) is not None and _MAY_RUN.search(first) is None


def _holds(own: Sequence[tuple[int, re.Match[str]]], text: str) -> bool:
    """Return whether lines that set a variable do so in whatever branches of a script a run took."""
    known = branches(text)
    return surely_holds([known.paths.get(number, ()) for number, _ in own], known.complete)


def _has_root(text: str) -> bool:
    return any(root in text for root in _ROOTS)


def judged_fallbacks(
    link: Link, text: str, tables: Sequence[Table], failures: Sequence[OutputLine]
) -> tuple[tuple[OutputLine, ...], tuple[str, ...]]:
    """Return the failures with the messages by which a run left RDMA, and remarks on those that figures speak against.

    By a link whose network carries TCP, nothing is added. ``failures``: what the output reports besides, which stays
    first: a run that failed has another cause. Messages that are sure come before others.
    """
    found = fallbacks(text) if link.family in FAMILIES else ()
    if not found:
        return tuple(failures), ()
    fast = any(map(shows_rdma, tables))
    means = {each.line: each.means for each in found}
    known = {each.line for each in failures}
    counted = [each for each in found if each.is_sure or not fast]
    counted.sort(key=lambda each: (not each.is_sure, each.line))
    remarks = tuple(against_fallback(each.line, each.quoted[:_QUOTED]) for each in found if fast and not each.is_sure)
    new = (OutputLine(each.line, each.quoted, means=each.means) for each in counted if each.line not in known)
    explained = (each if each.means else replace(each, means=means.get(each.line, "")) for each in failures)
    return (*explained, *new), remarks


def faster_than_asked(link: Link, text: str, tables: Sequence[Table]) -> str:
    """Return that a run is "not judged: …", since a setting left it only TCP, and its figures are faster than TCP
    between two nodes; empty for any other run.
    """
    found = fallbacks(text) if link.family in FAMILIES and any(map(shows_rdma, tables)) else ()
    first = next((each for each in found if each.leaves_tcp), None)
    if first is None:
        return ""
    return faster_than_tcp(first.line, first.quoted[:_QUOTED], first.means.partition("; ")[0])


def words_of_fallback(text: str, tables: Sequence[Table]) -> str:
    """Return the first message by which a run over a network that nobody named left RDMA; empty if there is none.

    It decides nothing: the network may be meant to carry TCP. Messages that are sure come before others, which do not
    count if figures speak against them.
    """
    found = sorted(fallbacks(text), key=lambda each: (not each.is_sure, each.line))
    if not found or (not found[0].is_sure and any(map(shows_rdma, tables))):
        return ""
    first = found[0]
    return fallback_of_unknown(first.line, first.quoted[:_QUOTED], first.means)


def shows_rdma(table: Table) -> bool:
    """Return whether small messages are faster than TCP can be; False for a table without small messages."""
    key = key_of(table)
    if key is None or micro.find(key).within:
        return False
    try:
        made = curves(table, key)
    except ValueError:
        return False
    pairs = pairs_of(table, key)
    return any(
        starts_as_rdma(micro.metric(key, curve.metric), pairs, tuple(zip(curve.sizes, curve.values, strict=True)))
        for curve in made
    )


def document() -> str:
    """Return the table as Markdown, one row per message: the text that is in the documentation."""
    rows = ["| library | looked for | what it means | what to do | sure |", "| --- | --- | --- | --- | --- |"]
    for row in FALLBACKS:
        means = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), row.means)
        unsure = "unless figures show RDMA" + (", then *not judged*" if row.leaves_tcp else "")
        sure = "yes" if row.is_sure else unsure
        rows.append(f"| {row.library} | `{row.words}` | {means} | {row.fix} | {sure} |")
    return "\n".join(rows) + "\n"
