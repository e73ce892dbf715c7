"""Records to give away: without names of hosts and users, paths and addresses; figures and versions stay.

An output to give away is without hosts, users, paths and addresses too.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railyard.results.record.form import PART_OF, Record

#: Keys whose value names a test, a metric or a unit. They never name a host, and a user called mpich must not change
#: them.
_KEPT = frozenset(
    (
        *(
            "run",
            "time",
            "started",
            "hash",
            "case",
            "check",
            "system",
            "fabric",
            "stack",
            "benchmark",
            "state",
            "policy",
        ),
        *("metric", "unit", "name", "id", "kind", "class", "references", "scheduler", "format"),
        *("file", "sha256"),
    )
)
#: Keys under which four numbers with points are a version, not an address.
_VERSIONED = frozenset(("environment", "facts", "devices", "benchmark_version", "linked", "conditions"))
#: Keys that stay as they are, also if a host is called test.
_PARTS = frozenset(PART_OF.values())
_HOME = re.compile(r"/(?:home|users?|Users|u)/(?:[a-z]/)?(?P<name>[A-Za-z_][\w.-]*)")
_SHORTEST_NAME = 2
# /opt/mpi/lib/libmpi.so, with at least two parts: "MB/s" and "/dev" identify nobody
_PATH = re.compile(r"(?<![\w.:/])/(?:[\w.+@~-]+/)+(?P<last>[\w.+@~-]*)")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# a MAC (6 pairs), a GID in the form of perftest (16 numbers) and of ibstat (8 groups)
_COLONS = re.compile(r"(?<![\w:])[0-9a-fA-F]{2,3}(?::[0-9a-fA-F]{2,3}){5,15}(?![\w:])|"
                     r"(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}(?![\w:])")  # fmt: skip
_GUID = re.compile(r"(?<!\w)0x[0-9a-fA-F]{16}(?!\w)")


def scrubbed_records(
    records: Sequence[Record], hosts: Iterable[str], users: Iterable[str]
) -> tuple[dict[str, Any], ...]:
    """Return the records' JSON values: hosts as ``node1`` …, users as ``user``, paths as ``/path/`` and the last part.

    A host has the same number in all of them. Hosts are those of the records and the given ones; users are the given
    ones and those whose home is named.
    """
    values = [record.to_json() for record in records]
    named = dict.fromkeys(name for record in records for name in _hosts_of(record))
    short = dict.fromkeys(name.partition(".")[0] for name in (*named, *hosts) if name)
    numbered = {name: f"node{number}" for number, name in enumerate(short, start=1)}
    people = {*users, *(name for value in values for name in _homes(value))}
    scrub = _Scrubber(numbered, tuple(sorted(people, key=lambda name: (-len(name), name))))
    return tuple(scrub.mapping(value, versioned=False) for value in values)


class _Scrubber:
    def __init__(self, hosts: Mapping[str, str], users: tuple[str, ...]) -> None:
        self._hosts = hosts
        self._users = users
        names = "|".join(re.escape(name) for name in sorted(hosts, key=len, reverse=True))
        # A hyphen may come before or after a name: vn1-vn2 is a pair, vn1-ib0 an interface.
        self._host = re.compile(rf"(?<![\w.])(?P<name>{names})(?:\.[A-Za-z][\w-]*)*(?!\w)") if names else None

    def mapping(self, values: Mapping[str, Any], *, versioned: bool) -> dict[str, Any]:
        return {
            key if key in _PARTS else self.text(key, True): value
            if key in _KEPT
            else self.value(value, versioned or key in _VERSIONED)
            for key, value in values.items()
        }

    def value(self, value: Any, versioned: bool) -> Any:
        if isinstance(value, str):
            return self.text(value, versioned)
        if isinstance(value, Mapping):
            return self.mapping(value, versioned=versioned)
        if isinstance(value, list):
            return [self.value(item, versioned) for item in value]
        return value

    def text(self, text: str, versioned: bool) -> str:
        if text in self._hosts:  # with thousands of nodes, nearly every text is a node's name
            return self._hosts[text]
        text = without_paths(text)
        if not versioned:
            text = without_addresses(text)
        if self._host is not None:
            text = self._host.sub(lambda found: self._hosts[found["name"]], text)
        return without_users(text, self._users)


def _hosts_of(record: Record) -> Iterable[str]:
    yield from record.where.nodes
    for traffic in record.how.path_proof.each_node() if record.how.path_proof else ():
        yield traffic.node
    for group in record.where.hardware:
        yield from group.nodes
    if record.found.pairs is not None:
        yield from record.found.pairs.nodes
        for absent in record.found.pairs.sample.not_measured if record.found.pairs.sample is not None else ():
            yield from absent.nodes
    for suspect in record.found.verdict.suspects:
        yield from suspect.nodes
        if suspect.kind == "node" and suspect.node:
            yield suspect.node


def _homes(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        for found in _HOME.finditer(value):
            yield found["name"]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _homes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _homes(item)


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
