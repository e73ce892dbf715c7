"""The rehearsals of tests/sites/rehearsed and published, one file per system. Tests run them, and
docs/reference/rehearsals.md shows them.

``planted/SYSTEM.yaml`` has two lists. ``healthy``: ``run`` (options of ReFrame), ``nodes``, ``extended``, and the
number of ``tests``. ``planted``: ``fault`` (in the form of ``railyard rehearse --fault``), ``run``, ``nodes``,
``extended``; ``says``, a literal part of the sentence of a failed verdict or of one of its suspects; ``blamed``, all
suspects as ``[kind, node, rail]``; and ``nobody``, the reason why it blames nobody.

``python -m tests.e2e.rehearsals`` writes the tables again, between their marks in the page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CLONE = Path(__file__).parents[2]
#: The synthetic systems, and the published clusters.
SITES = (CLONE / "tests/sites/rehearsed", CLONE / "tests/sites/published")
PAGE = CLONE / "docs/reference/rehearsals.md"
#: Each fault: its layer in docs/reference/faults.md, and what it does, in plain words.
FAULTS = {
    "leaf=": ("rail", "a leaf switch gives half of its rate to what crosses it"),
    "share=": ("rail", "one rail runs at half of its rate"),
    "idle": ("path", "the library does not use one rail on one node"),
    "missing": ("node", "a node no longer sees one of its GPUs"),
    "dead": ("rail", "nothing gets from one GPU to another node"),
    "lanes=": ("rail", "a cable runs with one lane of four, or a GPU's slot with four of sixteen"),
    "counters=": ("path", "the counters of one rail cannot be read"),
    "far": ("rail", "a card is at the other socket"),
    "dies": ("scheduler", "a node goes down during the first run"),
    "fallback=": ("path", "the library silently takes TCP over the management network"),
}

Suspects = frozenset[tuple[str, str | None, str | None]]


@dataclass(frozen=True, slots=True)
class RehearsalRow:
    """One rehearsal of a system. ``fault`` is empty for a healthy one, which has the number of its ``tests``."""

    system: str
    run: tuple[str, ...] = ()
    nodes: int = 4
    extended: bool = False
    tests: int | None = None
    fault: str = ""
    says: str = ""
    blamed: Suspects = frozenset()
    nobody: str = ""

    def __post_init__(self) -> None:
        """Refuse a rehearsal that could never make a test fail."""
        where = f"planted/{self.system}.yaml: {self.fault or 'healthy'}"
        if bool(self.fault) == (self.tests is not None):
            raise ValueError(f"{where}: found no fault and no number of tests, or both; expected one of them")
        if self.fault and (not self.says or bool(self.blamed) == bool(self.nobody)):
            raise ValueError(f"{where}: expected what it says, and either its suspects or why it blames nobody")

    @property
    def options(self) -> tuple[str, ...]:
        """The words after ``railyard rehearse``."""
        extended = ("--extended",) if self.extended else ()
        planted = ("--fault", self.fault) if self.fault else ()
        return ("--system", self.system, "--nodes", str(self.nodes), *extended, *planted, *self.run)

    @property
    def is_whole(self) -> bool:
        """Whether all tests of the system's matrix run, the extended ones too: up to 20 minutes on two cores."""
        return self.extended and not self.run

    @property
    def kind(self) -> tuple[str, str]:
        """The fault's layer, and what it does, in plain words."""
        subject, _, what = self.fault.partition(",")
        return next(said for word, said in FAULTS.items() if what.startswith(word) or subject.startswith(word))


def systems() -> tuple[str, ...]:
    """Return the names of all rehearsed systems."""
    return tuple(sorted(path.stem for site in SITES for path in (site / "planted").glob("*.yaml")))


def file_of(system: str, kind: str) -> Path:
    """Return a rehearsed system's file of a kind: ``systems`` or ``planted``."""
    return next(path for site in SITES if (path := site / kind / f"{system}.yaml").exists())


def of_system(system: str) -> tuple[RehearsalRow, ...]:
    """Return the rehearsals of a system, the healthy ones first. Raises TypeError for an unknown field."""
    lists = yaml.safe_load(file_of(system, "planted").read_text(encoding="utf-8"))
    return tuple(_one(system, entry) for entry in (*lists.pop("healthy"), *lists.pop("planted")))


def _one(system: str, entry: dict[str, Any]) -> RehearsalRow:
    blamed = frozenset((kind, node, rail) for kind, node, rail in entry.pop("blamed", ()))
    return RehearsalRow(system, tuple(entry.pop("run", ())), blamed=blamed, **entry)


def tables(system: str) -> str:
    """Return a system's part of the page: what it is, and the tables of its healthy rehearsals and of its faults."""
    rows = of_system(system)
    healthy = [(_options_text(one), str(one.nodes), str(one.tests)) for one in rows if not one.fault]
    planted = [_planted_row(one) for one in rows if one.fault]
    described = yaml.safe_load(file_of(system, "systems").read_text(encoding="utf-8"))["description"]
    parts = [f"{described[0].upper()}{described[1:]}.\n"]
    parts += [_table(("healthy: options", "nodes", "tests"), healthy)] if healthy else []
    parts += [_table(("fault", "options", "nodes", "the verdict says", "blamed"), planted)] if planted else []
    return "\n".join(parts)


def _planted_row(one: RehearsalRow) -> tuple[str, ...]:
    blamed = ", ".join(
        f"{kind} {f'{rail} of {node}' if rail and node else rail or node or ''}".strip()
        for kind, node, rail in sorted(one.blamed, key=str)
    )
    return f"`{one.fault}`", _options_text(one), str(one.nodes), f'"{one.says}"', blamed or f"nobody: {one.nobody}"


def _options_text(one: RehearsalRow) -> str:
    words = [*(["--extended"] if one.extended else []), *one.run]
    return f"`{' '.join(words)}`" if words else "none: a whole everyday run"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def with_tables(page: str) -> str:
    """Return the page with its tables from the files. Raises ValueError if a mark is missing."""
    for system in systems():
        begin, end = f"<!-- {system}: written by python -m tests.e2e.rehearsals -->\n", f"<!-- end of {system} -->\n"
        before, _, rest = page.partition(begin)
        _, mark, after = rest.partition(end)
        if not mark:
            raise ValueError(f"{PAGE.name}: found no marks of {system}, expected its tables between two of them")
        page = f"{before}{begin}{tables(system)}{end}{after}"
    return page


def all_rehearsals() -> Iterator[RehearsalRow]:
    """Yield every rehearsal of every system."""
    for system in systems():
        yield from of_system(system)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
