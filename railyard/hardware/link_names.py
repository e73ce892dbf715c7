"""Which link a person means who writes another name than the table's: "hdr", "ib-hdr200", "slingshot-200", "100gbe".

A name means a link only if no other link of the table has the same family and generation, or family and rate. A rate
without a family ("100g") means several: InfiniBand EDR, RoCE, Ethernet and Slingshot 10 all have it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from railyard.base.errors import did_you_mean
from railyard.base.wording import either
from railyard.hardware.links import LINKS, Link

#: Words for a family -> the beginnings of its names in the table.
_FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("ib", "infiniband", "mellanox"), ("ib-",)),
        **dict.fromkeys(("roce", "rocev2", "rocev1"), ("roce-",)),
        **dict.fromkeys(("eth", "ethernet", "gbe", "gige", "ge", "tcp"), ("eth-",)),
        **dict.fromkeys(("opa", "omnipath", "hfi"), ("opa-",)),
        **dict.fromkeys(("slingshot", "ss", "cassini", "cxi"), ("slingshot-",)),
        **dict.fromkeys(("efa",), ("efa-",)),
        **dict.fromkeys(("myrinet", "myri"), ("myri",)),
        **dict.fromkeys(("qsnet", "quadrics", "elan"), ("qsnet-",)),
    }
)
#: Names that neither a generation nor a rate explains. People say "OPA" of Omni-Path 100; its successor is CN5000.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "opa": "opa-100", "omnipath": "opa-100", "cn5000": "opa-400", "ss10": "slingshot-10", "ss11": "slingshot-11",
        "slingshot10": "slingshot-10", "slingshot11": "slingshot-11", "cassini": "slingshot-11", "gige": "eth-1",
        "gbe": "eth-1", "myri10g": "myri-10g", "qsnet2": "qsnet-2", "elan4": "qsnet-2", "ariesxc": "aries",
    }
)  # fmt: skip
#: Rates that are printed for a link but are not its data rate: signalling rates, and ibstat's.
_ALSO_CALLED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"ib-sdr": (10,), "ib-ddr": (20,), "ib-qdr": (40,), "ib-fdr": (56, 54), "ib-fdr10": (40,)}
)
_SEPARATORS = re.compile(r"[\s_./-]+")
_GENERATION = re.compile(
    r"(?:ib|infiniband|mellanox)?(?:4x)?(?P<generation>fdr10|[a-z]dr)(?:4x)?(?P<rate>[0-9]{1,4})?g?"
)
_RATE = re.compile(
    r"(?P<before>[a-z]{0,12}?(?:v[12])?)(?P<rate>[0-9]{1,4})(?:g(?=$|roce|eth|ib))?(?P<after>[a-z]{0,12})"
)
_UNITS = frozenset({"g", "gb", "gbit", "gbits", "gbps"})
#: Numbers of lanes; 12X is rare between hosts, so it is meant only by its own name.
_USUAL = (None, 1, 2, 4, 8)


def links_meant(word: str) -> tuple[str, ...]:
    """Return the names of the links that a word may mean, in the table's order; one if it can mean no other.

    A rate without a family means none, even if only one link has it: 56 Gbit/s is FDR, or Ethernet 40G that runs faster
    than the standard.
    """
    if word in LINKS:
        return (word,)
    plain = _plain(word)
    if plain in _NAMES:
        return (_NAMES[plain],)
    same = tuple(name for name in LINKS if _SEPARATORS.sub("", name) == plain)
    return same or _by_generation(plain) or _by_rate(plain)


def why_no_link(word: str) -> str:
    """Return the hint for a word that is not the name of one link: those that it may mean, or the nearest name."""
    plain = _plain(word)
    meant = links_meant(word) or _of_wrong_rate(plain) or _of_family(plain) or _by_rate(plain, with_family=False)
    if not meant:
        return did_you_mean(word, LINKS)
    names = [f'"{name}"' for name in meant]
    return f"did you mean {either(names)}?"


def _plain(word: str) -> str:
    return _SEPARATORS.sub("", word.strip().lower())


def _by_generation(plain: str) -> tuple[str, ...]:
    """Return the link of InfiniBand that a generation names, with or without its rate: hdr, ibhdr200, ndr200."""
    name, rate = _generation(plain)
    if name is None:
        return ()
    if rate is None or _has(LINKS[name], rate):
        return (name,)
    half = f"{name}{rate:.0f}"
    return (half,) if half in LINKS else ()


def _of_wrong_rate(plain: str) -> tuple[str, ...]:
    """Return the links that a generation with a rate that it does not have may mean: by the one, and by the other."""
    name, rate = _generation(plain)
    return () if name is None or rate is None else (name, *_by_rate(f"ib{rate:.0f}"))


def _generation(plain: str) -> tuple[str | None, float | None]:
    """Return the link of four lanes that a generation names, and the rate beside it; None for what is not there."""
    found = _GENERATION.fullmatch(plain)
    name = None if found is None else f"ib-{found['generation']}"
    if found is None or name not in LINKS:
        return None, None
    return name, float(found["rate"]) if found["rate"] else None


def _of_family(plain: str) -> tuple[str, ...]:
    """Return the links of a family that is named alone; none for any other word."""
    return tuple(
        name for name, link in LINKS.items() if name.startswith(_FAMILIES.get(plain, ("-",))) and link.lanes in _USUAL
    )


def _by_rate(plain: str, with_family: bool = True) -> tuple[str, ...]:
    """Return the links of a family with a rate: slingshot200, 100gbe, roce100g, ib400; or those of all families."""
    found = _RATE.fullmatch(plain)
    if found is None:
        return ()
    words = [word for word in (found["before"], found["after"]) if word and word not in _UNITS]
    if any(word not in _FAMILIES for word in words) or bool(words) != with_family:
        return ()
    beginnings = _FAMILIES[words[0]] if words else ("",)
    return tuple(
        name
        for name, link in LINKS.items()
        if name.startswith(beginnings) and _has(link, float(found["rate"])) and link.lanes in _USUAL
    )


def _has(link: Link, rate: float) -> bool:
    return link.data_rate_gbit_s == rate or rate in _ALSO_CALLED.get(link.name, ())
