"""Records to give away: without names of hosts and users, paths and addresses; figures and versions stay."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railyard.results.record.form import PART_OF, Record
from railyard.results.scrub import without_addresses, without_paths, without_users

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
