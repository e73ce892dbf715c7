"""`railyard pairs next` and `judge` of a sample: steps played by a network of our own making, from files alone."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.verdict.wording import NOBODY_BLAMED
from railyard.verdict.wording.screening import nobody_named, say_promised
from tests.made.words import slow_alone

NODES = [f"n{number}" for number in range(1, 13)]
#: Four nodes at each of three leaf switches.
SWITCHES = "".join(f"n{number} leaf{(number - 1) // 4}\n" for number in range(1, 13))
RATE = 12_000.0


def pairs_output(step: str, slow: Mapping[str, float], rails: int = 1, hosts: list[str] = NODES) -> str:
    """Return what railyard-pairs prints of a step's rounds; ``slow``: what nodes, or ``rail of node``, give."""
    heads = dict(line[2:].split(" ", 1) for line in step.splitlines() if line.startswith("# "))
    over = heads.get("over")
    lines = [line for line in step.splitlines() if not line.startswith("#")]
    rows = []
    for number, line in enumerate(lines, start=1):
        for pair in line.split():
            a, b = (int(rank) for rank in pair.split("-"))
            share = min(share_of(hosts[rank], slow, over, rails) for rank in (a, b))
            value = RATE * share / (rails if over else 1) * (1 - 0.002 * ((3 * number + a + b) % 5))
            rows.append(f"{number} {a} {b} {value:.2f} {value - 2:.2f} 1.50")
    return "\n".join([
        f"# railyard-pairs 1 {heads['name']}: {len(hosts)} ranks, {len(lines)} rounds",
        "# size 4194304 window 8 repeats 4 warm-up 1 exchanges 20 of 8 bytes",
        *(f"# rank {rank} on {host}" for rank, host in enumerate(hosts)),
        "# round first second forward_MB/s backward_MB/s latency_us",
        *rows,
        f"# end: {len(rows)} pairs",
        "",
    ])  # fmt: skip


def share_of(node: str, slow: Mapping[str, float], over: str | None, rails: int) -> float:
    """Return what is left of a node's rate over one rail, or over all."""
    own = slow.get(node, 1.0)
    if over is not None:
        return own * slow.get(f"{over} of {node}", 1.0)
    sick = [share for name, share in slow.items() if name.endswith(f" of {node}")]
    return own * (rails - len(sick) + sum(sick)) / rails


class Play:
    """A job of a sample, as its shell plays it: asks what to measure, measures it, and asks again."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        self.folder, self.capsys, self.options = folder, capsys, ("--sample", *options)
        (folder / "nodes").write_text("".join(f"{node}\n" for node in NODES), encoding="ascii")
        (folder / "switches").write_text(SWITCHES, encoding="ascii")
        self.outputs: list[str] = []
        self.steps: list[str] = []

    def next(self, *words: str) -> str:
        assert main(["pairs", "next", *self.options, *words]) == 0
        return self.capsys.readouterr().out

    def to_the_end(self, slow: Mapping[str, float], rails: int = 1, first: str = "") -> None:
        step = first or self.next("--first", str(self.folder / "nodes"))
        while step:
            assert len(self.steps) < 12
            self.steps.append(step)
            file = self.folder / f"again-{len(self.steps)}.out"
            file.write_text(pairs_output(step, slow, rails), encoding="utf-8")
            self.outputs.append(str(file))
            step = self.next(*self.outputs)

    def judge_outputs(self) -> tuple[int, str]:
        code = main(["pairs", "judge", *self.options, *self.outputs])
        return code, self.capsys.readouterr().out


def options(folder: Path) -> tuple[str, ...]:
    return ("--budget", "60s", "--round", "0.5", "--switches", str(folder / "switches"))


def test_a_healthy_sample_names_nobody_and_says_what_it_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path))
    play.to_the_end({})
    assert {step.splitlines()[0] for step in play.steps} == {"# name sample"}
    code, said = play.judge_outputs()
    assert code == 0 and say_promised([]) in said
    # What is judged is told by the output itself.
    assert main(["pairs", "judge", *play.options[1:], *play.outputs]) == 0


def test_a_slow_rail_is_told_by_steps_over_each_rail_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path), "--rails", "mlx5_0:1,mlx5_1:1")
    play.to_the_end({"mlx5_1:1 of n5": 0.3}, rails=2)
    heads = [step.splitlines()[:2] for step in play.steps]
    assert ["# name onerail", "# over mlx5_0:1"] in heads and ["# name onerail", "# over mlx5_1:1"] in heads
    assert "# name alone" in {head[0] for head in heads}
    code, said = play.judge_outputs()
    assert code == 1
    assert said.startswith("mlx5_1:1 of n5 ")


def test_a_sample_whose_ranks_are_in_another_order_is_taken_as_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path))
    step = play.next("--first", str(tmp_path / "nodes"))
    shuffled = [*NODES[6:], *NODES[:6]]
    (tmp_path / "first.out").write_text(pairs_output(step, {"n5": 0.5}, hosts=shuffled), encoding="utf-8")
    again = play.next(str(tmp_path / "first.out"))
    # n5 has rank 10 of these, and is what is measured again.
    assert again.startswith("# name alone\n")
    assert sum("10" in pair.split("-") for line in again.splitlines()[1:] for pair in line.split()) > 2


def test_what_is_not_confirmed_blames_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path))
    play.to_the_end({"n5": 0.5})
    alone = next(number for number, step in enumerate(play.steps) if step.startswith("# name alone"))
    play.outputs = play.outputs[:alone]
    code, said = play.judge_outputs()
    assert code == 1
    assert f"so {NOBODY_BLAMED} (`railyard pairs next --sample` prints it); " in said
    assert "; undecided: n5 (" in said


def test_a_node_that_is_confirmed_is_named_though_its_rails_are_not_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path), "--rails", "mlx5_0:1,mlx5_1:1")
    play.to_the_end({"mlx5_1:1 of n5": 0.3}, rails=2)
    rails = next(number for number, step in enumerate(play.steps) if step.startswith("# name onerail"))
    play.outputs = play.outputs[:rails]
    code, said = play.judge_outputs()
    assert code == 1
    assert said.startswith(
        "rails of 1 nodes: that was not measured (`railyard pairs next --sample` prints it); n5 alone "
    )


NOBODY = nobody_named([], "").partition(": ")[0]


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        (None, NOBODY),
        (
            "".join(line for line in SWITCHES.splitlines(keepends=True) if "leaf2" not in line),
            NOBODY,
        ),
        (SWITCHES.replace("n12 leaf2", "n12 leaf3"), NOBODY),
    ],
)
def test_leaves_that_are_not_known_or_have_one_node_are_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], switches: str | None, said: str
) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path)[: None if switches else -2])
    (tmp_path / "switches").write_text(switches or "", encoding="ascii")
    play.to_the_end({})
    code, text = play.judge_outputs()
    assert (code, text.startswith(said)) == (0, True)
    assert ("of the pairs of leaves" in text) == (switches is not None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--sample", "--budget", "5s", "--round", "0.5", "--first", "{nodes}"],
            "a budget of 5 s is 10 rounds of 0.5 s, expected ",
        ),
        (["--sample"], "{nodes}: found no file"),
        (["--first", "{nodes}"], "name outputs, or with --sample the nodes of a job: --first FILE"),
        (["--sample", "--first", "{missing}"], "{missing}: found no readable file (No such file or directory)"),
        (["--sample", "--first", "{one}"], "{one}: found 1 nodes: a pair needs two, expected a sample, then the steps"),
        (["--sample", "{all}"], "the outputs: found no sample of pairs first, expected a sample, then the steps"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    Play(tmp_path, capsys)
    (tmp_path / "one").write_text("n1\n", encoding="ascii")
    all_pairs = (Path(__file__).parents[2] / "parsers/made/pairs-four-nodes.txt").read_text(encoding="utf-8")
    (tmp_path / "all").write_text(all_pairs, encoding="utf-8")
    names = {name: str(tmp_path / name) for name in ("nodes", "missing", "one", "all")}
    code = main(["pairs", "next", *(word.format(**names) for word in words)])
    said = capsys.readouterr().err
    if words == ["--sample"]:
        sentence = "the outputs: found no sample of pairs first, expected a sample, then the steps"
    assert code == 2
    assert said.startswith(f"railyard: {sentence.format(**names)}"), said
    assert said.count("\n") == 1


def test_of_a_night_partners_are_those_that_met_least_lately(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = tmp_path / "used"
    used.write_text("", encoding="ascii")
    met: list[set[str]] = []
    for night in range(3):
        play = Play(tmp_path, capsys, *options(tmp_path), "--nightly", "1", "--used", str(used))
        # Three nodes at each of four leaves.
        (tmp_path / "switches").write_text("".join(f"n{n + 1} leaf{n // 3}\n" for n in range(12)), encoding="ascii")
        step = play.next("--first", str(tmp_path / "nodes"))
        assert step.startswith("# name sample\n")
        pairs = {pair for line in step.splitlines()[1:] for pair in line.split()}
        met.append({pair for pair in pairs if len({int(rank) // 3 for rank in pair.split("-")}) == 2})
        # Each node has one partner of another leaf, and each leaf one pair of its own.
        assert sorted(int(rank) for pair in met[-1] for rank in pair.split("-")) == list(range(12))
        assert len(pairs - met[-1]) == 4
        names = "".join(f"n{int(a) + 1} n{int(b) + 1}\n" for a, b in (pair.split("-") for pair in sorted(pairs)))
        used.write_text(f"{used.read_text(encoding='ascii')}\n{names}" if night else names, encoding="ascii")
        play.to_the_end({"n5": 0.5}, first=step)
        code, said = play.judge_outputs()
        assert (code, said.startswith(slow_alone("n5"))) == (1, True)
    # Six pairs of leaves are met in three nights, two each: no night repeats a pair of the others.
    assert not met[0] & met[1] and not met[1] & met[2] and not met[0] & met[2]


def test_switch_groups_are_planned_by_the_leaf_switches_of_the_job_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm states other leaf switches than the file: two of six nodes. A slow node is named all the same."""
    live = "SwitchName=a Nodes=n[1-6]\nSwitchName=b Nodes=n[7-12]\nSwitchName=top Switches=a,b\n"
    (tmp_path / "live").write_text(live, encoding="ascii")
    play = Play(tmp_path, capsys, *options(tmp_path), "--switch-groups")
    three = play.next("--first", str(tmp_path / "nodes"))
    play = Play(tmp_path, capsys, *options(tmp_path), "--switch-groups", "--live", str(tmp_path / "live"))
    play.to_the_end({"n5": 0.5})
    assert play.steps[0].startswith("# name sample\n") and play.steps[0] != three
    # All nodes of both leaf switches meet.
    whole = [line.split() for line in play.steps[0].splitlines()[1:]]
    assert any(len(pairs) == 6 and all(int(a) < 6 <= int(b) for a, b in map(_ranks, pairs)) for pairs in whole)
    code, said = play.judge_outputs()
    assert code == 1
    assert said.startswith(slow_alone("n5"))


def _ranks(pair: str) -> list[str]:
    return pair.split("-")


def test_switch_groups_of_one_leaf_switch_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = Play(tmp_path, capsys, *options(tmp_path), "--switch-groups")
    (tmp_path / "nodes").write_text("n1\nn2\n", encoding="ascii")
    assert main(["pairs", "next", *play.options, "--first", str(tmp_path / "nodes")]) == 2
    assert "all 2 nodes are at leaf0, expected nodes at two or more: state leaf_switches" in capsys.readouterr().err
