"""The table of conditions on which a number depends: a source's word for each, and what a run's nodes show.

A new condition is one entry: its name, the values that a source may give, how to put a node's facts
(``job.node_facts``) into the same words, and when two values are alike. Anything that these words cannot express is not
a condition: it belongs in a source's ``note``. Nothing here decides a verdict. A verdict only mentions a difference.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from railyard.base.errors import did_you_mean
from railyard.site import condition_words as words


@dataclass(frozen=True, slots=True)
class NodeFactsShown:
    """What one node of a run shows: its facts, the facts of each rail that the run used, and those of the run itself.

    ``run`` has ``mpi`` (library and version) and ``hops``, if they are known.
    """

    facts: Mapping[str, str]
    rails: Sequence[Mapping[str, str]] = ()
    run: Mapping[str, str] = field(default_factory=dict)


def _nothing(seen: NodeFactsShown) -> tuple[str, ...]:
    return ()


def _contradicts(stated: str, shown: str) -> bool:
    return False


def _fact(
    name: str, read: Callable[[str], str | None] = words.as_written
) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    """Return the function that reads one fact of a node."""
    return lambda seen: _each(read, [seen.facts.get(name)])


def _rail(*names: str) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    """Return the function that reads, for each rail, the first of these facts, as it is."""
    return lambda seen: _each(
        words.as_written, [next((said[name] for name in names if name in said), None) for said in seen.rails]
    )


def _of_run(name: str) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    return lambda seen: _each(words.as_written, [seen.run.get(name)])


def _each(read: Callable[[str], str | None], texts: Sequence[str | None]) -> tuple[str, ...]:
    found = (read(text) for text in texts if text)
    return tuple(dict.fromkeys(value for value in found if value is not None))


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    ``expected``: the values that a source may give, in words. ``read`` puts a source's text into the table's own words;
    None if it cannot. ``shown``: what a node has, in the same words, at most one value per rail; empty if unknown.
    ``costs``: whether values may be too low because a node has the second instead of the first. ``is_field``: a source
    has a field of that name beside its conditions. ``is_free``: any text, which is never split.
    """

    name: str
    what: str
    expected: str
    read: Callable[[str], str | None] = words.as_written
    shown: Callable[[NodeFactsShown], tuple[str, ...]] = _nothing
    alike: Callable[[str, str], bool] = operator.eq
    costs: Callable[[str, str], bool] = _contradicts
    read_from: str = ""
    is_field: bool = False
    is_free: bool = False


def _always_differs(stated: str, shown: str) -> bool:
    return True


_ON_OFF = "enabled or disabled"
_TABLE: tuple[Condition, ...] = (
    Condition(
        "turbo",
        "whether clocks may rise above the nominal one",
        _ON_OFF,
        words.on_off,
        _fact("turbo", words.on_off),
        costs=lambda stated, shown: shown == "off",
        read_from="intel_pstate/no_turbo, cpufreq/boost",
    ),
    Condition(
        "smt",
        "several hardware threads per core (Hyper-Threading)",
        _ON_OFF,
        words.on_off,
        _fact("smt", lambda text: words.SMT.get(text)),
        costs=lambda stated, shown: shown == "on",
        read_from="cpu/smt/control",
    ),
    Condition(
        "c-states",
        "idle states deeper than C1",
        "enabled, disabled, or the names of the states that were on, such as POLL C1 C6",
        words.c_states,
        _fact("c_states", words.c_states),
        costs=lambda stated, shown: shown == "on",
        read_from="cpu0/cpuidle",
    ),
    Condition(
        "governor",
        "cpufreq's governor",
        words.choice(words.GOVERNORS),
        words.one_of(words.GOVERNORS),
        _fact("governor", words.one_of(words.GOVERNORS)),
        costs=lambda stated, shown: stated == "performance",
        read_from="cpu0/cpufreq",
    ),
    Condition(
        "numa-nodes-per-socket",
        "memory domains per socket: NPS, sub-NUMA clustering",
        "a whole number",
        words.parse_whole,
        _fact("numa_nodes_per_socket"),
        costs=_always_differs,
        read_from="system/node",
    ),
    Condition(
        "node-interleave",
        "one memory domain over all sockets",
        _ON_OFF,
        words.on_off,
        lambda seen: words.interleaving(seen.facts),
        costs=lambda stated, shown: shown == "on",
        read_from="system/node, on two sockets or more",
    ),
    Condition(
        "snoop-mode",
        "how the caches of a processor are kept consistent (Intel)",
        words.choice(words.SNOOP_MODES),
        words.snoop_mode,
        lambda seen: words.snoop_modes(seen.facts),
        lambda stated, shown: stated in shown.split(" or "),
        costs=_always_differs,
        read_from="system/node: cluster on die has two domains per socket; early and home look the same",
    ),
    Condition(
        "profile",
        "system profile of the BIOS",
        words.choice(words.PROFILES),
        words.one_of(words.PROFILES),
    ),
    Condition(
        "processor",
        "model of the processors",
        "a model, such as Xeon E5-2660 v3",
        words.as_written,
        _fact("processor"),
        words.same_processor,
        _always_differs,
        read_from="/proc/cpuinfo",
    ),
    Condition(
        "clock",
        "nominal clock of the processors",
        "a number in GHz, such as 2.6 GHz",
        words.clock,
        lambda seen: words.nominal_clock(seen.facts),
        costs=lambda stated, shown: words.first_number(shown) < words.first_number(stated),
        read_from="cpu0/cpufreq/base_frequency, or the model's name in /proc/cpuinfo",
    ),
    Condition(
        "memory",
        "memory of a node",
        "an amount, such as 128 GB or 8 x 16 GB at 2133 MHz",
        words.memory,
        _fact("memory", words.memory),
        words.same_memory,
        read_from="/proc/meminfo; the kernel may keep up to a tenth",
    ),
    Condition(
        "operating-system",
        "distribution and release",
        "a name with its release, such as Rocky Linux 9.4",
        words.operating_system,
        _fact("operating_system", words.operating_system),
        words.same_operating_system,
        _always_differs,
        read_from="/etc/os-release",
    ),
    Condition(
        "kernel",
        "release of the kernel",
        "a release, such as 6.1.0-17-amd64",
        words.release,
        _fact("kernel"),
        costs=_always_differs,
        read_from="/proc/sys/kernel/osrelease",
    ),
    Condition(
        "bios-version",
        "version of the machine's firmware",
        "a version",
        words.as_written,
        _fact("bios_version"),
        costs=_always_differs,
        read_from="dmi/id",
    ),
    Condition(
        "mtu",
        "MTU of the rail's network interface",
        "a number of bytes, such as 9000 B",
        words.mtu,
        lambda seen: _each(words.mtu, _rail("interface_mtu", "mtu")(seen)),
        costs=lambda stated, shown: words.first_number(shown) < words.first_number(stated),
        read_from="the interface's mtu",
    ),
    Condition("card", "which network card, in words", "any text", is_free=True),
    Condition(
        "firmware",
        "firmware of the network card",
        "a version",
        words.version_in,
        _rail("firmware"),
        words.same_version,
        _always_differs,
        read_from="fw_ver of the card",
        is_field=True,
    ),
    Condition(
        "driver",
        "driver of the network card, or the OFED to which it belongs",
        "a kernel driver, or Mellanox OFED, with its version",
        words.driver,
        lambda seen: words.drivers(seen.rails),
        words.same_driver,
        _always_differs,
        read_from="module of the card's driver, and its version",
        is_field=True,
    ),
    Condition(
        "mpi",
        "MPI library",
        "a library with its version",
        words.mpi,
        _of_run("mpi"),
        words.same_mpi,
        _always_differs,
        read_from="the library of the run",
        is_field=True,
    ),
    Condition(
        "hops",
        "switches between the two nodes",
        "a whole number",
        words.parse_whole,
        _of_run("hops"),
        costs=lambda stated, shown: int(shown) > int(stated),
        read_from="railyard fabric --keep-hops",
        is_field=True,
    ),
    # What `railyard capture` says about itself, and not about a node.
    Condition("repeats", "for a captured reference: how often it ran, and on how many nodes", "any text", is_free=True),
    Condition("capture", "for a captured reference: quick", "quick", words.one_of(("quick",))),
    Condition("path", "for a captured reference: not judged", "not judged", words.one_of(("not judged",))),
    Condition("lock-sha256", "for a captured reference: Spack's lock", "a hash", is_free=True),
)
CONDITIONS: Mapping[str, Condition] = {each.name: each for each in _TABLE}


def find(name: str) -> Condition | None:
    """Return a condition by its name, in which _ counts as -; None if there is none with that name."""
    return CONDITIONS.get(name.replace("_", "-"))


def why_unreadable(name: str, text: str) -> str | None:
    """Return why a source's statement under ``conditions`` is unreadable; None if it is in the table's words."""
    condition = find(name)
    elsewhere = "put into note what these words cannot say"
    if condition is None:
        known = [each.name for each in _TABLE if not each.is_field]
        return f'found the condition "{name}", expected a known one ({did_you_mean(name, known)}); {elsewhere}'
    if condition.is_field:
        return f'found "{name}" among the conditions, expected {name} as a field of the source itself'
    if any(condition.read(one) is None for one in _alternatives(condition, text)):
        return f'{name}: found "{text}", expected {condition.expected}; {elsewhere}'
    return None


def read(name: str, text: str) -> tuple[str, ...]:
    """Return what a source states, in the table's words; several if it leaves open which one; () if unreadable.

    Units and versions stay as written.
    """
    condition = find(name)
    if condition is None:
        return ()
    found = [condition.read(one) for one in _alternatives(condition, text)]
    return tuple(one for one in found if one is not None) if None not in found else ()


def shown_values(name: str, seen: NodeFactsShown) -> tuple[str, ...]:
    """Return a node's value of a condition, in the table's words, at most one per rail; () if unknown."""
    condition = find(name)
    return () if condition is None else condition.shown(seen)


def unlike_values(name: str, text: str, seen: NodeFactsShown) -> tuple[str, ...]:
    """Return the node's values that the source does not state; () if they are alike, or if either is unknown."""
    condition, stated = find(name), read(name, text)
    if condition is None or not stated:
        return ()
    return tuple(one for one in condition.shown(seen) if not any(condition.alike(each, one) for each in stated))


def may_cost(name: str, text: str, has: str) -> bool:
    """Return whether a node may be slower because it has this instead of what a source states."""
    condition = find(name)
    return condition is not None and all(condition.costs(each, has) for each in read(name, text))


def document() -> str:
    """Return the table as Markdown, one row per condition, for the documentation."""
    rows = ["| condition | what | values | read from |", "| --- | --- | --- | --- |"]
    rows += [
        f"| `{each.name}`{' (a field of the source)' if each.is_field else ''} | {each.what} | {each.expected} | "
        f"{each.read_from or 'nowhere: no node shows it'} |"
        for each in _TABLE
    ]
    return "\n".join(rows) + "\n"


_OR = re.compile(r",\s*(?:or\s+)?|\s+or\s+")


def _alternatives(condition: Condition, text: str) -> list[str]:
    """Return the values between which a source leaves the choice open: "early, home or cluster on die" are three.

    A vendor's own name, such as that of a BIOS, may contain a comma.
    """
    if condition.is_free or condition.is_field:
        return [text]
    return text.split(" or ") if condition.read in (words.as_written, words.operating_system) else _OR.split(text)
