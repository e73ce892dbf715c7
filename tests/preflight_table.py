"""The table of planted faults and times in docs/howto/preflight.md, from simulated jobs of 64 and 512 nodes.

``python -m tests.preflight_table`` writes it again; ``make docs`` does so. Nothing is measured: seeds decide all.
"""

from collections.abc import Iterator
from pathlib import Path

from railyard.base.hostlist import list_nodes
from railyard.cluster.preflight.answer import Answer
from tests.made.simulated_preflight import CASES, PlantedFaults, Routes, play

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "preflight.md"
BEGIN, END = "<!-- written by python -m tests.preflight_table -->\n", "<!-- until here -->\n"
SIZES = (64, 512)
#: Seeds of healthy jobs, with each kind of routes.
DRAWS = range(1, 21)
_ROUTES: tuple[Routes, ...] = ("destination", "random")


def with_table(page: str) -> str:
    """Return the page with the table between its marks. Raises ValueError where it lacks a mark."""
    above, begin, rest = page.partition(BEGIN)
    _, end, below = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name}: found no line {BEGIN.strip()!r} or {END.strip()!r}, expected both")
    return above + begin + table() + end + below


def table() -> str:
    """Return the table, and a sentence about healthy jobs."""
    heads = " | ".join(f"{nodes} nodes" for nodes in SIZES)
    lines = [f"| planted | {heads} |", "| --- |" + " --- |" * len(SIZES)]
    for what, planted in CASES.items():
        cells = " | ".join(_cell(play(nodes, planted)) for nodes in SIZES)
        lines.append(f"| {what} | {cells} |")
    return "\n".join(lines) + f"\n\n{' '.join(healthy())}\n"


def healthy() -> Iterator[str]:
    """Yield a sentence for each size about healthy jobs: how many were fit, and the longest time."""
    for nodes in SIZES:
        answers = [play(nodes, PlantedFaults(), routes, seed) for seed in DRAWS for routes in _ROUTES]
        fit = sum(answer.state == "fit" for answer in answers)
        named = sum(bool(answer.found.sick) for answer in answers)
        longest = max(answer.seconds for answer in answers)
        yield (
            f"Of {len(answers)} healthy jobs of {nodes} nodes, half of them with routes that collide, {fit} were fit, "
            f"{named} named a node, and the longest took {longest:.0f} s."
        )


def _cell(answer: Answer) -> str:
    """Return what an answer says in a few words: its state, who is named, what is left open, and the time."""
    found = answer.found
    rails = {node: [one.rail for one in found.faults if one.node == node and one.rail] for node in found.sick}
    said = [f"{', '.join(own)} of {node}" if 0 < len(own) < 4 else node for node, own in rails.items()]
    pairs = sorted({one.said.partition(" between ")[2].partition(" gives")[0] for one in found.faults if not one.node})
    said += [f"the pair {pair}" for pair in pairs]
    doubts = len(found.doubts)
    state = f"{answer.state}: {'; '.join(said)}" if said else answer.state
    if doubts and not said:
        state += f": {found.doubts[0].partition(': ')[2]}"
    late = f"; not measured: {list_nodes(list(found.late))}" if found.late else ""
    return f"{state}{late} ({answer.seconds:.0f} s)"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
