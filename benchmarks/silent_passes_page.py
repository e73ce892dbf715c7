"""The page of silent_passes.py: docs/reference/peers-silent-passes.md, from the stored verdicts of all peers.

What is said of each peer is here too: what of it judged, and what it does not claim to check. So the page can be fair,
and a test can compare it with the verdicts.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from silent_pass_cases import CASES, Case

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "silent-passes.tsv"
PAGE = ROOT / "docs" / "reference" / "peers-silent-passes.md"


@dataclass(frozen=True, slots=True)
class Tool:
    """What the page says of a peer. ``no_claim``: kinds and names of faults that it does not claim to check."""

    title: str
    source: str
    how: str
    no_claim: tuple[str, ...]
    no_claim_words: str


TOOLS: Mapping[str, Tool] = {
    "railyard": Tool(
        "Railyard",
        "this repository",
        "`railyard judge` by the link alone (`--nodes-have` for nccl-tests), without a reference of the system; "
        "`--sizes` for OSU, as the checks of ReFrame know the size that they asked for",
        ("exit-code", "stale"),
        "the exit code and the path of the bytes: a stored output has neither. `railyard run` judges both",
    ),
    "cscs-uenv": Tool(
        "cscs, uenv",
        "eth-cscs/cscs-reframe-tests, `osu_run.py`",
        "`OSUBandwidth` and `OSULatency` with their own references: 256 B and 4 MiB",
        ("curve", "limit", "data", "warning", "exit", "runs", "path", "nan", "row-lost"),
        "sizes other than 256 B and 4 MiB, upper limits, the data, what libraries say, the exit code, a second table, "
        "the path",
    ),
    "cscs-cpe": Tool(
        "cscs, CPE",
        "eth-cscs/cscs-reframe-tests, `osu_tests.py`",
        "`osu_benchmark` with the references of `osu_pt2pt_check`: 4 MiB of a bandwidth, 8 B of a latency",
        ("curve", "limit", "warning", "exit", "runs", "path", "nan", "row-lost"),
        "sizes other than that one, upper limits, what libraries say, the exit code, a second table, the path",
    ),
    "eessi": Tool(
        "EESSI",
        "EESSI/test-suite, `hpctestlib/microbenchmarks/mpi/osu.py`",
        "`osu_benchmark`, the base of its OSU tests; the suite sets no references",
        ("level", "curve", "limit", "warning", "exit", "runs", "path", "nan", "row-lost"),
        "how fast the network is (it tests that the software runs, and records one figure), other sizes, what "
        "libraries say, the exit code, a second table, the path",
    ),
    "excalibur": Tool(
        "excalibur",
        "ukri-excalibur/excalibur-tests, `apps/omb/omb.py`",
        "`Osu_bw` and `Osu_latency`; their references have no bounds",
        ("level", "curve", "limit", "data", "warning", "exit", "runs", "path", "row-lost"),
        "how fast the network is (it records the largest bandwidth and the smallest latency for comparison), the data, "
        "what libraries say, the exit code, a second table, the path",
    ),
    "superbenchmark": Tool(
        "superbenchmark",
        "microsoft/superbenchmark, `nccl-bw`, `ib-traffic` and data diagnosis",
        "each output is that of one machine; rules as in its example, 5 % below a baseline, but for every size; "
        "the baseline is the healthy output",
        ("limit", "data", "warning", "exit", "path", "in-place"),
        "upper limits, the data (`-c 0` by default, and the column is not read), what libraries say, in-place figures "
        "(they have an option of their own), the path. It reads the exit code elsewhere, before these parsers",
    ),
    "clusterkit": Tool(
        "ClusterKit",
        "NVIDIA HPC-X 2.24, *Running ClusterKit*",
        "not run: it is a program without sources. Its documented default is applied: a pair is bad below 93 % of the "
        "best one",
        ("level", "path"),
        "how fast the network is as a whole: pairs are compared with the best pair",
    ),
}


def read_results(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the stored verdicts, one row each; none if there is no file yet."""
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file, delimiter="\t"))


_INTRODUCTION = """\
# Silent passes of other tools

A silent pass is a run that is broken, and whose test passes. This page gives the same {count} broken outputs to the
code with which other tools judge a run, and to `railyard judge`. What ReFrame itself lets pass is on
[another page](silent-passes.md).

Read it with care:

- The outputs are ours. They are synthetic, and a tool whose authors choose the faults looks better. They show two nodes
  with Slingshot 11, for which the references of cscs are made. Each tool gets the form that it reads: OSU, nccl-tests,
  or the rates of all pairs of nodes. A dash means that none of its forms shows this fault.
- **passes** is a silent pass. *no claim* is a pass, too, but the tool does not claim to check this kind of fault. What
  a site would add, such as closer references, is not there. *not judged* is not a pass. The healthy output passes
  everywhere.
- The other tools run on more kinds of hardware and check much that Railyard does not
  ([other tools](../explanation/other-tools.md)).

`benchmarks/silent_passes.py` made the verdicts, and writes this page from `benchmarks/results/silent-passes.tsv`, which
also has the stage or rule of each failure. Its first lines say how to run it on a newer version of a tool.

## Verdicts

"""


def page(rows: Sequence[Mapping[str, str]]) -> str:
    """Return docs/reference/peers-silent-passes.md of these verdicts."""
    lines = [_INTRODUCTION.format(count=len(CASES) - 1) + _line("planted", *(peer.title for peer in TOOLS.values()))]
    lines.append(_line(*["---"] * (len(TOOLS) + 1)))
    for case in CASES:
        lines.append(_line(case.planted, *(_cell(case, name, rows) for name in TOOLS)))
    lines.append(_line("**silent passes**", *(_count(name, rows, claimed=True) for name in TOOLS)))
    lines.append(_line("passes without a claim", *(_count(name, rows, claimed=False) for name in TOOLS)))
    lines.append("\n## What was run, and what each does not claim to check\n")
    lines.append(_line("tool", "source", "what judged", "does not claim to check"))
    lines.append(_line(*["---"] * 4))
    for name, peer in TOOLS.items():
        lines.append(_line(peer.title, f"{peer.source}; {_version(name, rows)}", peer.how, peer.no_claim_words))
    lines.append(
        "\n*claim* is our reading of each tool's documentation and code. The tests of ReFrame ran under the ReFrame\n"
        "that Railyard requires, without settings of a site. With `trap_job_errors` an exit code fails in each.\n\n"
        "## What `railyard judge` lets pass\n\n" + "".join(_of_railyard(rows))
    )
    return "\n".join(lines)


#: Why `railyard judge` does not see it, or what does.
_RAILYARD_PASSES: Mapping[str, str] = {
    "11-less": "A link alone allows 85 % of its limit. A reference of your system, of 5 or 10 %, fails it.",
    "dip": "Of nccl-tests a dip fails from 1 MiB on (bound `gpu-short-dip-from`). In an output of OSU this one fails.",
    "one-size": "The same bound.",
    "exit-code": "A stored output has no exit code. `railyard run` fails it by rule 1.",
    "stale": "The output is the healthy one. Byte counters of a live run show it (rule 4).",
}


def _of_railyard(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for case in CASES[1:]:
        forms = [row["form"] for row in rows if (row["peer"], row["case"]) == ("railyard", case.name)]
        passed = [row["form"] for row in rows if _is_pass(row, "railyard", case)]
        if passed:
            of = "" if len(passed) == len(forms) else f" ({', '.join(passed)})"
            yield f"- {case.planted}{of}: {_RAILYARD_PASSES[case.name]}\n"


def _is_pass(row: Mapping[str, str], peer: str, case: Case) -> bool:
    return (row["peer"], row["case"], row["verdict"]) == (peer, case.name, "passes")


def _verdicts(case: Case, peer: str, rows: Sequence[Mapping[str, str]]) -> set[str]:
    return {row["verdict"] for row in rows if row["peer"] == peer and row["case"] == case.name}


def _cell(case: Case, peer: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return the word of all forms together: of a fault, one form that passes is a silent pass."""
    found = _verdicts(case, peer, rows)
    if case.kind is None:
        return "passes" if found == {"passes"} else "fails" if found else "–"
    if "passes" in found:
        return "no claim" if {case.kind, case.name} & set(TOOLS[peer].no_claim) else "**passes**"
    return next((word for word in ("not judged", "fails") if word in found), "–")


def _count(peer: str, rows: Sequence[Mapping[str, str]], *, claimed: bool) -> str:
    cells = [cell for case in CASES[1:] if (cell := _cell(case, peer, rows)) != "–"]
    return f"{cells.count('**passes**' if claimed else 'no claim')} of {len(cells)}"


def _version(peer: str, rows: Sequence[Mapping[str, str]]) -> str:
    row = next((row for row in rows if row["peer"] == peer), None)
    return "not run" if row is None else f"{row['commit'][:12]}, judged {row['date']}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
