"""Outputs of a fabric's tools whose lines were filled to paragraphs, as ``fmt`` does: a port may be lost in a line.

Here are the words that begin a line of each tool: within a line, they show that two were joined.
"""

import re

_WITHIN = r"(?<=\S)[ \t]{1,40}"
_DOTS = r":\.{2,60}[^\n.]{1,60}[ \t]\w{1,60}:\.{2}"
_LINK = rf"{_WITHIN}link [^\s/]{{1,100}}/[0-9]"
_PATTERNS = {
    "iblinkinfo": (
        r"==\([^\n]{1,300}==\(|^[ \t]{0,40}(?:Switch|CA|RT)\b[^\n]{1,300}==\("
        r"|==>[^\n]{1,300}\b(?:Switch|CA|RT):? "
    ),
    "ibnetdiscover": (
        rf"(?<=[')])[ \t]{{1,40}}(?:CA|SW|RT|\?\?)[ \t]{{1,9}}[0-9]{{1,6}}[ \t]{{1,9}}[0-9]{{1,4}} 0x"
        rf"|{_WITHIN}\[[0-9]{{1,4}}\](?:\([0-9a-f]{{1,16}}\))?[ \t]{{1,9}}\"[SHR]-"
    ),
    "ibportstate": _DOTS,
    "ibqueryerrors": rf"{_WITHIN}(?:GUID 0x|(?:Errors|Data Counters) for |Link info:|## )",
    "ibstat": (
        rf"{_WITHIN}(?:Port [0-9]{{1,4}}:|(?:State|Physical state|Rate|Base lid|SM lid|CA type|Port GUID|Link layer):"
        r"|CA ')"
    ),
    "ibstatus": (
        rf"{_WITHIN}(?:(?:base lid|sm lid|(?<!phys )state|phys state|rate|link_layer|default gid):|Infiniband device ')"
    ),
    "ibv_devinfo": (
        rf"{_WITHIN}(?:port|state|phys_state|max_mtu|active_mtu|sm_lid|port_lid|link_layer|active_width|hca_id|fw_ver"
        r"|node_guid):"
    ),
    "lspci": (
        rf"{_WITHIN}(?:(?:Lnk|Dev)(?:Cap|Sta|Ctl)|NUMA node|Subsystem):"
        rf"|{_WITHIN}(?:[0-9a-f]{{4}}:)?[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7] [A-Z]"
    ),
    "nvidia-smi": rf"{_WITHIN}(?:GPU|NIC)[0-9]{{1,3}}[ \t]{{1,40}}(?:X|NV[0-9]{{1,2}}|PIX|PXB|PHB|NODE|SYS|SOC)\b",
    "perfquery": _DOTS,
    "rdma link": rf"{_LINK}|{_WITHIN}[0-9]{{1,5}}/[0-9]{{1,5}}: [^\s/]{{1,100}}/[0-9]",
    "rdma statistic": _LINK,
}
_SIGNS = {tool: re.compile(pattern, re.MULTILINE) for tool, pattern in _PATTERNS.items()}


def first_joined(tool: str, lines: list[str]) -> int:
    """Return the number of the first line of a tool's output that is two of its lines; 0 if there is none."""
    sign = _SIGNS.get(tool)
    if sign is None:
        return 0
    return next((number for number, line in enumerate(lines, start=1) if sign.search(line[:2000])), 0)
