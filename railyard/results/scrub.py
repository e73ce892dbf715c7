"""An output without what names a site: hosts, users, paths and addresses."""

import re
from collections.abc import Iterable

_SHORTEST_NAME = 2
# /opt/mpi/lib/libmpi.so, with at least two parts: "MB/s" and "/dev" identify nobody
_PATH = re.compile(r"(?<![\w.:/])/(?:[\w.+@~-]+/)+(?P<last>[\w.+@~-]*)")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# a MAC (6 pairs), a GID in the form of perftest (16 numbers) and of ibstat (8 groups)
_COLONS = re.compile(r"(?<![\w:])[0-9a-fA-F]{2,3}(?::[0-9a-fA-F]{2,3}){5,15}(?![\w:])|"
                     r"(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}(?![\w:])")  # fmt: skip
_GUID = re.compile(r"(?<!\w)0x[0-9a-fA-F]{16}(?!\w)")


def scrub_text(text: str, hosts: Iterable[str], users: Iterable[str]) -> str:
    """Return the text with each host as ``node1`` …, each user as ``user``, paths as ``/path/`` and their last part.

    Hosts are numbered in the given order; a name with a domain has the number of its short form. Addresses of all kinds
    become zeros in their own form. A name is replaced only if it is a word of its own.
    """
    text = without_addresses(without_paths(text))
    for number, host in enumerate(dict.fromkeys(host.partition(".")[0] for host in hosts if host), start=1):
        text = _word(host, r"(?:\.[A-Za-z][\w-]*)*").sub(f"node{number}", text)
    return without_users(text, users)


def without_paths(text: str) -> str:
    """Return the text with each path as ``/path/`` and its last part."""
    return _PATH.sub(lambda found: f"/path/{found['last']}", text)


def without_addresses(text: str) -> str:
    """Return the text with zeros for addresses, in their own form; a version of four numbers is mistaken for one."""
    text = _GUID.sub("0x0000000000000000", text)
    text = _COLONS.sub(lambda found: re.sub(r"[0-9a-fA-F]", "0", found[0]), text)
    return _IPV4.sub("0.0.0.0", text)


def without_users(text: str, users: Iterable[str]) -> str:
    """Return the text with ``user`` for each of these names if it is a word of its own."""
    for user in dict.fromkeys(users):
        if len(user) >= _SHORTEST_NAME:
            text = _word(user, "").sub("user", text)
    return text


def _word(name: str, tail: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}{tail}(?![\w-])")
