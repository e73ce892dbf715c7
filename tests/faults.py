"""The faults that tests plant, as a page for people: `docs/reference/faults.md`, which `make docs` writes again.

A row is a test's marker ``fault(layer, planted, said)``. The test looks for ``said`` in the verdict (fixture
`promise`), so the page cannot say anything that no test saw. pytest itself collects the markers. Faults of rehearsals
are rows too: test_rehearsals.py looks for the words in their files.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.rehearsals import all_rehearsals

TESTS = Path(__file__).resolve().parent
#: The layers in the order of the page, with its headings.
LAYERS = {
    "rail": "Rails: cards, cables, ports",
    "path": "Path: which network the bytes took",
    "stack": "Stack: MPI library, launcher, environment",
    "output": "Output: what the benchmark printed",
    "reference": "References: what is expected",
    "session": "Session: the run, its processes, the machine",
    "scheduler": "Scheduler: jobs and nodes",
    "store": "Store: records, recordings, history",
}

_HEAD = """\
# Faults that the tests plant, and what Railyard says

`make docs` makes this page from the tests; change a test, not this page. Each row is a test. It plants the fault, and
looks for these words in the verdict or in the command's message. Most of these tests have a healthy case beside them,
which must pass.
"""
_CANNOT = """
## What Railyard cannot tell

"""
#: What no verdict can show, with the reason.
CANNOT_BE_TOLD: tuple[tuple[str, str], ...] = (
    (
        "Rows of two runs of the same benchmark below one heading, each size once",
        "they look like the rows of one run, and nothing in the text says whose they are",
    ),
    (
        "Forward error correction in the wrong mode",
        "no file of /sys shows it (only ethtool does, as root), and it costs 0.1 us on a good cable; two ends "
        "that differ have no link, and the verdict says so",
    ),
    (
        "A port that sends with fewer lanes than it receives",
        "the kernel shows one width of a port; a bandwidth measured in that direction shows which direction is slow",
    ),
    (
        "A cable in another port of the same switch, or in another switch of the same network",
        "addresses and networks are as intended; all pairs of nodes show a slow switch",
    ),
    (
        "In which direction a rail is slow, in a Slurm job whose ranks are started by `mpirun` of MPICH or Intel MPI",
        "Hydra gives its processes the job's order of nodes; counters show it, and the verdict says that the other "
        "direction was not measured; srun, and mpirun of Open MPI, take the order that they are given",
    ),
    (
        "Adaptive routing, the routing engine, SHARP",
        "they are settings of switches and of the fabric's manager, and no file of a node shows them",
    ),
    (
        "ECN or PFC off on the switches of RoCE, in a run without congestion",
        "nothing is lost until ports are full; then packets out of sequence are reported as signals, and the loss "
        "shows in the figures",
    ),
    (
        "RoCE over the wrong one of several GIDs that all lead to the same port",
        "the bytes and the port are the same; if the system's file has `gid_index`, the variable is "
        "compared on each node",
    ),
    (
        "Another VLAN of the same interface",
        "the counters of the interface count the packets of all VLANs",
    ),
    (
        "A rail that loses packets which RDMA repeats in its hardware",
        "the counters of some drivers show it as a signal, which a healthy fabric has too; a bandwidth that "
        "suffers fails its reference",
    ),
    (
        "More messages, warm-ups or a larger window than the tool prints, of a tool that prints neither",
        "to a counter they are the same as another job's bytes: the verdict calls both *shared*, and a missed "
        "reference is *disturbed*",
    ),
    (
        "A table that was kept from an earlier, healthy run, while another program moves the same bytes",
        "output and counters are right, and nothing in an output says when it was measured",
    ),
    (
        "Another release of a benchmark, whose defaults differ",
        "the record has its version, and a comparison names it; no check can demand a version that a "
        "system's file does not state",
    ),
    (
        "A collective that is faster than its bytes allow",
        "the output does not say which algorithm ran, nor whether a switch reduced the vectors; the counters are "
        "compared with the least bytes that any algorithm needs",
    ),
    (
        "Two processes that were started in each other's place on identical nodes",
        "the figures and counters of a symmetric benchmark are the same",
    ),
    (
        "a reference that is wrong by less than half of its link",
        "a number between half of the link and its limit may be right on some hardware; only its author knows",
    ),
    (
        "a second fault that an expected failure of the same rule hides",
        "the file does not say how slow; a run that is slower than the known cable looks like it, until that day",
    ),
    (
        "a `below_link` whose reason is untrue",
        "a reason is a sentence for people; Railyard checks that it is there, and that the share holds",
    ),
    (
        "a record whose figure was changed by hand in a whole line",
        "a record has no signature; only the output beside it, or a merge with another copy, shows it",
    ),
    (
        "a clock that is wrong by less than a day, or always by the same amount",
        "times are compared only with this machine's clock, and time zones and slow clocks are not faults",
    ),
    (
        "a clock that runs too slowly while a benchmark runs, on another cluster than the virtual one",
        "only there are the counters read while the bytes pass; elsewhere the time of the run includes its start, so "
        "only figures that say a longer time than the run took are found",
    ),
    (
        "a laptop or a virtual machine that sleeps during the run, and no rail loses its carrier",
        "the tool's clock may stop meanwhile; the verdict says that a value is low, but not why",
    ),
    (
        "a run that still runs on another host, if the file system shares no locks (`local_lock=flock` of NFS)",
        "only its own host sees its lock: other hosts call it killed until it ends",
    ),
    (
        "a node that is drained during the run while its job goes on to its end",
        "the scheduler lets the job end, and its output is whole; the next run lists the node as not tested",
    ),
    (
        "a job that Slurm forgot before it was asked (`MinJobAge`), without accounting",
        "no record is left of how it ended; the verdict calls it lost, never a pass",
    ),
    (
        "who suspended, cancelled or preempted a job",
        "Slurm's record has the state and the time, but no name",
    ),
    (
        "two nodes that were swapped, name for name, with all of their addresses",
        "each answers to the name and the addresses of the other; only the serial number of a board would show it",
    ),
)


@dataclass(frozen=True)
class FaultRow:
    """One row: ``layer`` is a key of `LAYERS`, ``said`` what the test finds in the verdict."""

    layer: str
    planted: str
    said: str
    test: str


#: What a session of pytest collected, before any test was left out.
COLLECTED = pytest.StashKey[tuple[FaultRow, ...]]()


def rows_of(items: Iterable[pytest.Item]) -> tuple[FaultRow, ...]:
    """Return the faults of collected tests, each once. Raises ValueError, with the test, for a marker's mistake."""
    found: dict[FaultRow, None] = {}
    for item in items:
        for marker in item.iter_markers("fault"):
            found.setdefault(_row(marker, item.nodeid, item.nodeid.partition("::")[0].removeprefix("tests/")))
    return tuple(found)


class _FaultCollector:
    """Keeps the faults of what pytest collected."""

    def __init__(self) -> None:
        self.rows: tuple[FaultRow, ...] = ()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.rows = rows_of(items)


def collect_faults(folder: Path = TESTS) -> tuple[FaultRow, ...]:
    """Return the faults of all tests below a folder; pytest collects them, which takes tens of seconds.

    Raises ValueError if it cannot, with the test for a marker's mistake.
    """
    found = _FaultCollector()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        before, sys.stdout = sys.stdout, nowhere
        try:
            code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", str(folder)], plugins=[found])
        finally:
            sys.stdout = before
    if code != pytest.ExitCode.OK:
        raise ValueError(f"{folder}: pytest cannot collect its tests; type: pytest --collect-only {folder}")
    return found.rows


def _row(marker: pytest.Mark, where: str, test: str) -> FaultRow:
    words = [word for word in marker.args if isinstance(word, str) and word.strip()]
    if len(words) != 3 or len(marker.args) != 3 or marker.kwargs:
        raise ValueError(f"{where}: expected mark.fault with three texts: layer, planted, said")
    if words[0] not in LAYERS:
        raise ValueError(f'{where}: found the layer "{words[0]}", expected one of {", ".join(LAYERS)}')
    return FaultRow(words[0], words[1], words[2], test)


def rehearsal_rows() -> list[FaultRow]:
    """Return a row for each kind of fault that rehearsals plant, with the words of the first one."""
    found = [one for one in all_rehearsals() if one.fault]
    said = {one.kind: one.says for one in reversed(found)}
    return [FaultRow(*kind, says, "e2e/test_rehearsals.py") for kind, says in said.items()]


def page(of_tests: Iterable[FaultRow]) -> str:
    """Return the text of docs/reference/faults.md, with the faults of all tests and rehearsals."""
    rows = [*of_tests, *rehearsal_rows()]
    parts = [_HEAD, f"\n{len(rows)} faults.\n"]
    for layer, heading in LAYERS.items():
        of_layer = [row for row in rows if row.layer == layer]
        if of_layer:
            parts.append(f"\n## {heading}\n\n| planted | said |\n| --- | --- |\n")
            parts += [f"| {_cell(row.planted)} | {_cell(row.said)} |\n" for row in of_layer]
    if CANNOT_BE_TOLD:
        parts.append(_CANNOT)
        parts += [f"- {what}: {why}\n" for what, why in CANNOT_BE_TOLD]
    return "".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(collect_faults()), end="")
