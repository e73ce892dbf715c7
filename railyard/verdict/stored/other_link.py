"""Whether an output says that it ran on another kind of link than the one that it is to be judged by."""

import re

from railyard.parsers.parsed import Table
from railyard.verdict.inputs import Target

_LINK_TYPE = re.compile(r"\bLink type\s*:\s*(\w+)")
#: The kind of link that perftest prints as "Link type" (ibv_port_attr.link_layer), by the family of a link. A card of
#: Omni-Path says IB, too. Slingshot is left out: its first generation has Ethernet cards of another maker.
#: Source: github.com/linux-rdma/perftest, src/perftest_parameters.c, link_layer_str.
_LINK_TYPES = {"infiniband": "IB", "omnipath": "IB", "roce": "Ethernet", "ethernet": "Ethernet"}
_NAMES = {"infiniband": "InfiniBand", "omnipath": "Omni-Path", "roce": "RoCE", "ethernet": "Ethernet"}
_INSTEAD = {
    "IB": "the InfiniBand or Omni-Path link of its port (ib-edr, ib-hdr, opa-100, …)",
    "Ethernet": "the RoCE link of its port (roce-25, roce-100, roce-200, …)",
}


def other_link(table: Table, target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: its output names another kind of link. None if not.

    ``text`` is the output, for the line that names it.
    """
    printed, expected = table.context.get("link"), _LINK_TYPES.get(target.fabric.link.family)
    if expected is None or printed not in _INSTEAD or printed == expected:
        return None
    line = _line_of(str(printed), table.line, text)
    where = "" if line is None else f" (line {line})"
    kind = _NAMES[target.fabric.link.family]
    says = f'not judged: the output says "Link type: {printed}"{where}, but'
    if target.system:
        return (
            f"{says} {target.fabric_name} of {target.system} is {kind}: the run used another network, or it is of "
            "another system; look at the device that it was given (-d)"
        )
    rate = "ibstatus shows its rate"
    return f"{says} --link {target.fabric_name} is {kind}: give --link {_INSTEAD[str(printed)]}; {rate}"


def _line_of(printed: str, heading: int, text: str) -> int | None:
    """Return the line that names this kind of link: the last one before the table's heading, else the first one."""
    lines = [
        number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := _LINK_TYPE.search(line)) and found[1] == printed
    ]
    return max((line for line in lines if line <= heading), default=lines[0] if lines else None)
