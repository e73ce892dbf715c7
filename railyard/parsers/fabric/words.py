"""The words of all tools -> one vocabulary (ibstat's), and the values that they print in several forms.

Most are cached: a node's GUID and description are printed once per port, and there are few states.
"""

import re
from functools import lru_cache
from types import MappingProxyType

# ibstat, ibstatus and rdma, ibv_devinfo, iblinkinfo: the same five states
STATES = MappingProxyType(
    {
        "down": "Down",
        "port_down": "Down",
        "init": "Initializing",
        "initialize": "Initializing",
        "initializing": "Initializing",
        "port_init": "Initializing",
        "armed": "Armed",
        "port_armed": "Armed",
        "active": "Active",
        "port_active": "Active",
        "active_defer": "ActiveDefer",
        "port_active_defer": "ActiveDefer",
    }
)
_TRAINING = "PortConfigurationTraining"
PHYSICAL_STATES = MappingProxyType(
    {
        "sleep": "Sleep",
        "polling": "Polling",
        "disabled": "Disabled",
        "disable": "Disabled",
        "portconfigurationtraining": _TRAINING,
        "port_configuration trainning": _TRAINING,  # the spelling of ibv_devinfo
        "armed": _TRAINING,  # the word of `rdma link` for this physical state
        "linkup": "LinkUp",
        "link_up": "LinkUp",
        "linkerrorrecovery": "LinkErrorRecovery",
        "link_error_recovery": "LinkErrorRecovery",
        "link_error_recover": "LinkErrorRecovery",
        "phytest": "PhyTest",
        "phy_test": "PhyTest",
        "phy test": "PhyTest",
    }
)
LINK_LAYERS = MappingProxyType({"infiniband": "InfiniBand", "ib": "InfiniBand", "ethernet": "Ethernet"})
KINDS = MappingProxyType({"ca": "CA", "sw": "Switch", "switch": "Switch", "rt": "Router", "router": "Router"})
_UNSAID = frozenset({"", "???", "??", "n/a", "unknown", "<unknown>", "none"})

_GUID = re.compile(r"\A(?:0[xX])?([0-9a-fA-F]{1,16})\Z")
# 506b:4b03:0028:4ddc
_COLONED = re.compile(r"\A[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\Z")
# the last word of an adapter's description: mlx5_0, HCA-1, mthca0, hfi1_0, ibsim0
_DEVICE = re.compile(r"\A(?:HCA-[0-9]{1,3}|[a-z][a-z0-9_]{0,40}[0-9])\Z")
_INTEGER = re.compile(r"\A(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
_DIGITS = 20  # of 2^64 - 1


@lru_cache(maxsize=256)
def state_of(word: str) -> str | None:
    """Return a port's logical state in ibstat's word; another word as printed, None for a word without meaning."""
    return STATES.get(word.lower()) or known_value(word)


@lru_cache(maxsize=256)
def physical_of(word: str) -> str | None:
    """Return a port's physical state in ibstat's word; another word as printed, None for a word without meaning."""
    return PHYSICAL_STATES.get(word.lower()) or known_value(word)


def known_value(word: str) -> str | None:
    """Return a printed value; None if the tool prints a word for unknown."""
    return None if word.lower() in _UNSAID else word


@lru_cache(maxsize=4096)
def guid_of(word: str) -> str | None:
    """Return a GUID as "0x" and 16 digits in lower case, from 0x2c903006e29b0 or 506b:4b03:0028:4ddc; else None."""
    found = _GUID.match(word.replace(":", "") if ":" in word and _COLONED.match(word) else word)
    return f"0x{found[1].lower():0>16}" if found else None


def integer(word: str) -> int | None:
    """Return a whole number printed in decimal or as 0x..., of at most 20 digits; None for any other word."""
    if word.isdigit() and word.isascii():
        return int(word) if len(word) <= _DIGITS else None
    if not _INTEGER.match(word):
        return None
    return int(word, 16) if word[1:2] in ("x", "X") else int(word)


@lru_cache(maxsize=4096)
def split_description(description: str) -> tuple[str | None, str | None]:
    """Return (node, device) of a node description: ("vn1", "mlx5_0") for "vn1 mlx5_0", (all, None) for a switch's."""
    description = description.strip()
    node, _, device = description.rpartition(" ")
    if node and " " not in node and _DEVICE.match(device):
        return node, device
    return description or None, None
