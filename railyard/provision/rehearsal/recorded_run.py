"""A rehearsal from a genuine run: which recorded output a stand-in prints, and how far the nodes' counters move.

An output is played whole or not at all. If a recording does not fit what is asked today, or a fault is planted on its
nodes, the model makes the output, and the rehearsal gives the reason.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of, listing
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.parsers.rail_parts import NEXT_LAUNCH
from railyard.provision.rehearsal import traffic
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest, parse_words
from railyard.provision.rehearsal.crew import Moves
from railyard.provision.rehearsal.form import EVERY_NODE, Rehearsal
from railyard.provision.rehearsal.traffic import Network
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import content_of, read_index, read_kept_test
from railyard.results.record.form import Record
from railyard.results.run_folder import KeptTest
from railyard.site.test_id import TestId

#: A file in the job's folder: what its output is, as its record says it.
NOTE = "rehearsed/output.txt"
_GENUINE = "a genuine output"
_SEVERAL = "was made by several launches, and a stand-in is one"
#: What may differ between what a recorded run was given and what a check asks for today, in words.
_NAMES = {
    "sizes": "message sizes",
    "told": "repetitions",
    "repetitions": "repetitions",
    "window": "messages in flight",
    "passes": "passes",
    "validated": "checking of data",
    "amount_bytes": "bytes of a stream",
    "key": "benchmarks",
}


class _NotPlayed(Exception):
    """Why no recorded output is played."""


@dataclass(frozen=True, slots=True)
class Genuine:
    """An output of a real run, and what was stored beside it."""

    text: str
    kept: KeptTest


def playable_recordings(folder: Path, system: str) -> tuple[Recording, ...]:
    """Return the recordings of a folder that can be played: those with counters.

    Each file is unchanged since it was made. Raises RailyardError for a folder without an index, of another system or
    without any counters, and if a file is missing or was changed.
    """
    found = read_index(folder)
    name = name_of(folder)
    if found.system != system:
        raise RailyardError(
            f"--recording: found recordings of {found.system} in {name}, expected those of {system}, the one rehearsed"
        )
    genuine = tuple(one for one in found.recordings if one.origin == "recorded" and one.kept is not None)
    for one in genuine:
        content_of(folder, one)
        read_kept_test(folder, one)
    if not genuine:
        count = count_of(len(found.recordings), "recording")
        raise RailyardError(
            f"--recording: found {count} without counters in {name}, expected at least one with them; "
            f"measure with this Railyard, and record that run: railyard record RUN"
        )
    return genuine


def name_of(folder: Path) -> str:
    """Return a folder of recordings as sentences name it: ``recordings/ndr``."""
    return f"{folder.parent.name}/{folder.name}"


def genuine(
    network: Network, found: BenchmarkRequest, program: str, words: Sequence[str], stage: Path
) -> Genuine | None:
    """Return the recorded output that a run is to print, None if the model is to make one; ``stage`` says which.

    ``found`` is what the run was asked by its ``words``. Raises RailyardError if a recording was changed in the
    meantime.
    """
    rehearsal = network.crew.rehearsal
    if not rehearsal.recording:
        return None
    try:
        one, day = _choose_output(network, found, program, words)
    except _NotPlayed as reason:
        say_made(rehearsal, stage, str(reason))
        return None
    _say(stage, f"{_GENUINE} of {day}, recorded in {name_of(Path(rehearsal.recording))}")
    return one


def move(network: Network, one: Genuine, moves: Moves) -> None:
    """Add what the recording's counters moved to those of this run's nodes, node by node in the order of the ranks.

    What moved over a network that rehearsed nodes do not have goes over their management network.
    """
    crew = network.crew
    for node, there in zip(crew.nodes, one.kept.nodes, strict=True):
        ports = {port.name: port for port in crew.ports[node]}
        for device in there.devices:
            name = device.device.removesuffix("/net")
            port = ports.get(name)
            amounts = {"tx": device.tx_bytes or 0, "rx": device.rx_bytes or 0}
            if port is not None and name != device.device:
                moves.count_interface(node, port, amounts)
                continue
            for way, amount in amounts.items():
                moves.count(node, port or crew.management(node), way, amount)
            if port is not None:
                for counter, count in device.grown.items():
                    moves.grow(node, port, counter, count)


def say_made(rehearsal: Rehearsal, stage: Path, reason: str) -> None:
    """Say in a job's folder that the model made its output, and why; nothing if no recording was given."""
    if rehearsal.recording:
        _say(stage, f"made by the model: {reason}")


def describe_stage(stage: Path) -> str | None:
    """Return what a job's output is, in words; None if its folder does not say it."""
    try:
        return (stage / NOTE).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def summary(rehearsal: Rehearsal, records: Sequence[Record]) -> Iterator[str]:
    """Yield how many outputs were genuine, then each test whose output the model made, with the reason."""
    if not rehearsal.recording:
        return
    told = [
        (record.test.case, record.made.rehearsed_output)
        for record in records
        if record.made.rehearsed_output is not None
    ]
    made = [f"{case}: {output}" for case, output in told if not output.startswith(_GENUINE)]
    played = len(told) - len(made)
    yield f"genuine outputs of {name_of(Path(rehearsal.recording))}: in {played} of {count_of(len(records), 'test')}"
    yield from made


def _say(stage: Path, sentence: str) -> None:
    """Write what the job's output is, once: probes after a failed test are other runs in the same folder."""
    path = stage / NOTE
    path.parent.mkdir(exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{sentence}\n")
    except FileExistsError:
        return


def _choose_output(
    network: Network, found: BenchmarkRequest, program: str, words: Sequence[str]
) -> tuple[Genuine, str]:
    """Return the recorded output of exactly this case, and the day of its run. Raises _NotPlayed with the reason."""
    crew = network.crew
    planted = [
        fault.text
        for fault in crew.rehearsal.faults
        if fault.kind in ("leaf", "fallback") or fault.node in (EVERY_NODE, *crew.nodes)
    ]
    if planted:
        raise _NotPlayed(f"{listing(planted)} is planted on its nodes, and recordings have no planted faults")
    flows = traffic.pairs_of(network) if traffic.is_of_pairs(found.key) else traffic.ring_flows(network)
    test = network.test(found.key, flows)
    if test is None:
        raise _NotPlayed("its messages do not go over a rail")
    folder = Path(crew.rehearsal.recording)
    alike = [one for one in read_index(folder).recordings if one.origin == "recorded" and _is_of(one, test)]
    if not alike:
        rails = count_of(test.rails, "rail")
        case = f"{found.key} with {test.stack} over {rails} of {test.fabric}"
        raise _NotPlayed(f"{name_of(folder)} has no recording of {case}")
    reasons = []
    for one in alike:
        kept = read_kept_test(folder, one)
        if kept is None:
            reasons.append(f"{one.file} has no counters, since an older Railyard recorded it")
            continue
        text = content_of(folder, one).decode("utf-8")
        why = _SEVERAL if NEXT_LAUNCH in text else _why_not_of(kept, network, test)  # it has the words of one launch
        why = why or _why_told(kept, found, program, words) or _why_unknown(kept)
        if why is None:
            return Genuine(text, kept), kept.time.partition("T")[0]
        reasons.append(f"{one.file} {why}")
    raise _NotPlayed("; ".join(reasons))


def _is_of(one: Recording, test: TestId) -> bool:
    key, _ = nodes_of_key(one.benchmark)
    return (one.fabric, one.stack, one.rails, key) == (test.fabric, test.stack, test.rails, test.benchmark)


def _why_not_of(kept: KeptTest, network: Network, test: TestId) -> str | None:
    """Return why a recording is of a different kind of run: policy, nodes, ranks or rails."""
    crew = network.crew
    if kept.policy != test.policy:
        return f"was recorded with the rail policy {kept.policy}, this run has {test.policy}"
    if len(kept.nodes) != len(crew.nodes):
        return f"is of {count_of(len(kept.nodes), 'node')}, this run has {len(crew.nodes)}"
    each = sorted(set(crew.per_node.values()))
    if each != [kept.ranks_per_node]:
        return f"has {count_of(kept.ranks_per_node, 'rank')} per node, this run has {listing([str(n) for n in each])}"
    for node, there in zip(crew.nodes, kept.nodes, strict=True):
        taken = {
            port.name
            for member, takes in zip(crew.members, crew.takes, strict=True)
            if member.node == node
            for port in takes.ports
        }
        meant = {device.device for device in there.devices if device.meant}
        if there.problem is None and meant != taken:
            return f"was to use {listing(sorted(meant))}, this run takes {listing(sorted(taken))}"
    return None


def _why_told(kept: KeptTest, found: BenchmarkRequest, program: str, words: Sequence[str]) -> str | None:
    """Return how a recorded run's words and files of sizes differ from what a check asks for today."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in kept.files.items():
                Path(folder, Path(name).name).write_text(text, encoding="utf-8")
            then = parse_words(found.tool, program, kept.words, Path(folder))
    except (RailyardError, OSError, ValueError) as error:
        return f"was given words that cannot be read ({error})"
    if then == found:
        return None
    differing = [one.name for one in fields(BenchmarkRequest) if getattr(then, one.name) != getattr(found, one.name)]
    names = list(dict.fromkeys(_NAMES[name] for name in differing if name in _NAMES)) or ["options"]
    return f"was given other {listing(names)} ({' '.join(kept.words)}) than this check gives today ({' '.join(words)})"


def _why_unknown(kept: KeptTest) -> str | None:
    """Return why nobody knows what the nodes of a recording moved; None if all of it is known."""
    for node in kept.nodes:
        if node.problem is not None:
            return f"does not know what {node.node} moved: {node.problem}"
        for device in node.devices:
            if device.trouble is not None:
                return f"does not know what {device.device} of {node.node} moved: it {device.trouble}"
    return None
