"""What a fabric's own tools print -> the state of each port, and of a node's slots: one module per tool, no path.

``FABRIC_PARSERS`` is made on first use, like ``railyard.parsers.PARSERS``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from railyard.parsers.collector import held_back

if TYPE_CHECKING:
    # parsed.py imports this package's port.py: importing it here at run time would be a circle
    from railyard.parsers.parsed import Parsed

FABRIC_TOOLS = (
    "iblinkinfo",
    "ibnetdiscover",
    "ibportstate",
    "ibqueryerrors",
    "ibstat",
    "ibstatus",
    "ibv_devinfo",
    "lspci",
    "mlxlink",
    "nvidia_smi",
    "perfquery",
    "rdma_link",
    "rdma_statistic",
    "show_gids",
)
FABRIC_PARSERS: Mapping[str, Callable[[str], "Parsed"]]


def __getattr__(name: str) -> Any:
    if name != "FABRIC_PARSERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return MappingProxyType({tool: held_back(import_module(f"{__name__}.{tool}").parse) for tool in FABRIC_TOOLS})
