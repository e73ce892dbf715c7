"""What a run over thousands of nodes takes: reading counters, verdict, record, store, page, JUnit, a year of history.

    .venv/bin/python benchmarks/scale.py [--sizes 64,512,5120] [--days 365] [--keep FOLDER]

Nothing is measured on a network. ``tests/made/large_cluster.py`` makes the files that each node of a cluster with four
rails leaves, and what railyard-pairs prints for a sample of 16 rounds, with two slow nodes and a slow leaf. Each step
is a separate process that gets only files. The table has its CPU time, and the peak of its memory including Python's
own. On a busy machine compare the CPU times; the time of the browser is wall time. The columns after the sizes show the
growth from one size to the next: from 8 and from 10 times the nodes.

Goals at 5,120 nodes: the verdict (with reading and parsing) takes less than 20 s and 1 GB, its record has less than
10 MB, and its page opens in a browser within 3 s. Figures grow at most as the nodes do, plus a quarter. All pairs are a
matrix, which grows as the square of the nodes: the last rows have them for up to 512 nodes, above which no record has a
matrix. If Debian's chromium is there, it opens the page; the time runs from the start of loading until it is drawn.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

from railyard.job import counters
from railyard.job.case import kept_test
from railyard.job.node_facts import group_nodes
from railyard.job.node_facts import parse as facts_of
from railyard.parsers.pairs import parse
from railyard.results.record import pair_rows
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import Record
from railyard.results.record.pair_rows import MOST_DENSE, PairsSample
from railyard.site.topology import stated_leaves
from railyard.verdict import node_pairs
from railyard.verdict.assess import assess, record_of
from railyard.verdict.blame.search.model import rounds
from tests.made.judged_run import TAG, TODAY
from tests.made.large_cluster import (
    Shape,
    Sick,
    counters_texts,
    evidence_of,
    facts_text,
    made_site,
    moved_bytes,
    pairs_case,
    pairs_output,
    sample_rounds,
)

ROUNDS = 16
RUN = "20261121T060000Z-ab12"
#: What a step gives besides its time and memory: for each thing that it wrote, the size in bytes.
Sizes = Mapping[str, int]
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
TIMED = """<script>addEventListener('load', () => requestAnimationFrame(() => setTimeout(() =>
document.body.setAttribute('data-timed', performance.now()))))</script>"""


def write_outputs(folder: Path, nodes: int) -> None:
    """Write what a run leaves: a counters file and a file of facts for each node, and the output."""
    shape = Shape(nodes)
    rounds = sample_rounds(shape, ROUNDS)
    made_site(folder, shape)
    for name in ("counters", "facts"):
        (folder / name).mkdir()
    for name, text in zip(shape.names, counters_texts(shape, moved_bytes(rounds)), strict=True):
        (folder / "counters" / f"{name}.counters").write_text(text, encoding="utf-8")
        (folder / "facts" / f"{name}.node").write_text(facts_text(shape, name), encoding="utf-8")
    sick = Sick({nodes // 2: 0.5, 3: 0.9}, {1: 0.5})
    (folder / "output").write_text(pairs_output(shape, rounds, sick), encoding="utf-8")


def texts(folder: Path) -> tuple[str, ...]:
    """Return the texts of a folder's files, in the order of their names."""
    return tuple(file.read_text(encoding="utf-8") for file in sorted(folder.iterdir()))


def reading(folder: Path, nodes: int) -> Sizes:
    """Read and parse the counters of all nodes."""
    drivers = made_site(folder, Shape(nodes)).system.counter_drivers
    found = [counters.parse(text, TAG, drivers) for text in texts(folder / "counters")]
    assert all(each.problem is None for each in found) and len(counters.by_node(found, Shape(nodes).names)) == nodes
    return {"counters": sum(file.stat().st_size for file in (folder / "counters").iterdir())}


def judge_files(folder: Path, nodes: int) -> Sizes:
    """Reach the verdict from the files, and write the record, the rows of pairs and what is kept beside the output."""
    from railyard.job.case import Evidence

    shape = Shape(nodes)
    site = made_site(folder, shape)
    case = pairs_case(site, shape)
    output = (folder / "output").read_text(encoding="utf-8")
    facts = tuple(one for text in texts(folder / "facts") if (one := facts_of(text, TAG)) is not None)
    evidence = Evidence(output, exit_code=0, counters=texts(folder / "counters"), tag=TAG, facts=facts)
    found = assess(case, evidence, parse, TODAY)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5), found.verdict.text
    found = replace(found, sample=PairsSample("budget", ()))
    run = folder / ".railyard" / "runs" / RUN
    run.mkdir(parents=True)
    pairs = node_pairs.record_of(found, stated_leaves(site.system.fabrics["ndr"].leaf_switches))
    assert pairs is not None
    if pairs.file is not None:
        pair_rows.write(run, pairs.file)
    record = record_of(
        found, run=RUN, time="2026-11-21T06:00:12Z", elapsed_s=60.0, environment={}, command=(), output=None
    )
    append_record(run / FILE_NAME, record.with_fields(pairs=pairs.record, hardware=group_nodes(evidence.facts)))
    kept = kept_test(case, evidence, ("pairs",), {}, (), record.made.time, found.readings).to_text()
    return {
        "record": (run / FILE_NAME).stat().st_size,
        "rows of pairs": 0 if pairs.file is None else len(pairs.file.content),
        "kept beside the output": len(kept),
    }


def all_pairs(folder: Path, nodes: int) -> Sizes:
    """Reach the verdict of all pairs, and make its record, which has the whole matrix, and its page."""
    from railyard.results.report.html import html_report

    shape = Shape(nodes)
    site = made_site(folder, shape)
    found = assess(pairs_case(site, shape), evidence_of(shape, rounds(nodes), Sick({3: 0.5})), parse, TODAY)
    pairs = node_pairs.record_of(found, stated_leaves(site.system.fabrics["ndr"].leaf_switches))
    assert pairs is not None and pairs.file is None
    record = record_of(
        found, run=RUN, time="2026-11-21T06:00:12Z", elapsed_s=60.0, environment={}, command=(), output=None
    )
    record = record.with_fields(pairs=pairs.record)
    (folder / "all").mkdir()
    append_record(folder / "all" / FILE_NAME, record)
    return {
        "record of all pairs": (folder / "all" / FILE_NAME).stat().st_size,
        "page of all pairs": len(html_report([record])),
    }


def the_record(folder: Path) -> Record:
    """Return the record that ``judge_files`` wrote."""
    (record,) = read_records(folder / ".railyard" / "runs" / RUN).records
    return record


def store_run(folder: Path, nodes: int) -> Sizes:
    """Index the run, list it, and read its record by a query."""
    from railyard.results.store import query
    from railyard.results.store.verify import verify

    assert len(query.runs(folder)) == 1
    found = query.records(folder, query.RecordFilter(where="state = 'fail'"))
    assert len(found.records) == 1 and not found.problems
    assert verify(folder / ".railyard" / "runs" / RUN, ("large",), datetime.now(timezone.utc)).records == 1
    return {"index": (folder / ".railyard" / "index.sqlite").stat().st_size}


def page(folder: Path, nodes: int) -> Sizes:
    """Make the page of the run."""
    from railyard.results.report.files import read_results, write_format, write_report

    write_report(folder / "page.html", write_format(read_results(folder / ".railyard" / "runs" / RUN), "html"))
    return {"page": (folder / "page.html").stat().st_size}


def junit(folder: Path, nodes: int) -> Sizes:
    """Make JUnit's XML of the run."""
    from railyard.results.report.files import junit as xml

    return {"JUnit": len(xml([the_record(folder)]))}


def prometheus(folder: Path, nodes: int) -> Sizes:
    """Make the samples for Prometheus."""
    from railyard.results.exports import newest, registry_of, text_of
    from railyard.results.store import query

    now = datetime.now(timezone.utc)
    records = query.records(folder, slim=True).records
    return {
        "Prometheus": len(
            text_of(registry_of(newest(records, max(now, datetime(2027, 1, 1, tzinfo=timezone.utc))), now))
        )
    }


def scrub_record(folder: Path, nodes: int) -> Sizes:
    """Export the record without names."""
    from railyard.results.store.exchange import scrubbed_records
    from railyard.results.store.query import as_json, files_of

    record = the_record(folder)
    return {
        "export": len(as_json(scrubbed_records([record], (), ()), files_of(folder / ".railyard" / "runs", [record])))
    }


def year(folder: Path, nodes: int, days: int) -> None:
    """Write a year of nightly runs with this record. Each has its own figures, which after a while fall for good."""
    run = folder / ".railyard" / "runs" / RUN
    line = (run / FILE_NAME).read_bytes()
    values = json.loads(line)
    figures = json.dumps(values["found"]["figures"], separators=(",", ":")).encode()
    assert line.count(figures) == 1
    line = line.replace(b'"state":"fail"', b'"state":"pass"', 1)
    rows = next(run.glob(pair_rows.PATTERN), None)
    for number in range(days):
        day = date(2026, 1, 1) + timedelta(days=number)
        name = f"{day:%Y%m%d}T060000Z-{number:04x}"
        target = folder / "year" / ".railyard" / "runs" / name
        target.mkdir(parents=True)
        level = (1 + number * 37 % 11 / 1000) * (0.9 if number > 0.7 * days else 1.0)
        own = [{**one, "value": one["value"] * level} for one in values["found"]["figures"]]
        made = line.replace(figures, json.dumps(own, separators=(",", ":")).encode())
        made = made.replace(RUN.encode(), name.encode()).replace(b"2026-11-21T06:00:12Z", f"{day}T06:00:12Z".encode())
        (target / FILE_NAME).write_bytes(made)
        if rows is not None:
            os.link(rows, target / rows.name)


def history(folder: Path, nodes: int) -> Sizes:
    """Index a year of runs, and judge the figures of all."""
    from functools import partial

    from railyard.results.history import judge, text
    from railyard.results.series import series_of
    from railyard.results.store import query

    home = folder / "year"
    found = query.records(home, slim=True)
    assert not found.problems, found.problems[:2]
    told = [judge(one, whole=partial(query.whole_records, home)) for one in series_of(found.records)]
    assert any(one.changes for one in told)
    return {"history": len(text(told)), "index of the year": (home / ".railyard" / "index.sqlite").stat().st_size}


STEPS: Mapping[str, tuple[str, Callable[[Path, int], Sizes]]] = {
    "reading": ("read and parse all counters", reading),
    "judged": ("read, judge and record the run", judge_files),
    "stored": ("index, list, query and verify it", store_run),
    "page": ("make its page", page),
    "junit": ("make JUnit's XML", junit),
    "prometheus": ("make Prometheus's samples", prometheus),
    "scrubbed": ("export it without names", scrub_record),
    "history": ("history of a year of such runs", history),
    "all_pairs": ("judge, record and draw all pairs", all_pairs),
}


def step(name: str, folder: Path, nodes: int) -> dict[str, float]:
    """Run one step in a separate process; return its CPU seconds, its peak in MB, and its sizes in bytes."""
    words = [sys.executable, __file__, "--step", name, "--folder", str(folder), "--sizes", str(nodes)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure_browser(file: Path) -> float | None:
    """Return the seconds until Chromium has drawn the page; None if there is no Chromium."""
    if shutil.which(BROWSER[0]) is None:
        return None
    timed = file.with_name("timed.html")
    timed.write_text(file.read_text(encoding="utf-8") + TIMED, encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        words = [*BROWSER, f"--user-data-dir={profile}", "--virtual-time-budget=30000", "--dump-dom", timed.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    told = re.search(r'data-timed="([0-9.]+)"', done.stdout)
    return None if told is None else float(told[1]) / 1000


def measure_size(folder: Path, nodes: int, days: int) -> dict[str, float]:
    """Return the figures of one size, by their names."""
    write_outputs(folder, nodes)
    found: dict[str, float] = {}
    for name, (words, _) in STEPS.items():
        if name == "all_pairs" and nodes > MOST_DENSE:
            continue
        if name == "history":
            year(folder, nodes, days)
        taken = step(name, folder, nodes)
        found |= {f"{words}: s of CPU": taken.pop("cpu_s"), f"{words}: MB of memory": taken.pop("peak_mb")}
        found |= {f"{size}: kB": bytes_ / 1000 for size, bytes_ in taken.items()}
        print(f"  {nodes} nodes, {words}: {found[f'{words}: s of CPU']:.2f} s of CPU", file=sys.stderr, flush=True)
    opened = measure_browser(folder / "page.html")
    return found if opened is None else found | {"page open in a browser: s": opened}


def table(found: Mapping[int, Mapping[str, float]]) -> list[str]:
    """Return the lines of the table: one row per figure, one column per size, then the growth from size to size."""
    sizes = list(found)
    growth = [f"{low:,} to {high:,}" for low, high in pairwise(sizes)]
    heads = ["of a run over … nodes", *(f"{size:,}" for size in sizes), *growth]
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for name in dict.fromkeys(name for of_size in found.values() for name in of_size):
        values = [found[size].get(name) for size in sizes]
        grown = [f"{high / low:.1f} ×" if low and high and low > 0.05 else "–" for low, high in pairwise(values)]
        lines.append("| " + " | ".join([name, *map(_figure, values), *grown]) + " |")
    return lines


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def main() -> None:
    """Print the table; if this is the process of one step, print its figures as JSON."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--sizes", default="64,512,5120", help="numbers of nodes, with commas between them")
    reader.add_argument("--days", type=int, default=365, help="number of daily runs")
    reader.add_argument("--keep", type=Path, help="make all files below this folder, and keep them")
    reader.add_argument("--step", choices=tuple(STEPS), help=argparse.SUPPRESS)
    reader.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = reader.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    if asked.step is not None:
        begun = time.process_time()
        given = STEPS[asked.step][1](asked.folder, sizes[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(json.dumps({"cpu_s": time.process_time() - begun, "peak_mb": peak, **given}))
        return
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for size in sizes:
            folder = (asked.keep or Path(place)) / str(size)
            folder.mkdir(parents=True)
            found[size] = measure_size(folder, size, asked.days)
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
