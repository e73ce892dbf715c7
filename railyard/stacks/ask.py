"""Looks things up in the stacks' table: what a stack can do, why it cannot, and its settings.

A run's rail policy is one of a way's, by name or the first that fits.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import either
from railyard.hardware.node import family_of
from railyard.stacks.model import (
    KINDS,
    KNOBS,
    STACKS,
    STRIPING,
    Knob,
    Launch,
    Proof,
    Setting,
    Spread,
    Stack,
    Way,
    Words,
    blanks,
    number_alone,
    split_threshold,
    tuned_name,
    unknown,
)
from railyard.stacks.ucx import KEEPS_WHOLE


@dataclass(frozen=True, slots=True)
class LogProof:
    """What a log must show: with ``env`` set, each of ``patterns`` (regular expressions) must be found in it."""

    env: Mapping[str, str]
    patterns: tuple[str, ...]
    says: str

    def missing_patterns(self, log: str) -> tuple[str, ...]:
        """Return the patterns that the log does not show, in order; empty if the log proves what was asked."""
        return tuple(pattern for pattern in self.patterns if not re.search(pattern, log))


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run: variables in the table's order, words for the stack's own launcher, and more.

    ``threshold_bytes`` as in Spread: from this size on all rails carry a single message; None if they never do, or if
    no number is known. ``policy_name`` is the policy as it was asked for, with its threshold or its rail:
    ``striping-8K``, ``rail-2``. ``rank_variable`` as in Spread. ``words`` are added to the command line of a benchmark
    that is a client and a server, at both ends.
    """

    env: Mapping[str, str]
    options: tuple[str, ...]
    policy: str
    threshold_bytes: int | None
    proof: LogProof
    policy_name: str
    rank_variable: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Knobs:
    """Optional settings of a transport with verbs: GID table index, traffic class, service level."""

    gid_index: int | None = None
    traffic_class: int | None = None
    service_level: int | None = None


def why_not(stack: str, kind: str, rails: int, policy: str | None = None, knobs: Knobs = Knobs()) -> str | None:
    """Return None if the stack can use so many rails of this kind of fabric with this policy, else the reason.

    Without a policy, the question is whether any policy can, and whether the default policy can be given the knobs.
    An unknown name is a reason too, with the nearest known one.
    """
    if stack not in STACKS:
        return f'unknown stack "{stack}": {did_you_mean(stack, STACKS)}'
    if kind not in KINDS:
        return f'unknown kind of fabric "{kind}": {did_you_mean(kind, KINDS)}'
    if policy is not None and (near := unknown(policy)) is not None:
        return f'unknown rail policy "{policy}": {near}'
    if rails < 1:
        return f"rails is {rails}: a run needs at least 1"
    way = STACKS[stack].ways[kind]
    if isinstance(way, str):
        return f"{stack} on {kind}: {way}"
    reason = why_not_rails(way, rails, policy)
    if reason is None:
        spread = spread_of(way, rails, None if policy is None else split_threshold(policy)[0])
        reason = _why_not_told(spread.knobs or way.knobs, knobs)
    return None if reason is None else f"{stack} on {kind}: {reason}"


@lru_cache(maxsize=32)
def variables_of_stack(stack: str) -> frozenset[str]:
    """Return the variables that choose transport, devices or rails of a stack, from the stacks' table."""
    found: set[str] = set()
    for way in STACKS[stack].ways.values():
        if not isinstance(way, str):
            lines = [*way.settings, *(line for spread in way.spreads for line in spread.settings)]
            lines += [line for told in way.memories.values() if not isinstance(told, str) for line in told]
            knobs = [way.knobs, *(spread.knobs for spread in way.spreads if spread.knobs)]
            lines += [knob for each in knobs for knob in each.values() if isinstance(knob, Setting)]
            found |= {line.name for line in lines}
    return frozenset(found | set(KEEPS_WHOLE) if any(name.startswith("UCX_") for name in found) else found)


def why_no_stack(stack: str, processor: str) -> str | None:
    """Return None if a stack exists for a processor (archspec's name: ``neoverse_v2``), else the reason."""
    families = STACKS[stack].families
    if not families or family_of(processor) in families:
        return None
    return f"{STACKS[stack].title} exists only for {either(families)}"


def why_not_from(stack: str, kind: str, memory: str) -> str | None:
    """Return why a stack's messages cannot be in the memory of such GPUs (``MEMORIES``) on this kind of fabric.

    Return None if they can. Stack and kind must be known names.
    """
    way = STACKS[stack].ways[kind]
    if isinstance(way, str):
        return f"{stack} on {kind}: {way}"
    told = way.memories[memory]
    return f"{stack} on {kind}: {told}" if isinstance(told, str) else None


def policies(stack: str, kind: str, rails: int, knobs: Knobs = Knobs()) -> tuple[str, ...]:
    """Return the policies with which a stack can use so many rails, its default first; () if there are none."""
    if why_not(stack, kind, rails, None, knobs) is not None:
        return ()
    way = STACKS[stack].ways[kind]
    assert isinstance(way, Way)  # why_not has just checked it
    names = [spread.policy for spread in way.spreads]
    others = [name for name in names if why_not(stack, kind, rails, name, knobs) is None]
    return tuple(dict.fromkeys((spread_of(way, rails, None).policy, *others)))


def settings(
    stack: str,
    kind: str,
    devices: Sequence[str],
    rails: int,
    policy: str | None = None,
    knobs: Knobs = Knobs(),
    memory: str | None = None,
) -> Settings:
    """Return the settings with which the stack sends its messages over exactly these devices, one per rail.

    ``devices``: net devices (``hsn0``) on tcp, domains (``cxi0``) on slingshot and efa, cards with an optional port
    (``mlx5_0`` or ``mlx5_0:1``) on ib, roce and opa. With ``policy`` None it is single for one rail, else the table's
    first; ``striping-8K`` is striping with that threshold. ``memory``: the messages are in the memory of GPUs of this
    kind (``MEMORIES``). Raises RailyardError with the sentence of why_not or why_not_from, or if devices or knobs do
    not fit.
    """
    reason = why_not(stack, kind, rails, policy, knobs)
    if reason is None and memory is not None:
        reason = why_not_from(stack, kind, memory)
    if reason is not None:
        raise RailyardError(reason)
    way = STACKS[stack].ways[kind]
    assert isinstance(way, Way)  # why_not has just checked it
    named, threshold = (None, None) if policy is None else split_threshold(policy)
    spread = spread_of(way, rails, named)
    parsed = _devices(stack, kind, devices, rails)
    lines = (*way.settings, *(tuned_line(line, spread, threshold) for line in spread.settings))
    besides = () if memory is None else way.memories[memory]
    assert not isinstance(besides, str)  # why_not_from has just checked it
    lines = (*lines, *besides)
    values = _values(stack, parsed, rails, {blank for line in lines for blank in blanks(line.value)})
    values["threshold"] = str(threshold)
    env = {line.name: line.value.format_map(values) for line in lines}
    words: list[str] = []
    for name, number in _asked_knobs(knobs):
        knob, filled = (spread.knobs or way.knobs)[name], {**values, "knob": str(number)}
        if isinstance(knob, Setting):
            env[knob.name] = knob.value.format_map(filled)
        elif isinstance(knob, Words):
            words += [word.format_map(filled) for word in knob.words]
    proof = _log_proof(spread.proof or way.proof, [name for name, _ in parsed], values)
    name = spread.policy if threshold is None else tuned_name(threshold)
    if policy is not None and number_alone(policy) is not None:
        name = policy
    return Settings(
        env=env,
        options=spread.options,
        policy=spread.policy,
        threshold_bytes=split_from(spread, threshold),
        proof=proof,
        policy_name=name,
        rank_variable=spread.rank_variable,
        words=tuple(words),
    )


@dataclass(frozen=True, slots=True)
class Remote:
    """How a launcher reaches other hosts: what it calls instead of ssh, and the net device for start-up traffic."""

    agent: str | None = None
    network: str | None = None


def launch_options(
    stack: str,
    *,
    hosts: Sequence[str],
    ranks: int,
    ranks_per_node: int,
    remote: Remote = Remote(),
    share_cores: int = 0,
    major: int | None = None,
) -> list[str]:
    """Return the words after the launcher's name: hosts, ranks, ranks per node, remote agent, start-up network.

    ``share_cores`` is the number of cores that the ranks share (no binding; 1 if it is not known), 0 if each has its
    own. If the ranks are more than these cores, one that waits gives its core away. ``major`` is the library's major
    version (None: the oldest in the table). Raises RailyardError for an unknown stack, and if its launcher has no words
    for what is asked.
    """
    launch = _launch(stack, major)
    if len(hosts) * ranks_per_node < ranks:
        raise RailyardError(f"{stack}: {ranks} ranks do not fit {len(hosts)} hosts with {ranks_per_node} ranks each")
    values = {
        "hosts": ",".join(hosts),
        "host_slots": ",".join(f"{host}:{ranks_per_node}" for host in hosts),
        "ranks": str(ranks),
        "ranks_per_node": str(ranks_per_node),
        "agent": remote.agent or "",
        "network": remote.network or "",
    }
    words = [*launch.hosts, *launch.ranks, *launch.ranks_per_node]
    for given, part in ((remote.agent, launch.agent), (remote.network, launch.network)):
        if given is None:
            continue
        if isinstance(part, str):
            raise RailyardError(f"{stack}: {part}")
        words += part
    if share_cores:
        words += (*launch.share_cores, *(launch.give_cores if ranks > share_cores else ()))
    return [word.format_map(values) for word in words]


def part_separator(stack: str, major: int | None = None) -> str:
    """Return the word between parts of the launcher's command. Each part has its own host, and ranks keep their order.

    Empty if no such word of the launcher is known.
    """
    return _launch(stack, major).between


def cores_a_rank(stack: str, cores: int, major: int | None = None) -> list[str]:
    """Return the launcher's words that give each rank so many cores of its own, for its threads."""
    return [word.format_map({"cores": str(cores)}) for word in _launch(stack, major).cores_a_rank]


def on_each_node(stack: str, ranks_per_node: int, words: Sequence[str], major: int | None = None) -> list[str]:
    """Return the launcher's words, with those that put so many ranks on each node of the job, whatever its slots are.

    If ``words`` have a value of the same option already, theirs takes its place, and what follows its first colon stays
    (``slot:PE=4`` becomes ``ppr:2:node:PE=4``): a launcher refuses two of them. Raises RailyardError if no such words
    of the stack's launcher are known.
    """
    own = _launch(stack, major).each_node
    if isinstance(own, str):
        raise RailyardError(f"{stack}: {own}")
    option, value = (word.format_map({"ranks_per_node": str(ranks_per_node)}) for word in own)
    if option not in words:
        return [*words, option, value]
    place = list(words).index(option) + 1
    _, colon, more = words[place].partition(":")
    return [*words[:place], f"{value}{colon}{more}", *words[place + 1 :]]


def each_node_variables(stack: str, major: int | None = None) -> Mapping[str, str]:
    """Return the variables without which the stack's launcher does not obey the words of ``on_each_node``."""
    return _launch(stack, major).each_node_env


def why_not_each_node(stack: str, major: int | None = None) -> str | None:
    """Return why a stack's launcher cannot be told how many ranks each node of a job gets; None if it can."""
    own = _launch(stack, major).each_node
    return own if isinstance(own, str) else None


def forward(stack: str, env: Mapping[str, str], major: int | None = None) -> list[str]:
    """Return the launcher's words that pass these variables to every rank, in their order."""
    launch = _launch(stack, major)
    return [word.format_map({"name": n, "value": v}) for n, v in env.items() for word in launch.forward]


def _launch(stack: str, major: int | None) -> Launch:
    if stack not in STACKS:
        raise RailyardError(f'unknown stack "{stack}": {did_you_mean(stack, STACKS)}')
    entry: Stack = STACKS[stack]
    if entry.pair:
        raise RailyardError(f"{stack}: has no launcher of its own: its benchmarks are a client and a server")
    if major is None:
        return entry.launch
    fitting = [launch for launch in entry.launches if launch.since <= major]
    if not fitting:
        oldest = entry.launch.since
        raise RailyardError(f"{stack}: the oldest known major version is {oldest}, {major} was asked for")
    return fitting[-1]


def _devices(stack: str, kind: str, devices: Sequence[str], rails: int) -> list[tuple[str, str]]:
    """Return (name, port) for each device. Only devices that have ports are split; the port defaults to 1."""
    if len(devices) != rails:
        raise RailyardError(f"{stack}: {rails} rails need {rails} devices, {len(devices)} given ({', '.join(devices)})")
    parsed = []
    for device in devices:
        name, _, port = device.partition(":") if kind in _WITH_PORTS else (device, "", "")
        if not _NAME.fullmatch(name) or not _PORT.fullmatch(port):
            raise RailyardError(
                f'{stack}: device "{device}" is not a device\'s name (hsn0, mlx5_0, or mlx5_0:1 for its port 1)'
            )
        parsed.append((name, port or "1"))
    if len(set(parsed)) != len(parsed):
        raise RailyardError(f"{stack}: a device is named twice ({', '.join(devices)}): each rail is a device and port")
    return parsed


def _values(stack: str, devices: list[tuple[str, str]], rails: int, used: set[str]) -> dict[str, str]:
    """Return every blank's text. Raises RailyardError if a used blank has no text for these devices."""
    names = [name for name, _ in devices]
    named = ", ".join(f"{name}:{port}" for name, port in devices)
    if "port" in used and (len(set(names)) < rails or len({port for _, port in devices}) > 1):
        raise RailyardError(f"{stack}: takes one port per card, the same on every card; {named} are not")
    units = [_unit(stack, name) if used & {"units", "unit_ports"} else "" for name in names]
    return {
        "devices": ",".join(names),
        "ports": ",".join(f"{name}:{port}" for name, port in devices),
        "sets": ";".join(f"{name}:{port}" for name, port in devices),
        "hcas": ":".join(names),
        "port": devices[0][1],
        "units": ",".join(units),
        "unit_ports": ",".join(f"{unit}:{port}" for unit, (_, port) in zip(units, devices, strict=True)),
        "rails": str(rails),
    }


def _unit(stack: str, name: str) -> str:
    number = re.search(r"[0-9]+$", name)
    if number is None:
        raise RailyardError(f'{stack}: needs its devices by number, and "{name}" does not end in one (hfi1_0)')
    return number.group()


def knob_variables(stack: str, kind: str, knobs: Knobs) -> dict[str, str]:
    """Return the variables that set these knobs of a stack on a kind of fabric, without those that it cannot set.

    A policy over another transport has other variables, or none.
    """
    way = STACKS[stack].ways[kind]
    asked = [] if isinstance(way, str) else [(way.knobs[name], number) for name, number in _asked_knobs(knobs)]
    return {knob.name: knob.value.format(knob=number) for knob, number in asked if isinstance(knob, Setting)}


def _asked_knobs(knobs: Knobs) -> list[tuple[str, int]]:
    numbers = asdict(knobs)
    return [(name, numbers[name]) for name in KNOBS if numbers[name] is not None]


def _why_not_told(there: Mapping[str, Knob], knobs: Knobs) -> str | None:
    for name, number in _asked_knobs(knobs):
        knob, words = there[name], name.replace("_", " ").replace("gid", "GID")
        if isinstance(knob, str):
            return f"{words} {number} was asked for, but {knob}"
        if not 0 <= number <= LARGEST[name]:
            return f"{words} {number} is not within 0 to {LARGEST[name]}"
    return None


def device_patterns(stack: str, kind: str, policy: str, devices: Sequence[str]) -> dict[str, str]:
    """Return, for each device, a regular expression for what this stack's log says if it uses the device.

    Empty if its log names no devices on this kind of fabric. Devices are written as for ``settings``. If a log cannot
    tell some apart (two ports of one card), only the first is there.
    """
    way = STACKS[stack].ways[kind]
    if isinstance(way, str):
        return {}
    spread = next((each for each in way.spreads if each.policy == split_threshold(policy)[0]), way.spreads[0])
    pattern = (spread.proof or way.proof).pattern
    if "{device}" not in pattern:
        return {}
    names = {device: device.partition(":")[0] if kind in _WITH_PORTS else device for device in devices}
    first = {name: device for device, name in reversed(names.items())}
    told = {device: name for device, name in names.items() if first[name] == device}
    return {device: pattern.replace("{device}", re.escape(name)) for device, name in told.items()}


def _log_proof(proof: Proof, devices: Sequence[str], values: Mapping[str, str]) -> LogProof:
    env = {line.name: line.value.format_map(values) for line in proof.settings}
    pattern = proof.pattern.replace("{rails}", values["rails"])
    if "{device}" not in pattern:
        return LogProof(env, (pattern,), proof.says)
    patterns = tuple(pattern.replace("{device}", re.escape(name)) for name in dict.fromkeys(devices))
    return LogProof(env, patterns, proof.says)


_WITH_PORTS = ("ib", "roce", "opa")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PORT = re.compile(r"[0-9]*")

# A GID table index and a traffic class are one byte each; a service level has four bits.
# Source: InfiniBand Architecture Specification 1.4, 7.7 (local route header: SL), 8.3 (global route header: TClass).
LARGEST = {"gid_index": 255, "traffic_class": 255, "service_level": 15}


def why_not_rails(way: Way, rails: int, name: str | None) -> str | None:
    """Return why a way cannot use so many rails with the policy of this name (None: any policy); None if it can."""
    policy, threshold = (None, None) if name is None else split_threshold(name)
    reason = _why_not_policy(way, rails, policy)
    return _why_not_threshold(way, threshold) if reason is None and threshold is not None else reason


def _why_not_threshold(way: Way, threshold: int) -> str | None:
    """Return why striping cannot have this threshold, or None if it can. The default threshold needs no name."""
    spread = next(spread for spread in way.spreads if spread.policy == STRIPING)
    if spread.tunable is None:
        why = f"no setting changes from which size {way.transport} stripes: {spread.threshold}"
        return f"{tuned_name(threshold)} was asked for, and {why}"
    name = spread.tunable.name
    if threshold < spread.least_bytes:
        return f"{tuned_name(threshold)} was asked for, and {name} takes no less than {spread.least_bytes} B"
    if any(line.name == name and line.value == str(threshold) for line in spread.settings):
        return f"{tuned_name(threshold)} is what {name} is set to by default: write {STRIPING}"
    return None


def tuned_line(line: Setting, spread: Spread, threshold: int | None) -> Setting:
    """Return a setting of the policy; if another threshold is asked for, with the threshold's blank in its value."""
    tunable = spread.tunable
    return tunable if threshold is not None and tunable is not None and line.name == tunable.name else line


def split_from(spread: Spread, threshold: int | None) -> int | None:
    """Return the size in bytes from which messages are split; None if none are, or if no number is known."""
    if threshold is None:
        return spread.threshold_bytes
    return 2 * threshold if spread.splits_above else threshold


def _why_not_policy(way: Way, rails: int, policy: str | None) -> str | None:
    if policy is not None and policy in way.cannot:
        return way.cannot[policy]
    if rails == 1:
        return None if policy in (None, "single") else f"policy {policy} needs at least 2 rails, 1 was asked for"
    if policy == "single":
        return f"policy single uses one rail, {rails} were asked for"
    fitting = [spread for spread in way.spreads if spread.policy != "single" and policy in (None, spread.policy)]
    if not fitting:
        return f"no policy uses {rails} rails: {' '.join(dict.fromkeys(way.cannot.values()))}"
    most = max(fitting, key=lambda spread: spread.max_rails or rails)
    if rails <= (most.max_rails or rails):
        return None
    return f"{most.policy} over {way.transport} uses at most {most.max_rails} rails, {rails} were asked for"


def spread_of(way: Way, rails: int, policy: str | None) -> Spread:
    """Return the policy of a way that why_not_rails has accepted: the named one, else the first that fits."""
    wanted = policy or ("single" if rails == 1 else None)
    for spread in way.spreads:
        if spread.policy == wanted:
            return spread
        if wanted is None and spread.policy != "single" and rails <= (spread.max_rails or rails):
            return spread
    raise AssertionError(f"why_not accepted {rails} rails with {policy} over {way.transport}")
