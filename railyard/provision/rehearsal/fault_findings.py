"""What a rehearsal found of the planted faults: which failed tests name each, and what else they blame. Pure."""

import re
from collections.abc import Iterator, Sequence

from railyard.base.wording import count_of
from railyard.provision.rehearsal.form import EVERY_NODE, Fault, Rehearsal
from railyard.results.record.form import Record
from railyard.results.report.causes import blame_lines
from railyard.results.report.summary import suspect_words
from railyard.site.systems.model import System
from railyard.stacks.model import policy_of_rail

#: The rule of the path proof: a library that took another network fails it.
_PATH = 4
#: The rules that compare a curve with its limit and its references.
_OF_CURVES = (3, 5)


def summary(rehearsal: Rehearsal, system: System, records: Sequence[Record]) -> list[str]:
    """Return the last lines of a rehearsal: whether failed tests name each planted fault, then who is blamed."""
    failed = [record for record in records if record.fails]
    lines = [f"planted {fault.text}: {_describe_blame(fault, system, records, failed)}" for fault in rehearsal.faults]
    if not rehearsal.faults:
        lines = [f"nothing was planted: {_describe_unprovoked(failed)}"]
    return [*lines, *blame_lines(failed)]


def names(fault: Fault, record: Record) -> bool:
    """Return whether a failed test names what was planted: node and rail, leaf switch or the other transport."""
    if fault.kind == "fallback":
        return any(rule.rule == _PATH and rule.state == "fail" for rule in record.verdict.rules)
    verdict = record.verdict
    if fault.kind == "leaf" and any(suspect.kind == "switch" for suspect in verdict.suspects):
        return True
    # A sentence about a curve names all nodes and rails of its run. A remark names where a process was. Both blame
    # nobody.
    sentence = "" if verdict.rule in _OF_CURVES else verdict.sentence
    text = "\n".join((sentence, *map(suspect_words, verdict.suspects)))
    node = "" if fault.node == EVERY_NODE else fault.node
    wanted = [word for word in (node, fault.device, fault.leaf) if word]
    return all(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) for word in wanted)


def _describe_blame(fault: Fault, system: System, records: Sequence[Record], failed: Sequence[Record]) -> str:
    naming = sum(names(fault, record) for record in failed)
    if naming:
        return f"named by {naming} of {count_of(len(failed), 'failed test')}"
    unused = _find_unused(fault, system, records)
    if unused is not None:
        return f"NOT FOUND, {unused}"
    if not failed:
        return "NOT FOUND, no test failed"
    return f"NOT NAMED by any of {count_of(len(failed), 'failed test')}"


def _find_unused(fault: Fault, system: System, records: Sequence[Record]) -> str | None:
    """Return why no test could meet a fault of a rail or a node: none ran there.

    None if one did, or for any other fault.
    """
    # A test that ended early may not have said on which nodes it ran.
    there = [one for one in records if fault.node == EVERY_NODE or not one.nodes or fault.node in one.nodes]
    if not there and records:
        return f"no chosen test ran on {fault.node}: choose one of all nodes, such as -n AllPairs, or fewer --nodes"
    if not fault.device or any(_uses(record, system, fault.device) for record in there):
        return None
    place = fault.device if fault.node == EVERY_NODE else f"{fault.device} of {fault.node}"
    return f"no chosen test used {place}: choose one with {' or '.join(dict.fromkeys(_ways(fault.device, system)))}"


def _uses(record: Record, system: System, device: str) -> bool:
    """Return whether a test was to use a rail, by its name in launches."""
    fabric = system.fabrics.get(record.fabric)
    policy = record.policy or ""
    if fabric is None or not fabric.has(record.rails, policy):
        return False
    return device in {rail.name for rail in fabric.used_rails(record.rails, policy)}


def _ways(device: str, system: System) -> Iterator[str]:
    """Yield how to choose tests that use a rail: over so many rails, or over that rail alone if the file has it."""
    for fabric in system.fabrics.values():
        for number, rail in enumerate(fabric.rails, 1):
            if rail.name == device:
                yield from (f"rails={count}" for count in fabric.counts if count >= number)
                yield from (f"policy={policy_of_rail(number)}" for _ in range(fabric.each_rail and number > 1))


def _describe_unprovoked(failed: Sequence[Record]) -> str:
    if not failed:
        return "no test failed"
    return f"{count_of(len(failed), 'test')} failed, so the system's file and its references do not fit each other"
