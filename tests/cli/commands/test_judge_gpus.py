"""`railyard judge` of collectives between GPUs: exit codes, JSON, and one sentence for each wrong input."""

import json
import os
import re
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.parsers import nccl
from railyard.verdict.gpu.run import of_words
from railyard.verdict.stored_outputs.collectives import judge_collectives
from tests.made.nccl_output import CLASS_CURVE, GIB, curve, output
from tests.verdict.gpu.conftest import SYSTEM

ROOT = Path(__file__).resolve().parents[3]
NDR = ["--nodes-have", "gpus=8,nvlink=4,nics=8,link=ib-ndr"]
HEALTHY = output("all_reduce", curve(370))
TWELVE = output("all_reduce", CLASS_CURVE, [f"n{n}" for n in range(12)])


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))


def judge(folder: Path, text: str, *words: str) -> int:
    path = folder / "nccl.log"
    path.write_text(text, encoding="utf-8")
    return main(["judge", str(path), *words])


def test_a_healthy_output_passes_by_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(tmp_path, HEALTHY, *NDR) == 0
    said = capsys.readouterr().out
    assert (
        "nccl.log against nodes of gpus=8,nvlink=4,nics=8,link=ib-ndr\n\nnccl/all_reduce_perf (line 24)\n  PASS "
        in said
    )
    assert said.endswith("\npass: 1 benchmark\n")


def test_a_failure_names_its_bound_under_why_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    low = output("all_reduce", curve(85))
    assert judge(tmp_path, low, *NDR) == 1
    said = capsys.readouterr().out
    assert "\n  FAIL  Busbw is " in said and "bounds.py" not in said and "gpu-floor-share" not in said
    again = f"type next: railyard judge {tmp_path}/nccl.log --nodes-have {NDR[1]} --why"
    assert said.splitlines()[-2:] == [again, "fail: 1 benchmark"]
    assert judge(tmp_path, low, *NDR, "--why") == 1
    assert "(railyard/base/bounds.py: gpu-floor-share)" in capsys.readouterr().out


def test_by_its_class_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(tmp_path, TWELVE, "--class", "h100-8xndr400", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["against"]["class"] == "h100-8xndr400"
    assert said["against"]["nodes_have"] == "gpus=8,nvlink=4,nics=8,link=ib-ndr"
    (one,) = said["judgements"]
    assert one["state"] == said["state"] == "pass"
    assert [rule["state"] for rule in one["rules"]] == ["pass", "pass", "pass", "not-judged", "pass"]
    assert any(remark.startswith("source coreweave: ") for remark in one["remarks"])


def test_by_a_system_whose_file_states_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "gpusys.yaml").write_text(SYSTEM, encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert judge(tmp_path, HEALTHY, "--system", "gpusys") == 0
    said = capsys.readouterr().out
    assert "against gpusys, fabric ib: gpus=8,nvlink-4,nics=8,link=ib-ndr" in said and "not among" not in said
    # Its file says that it has no references: as in a run, such a result is no pass.
    assert "  REPORT-ONLY  report-only (a made system has no references): busbw 369.9 GB/s" in said
    assert said.endswith("\nreport-only: 1 benchmark\n")
    assert judge(tmp_path, output("all_reduce", curve(365), ("NODE1.x", "other")), "--system", "gpusys") == 0
    assert "  not among the nodes of systems/gpusys.yaml: other\n" in capsys.readouterr().out
    # four of its rails: less is possible
    assert judge(tmp_path, HEALTHY, "--system", "gpusys", "--rails", "4") == 0
    assert "it rules out ring (at most 198.7 GB/s, set by NIC)" in capsys.readouterr().out
    assert judge(tmp_path, HEALTHY, "--system", "gpusys", "--rails", "9") == 2
    assert "--rails: found 9, expected 1 to 8, the rails of ib of gpusys" in capsys.readouterr().err
    assert judge(tmp_path, TWELVE, "--system", "gpusys", "--class", "h100-8xndr400") == 0
    assert capsys.readouterr().out.endswith("\npass: 1 benchmark\n")


REFERENCES = """\
system: gpusys
entries:
  - id: accepted
    fabric: ib
    rails: 8
    benchmark: nccl/all_reduce_perf
    metric: bandwidth
    unit: MB/s
    kind: published
    value: 380000
    sizes: {from: 1G}
    tolerance: {low: 0.05, high: 0.05}
    source: {document: the acceptance of this cluster, date: 2026-01-01, hardware: eight H100}
"""


def test_references_of_the_system_decide_before_any_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    own = SYSTEM.replace("report_only: a made system has no references\n", "")
    (tmp_path / "systems" / "gpusys.yaml").write_text(own, encoding="utf-8")
    (tmp_path / "references" / "gpusys.yaml").write_text(REFERENCES, encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert judge(tmp_path, HEALTHY, "--system", "gpusys") == 0
    assert "bandwidth holds accepted" in capsys.readouterr().out
    assert judge(tmp_path, output("all_reduce", curve(340)), "--system", "gpusys") == 1
    said = capsys.readouterr().out
    assert "its bound (published): the acceptance" in said and "bound of accepted" not in said
    assert judge(tmp_path, output("all_reduce", curve(340)), "--system", "gpusys", "--why") == 1
    said = capsys.readouterr().out
    assert "rule 5 (reference): bandwidth " in said and "the bound of accepted (published: the acceptance" in said


def test_a_system_without_gpus_judges_by_its_references_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    lines = SYSTEM.replace("report_only: a made system has no references\n", "").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("gpus:"))
    (tmp_path / "systems" / "gpusys.yaml").write_text(text, encoding="utf-8")
    one_rail = REFERENCES.replace("rails: 8", "rails: 1")
    (tmp_path / "references" / "gpusys.yaml").write_text(one_rail, encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert judge(tmp_path, HEALTHY, "--system", "gpusys") == 0
    assert "bandwidth holds accepted" in capsys.readouterr().out


def test_the_classes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--classes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list((ROOT / "references" / "classes").glob("*.yaml")))
    assert any(
        line.startswith("h100-8xndr400 ") and line.endswith("(gpus=8,nvlink=4,nics=8,link=ib-ndr)") for line in lines
    )


def test_the_classes_need_no_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(HOME_VARIABLE)
    monkeypatch.chdir(tmp_path)
    assert judge(tmp_path, TWELVE, "--class", "h100-8xndr400") == 0
    assert "within what is published" in capsys.readouterr().out


def test_help_shows_an_example_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--help"]) == 0
    said = capsys.readouterr().out
    assert "    railyard judge nccl.log --nodes-have gpus=8,nvlink=4,nics=8,link=ib-ndr\n" in said
    assert "    railyard judge nccl.log --class h100-8xndr400\n" in said


WRONG_INPUT = [
    (
        HEALTHY,
        ["--class", "h100-8xndr40"],
        'references/classes/: found no class "h100-8xndr40", expected a class of that name; did you mean '
        '"h100-8xndr400"?',
    ),
    (
        HEALTHY,
        ["--system", "dell-c6320"],
        "--system dell-c6320: its file has no GPUs, expected gpus: there, since collectives between GPUs are "
        "judged by them (docs/howto/clusters.md); or describe the nodes with --nodes-have",
    ),
    (
        HEALTHY,
        ["--nodes-have", "gpus=4,nvlink=4"],
        "--nodes-have gpus=4,nvlink=4: found gpus 4, expected at least 8: the output has 16 ranks on 2 nodes",
    ),
    (
        HEALTHY,
        ["--class", "gh200-4xslingshot11"],
        "--class gh200-4xslingshot11: found gpus 4, expected at least 8: the output has 16 ranks on 2 nodes",
    ),
    (
        HEALTHY,
        ["--nodes-have", "gpu=8"],
        '--nodes-have "gpu=8": found "gpu", expected a word that it knows; did you mean "gpus"?',
    ),
    (
        HEALTHY,
        [*NDR, "--nodes", "4"],
        "--nodes: found 4, expected 2: the output's own list of ranks (line 6) names 2 nodes, node1 and node2",
    ),
    (
        HEALTHY,
        [*NDR, "--node-pairs", "2"],
        "--node-pairs: found 2, expected nothing: busbw between GPUs is not a sum over pairs",
    ),
    (HEALTHY, [*NDR, "--nodes", "0"], "--nodes: found 0, expected at least 1"),
    (
        HEALTHY,
        [*NDR, "--link", "ib-ndr"],
        "--link and --nodes-have: found both, expected one of them: what should judge the output?",
    ),
    (
        HEALTHY,
        ["--link", "ib-ndr", "--class", "h100-8xndr400"],
        "--link and --class: found both, expected one of them: what should judge the output?",
    ),
    (
        HEALTHY,
        [*NDR, "--slot", "pcie5-x16"],
        "--slot: found it with --nodes-have, expected it only with another option; leave it out",
    ),
    (
        HEALTHY,
        ["--class", "h100-8xndr400", "--rails", "4"],
        "--rails: found it with --class, expected it only with another option; leave it out",
    ),
    (
        "<!DOCTYPE html>\n<html><body>Log in</body></html>\n",
        NDR,
        "line 1: found '<!DOCTYPE html>', expected the output",
    ),
    (  # a saved page, even around an output: what it left out is not seen
        f"<!DOCTYPE html>\n<html><body><pre>\n{HEALTHY}</pre></body></html>\n",
        NDR,
        "line 1: found '<!DOCTYPE html>', expected the output",
    ),
    ("", NDR, "found an empty file, expected the text output of a benchmark"),
    (HEALTHY, [*NDR, "--benchmark", "nccl/alltoall_perf"], "--benchmark: found no table of nccl/alltoall_perf, the"),
]


@pytest.mark.parametrize(("text", "words", "sentence"), WRONG_INPUT)
def test_what_a_user_gets_wrong_is_one_sentence(
    text: str, words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(tmp_path, text, *words) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1 and sentence in said.err


def without_last_row_end() -> str:
    """Return the output cut in the middle of its last row."""
    last = HEALTHY.index("17179869184", HEALTHY.index("busbw"))
    return HEALTHY[: last + 60]


def changed_output(old: str, new: str) -> str:
    assert HEALTHY.count(old) >= 1
    return HEALTHY.replace(old, new, 1)


ROW = next(line for line in HEALTHY.splitlines() if line.strip().startswith("1073741824"))
BUSBW = ROW.split()[7]
FAILING = [
    (without_last_row_end(), "the output is cut"),
    (
        HEALTHY + output("all_reduce", curve(365), ("node3", "node4"), pid=9000),
        "two separate jobs of all_reduce_perf in one file",
    ),
    (changed_output(ROW, ROW.replace(BUSBW, "nan", 1)), "not finite: 1073741824"),
    (changed_output(ROW, ROW.replace(BUSBW, "-nan", 1)), "not finite: 1073741824"),
    (changed_output(ROW, ROW.replace("1073741824", "1GB", 1)), "no row of 1 GiB; the run was asked for 9 sizes"),
    (changed_output(ROW + "\n", ""), "no row of 1 GiB; the run was asked for 9 sizes"),
    (changed_output("(us)  (GB/s)  (GB/s)", "(us)  (MB/s)  (MB/s)"), "(MB/s) (MB/s)"),
    (changed_output(ROW, ROW.replace("       0", "       3", 1)), "wrong"),
    (changed_output("values : 0 OK", "values : 3 FAILED"), "wrong results: # Out of bounds values : 3 FAILED"),
    (changed_output(ROW, ROW.replace(BUSBW, "999.99", 1)), "contradicts algbw"),
]


@pytest.mark.parametrize(("text", "cause"), FAILING)
def test_a_spoiled_output_never_passes_and_its_cause_is_named(
    text: str, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(tmp_path, text, *NDR, "--why") == 1
    said = capsys.readouterr().out
    assert "  FAIL  " in said and "  why: rule 1 (complete): " in said and cause in said


def test_a_table_is_not_failed_by_another_runs_failure_and_that_is_not_lost() -> None:
    sick = output("alltoall", curve(85)).replace("values : 0 OK", "values : 3 FAILED")
    found = judge_collectives(nccl.parse(sick + HEALTHY), of_words(NDR[1]), text=sick + HEALTHY)
    assert [(each.benchmark, each.state) for each in found] == [
        ("nccl/alltoall_perf", "fail"),
        ("nccl/all_reduce_perf", "pass"),
    ]
    died = output("alltoall", curve(85))
    died = died[: died.index("       size")] + "node1: Test NCCL failure alltoall.cu:274 'remote process exited'\n"
    found = judge_collectives(nccl.parse(died + HEALTHY), of_words(NDR[1]), text=died + HEALTHY)
    assert [(each.benchmark, each.state) for each in found] == [("nccl/all_reduce_perf", "pass"), (None, "fail")]


def test_an_output_without_ranks_is_judged_on_so_many_nodes_as_one_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(line for line in HEALTHY.splitlines() if "Rank " not in line) + "\n"
    assert judge(tmp_path, text, *NDR) == 1
    assert "the output does not list its ranks, so the number of nodes is not known" in capsys.readouterr().out
    assert judge(tmp_path, text, *NDR, "--nodes", "2") == 0
    capsys.readouterr()
    assert judge(tmp_path, text, *NDR, "--nodes", "1") == 1
    assert "are those of all_reduce with 16 ranks, and 1 node of 8 GPUs have 8" in capsys.readouterr().out


def test_an_output_of_another_tool_is_not_judged_by_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    osu = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4194304      48000.00\n"
    assert judge(tmp_path, osu, *NDR) == 1
    assert "the nodes' GPUs say nothing about osu: judge it with --link or --system" in capsys.readouterr().out


def test_a_size_that_was_asked_for_and_is_missing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(tmp_path, HEALTHY, *NDR, "--sizes", f"{64 << 20}:{32 * GIB}") == 1
    assert "32 GiB" in capsys.readouterr().out


@pytest.fixture(scope="module")
def logs() -> list[Path]:
    given = os.environ.get("RAILYARD_GPU_LOGS")
    folder = Path(given) if given else ROOT.parent / "shared" / "gpu"
    found = sorted((folder / "h100-17-nodes-pairs").glob("*.log"))
    if not found:
        pytest.skip("no genuine logs: set RAILYARD_GPU_LOGS to the folder that holds h100-17-nodes-pairs")
    return found


@pytest.mark.parametrize(("every", "count"), [(7, 113), pytest.param(1, 776, marks=pytest.mark.full)])
def test_no_genuine_log_is_called_impossible_and_no_table_is_lost(logs: list[Path], every: int, count: int) -> None:
    """408 logs of pairs of 17 nodes with unknown cards; with eight of 400 Gbit/s no figure can be too high."""
    target, counted, tables = of_words(NDR[1]), dict[tuple[str, int | None], int](), 0
    for log in logs[::every]:
        text = log.read_text(encoding="utf-8", errors="replace")
        parsed = nccl.parse(text)
        judged = judge_collectives(parsed, target, text=text)
        tables += len(parsed.tables)
        assert sum(each.benchmark is not None for each in judged) == len(parsed.tables)
        assert bool(parsed.failures) == any(rule.rule == 1 and rule.state == "fail" for j in judged for rule in j.rules)
        for each in judged:
            first = next((rule.rule for rule in each.rules if rule.state == "fail"), None)
            counted[each.state, first] = counted.get((each.state, first), 0) + 1
    assert tables == count
    assert 3 not in {rule for _, rule in counted}
    assert ("pass", None) not in counted  # no figure is near what such cards carry


def test_an_output_that_is_cut_anywhere_never_passes() -> None:
    whole = HEALTHY.index("# Collective test concluded")
    target = of_words(NDR[1], nodes=None)
    passed = []
    for end in range(200, whole - 2, 61):
        text = HEALTHY[:end]
        judged = judge_collectives(nccl.parse(text), target, text=text)
        passed += [end for each in judged if each.is_pass]
    assert passed == []


def test_a_run_that_is_repeated_on_the_same_nodes_is_judged_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = output("all_reduce", curve(90), pid=9000)
    assert judge(tmp_path, HEALTHY + slow, *NDR) == 1
    said = capsys.readouterr().out
    assert (
        "nccl/all_reduce_perf (line 24)\n  PASS " in said and "nccl/all_reduce_perf (line 62)\n  FAIL  Busbw " in said
    )


def test_an_output_that_measures_only_out_of_place_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [re.sub(r"^(\s+[0-9](?:\s*\S+){9}).*", r"\1", line) for line in HEALTHY.splitlines()]
    assert judge(tmp_path, "\n".join(lines) + "\n", *NDR) == 0
    assert "busbw 369.9 GB/s at 16 GiB" in capsys.readouterr().out
