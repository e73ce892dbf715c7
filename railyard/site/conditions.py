"""The table of conditions on which a number depends: a source's word for each, and what a run's nodes show.

A new condition is one entry: its name, the values that a source may give, how to put a node's facts
(``job.node_facts``) into the same words, and when two values are alike. Anything that these words cannot express is not
a condition: it belongs in a source's ``note``. Nothing here decides a verdict. A verdict only mentions a difference.

Puts a source's word for a condition, and a node's fact, into the same word; each returns None for other texts.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from railyard.base.errors import did_you_mean
from railyard.stacks.model import STACKS

_ON_OFF_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("on", "enabled"), "on"),
    **dict.fromkeys(("off", "disabled"), "off"),
}
#: The kernel's words in cpu/smt/control (Documentation/ABI/testing/sysfs-devices-system-cpu).
SMT: Final[Mapping[str, str]] = {
    "on": "on",
    **dict.fromkeys(("off", "forceoff", "notsupported"), "off"),
}
GOVERNORS: Final = ("performance", "powersave", "schedutil", "ondemand", "conservative", "userspace")
SNOOP_MODES: Final = ("early", "home", "directory", "cluster on die")
PROFILES: Final = ("performance optimized", "performance per watt", "dense configuration", "balanced", "custom")
#: Idle states as intel_idle, acpi_idle and psci name them; the first kind keeps clocks and caches.
_SHALLOW_STATE = re.compile(r"POLL|WFI|C0|C1E?(?:_ACPI)?|LPI-0")
_IDLE_STATE = re.compile(rf"{_SHALLOW_STATE.pattern}|C[0-9]{{1,2}}[A-Zs]{{0,2}}(?:_ACPI)?|LPI-[0-9]")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_VERSION = re.compile(r"(?<![\w.])[0-9]{1,5}(?:\.[0-9]{1,5}){1,4}(?:-[0-9][\w.]{0,20})?")
_RELEASE = re.compile(r"[0-9]{1,3}\.[0-9]{1,4}\S{0,80}")
_AMOUNT = re.compile(
    r"(?:(?P<count>[0-9]{1,3}) x )?(?P<size>[0-9]{1,12}) ?(?P<unit>kB|[MGT]i?B?)(?: at [0-9]{3,5} MHz)?"
)
_GIB: Final[Mapping[str, float]] = {"k": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 1024.0}
#: For memory: the share that the kernel keeps, and how much more than stated it may have.
_LEAST_MEMORY, _MOST_MEMORY = 0.9, 1.01
#: Parts of a processor's name that say nothing about the model.
_NOT_THE_MODEL = re.compile(
    r"\((?:R|TM|C)\)|\b(?:CPU|Processor|[0-9]+-Core|[0-9]+ cores?)\b|@.*|\bwith .*", re.IGNORECASE
)
_CLOCK = re.compile(r"(?P<ghz>[0-9](?:\.[0-9]{1,3})?) ?GHz")
_OFED = re.compile(r"(?:Mellanox|MLNX|NVIDIA)?[ _]?OFED[ -]v?(?P<version>[0-9][\w.-]{0,20})", re.IGNORECASE)
_KERNEL_DRIVER = re.compile(r"(?P<name>[a-z][a-z0-9_]{1,30})(?: (?P<version>[0-9][\w.-]{0,30}))?")
#: mlx5_core of the kernel's own tree said this until Linux 5.10, whatever its code was.
_IN_TREE: Final = frozenset({"4.0-0", "5.0-0"})


def strip_blanks(text: str) -> str | None:
    """Return the text without blanks around it."""
    return text.strip() or None


def accept_one_of(known: Sequence[str]) -> Callable[[str], str | None]:
    """Return the function that accepts one of these words, in any case."""
    return lambda text: next((one for one in known if one == text.strip().lower()), None)


def choice(known: Sequence[str]) -> str:
    """Return ``a, b or c``."""
    return f"{', '.join(known[:-1])} or {known[-1]}"


def parse_switch(text: str) -> str | None:
    """Return "on" or "off" for these words, and for enabled and disabled."""
    return _ON_OFF_WORDS.get(text.strip().lower())


def parse_whole(text: str) -> str | None:
    """Return a whole number."""
    return text.strip() if re.fullmatch(r"[0-9]{1,9}", text.strip()) else None


def first_number(text: str) -> float:
    """Return the first number of a text, 0 if it has none."""
    found = _NUMBER.search(text)
    return float(found[0]) if found else 0.0


def c_states(text: str) -> str | None:
    """Return whether idle states deeper than C1 are on; it also reads a list of their names."""
    known = parse_switch(text)
    names = text.split()
    if known is not None or not names or not all(map(_IDLE_STATE.fullmatch, names)):
        return known
    return "off" if all(map(_SHALLOW_STATE.fullmatch, names)) else "on"


def snoop_mode(text: str) -> str | None:
    """Return a snoop mode. "COD" and "early snoop" are other words for two of them."""
    said = re.sub(r"[ -]snoop$", "", text.strip().lower()).replace("-", " ")
    return "cluster on die" if said == "cod" else said if said in SNOOP_MODES else None


def snoop_modes(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the snoop modes that an Intel node may be in: only cluster on die has several domains per socket."""
    domains = parse_whole(facts.get("numa_nodes_per_socket", ""))
    if domains is None or "Intel" not in facts.get("processor", "") or int(domains) == 0:
        return ()
    return ("early or home or directory",) if int(domains) == 1 else ("cluster on die",)


def node_interleaving(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return whether all sockets of a node are one memory domain; () for a node with one socket."""
    domains, sockets = (parse_whole(facts.get(name, "")) for name in ("numa_nodes_per_socket", "sockets"))
    if domains is None or sockets is None or int(sockets) < 2:
        return ()
    return ("on" if int(domains) == 0 else "off",)


def same_processor(stated: str, shown: str) -> bool:
    """Return whether every word of the shorter model name is in the longer one."""
    one, other = (set(_NOT_THE_MODEL.sub(" ", text).lower().split()) for text in (stated, shown))
    return one <= other or other <= one


def clock(text: str) -> str | None:
    """Return a clock as ``2.6 GHz``."""
    found = _CLOCK.fullmatch(text.strip())
    return f"{float(found['ghz']):g} GHz" if found else None


def nominal_clock(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return a node's nominal clock to 0.1 GHz: from its driver, else from the model's name ("… @ 2.60GHz")."""
    khz, named = parse_whole(facts.get("base_frequency_khz", "")), _CLOCK.search(facts.get("processor", ""))
    ghz = int(khz) / 1e6 if khz else float(named["ghz"]) if named else None
    return () if ghz is None else (f"{round(ghz, 1):g} GHz",)


def memory(text: str) -> str | None:
    """Return an amount of memory in GiB or MiB, from modules or in total. Vendors' GB are also GiB."""
    gib = _gib(text)
    return None if gib is None else f"{gib:.0f} GiB" if gib >= 1 else f"{1024 * gib:.0f} MiB"


def same_memory(stated: str, shown: str) -> bool:
    """Return whether a kernel shows as much of the stated memory as on a healthy node."""
    meant, has = _gib(stated), _gib(shown)
    return bool(meant and has) and _LEAST_MEMORY <= (has or 0.0) / (meant or 1.0) <= _MOST_MEMORY


def _gib(text: str) -> float | None:
    found = _AMOUNT.fullmatch(text.strip())
    return None if found is None else int(found["count"] or 1) * int(found["size"]) * _GIB[found["unit"][0]]


def operating_system(text: str) -> str | None:
    """Return a distribution with its release. A name without a number says too little."""
    said = text.split("(")[0].strip()
    return said if re.search(r"[A-Za-z]{2}", said) and re.search(r"[0-9]", said) else None


def same_operating_system(stated: str, shown: str) -> bool:
    """Return whether two distributions have the same name, and the same release as far as both state it."""
    one, other = _named_release(stated), _named_release(shown)
    return one[0] == other[0] and _same_start(one[1], other[1])


def _named_release(text: str) -> tuple[str, str]:
    said = text.lower().replace("rhel", "red hat enterprise").replace("sles", "suse enterprise server")
    number = _NUMBER.search(said)
    name = re.sub(
        r"\b(?:gnu/linux|linux|server|release|stream|version|v)\b", " ", said[: number.start()] if number else said
    )
    return " ".join(name.split()), re.split(r"[^0-9.]", said[number.start() :])[0].strip(".") if number else ""


def release(text: str) -> str | None:
    """Return a kernel's release."""
    return text.strip() if _RELEASE.fullmatch(text.strip()) else None


def mtu(text: str) -> str | None:
    """Return a number of bytes as ``9000 B``."""
    found = re.fullmatch(r"([1-9][0-9]{2,5})(?: B| bytes)?", text.strip())
    return f"{found[1]} B" if found else None


def version_in(text: str) -> str | None:
    """Return the text if it contains a version. Other words about the card stay."""
    return text.strip() if _VERSION.search(text) else None


def same_version(stated: str, shown: str) -> bool:
    """Return whether the two have a version in common: 12.0012.1100 and 12.12.1100 are the same."""
    one, other = ({_parts(found[0]) for found in _VERSION.finditer(text)} for text in (stated, shown))
    return bool(one & other)


def driver(text: str) -> str | None:
    """Return ``OFED 5.8-1.1.2`` for any vendor's, or a kernel driver's name with its version; None for other prose."""
    ofed = _OFED.fullmatch(text.strip())
    if ofed is not None:
        return f"OFED {ofed['version']}"
    return text.strip() if _KERNEL_DRIVER.fullmatch(text.strip()) else None


def drivers(rails: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the kernel driver of each rail, with its version if it has its own."""
    found = (f"{said['driver']} {said.get('driver_version', '')}".strip() for said in rails if "driver" in said)
    return tuple(dict.fromkeys(found))


def same_driver(stated: str, shown: str) -> bool:
    """Return whether a driver may be the stated one. A detail that either leaves out is not a difference.

    mlx4_core and mlx5_core of an OFED have its version: 5.8-1.1.2 belongs to OFED 5.8.
    """
    name, _, version = shown.partition(" ")
    if stated.startswith("OFED "):
        of_ofed = name.startswith("mlx") and version and version not in _IN_TREE
        return not of_ofed or _same_start(stated.removeprefix("OFED "), version)
    stated_name, _, stated_version = stated.partition(" ")
    return name == stated_name and (not version or not stated_version or version == stated_version)


def mpi(text: str) -> str | None:
    """Return the library that a text names, with the version after its name: ``Open MPI 4.1.5``, ``HPC-X``.

    A module's name, such as cray-mpich/8.1.28, also names its library. None for several that were captured together.
    """
    if " runs)" in text:
        return None
    said = _add_spaces(text)
    names = [(said.find(_add_spaces(name)), -len(name), name) for name in _mpi_names()]
    found = min((each for each in names if each[0] >= 0), default=None)
    if found is None:
        return None
    place, _, name = found
    version = _VERSION.search(said, place)
    return f"{name} {version[0]}" if version else name


def mpi_of(stack: str, version: str | None) -> str | None:
    """Return the library of a stack as ``mpi`` does; ``version`` as the library or its launcher prints it.

    HPC-X prints the version of its Open MPI, which is not its own version.
    """
    table = STACKS[stack]
    owner = next(name for name, each in STACKS.items() if each.version_pattern == table.version_pattern)
    return mpi(f"{_name_of(table.title)} {(version or '') if owner == stack else ''}")


def same_mpi(stated: str, shown: str) -> bool:
    """Return whether two libraries have the same name, and the same version as far as both state it.

    HPC-X is an Open MPI with its own version number. Nobody can tell which of the two versions a text means.
    """
    (one, its), (other, others) = (_named_version(text) for text in (stated, shown))
    if one != other:
        names = _mpi_names()
        return names[one] == names[other]
    return not its or not others or _same_start(its, others)


def _add_spaces(text: str) -> str:
    return re.sub(r"[-_/]|\(R\)", " ", text).replace("  ", " ").lower()


def _name_of(title: str) -> str:
    return re.sub(r" \(.*|^NVIDIA |^HPE ", "", title).strip()


def _named_version(text: str) -> tuple[str, str]:
    found = _VERSION.search(text)
    return (text, "") if found is None else (text[: found.start()].strip(), found[0])


def _same_start(one: str, other: str) -> bool:
    return all(mine == its for mine, its in zip(_parts(one), _parts(other), strict=False))


def _parts(version: str) -> tuple[str, ...]:
    return tuple(part.lstrip("0") or "0" for part in re.split(r"[.-]", version))


def _mpi_names() -> Mapping[str, str]:
    """Return the name that people write for each MPI library, and how it prints its version: that shows its family."""
    return {_name_of(stack.title): stack.version_pattern for stack in STACKS.values() if stack.is_mpi}


@dataclass(frozen=True, slots=True)
class NodeFactsShown:
    """What one node of a run shows: its facts, the facts of each rail that the run used, and those of the run itself.

    ``run`` has ``mpi`` (library and version) and ``hops``, if they are known.
    """

    facts: Mapping[str, str]
    rails: Sequence[Mapping[str, str]] = ()
    run: Mapping[str, str] = field(default_factory=dict)


def _no_value(seen: NodeFactsShown) -> tuple[str, ...]:
    return ()


def _contradicts(stated: str, shown: str) -> bool:
    return False


def _fact(name: str, read: Callable[[str], str | None] = strip_blanks) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    """Return the function that reads one fact of a node."""
    return lambda seen: _each(read, [seen.facts.get(name)])


def _rail(*names: str) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    """Return the function that reads, for each rail, the first of these facts, as it is."""
    return lambda seen: _each(
        strip_blanks, [next((said[name] for name in names if name in said), None) for said in seen.rails]
    )


def _of_run(name: str) -> Callable[[NodeFactsShown], tuple[str, ...]]:
    return lambda seen: _each(strip_blanks, [seen.run.get(name)])


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
    read: Callable[[str], str | None] = strip_blanks
    shown: Callable[[NodeFactsShown], tuple[str, ...]] = _no_value
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
        parse_switch,
        _fact("turbo", parse_switch),
        costs=lambda stated, shown: shown == "off",
        read_from="intel_pstate/no_turbo, cpufreq/boost",
    ),
    Condition(
        "smt",
        "several hardware threads per core (Hyper-Threading)",
        _ON_OFF,
        parse_switch,
        _fact("smt", lambda text: SMT.get(text)),
        costs=lambda stated, shown: shown == "on",
        read_from="cpu/smt/control",
    ),
    Condition(
        "c-states",
        "idle states deeper than C1",
        "enabled, disabled, or the names of the states that were on, such as POLL C1 C6",
        c_states,
        _fact("c_states", c_states),
        costs=lambda stated, shown: shown == "on",
        read_from="cpu0/cpuidle",
    ),
    Condition(
        "governor",
        "cpufreq's governor",
        choice(GOVERNORS),
        accept_one_of(GOVERNORS),
        _fact("governor", accept_one_of(GOVERNORS)),
        costs=lambda stated, shown: stated == "performance",
        read_from="cpu0/cpufreq",
    ),
    Condition(
        "numa-nodes-per-socket",
        "memory domains per socket: NPS, sub-NUMA clustering",
        "a whole number",
        parse_whole,
        _fact("numa_nodes_per_socket"),
        costs=_always_differs,
        read_from="system/node",
    ),
    Condition(
        "node-interleave",
        "one memory domain over all sockets",
        _ON_OFF,
        parse_switch,
        lambda seen: node_interleaving(seen.facts),
        costs=lambda stated, shown: shown == "on",
        read_from="system/node, on two sockets or more",
    ),
    Condition(
        "snoop-mode",
        "how the caches of a processor are kept consistent (Intel)",
        choice(SNOOP_MODES),
        snoop_mode,
        lambda seen: snoop_modes(seen.facts),
        lambda stated, shown: stated in shown.split(" or "),
        costs=_always_differs,
        read_from="system/node: cluster on die has two domains per socket; early and home look the same",
    ),
    Condition(
        "profile",
        "system profile of the BIOS",
        choice(PROFILES),
        accept_one_of(PROFILES),
    ),
    Condition(
        "processor",
        "model of the processors",
        "a model, such as Xeon E5-2660 v3",
        strip_blanks,
        _fact("processor"),
        same_processor,
        _always_differs,
        read_from="/proc/cpuinfo",
    ),
    Condition(
        "clock",
        "nominal clock of the processors",
        "a number in GHz, such as 2.6 GHz",
        clock,
        lambda seen: nominal_clock(seen.facts),
        costs=lambda stated, shown: first_number(shown) < first_number(stated),
        read_from="cpu0/cpufreq/base_frequency, or the model's name in /proc/cpuinfo",
    ),
    Condition(
        "memory",
        "memory of a node",
        "an amount, such as 128 GB or 8 x 16 GB at 2133 MHz",
        memory,
        _fact("memory", memory),
        same_memory,
        read_from="/proc/meminfo; the kernel may keep up to a tenth",
    ),
    Condition(
        "operating-system",
        "distribution and release",
        "a name with its release, such as Rocky Linux 9.4",
        operating_system,
        _fact("operating_system", operating_system),
        same_operating_system,
        _always_differs,
        read_from="/etc/os-release",
    ),
    Condition(
        "kernel",
        "release of the kernel",
        "a release, such as 6.1.0-17-amd64",
        release,
        _fact("kernel"),
        costs=_always_differs,
        read_from="/proc/sys/kernel/osrelease",
    ),
    Condition(
        "bios-version",
        "version of the machine's firmware",
        "a version",
        strip_blanks,
        _fact("bios_version"),
        costs=_always_differs,
        read_from="dmi/id",
    ),
    Condition(
        "mtu",
        "MTU of the rail's network interface",
        "a number of bytes, such as 9000 B",
        mtu,
        lambda seen: _each(mtu, _rail("interface_mtu", "mtu")(seen)),
        costs=lambda stated, shown: first_number(shown) < first_number(stated),
        read_from="the interface's mtu",
    ),
    Condition("card", "which network card, in words", "any text", is_free=True),
    Condition(
        "firmware",
        "firmware of the network card",
        "a version",
        version_in,
        _rail("firmware"),
        same_version,
        _always_differs,
        read_from="fw_ver of the card",
        is_field=True,
    ),
    Condition(
        "driver",
        "driver of the network card, or the OFED to which it belongs",
        "a kernel driver, or Mellanox OFED, with its version",
        driver,
        lambda seen: drivers(seen.rails),
        same_driver,
        _always_differs,
        read_from="module of the card's driver, and its version",
        is_field=True,
    ),
    Condition(
        "mpi",
        "MPI library",
        "a library with its version",
        mpi,
        _of_run("mpi"),
        same_mpi,
        _always_differs,
        read_from="the library of the run",
        is_field=True,
    ),
    Condition(
        "hops",
        "switches between the two nodes",
        "a whole number",
        parse_whole,
        _of_run("hops"),
        costs=lambda stated, shown: int(shown) > int(stated),
        read_from="railyard fabric --keep-hops",
        is_field=True,
    ),
    # What `railyard capture` says about itself, and not about a node.
    Condition("repeats", "for a captured reference: how often it ran, and on how many nodes", "any text", is_free=True),
    Condition("capture", "for a captured reference: quick", "quick", accept_one_of(("quick",))),
    Condition("path", "for a captured reference: not judged", "not judged", accept_one_of(("not judged",))),
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
    return text.split(" or ") if condition.read in (strip_blanks, operating_system) else _OR.split(text)
