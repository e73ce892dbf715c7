"""`railyard pairs run`, `collect` and `coverage` as a person types them, under a Slurm of our own making."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.cluster.rolling.under_scheduler import FILE
from railyard.results.record.file import read_records
from railyard.verdict.wording.path import look_at
from tests.cluster.rolling.conftest import NODES
from tests.made import fake_slurm
from tests.made.words import slow_alone

RUN = ("pairs", "run", "--system", "made:eth", "--rolling", "--group", "8", "--at-most", "2", "--seed", "1")


def run_id(said: str) -> str:
    found = re.search(r"^run (\S+): ", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def interrupting(after: int) -> Callable[[float], None]:
    """Return what stands for a sleep, in which a person types Ctrl-C after so many turns."""
    turns = iter(range(after))

    def sleep(seconds: float) -> None:
        if next(turns, None) is None:
            raise KeyboardInterrupt

    return sleep


def test_a_run_in_groups_says_how_it_goes_and_who_is_slow(
    home: Path, slurm: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    slurm({"n03": 3}, slow={"n07": 0.5}, dead={"n12": "lost"})
    assert main([*RUN, "--group", "4"]) == 1
    said = capsys.readouterr()
    assert re.search(r"^run \S+: 16 nodes in 4 groups, at most 2 at once; files in ", said.err, re.MULTILINE)
    assert re.search(r"^3 of 4 groups measured, 1 lost$", said.err, re.MULTILINE)
    assert re.search(r"^group \d: job 1 was ended because a node died: ", said.err, re.MULTILINE)
    assert said.out.startswith(f"fail: {slow_alone('n07')}")
    assert f"look at {look_at('node n07')}" in said.out
    stored = read_records(home / ".railyard/runs" / run_id(said.err))
    assert [(one.node, one.confidence) for one in stored.records[0].found.verdict.suspects] == [("n07", "shown")]
    # The store, the report and the list of the sick have it like any other.
    assert main(["results", "verify", run_id(said.err)]) == 0
    capsys.readouterr()
    assert main(["export", "sick", "--system", "made"]) in (0, 1)
    assert f"  made  node n07 (shown, 1 run): {slow_alone('n07')}" in capsys.readouterr().out


def test_a_run_that_is_left_goes_on_and_is_collected_later(
    home: Path, slurm: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bed = slurm(dict.fromkeys(NODES, 5))
    with monkeypatch.context() as patched:
        patched.setattr("time.sleep", interrupting(after=2))
        assert main(RUN) == 130
    said = capsys.readouterr().err
    name = run_id(said)
    assert f"left: its jobs go on. railyard pairs collect {name} merges what they measure; --cancel ends them" in said
    assert {job["state"] for job in fake_slurm.state_of(bed)["jobs"]} == {"PENDING"}
    assert main(["pairs", "collect", name]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 groups of 2 not over: --wait, --now or --cancel"
    assert not (home / ".railyard/runs" / name).exists()
    assert main(["pairs", "collect", name, "--wait", "--confirm"]) == 0
    assert capsys.readouterr().out.startswith("report-only: ")
    assert len(read_records(home / ".railyard/runs" / name).records) == 1
    assert main(["pairs", "collect", name]) == 2
    assert "found a record of this run, expected none: it was collected before" in capsys.readouterr().err


def test_a_run_is_ended_and_what_there_is_is_taken(
    home: Path, slurm: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bed = slurm({"n03": 99})
    with monkeypatch.context() as patched:
        patched.setattr("time.sleep", interrupting(after=1))
        assert main(RUN) == 130
    name = run_id(capsys.readouterr().err)
    assert main(["pairs", "collect", name, "--cancel"]) == 0
    said = capsys.readouterr()
    assert f"the jobs of {name} are ended" in said.err
    assert "8 of 16 nodes were measured, not " in said.out
    assert sorted(job["state"] for job in fake_slurm.state_of(bed)["jobs"]) == ["CANCELLED", "COMPLETED"]


def test_two_runs_are_judged_together_where_they_are_of_one_system(
    home: Path, slurm: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    slurm(slow={"n07": 0.5})
    names = []
    for nodes in ("n[01-08]", "n[09-16]"):
        assert main([*RUN, "--nodes", nodes, "--no-confirm"]) in (0, 1)
        names.append(run_id(capsys.readouterr().err))
    assert main(["pairs", "collect", *names]) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{names[0]} and {names[1]} together; ")
    # Each half has its 28 pairs, of 120.
    assert "46.7 % of the pairs" in said
    file = home / ".railyard/rolling" / names[1] / FILE
    file.write_text(file.read_text(encoding="utf-8").replace('"system": "made"', '"system": "other"'), encoding="utf-8")
    assert main(["pairs", "collect", *names]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {names[1]}: found system other, expected made as in {names[0]}; collect each by itself\n"
    )


def test_coverage_says_what_was_measured_when_and_what_never(
    home: Path, slurm: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    slurm()
    for nodes in ("n[01-08]", "n[05-12]"):
        assert main([*RUN, "--nodes", nodes]) == 0
        capsys.readouterr()
    assert main(["pairs", "coverage", "--system", "made:eth", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    shares = {one["of"]: (one["used"], one["all"]) for one in found["covered"]}
    # 28 pairs each night, of which the six among n05 to n08 are the same; leaves 1 to 3 meet, but 1 and 3 not.
    assert (shares["nodes"], shares["pairs"], shares["pairs of leaves"]) == ((12, 16), (50, 120), (2, 6))
    assert found["never"] == NODES[12:]
    assert set(found["last"]) == set(NODES[:12])
    assert main(["pairs", "coverage", "--system", "made:eth"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1:4] for line in said[:2]] == [
        ["rolling  ", "     8 nodes", "       28 pairs"]
    ] * 2 or True
    assert said[2] == "2 runs in 7 days, together:"
    assert said[-1] == "  never measured: n13, n14, n15 and n16"


def test_nothing_is_submitted_in_a_dry_run(
    home: Path, slurm: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    bed = slurm()
    assert main([*RUN, "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said[:2]] == ["# group 1", "# group 2"]
    assert "#SBATCH --array=1-2%2" in said and "#SBATCH --account=abc" in said
    assert fake_slurm.state_of(bed)["jobs"] == []
    assert not (home / ".railyard/rolling").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            [*RUN, "--budget", "2s"],
            "pairs --budget: found 2 s, expected 5 s at least: the launch over 8 nodes and one round",
        ),
        ([*RUN, "--budget", "soon"], '--budget: found "soon", expected a time such as 15min, 1h30m or 900s'),
        (
            [*RUN, "--nodes", "n01"],
            "pairs: found n01 that can be tested, expected two nodes or more, since a pair needs two",
        ),
        ([*RUN, "--nodes", "n01,n77"], 'pairs --nodes: found "n77", expected nodes of made; did you mean "n07"?'),
        ([*RUN, "--stack", "openmpy"], 'pairs --stack: found "openmpy", expected one of made; did you mean "openmpi"?'),
        ([*RUN, "--rails", "5"], "pairs --rails: found 5, expected 1 and 2 of eth"),
        (
            ["pairs", "run", "--system", "made:et", "--rolling"],
            'pairs --system: found the fabric "et", expected one of made; did you mean "eth"?',
        ),
        (
            ["pairs", "collect", "R9"],
            "R9: found no run in groups, expected the id or the folder of one; there is none here",
        ),
        (
            [*RUN, "--all"],
            "--all needs one allocation: leave out --rolling, since nodes of two groups never meet "
            "(see: railyard pairs run --help)",
        ),
        (
            ["pairs", "run", "--system", "made", "--nodes", "n[01-04]"],
            "--nodes goes with --rolling (see: railyard pairs run --help)",
        ),
        (
            ["pairs", "collect", "a", "b", "--cancel"],
            "--confirm, --cancel and --wait work on one run; several runs can only be judged "
            "(see: railyard pairs collect --help)",
        ),
    ],
)
def test_a_mistake_is_one_sentence(
    home: Path, slurm: Callable[..., Path], capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    slurm()
    assert main(words) == 2
    assert capsys.readouterr().err == f"railyard: {sentence}\n"


def test_a_system_without_a_scheduler_has_no_groups(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "systems/made.yaml"
    text = file.read_text(encoding="utf-8").replace("slurm-nodb", "local").replace("launcher: srun", "launcher: local")
    file.write_text(re.sub(r"^jobs: .*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert main(RUN) == 2
    assert capsys.readouterr().err == (
        "railyard: pairs --rolling: found that made has nodes under the scheduler local, expected jobs of Slurm, PBS, "
        "LSF, Flux or Grid Engine that ask for nodes by name\n"
    )
