"""The pages of GAMESS, MILC and Fluent: their entries are read, their patterns judge outputs, and the script runs.

The outputs are synthetic, in the form that each program prints; one of MILC's own is in the corpus.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from railyard.benchmarks.apps.installed_applications import Application, figures, parse, remarks
from railyard.parsers.output import ParsedOutput
from railyard.site.systems.load import load_system

HOWTO = Path(__file__).parents[3] / "docs/howto"
BLOCK = re.compile(r"```(?P<kind>yaml|sh)\n(?P<text>.*?)```", re.DOTALL)
GAMESS = """\
 FINAL RHF ENERGY IS      {energy} AFTER  10 ITERATIONS
 STEP CPU TIME =     0.10 TOTAL CPU TIME =          0.3 (      0.0 MIN)
 TOTAL WALL CLOCK TIME=         40.3 SECONDS, CPU UTILIZATION IS    94.20%
 ...... END OF PROPERTY EVALUATION ......
 TOTAL WALL CLOCK TIME=         61.5 SECONDS, CPU UTILIZATION IS    95.10%
 EXECUTION OF GAMESS TERMINATED {end} Mon Nov 30 12:00:00 2026
 ddikick.x: exited gracefully.
"""
FLUENT = """\
Calculation complete.
  Total wall-clock time:                               432.000 sec
                 inlet               0.0102
                outlet              -0.0102
                   Net        {net}
"""


SITE = (
    "system: site\ndescription: Made\nhostnames: []\nnodes: {count: 4}\nreport_only: no references yet\nfabrics:\n"
    "  ib: {description: Made, kind: ib, link: ib-edr, slot: pcie3-x16,\n"
    "       rails: [{device: mlx5_0, port: 1, counters: mlx5}]}\n"
    "  eth: {description: Made, kind: tcp, link: eth-10, rails: [{device: eth0, counters: netdev}]}\n"
)


def applications(page: str, tmp_path: Path) -> list[tuple[str, Application]]:
    """Return the applications of each YAML block of a page, in its order, as a system's file takes them."""
    found: list[tuple[str, Application]] = []
    for block in BLOCK.finditer((HOWTO / page).read_text("utf-8")):
        if block["kind"] == "yaml" and "applications:" in block["text"]:
            file = tmp_path / "site.yaml"
            file.write_text(SITE + block["text"], encoding="utf-8")
            found += load_system(file).applications.items()
    return found


def failure_texts(parsed: ParsedOutput) -> list[str]:
    return [failure.text for failure in parsed.failures]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("gamess.md", ["gamess"]),
        ("milc.md", ["su3_rmd"]),
        ("fluent.md", ["fluent", "fluent"]),
        ("installed-applications.md", ["solver"]),
    ],
)
def test_the_entries_of_a_page_are_read(tmp_path: Path, page: str, names: list[str]) -> None:
    assert [name for name, _ in applications(page, tmp_path)] == names


def test_gamess_is_judged_by_its_energy(tmp_path: Path) -> None:
    ((name, stated),) = applications("gamess.md", tmp_path)
    right = parse(GAMESS.format(energy="-76.0267936104", end="NORMALLY"), name, stated)
    assert (right.tables[0].rows, right.tables[0].complete, failure_texts(right)) == (((61.5,),), True, [])
    assert remarks("installed/gamess", right.tables) == ("the answer was checked by 1 number of the system's file",)
    other = parse(GAMESS.format(energy="-76.0267836104", end="NORMALLY"), name, stated)
    assert failure_texts(other) == [
        "gamess computed another answer: found -76.0267836104, expected -76.0267936 within 1e-06 "
        r"(FINAL RHF ENERGY IS\s+(?P<value>-[0-9.]+) AFTER)"
    ]
    assert [failure.line for failure in other.failures] == [1]
    ended = parse(GAMESS.format(energy="-76.0267936104", end="-ABNORMALLY-"), name, stated)
    assert not ended.tables[0].complete
    assert failure_texts(ended)[-1] == "gamess printed no line like success: EXECUTION OF GAMESS TERMINATED NORMALLY"


def test_an_answer_that_is_not_printed_fails(tmp_path: Path) -> None:
    ((name, stated),) = applications("gamess.md", tmp_path)
    text = GAMESS.format(energy="-76.0267936104", end="NORMALLY").replace("RHF", "UHF")
    assert failure_texts(parse(text, name, stated)) == [
        r"gamess printed no line like answers: FINAL RHF ENERGY IS\s+(?P<value>-[0-9.]+) AFTER"
    ]


def test_milc_is_judged_by_its_plaquettes(tmp_path: Path, corpus: Path) -> None:
    ((name, stated),) = applications("milc.md", tmp_path)
    text = (corpus / "milc/l832_su3_rmd_1.txt").read_text("utf-8")
    parsed = parse(text, name, stated)
    assert (parsed.tables[0].rows, failure_texts(parsed)) == (((2991.595,),), [])
    assert failure_texts(parse(text.replace("2.114425", "2.114465"), name, stated)) == [
        r"su3_rmd computed another answer: found 2.114465, expected 2.114425 within 1e-05 (^PLAQ:\s+(?P<value>[0-9.]+))"
    ]


def test_fluent_has_a_rating_and_is_judged_by_its_net_flow(tmp_path: Path) -> None:
    name, stated = applications("fluent.md", tmp_path)[0]
    right = parse(FLUENT.format(net="-1.3e-09"), name, stated)
    assert (right.tables[0].rows, failure_texts(right)) == (((432.0,),), [])
    (rating,) = figures("installed/fluent", right.tables)
    assert (rating.name, rating.value, rating.unit) == ("rating", 200.0, "1/day")
    assert failure_texts(parse(FLUENT.format(net="0.0102"), name, stated)) == [
        r"fluent computed another answer: found 0.0102, expected 0 within 0.001 (Net\s+(?P<value>[-+0-9.eE]+)\s*$)"
    ]
    without = parse("Unexpected license problem; exiting.\n", name, stated)
    assert failure_texts(without) == [
        "fluent got no licence, which is not a fault of the network: Unexpected license problem; exiting."
    ]


def test_only_an_application_that_asks_for_it_has_a_rating(tmp_path: Path) -> None:
    ((name, stated),) = applications("gamess.md", tmp_path)
    tables = parse(GAMESS.format(energy="-76.0267936104", end="NORMALLY"), name, stated).tables
    assert figures("installed/gamess", tables) == ()
    bare = parse("time 3.5 s\ndone\n", "bare", Application(figure=r"time (?P<seconds>\S+) s", success="done")).tables
    assert remarks("installed/bare", bare) == (
        "the answer was checked only by its line of success: the system's file states no answers",
    )


def test_one_process_of_the_job_becomes_fluent_and_the_others_wait_for_it(tmp_path: Path) -> None:
    (script,) = (
        found["text"] for found in BLOCK.finditer((HOWTO / "fluent.md").read_text("utf-8")) if found["kind"] == "sh"
    )
    (tmp_path / "one-fluent.sh").write_text(script, encoding="utf-8")
    solver = tmp_path / "solver"
    solver.write_text('#!/bin/sh\n[ ! -e ended ] || exit 9\necho "$@"; cat hosts.txt; exit 3\n', encoding="utf-8")
    solver.chmod(0o755)
    processes = [
        subprocess.Popen(
            ["sh", "one-fluent.sh", "2", "56", "3ddp", "-g"],
            cwd=tmp_path,
            env={**os.environ, "PMI_RANK": str(rank), "FLUENT": str(solver)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in (1, 0)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    host = os.uname().nodename
    assert outputs == ["", f"3ddp -g -t112 -cnf=hosts.txt\n{host}:56\n{host}:56\n"]
    assert [process.returncode for process in processes] == [0, 3]
