"""What a rehearsal found of what was planted: which failed tests name it, and whom else they blame. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from railyard.base.wording import counted, listing
from railyard.provision.rehearsal.form import EVERY_NODE, Fault, Rehearsal
from railyard.results.record.form import Record
from railyard.results.report.summary import suspect_words

#: The rule of the path proof: what a library that took another network fails.
_PATH = 4
#: Those of a curve against its limit and its references.
_OF_CURVES = (3, 5)
_MOST_SHOWN = 5


def summary(rehearsal: Rehearsal, records: Sequence[Record]) -> list[str]:
    """Return the last lines of a rehearsal: of each planted fault whether failed tests name it, then who is blamed."""
    failed = [record for record in records if record.fails]
    lines = [f"planted {fault.text}: {_found(fault, failed)}" for fault in rehearsal.faults]
    if not rehearsal.faults:
        lines = [f"nothing was planted: {_unprovoked(failed)}"]
    return [*lines, *_blamed(failed)]


def names(fault: Fault, record: Record) -> bool:
    """Return whether a failed test names what was planted: its node and rail, its leaf switch, its other transport."""
    if fault.kind == "fallback":
        return any(rule.rule == _PATH and rule.state == "fail" for rule in record.verdict.rules)
    verdict = record.verdict
    if fault.kind == "leaf" and any(suspect.kind == "switch" for suspect in verdict.suspects):
        return True
    # A sentence on a curve names all nodes and rails of its run, and a remark where a process sat: they blame nobody.
    sentence = "" if verdict.rule in _OF_CURVES else verdict.sentence
    text = "\n".join((sentence, *map(suspect_words, verdict.suspects)))
    node = "" if fault.node == EVERY_NODE else fault.node
    wanted = [word for word in (node, fault.device, fault.leaf) if word]
    return all(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) for word in wanted)


def _found(fault: Fault, failed: Sequence[Record]) -> str:
    if not failed:
        return "NOT FOUND, no test failed"
    naming = sum(names(fault, record) for record in failed)
    if not naming:
        return f"NOT NAMED by any of {counted(len(failed), 'failed test')}"
    return f"named by {naming} of {counted(len(failed), 'failed test')}"


def _unprovoked(failed: Sequence[Record]) -> str:
    if not failed:
        return "no test failed"
    return f"{counted(len(failed), 'test')} failed, so that the system's file or its references do not fit each other"


def _blamed(failed: Sequence[Record]) -> Iterator[str]:
    """Yield whom failed tests blame, the most blamed first."""
    told = Counter(
        place for record in failed for place in {_place(suspect_words(one)) for one in record.verdict.suspects}
    )
    if told:
        most = [f"{place} ({counted(count, 'test')})" for place, count in told.most_common(_MOST_SHOWN)]
        more = len(told) - len(most)
        yield f"blamed: {listing(most)}{f', and {more} more' if more else ''}"
    elif failed:
        yield "blamed: nobody; the sentences above say what failed"


def _place(words: str) -> str:
    """Return ``rail hsn1 of vn2`` of ``rail hsn1 of vn2: it moved 4.9 MB/s``."""
    return words.partition(": ")[0]
