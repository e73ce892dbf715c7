"""The sentences of verdicts, whole, as one page for reviewers: tests/golden/sentences.txt.

``python -m tests.sentences`` writes it again. Its diff is the review of a change of words: other tests assert facts, or
ask ``railyard.verdict.wording`` for the words. Three kinds of cases are judged: runs of the virtual cluster, as a live
run is judged from what it left; probes of its rails; and the kept recordings, as they are, with all figures at half,
and tenfold. Each line is only where it is first said. Then come samples of every sentence function of the room.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from railyard.cli.commands.judge import read
from railyard.parsers.job_end import JobEnd
from railyard.parsers.output import ParsedOutput, Table
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import folder_of, read_index
from railyard.site.references.load import References
from railyard.site.site import Site, site_at
from railyard.verdict import findings
from railyard.verdict import wording as words
from railyard.verdict.assess import Assessment
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.suspects import Findings, RailProbe
from railyard.verdict.rule_model import RULE_NAMES
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from tests import wording_samples
from tests.conftest import ROOT
from tests.made.judged_run import Moved, healthy_rates, imb_output, run_of_cell

PAGE = ROOT / "tests" / "golden" / "sentences.txt"
_HEAD = """\
The sentences of verdicts. `python -m tests.sentences` writes this file again; do not change it by hand.
"""
#: Their check's own parser reads them.
_OF_A_CHECK = ("hpl/every-node", "installed/")
M = 1 << 20
NODES = ("vn1", "vn2", "vn3", "vn4")
Run = Callable[..., Assessment]


def _traffic_of_pair(first: Mapping[str, tuple[float, float]]) -> dict[str, Moved]:
    """Return what two nodes moved; the second received what the first one sent."""
    return {"vn1": first, "vn2": {device: (back, out) for device, (out, back) in first.items()}}


def _slowed_rates(size: int, rate: float, rails: int = 1) -> dict[int, float]:
    return {**healthy_rates("hsn", rails), size: rate}


#: What is wrong with a run of the virtual cluster -> the run's words (``run_of_cell``).
RUNS: Mapping[str, Mapping[str, Any]] = {
    "a healthy run": {},
    "a healthy run over two rails": {"rails": 2},
    "a collective": {"rails": 2, "benchmark": "imb/Allreduce"},
    "one large message is slow": {"rates": _slowed_rates(4 * M, 40.0)},
    "two rails give as much as one": {"rails": 2, "rates": healthy_rates("hsn", 1)},
    "faster than the link": {"rates": _slowed_rates(4 * M, 52.0)},
    "exit code 3": {"exit_code": 3},
    "killed": {"exit_code": 137},
    "no exit code": {"exit_code": None},
    "the time limit": {"exit_code": 124, "timed_out": True},
    "the job never ran": {"scheduler_error": "srun: error: Unable to allocate resources: Invalid account"},
    "its node went down": {
        "exit_code": 1,
        "ended": JobEnd("node", "the scheduler ended the job: node vn2 failed (NODE_FAIL)", ("vn2",)),
    },
    "no output": {"output": ""},
    "a cut output": {"output": imb_output("imb/Uniband", healthy_rates("hsn", 1), 1)[:900]},
    "a NaN": {"output": imb_output("imb/Uniband", healthy_rates("hsn", 1), 1).replace("46.55", "  nan")},
    "too long an output": {"too_long": "the output has more than 64 MiB, so only its beginning was read"},
    "no counters": {"counters": ()},
    "another network": {"moved": _traffic_of_pair({"hsn0": (0.1, 0.1), "eth0": (190, 2)})},
    "a part over another rail": {"moved": _traffic_of_pair({"hsn0": (95, 2), "hsn1": (95, 2)})},
    "nothing crossed a network": {"moved": _traffic_of_pair({"hsn0": (0.1, 0.1)})},
    "an idle second rail": {"rails": 2, "moved": _traffic_of_pair({"hsn0": (190, 2), "hsn1": (0.1, 0.1)})},
    "an uneven split": {"rails": 2, "moved": _traffic_of_pair({"hsn0": (150, 2), "hsn1": (40, 2)})},
    "somebody else's traffic": {"moved": _traffic_of_pair({"hsn0": (290, 2)})},
    "somebody else's traffic, and slow": {
        "moved": _traffic_of_pair({"hsn0": (290, 2)}),
        "rates": _slowed_rates(4 * M, 40.0),
    },
    "one end counted half": {"moved": {"vn1": {"hsn0": (190, 2)}, "vn2": {"hsn0": (2, 95)}}},
}
#: What two systems without references say of the same runs.
OF_OTHER_SITES = ("a healthy run", "one large message is slow", "faster than the link")


def runs(run: Run, virtual: Site) -> Iterator[tuple[str, Assessment]]:
    """Yield each run with its verdict, then some of them on a system without references, and on one of 100 Gbit/s."""
    for name, setup in RUNS.items():
        yield name, run(**setup)
    edr = virtual.system.fabrics["hsn"].model_copy(update={"declared_link": "ib-edr", "kind": "tcp"})
    for of, changes in (
        ("no references", {}),
        ("report-only", {"report_only": "delivered yesterday"}),
        ("report-only, EDR", {"report_only": "delivered yesterday", "fabrics": {"hsn": edr}}),
    ):
        system = virtual.system.model_copy(update=changes)
        site = replace(virtual, system=system, references=References(system))
        for name in OF_OTHER_SITES:
            yield f"{name} ({of})", run(site=site, **RUNS[name])


#: Pairs of nodes and rails that are slow -> the value of their probes, MB/s; None: no result.
PROBED: Mapping[str, Mapping[str, float | None]] = {
    "all rails are good": {},
    "a rail of one node is slow": {"vn2 hsn1": 24.0},
    "a rail of one node gives nothing": {"vn2 hsn1": None},
    "a pair is slow": {"vn1-vn2 hsn1": 24.0},
    "a pair that the run did not use is slow": {"vn2-vn3 hsn1": 24.0},
    "all pairs of a rail are slow": {"vn hsn1": 24.0},
    "a pair of a rail is undecided": {"vn1-vn2 hsn1": 46.9},
}


def probe_findings(slow: Mapping[str, float | None]) -> Findings:
    """Return what three rounds of probes of all pairs find, if these are slow and all others give 47.8 MB/s."""

    def value(pair: str, rail: str, turn: int) -> float | None:
        found = next(
            (mb_s for name, mb_s in slow.items() if all(part in f"{pair} {rail}" for part in name.split())), 47.8
        )
        return None if found is None else found - 0.01 * turn

    pairs = [(one, other) for place, one in enumerate(NODES) for other in NODES[place + 1 :]]
    made = [
        RailProbe(one, other, rail, value(f"{one}-{other}", rail, turn), 48.0, turn)
        for turn in (1, 2, 3)
        for one, other in pairs
        for rail in ("hsn0", "hsn1")
    ]
    return slow_rails.findings(made, NODES[:2])


def recordings() -> Iterator[tuple[str, Site, Recording]]:
    """Yield the first recording of each benchmark, with its name and its system."""
    seen: set[str] = set()
    for folder in sorted((ROOT / "recordings").iterdir()):
        for one in read_index(folder_of(ROOT, folder.name)).recordings:
            if one.benchmark not in seen and not one.benchmark.startswith(_OF_A_CHECK):
                seen.add(one.benchmark)
                yield f"{folder.name}/{one.file}", site_at(ROOT, folder.name), one


def scale_figures(parsed: ParsedOutput, factor: float) -> ParsedOutput:
    """Return the tables with all rates multiplied by this, and all times divided by it."""
    return replace(parsed, tables=tuple(_scale_table(table, factor) for table in parsed.tables))


def _scale_table(table: Table, factor: float) -> Table:
    factors = {"MB/s": factor, "1/s": factor, "Gflop/s": factor, "us": 1 / factor, "s": 1 / factor}
    by = [factors.get(unit or "", 1.0) for unit in table.units]

    def cell(value: Any, of: float) -> Any:
        return value if of == 1.0 or not isinstance(value, int | float) or isinstance(value, bool) else value * of

    rows = tuple(tuple(cell(value, of) for value, of in zip(row, by, strict=True)) for row in table.rows)
    return replace(table, rows=rows)


def judge_recording(site: Site, one: Recording, factor: float) -> tuple[Judgement, ...]:
    """Return the verdicts of a recording by its system, with its figures changed by this factor."""
    policy = re.search(r"%policy=(\S+)", one.check)
    hops = next((each for entry in site.references.entries if entry.fabric == one.fabric for each in entry.hops), None)
    target = of_system(site, one.fabric, one.stack, one.rails, policy[1] if policy else None, hops)
    parsed = read(str(folder_of(ROOT, site.system.system) / one.file))
    return judge(scale_figures(parsed, factor), target, benchmark=one.benchmark, passes="median")


def page() -> str:
    """Return the text of tests/golden/sentences.txt."""
    virtual = site_at(ROOT / "tests/sites/shaped400", "virtual")
    said, parts = set[str](), [_HEAD]
    for heading, lines in (*_of_runs(virtual), *_of_recordings(), *_of_functions()):
        new = [line for line in dict.fromkeys(lines) if line not in said]
        said.update(new)
        parts += [f"\n== {heading}\n", *(f"{line}\n" for line in new)] if new else []
    return "".join(parts)


def _of_runs(virtual: Site) -> Iterator[tuple[str, Iterable[str]]]:
    run = partial(run_of_cell, virtual)
    for name, found in runs(run, virtual):
        yield f"run: {name}", _lines(found)
    slow = run(**RUNS["one large message is slow"], rails=2)
    for name, values in PROBED.items():
        yield f"run: slow, and {name}", _lines(findings.with_suspects(slow, probe_findings(values)))


def _lines(found: Assessment) -> Iterator[str]:
    verdict = found.verdict
    name = RULE_NAMES.get(verdict.rule or 0, "")
    why = words.of_rule(verdict.rule or 0, name, words.with_look_at(verdict.text, verdict.look_at))
    yield f"{verdict.state}: {why if verdict.fails else verdict.text}"
    if verdict.fails:
        yield f"line: {verdict.line}"
    if verdict.measured_text:
        yield f"measured: {verdict.measured_text}"
    yield from (f"suspect: {one.kind}: {one.reason} | {one.brief}" for one in verdict.suspects)
    yield from (f"rule {rule.rule}: {rule.sentence}" for rule in verdict.rules)


def _of_recordings() -> Iterator[tuple[str, Iterable[str]]]:
    for name, site, one in recordings():
        for how, factor in (("as it is", 1.0), ("at half", 0.5), ("tenfold", 10.0)):
            lines = [line for found in judge_recording(site, one, factor) for line in _lines_of_recording(found)]
            yield f"recording: {name}, {how}", lines


def _lines_of_recording(found: Judgement) -> Iterator[str]:
    if found.headline:
        yield f"headline: {found.headline}"
    yield f"{found.state}: {found.sentence}"
    yield from (f"looks like {cause.description}" for cause in found.causes)
    yield from found.remarks


def _of_functions() -> Iterator[tuple[str, Iterable[str]]]:
    for name, said in wording_samples.samples_of_all():
        yield f"words: {name}", said


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
