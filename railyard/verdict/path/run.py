"""The path proof of a run: its case's plan is compared with the counters, and the stack's own log with both.

Stacks say which devices they used only if they are asked to (UCX_LOG_LEVEL, btl_base_verbose, I_MPI_DEBUG,
PSM3_IDENTIFY: the table of ``railyard.stacks`` has variable and pattern). A log is what the stack believes; the
counters decide. If the two disagree, the verdict says which of them contradicts the other.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from railyard.job.case import Case
from railyard.job.counters.node import NodeCounters
from railyard.job.launch import bonded_ports, counters_can_prove, rates
from railyard.parsers.output import Table
from railyard.stacks import ask
from railyard.verdict.path.addresses import Conflict, conflicts, look_at
from railyard.verdict.path.ports import loses
from railyard.verdict.path.result import PathProof, not_judged
from railyard.verdict.path.traffic import Plan, Policy
from railyard.verdict.wording import path as words

if TYPE_CHECKING:
    from railyard.verdict.sizes import Sizes

LONGEST = 2000
"""Longest line, in characters, that is looked at: a stack's own lines are short."""

#: The most of a line that a sentence quotes.
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class LogDevices:
    """What a log names: ``devices`` in the order of the question, and the ``line`` that names the first of them."""

    devices: tuple[str, ...]
    line: str


def judged_path(
    case: Case, assessor: "Sizes", tables: list[Table], readings: Mapping[str, NodeCounters], log: str
) -> PathProof:
    """Return the path proof of a run: what its counters show, compared with what ``assessor`` says that it moved.

    ``log`` is all that the job printed: what the stack says there about its devices is compared with the counters.
    """
    if not counters_can_prove(case.site, case.fabric):
        return not_judged(words.no_counters_of_rails(case.fabric))
    told = case.launch.settings
    plan = Plan(
        rails=rates(case.site, case.fabric, case.launch.meant),
        policy=cast(Policy, told.policy),
        traffic={},
        exclusive=case.site.system.nodes.exclusive,
        pairs=case.pairs,
        error_bounds=case.site.system.fabrics[case.fabric].proof.error_bounds,
        bonded=bonded_ports(case.site, case.fabric, case.launch.meant),
        cabled=tuple(rail.device for rail in case.site.system.fabrics[case.fabric].rails),
    )
    path = assessor.path(case, tables, readings, plan)
    clocks = {node: read.clock_khz for node, read in readings.items() if read.clock_khz is not None}
    resends = tuple(node for node, read in readings.items() if loses(read))
    found = replace(_with_log(case, path, log), clocks_khz=clocks, resends=resends)
    return _with_conflicts(found, conflicts(readings, case.launch.meant))


def _with_conflicts(found: PathProof, seen: tuple[Conflict, ...]) -> PathProof:
    """Return the proof with the addresses that two nodes have. They fail it even if this run's bytes took the right
    way: the next one's may not.
    """
    if not seen or found.state == "failed":
        return replace(found, conflicts=seen)
    sentence = "; ".join([*(one.sentence for one in seen), found.sentence])
    return replace(found, state="failed", sentence=sentence, fault="set-up", look_at=look_at(seen), conflicts=seen)


def read_log(log: str, patterns: Mapping[str, str]) -> LogDevices | None:
    """Return which devices a log names; None if it names none of them: then it says nothing.

    ``patterns``: a regular expression per device, as ``stacks.device_patterns`` returns them.
    """
    found: dict[str, str] = {}
    for line in log.splitlines():
        if len(found) == len(patterns):
            break
        if len(line) <= LONGEST:
            # Some patterns end with a blank; at the end of a line, that blank is the newline.
            named = [name for name, pattern in patterns.items() if re.search(pattern, f"{line}\n")]
            found |= {name: line.strip() for name in named if name not in found}
    if not found:
        return None
    return LogDevices(tuple(name for name in patterns if name in found), next(iter(found.values())))


def compared_with_log(proof: PathProof, log: str, patterns: Mapping[str, str], meant: Sequence[str]) -> PathProof:
    """Return the proof; its sentence then also says if the log contradicts it, or confirms what it found wrong."""
    said = read_log(log, patterns)
    told = [device for device in meant if device in patterns]
    remark = contradiction(said, told, proof) or agreement(said, told, proof)
    return proof if remark is None else replace(proof, sentence=f"{proof.sentence}; {remark}")


def contradiction(said: LogDevices | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence if log and counters disagree; None if they agree, or if one of them says nothing.

    ``meant`` are the devices that the run should have used.
    """
    if said is None or proof.state not in ("proven", "failed"):
        return None
    strangers = [device for device in said.devices if device not in meant]
    unnamed = [device for device in meant if device not in said.devices]
    if proof.state == "proven":
        if unnamed:
            return words.log_contradicts(said.devices, said.line[:_SHOWN])
        if strangers:
            return words.log_names_more(strangers)
        return None
    if proof.fault != "set-up":
        return None
    if not strangers and not unnamed:
        return words.counters_contradict(said.devices, said.line[:_SHOWN])
    return None


def agreement(said: LogDevices | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence if the log itself says what the counters found wrong; None for any other log."""
    if said is None or proof.state != "failed" or proof.fault != "set-up":
        return None
    if all(device in said.devices for device in meant) and all(device in meant for device in said.devices):
        return None
    return words.log_agrees(said.devices, said.line[:_SHOWN])


def _with_log(case: Case, path: PathProof, log: str) -> PathProof:
    """Return the proof with what the stack's own log says about it, if the stack was asked to log anything."""
    devices = (*case.launch.meant, *case.launch.watched)
    kind, policy = case.site.system.fabrics[case.fabric].kind, case.launch.settings.policy
    patterns = ask.device_patterns(case.stack, kind, policy, devices)
    return compared_with_log(path, log, patterns, case.launch.meant)
