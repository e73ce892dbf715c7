"""The sick list for people: one line per part, or one ticket per part in Markdown that reads well as plain text too."""

from collections.abc import Callable, Mapping

from railyard.base.clean_text import one_line
from railyard.base.wording import count_of, few
from railyard.results.sick.form import Kind, SeenTest, SickList, SickPart

#: The meaning of each word for how sure the verdicts are.
SURE: Mapping[str, str] = {
    "shown": "measured again against good partners, and nothing smaller explains it",
    "likely": "the figures fit and nothing contradicts them, but they are too few to show it",
    "named": "a failed test blames it",
    "open": "something is wrong there, and the tests cannot tell what: nobody is blamed yet",
}
#: What to try for each kind of part, after what its verdict says to look at.
NEXT: Mapping[Kind, str] = {
    "node": "compare its settings with its neighbours' (railyard doctor --nodes), look at its kernel log, and gate it "
    "alone (railyard gate --traffic)",
    "rail": "look at the card, its slot and its cable (railyard fabric, railyard doctor --nodes), reseat or swap the "
    "cable, and gate the node with a good neighbour (railyard gate --traffic --neighbour)",
    "gpu": "look at the GPU, its slot, and the way from it to its card (nvidia-smi topo -m, NVLink's error counters)",
    "pair": "both nodes may be good: look at the way between them (routes, cables between switches), and measure each "
    "with a third node",
    "switch": "look at the switch and its cables; all nodes behind it are slow",
    "leaf": "look at the leaf switch and at its up-links; its nodes are good among themselves",
    "up-link": "look at the error counters of both its ports (railyard fabric as root), and swap its cable",
}


def lines(found: SickList) -> list[str]:
    """Return one line per part, the newest first, and what is not in the list."""
    said = [
        f"{part.last.time}  {part.system}  {part.name} ({_words(part)}): {one_line(part.evidence)}"
        for part in found.sick
    ]
    sick = sum(part.state == "sick" for part in found.sick)
    closing = f"{count_of(found.tests, 'test')}: {count_of(sick, 'sick part')}"
    passed = len(found.sick) - sick
    return [*said, *found.left_out, f"{closing}{f', {passed} passed since' if passed else ''}"]


def _words(part: SickPart) -> str:
    passed = f", passed since: {part.passed.time}" if part.passed is not None else ""
    return f"{part.confidence}, {count_of(len(part.runs), 'run')}{passed}"


def ticket(part: SickPart, page: Callable[[str], str]) -> str:
    """Return a ticket in Markdown; ``page`` returns where the page of a run is, or how to make it."""
    where = f"system {part.system}"
    if part.nodes:
        where += f", {'node' if len(part.nodes) == 1 else 'nodes'} {few(part.nodes)}"
    told = [
        ("What", f"{part.name} ({part.confidence}: {SURE[part.confidence]})"),
        ("Where", where),
        ("Since", _format_since(part)),
        ("Evidence", part.evidence),
        ("Verdict", part.sentence),
        ("What to try next", "; ".join(filter(None, (part.look_at, NEXT[part.kind])))),
        ("Page of the newest run", page(part.last.run)),
    ]
    if part.passed is not None:
        told.insert(3, ("Passed since", f"{_test(part.passed)}: check whether it is still sick before you do anything"))
    title = f"# {part.system}: {part.name}"
    return "\n".join([title, "", *(f"- **{name}**: {_plain(text)}" for name, text in told)]) + "\n"


def tickets(found: SickList, page: Callable[[str], str]) -> str:
    """Return the tickets of all parts, a line between them."""
    return "\n---\n\n".join(ticket(part, page) for part in found.sick)


def _format_since(part: SickPart) -> str:
    blamed = f"blamed by {count_of(len(part.tests), 'test')} of {count_of(len(part.runs), 'run')}"
    if part.first == part.last:
        return f"{part.first.time}; {blamed}: {part.last.test}"
    return f"{part.first.time}, last {part.last.time}; {blamed}, the newest: {part.last.test}"


def _test(seen: SeenTest) -> str:
    return f"{seen.test} at {seen.time} (run {seen.run})"


def _plain(text: str) -> str:
    """Return a text on one line, without anything that looks like HTML or the end of a Markdown cell."""
    return one_line(text).replace("<", "&lt;").replace("|", "\\|")
