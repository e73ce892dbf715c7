"""`railyard pairs`: the next step, the rails, and the verdict, from files; and files of another kind."""

import gzip
import json
import re
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.verdict.wording import gpu_runs
from tests.made import nccl as made_nccl
from tests.made import nccl_pair_logs
from tests.made.words import slow_alone

TEXT = (Path(__file__).parents[2] / "parsers/made/pairs-four-nodes.txt").read_text(encoding="utf-8")


def slow(text: str) -> str:
    """Return the output in which n2 has 10 MB/s with every node."""
    lines = [
        " ".join([*line.split()[:3], "10.00", "10.00", "30.00"])
        if line[:1].isdigit() and "1" in line.split()[1:3]
        else line
        for line in text.splitlines()
    ]
    return "\n".join([*lines, ""])


@pytest.fixture
def first(tmp_path: Path) -> Path:
    file = tmp_path / "first.out"
    file.write_text(slow(TEXT), encoding="utf-8")
    return file


def one_pair_rounds(rounds: str, rates: dict[str, str]) -> str:
    """Return what the program prints for these rounds of one pair each."""
    pairs = rounds.split()
    heading = (
        "\n".join(TEXT.splitlines()[:7]).replace("1 pairs:", "1 alone:").replace("3 rounds", f"{len(pairs)} rounds")
    )
    rows = []
    for number, pair in enumerate(pairs, start=1):
        a, b = pair.split("-")
        rate = rates["slow"] if "1" in (a, b) else rates["good"]
        rows.append(f"{number} {a} {b} {rate} {rate} 0.00")
    return "\n".join([heading, *rows, f"# end: {len(pairs)} pairs", ""])


def test_a_healthy_run_has_no_next_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.out").write_text(TEXT, encoding="utf-8")
    assert main(["pairs", "next", str(tmp_path / "good.out")]) == 0
    assert main(["pairs", "rails", str(tmp_path / "good.out")]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["pairs", "judge", str(tmp_path / "good.out")]) == 0


def test_a_slow_node_is_measured_alone_then_each_rail_then_judged(
    first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pairs", "next", "--repeats", "2", str(first)]) == 0
    rounds = capsys.readouterr().out
    assert sorted(set(rounds.split())) == ["0-1", "0-2", "1-2"]
    assert len(rounds.split()) == 6
    assert main(["pairs", "judge", "--repeats", "2", str(first)]) == 1
    assert capsys.readouterr().out.endswith("; measure what `railyard pairs next` prints\n")

    step = first.with_name("again-1.out")
    step.write_text(one_pair_rounds(rounds, {"slow": "10.00", "good": "47.80"}), encoding="utf-8")
    assert main(["pairs", "next", "--repeats", "2", str(first), str(step)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["pairs", "rails", "--repeats", "2", str(first), str(step)]) == 0
    assert sorted(set(capsys.readouterr().out.split())) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    assert main(["pairs", "judge", "--repeats", "2", str(first), str(step)]) == 1
    assert slow_alone("n2") + "10.00 with n1 and 10.00 with n3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello\n", "line 1: found 'hello', expected output of railyard-pairs: \"# railyard-pairs 1 NAME: … ranks\""),
        (TEXT[:-9], "a table that is cut"),
        (TEXT + TEXT, "2 tables"),
    ],
)
def test_what_is_no_whole_output_is_a_sentence(
    text: str, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.out"
    file.write_text(text, encoding="utf-8")
    assert main(["pairs", "next", str(file)]) == 2
    assert capsys.readouterr().err == f"railyard: {file}: found {found}, expected a whole output of railyard-pairs\n"


def test_no_file_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "judge", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/none: found no readable file (No such file or directory), "
        "expected a whole output of railyard-pairs\n"
    )


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """Return a folder with the logs of every pair of six nodes with eight GPUs each; n03 is slow."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for one in nccl_pair_logs.logs(NODES, nccl_pair_logs.slow(0.6, *nccl_pair_logs.node("n03")), (8,)):
        (folder / one.name).write_text(one.text, encoding="utf-8")
    return folder


NODES = nccl_pair_logs.names(6)


def nccl(*words: object) -> int:
    return main(["pairs", "judge", "--tool", "nccl", *map(str, words)])


def test_logs_of_nccl_tests_name_the_slow_node(sick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nccl(sick) == 1
    out = capsys.readouterr().out
    assert "sick:\n  n03: at least one of the GPUs 0, 1, 2, 3, 4, 5, 6, 7, or what they share\n" in out
    assert re.search(
        r"alltoall_perf with 8 GPUs per node: 14\.\d+ to 14\.\d+ of 23\.\d+ GB/s in 5 tests of 5 pairs\n", out
    )
    assert (
        "how sure: shown; if slow tests were scattered by chance, all of these would hit it with odds of about 1 in "
        in out
    )
    assert "would decide: logs with one GPU of each node, n03 with n01, GPU by GPU (8 logs)" in out


def test_a_folder_files_and_a_pattern_mean_the_same_logs(sick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for given in ([sick], sorted(sick.iterdir()), [sick / "*.log"], [sick, sick / "nccl_G8_n01_n02.log"]):
        assert nccl(*given) == 1
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 1


def test_healthy_logs_exit_0_and_one_unread_file_beside_them_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in nccl_pair_logs.logs(NODES, nccl_pair_logs.healthy, (8, 1)):
        (tmp_path / one.name).write_text(one.text, encoding="utf-8")
    assert nccl(tmp_path) == 0
    assert "nobody is named: no test is slow, and all gave a result" in capsys.readouterr().out
    (tmp_path / "n01_n02.html").write_text("<html>404</html>", encoding="utf-8")
    assert nccl(tmp_path, "--name-pattern", r"(?P<a>n\d+)_(?P<b>n\d+)\.html") == 1
    assert "not used, so neither good nor bad:\n  n01_n02.html (n01-n02): line 1: found" in capsys.readouterr().out


def test_packed_logs_are_read_and_what_cannot_be_read_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in nccl_pair_logs.logs(NODES, nccl_pair_logs.healthy, (8,)):
        (tmp_path / f"{one.name}.gz").write_bytes(gzip.compress(one.text.encode()))
    assert nccl(tmp_path) == 0
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)))
    assert nccl(tmp_path) == 1
    said = capsys.readouterr().out
    assert "nobody is named, but this does not pass: not all was judged\n" in said
    assert "  binary.log: found binary data: byte 1 is NUL, expected the text output of a benchmark\n" in said
    assert "  gone.log: found no such file, expected the text output of a benchmark\n" in said


def test_logs_of_impossible_rates_exit_1_by_what_the_nodes_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in nccl_pair_logs.logs(NODES, nccl_pair_logs.healthy, (8,)):
        (tmp_path / one.name).write_text(one.text, encoding="utf-8")
    assert nccl(tmp_path, "--nodes-have", "gpus=8,nvlink=4,nics=2,link=ib-ndr", "--json") == 0
    assert json.loads(capsys.readouterr().out)["contradictions"] == []
    assert nccl(tmp_path, "--nodes-have", "gpus=8,nvlink=4,nics=1,link=ib-ndr", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["good"] is False and {one["who"] for one in found["contradictions"]} == {gpu_runs.all_pairs()}
    assert nccl(tmp_path, "--nodes-have", "gpus=8,nics") == 2


def test_json_has_the_suspect_with_its_tests(sick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nccl(sick, "--json", "--fewest") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["good"] is False
    (one,) = found["blamed"]
    assert (one["kind"], one["nodes"], one["sure"]) == ("node", ["n03"], "shown")
    assert len(one["tests"]) == 5
    assert all(0.59 < test["share"] < 0.61 for test in one["tests"])
    assert found["fewest"]["same_parts"] is True
    assert len(found["fewest"]["logs"]) < 15


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot_writes_a_picture(sick: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    file = tmp_path / f"pairs.{ending}"
    assert nccl(sick, "--plot", file) == 1
    assert capsys.readouterr().err == f"wrote {file}\n"
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG" if ending == "png" else b"<?xml")


WRONG = [
    (["--plot", "pairs.gif"], "pairs.gif: found the ending '.gif', expected one of .png, .svg, .pdf"),
    (["--name-pattern", "("], "--name-pattern: found '(', which is not a regular expression"),
    (["--name-pattern", "n1"], "--name-pattern: found 'n1', expected the groups a and b"),
    (
        ["--expected", "5"],
        "--expected: found --tool nccl, expected --tool railyard-pairs, since only that has this option",
    ),
    (
        ["--repeats", "5"],
        "--repeats: found --tool nccl, expected --tool railyard-pairs, since only that has this option",
    ),
]


@pytest.mark.parametrize(("words", "expected"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_options_are_one_sentence(
    sick: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nccl(sick, *words) == 2
    err = capsys.readouterr().err
    assert expected in err
    assert "Traceback" not in err


def test_what_is_no_log_of_a_pair_is_refused(tmp_path: Path, first: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.log"
    page.write_text("<html>\n", encoding="utf-8")
    for given in (page, tmp_path / "none.log", tmp_path / "*.none", first):
        assert nccl(given) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["pairs", "judge", "--json", str(first)]) == 2
    assert "--json: found --tool railyard-pairs, expected --tool nccl" in capsys.readouterr().err


def test_after_a_round_of_nccl_tests_it_asks_for_the_suspect_alone_and_then_counts_the_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = nccl_pair_logs.slow(0.5, *nccl_pair_logs.node("n02"))
    for one in nccl_pair_logs.logs(nccl_pair_logs.names(5), slow, (8,)):
        (tmp_path / f"rounds-{one.name}").write_text(one.text, encoding="utf-8")
    at_once = ["--tool", "nccl", "--at-once", str(tmp_path / "rounds-*"), str(tmp_path / "*.log")]
    assert main(["pairs", "next", *at_once]) == 0
    assert capsys.readouterr().out.splitlines() == ["n01,n02,all", "n02,n03,all"]
    every = tuple(range(8))
    for a, b in (("n01", "n02"), ("n02", "n03")):
        (tmp_path / f"alone-{a}_{b}.log").write_text(nccl_pair_logs.text(a, b, every, every, 23.6, 99))
    assert main(["pairs", "judge", *at_once]) == 1  # n02 was slow with two others in their rounds, too
    assert "n02" in capsys.readouterr().out
    assert main(["pairs", "next", *at_once]) == 0
    assert capsys.readouterr().out.splitlines() == ["n02,n04,all", "n02,n05,all"]


def test_at_once_is_an_option_of_nccl_alone(first: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "next", "--at-once", str(first), str(first)]) == 2
    assert "--at-once: found --tool railyard-pairs, expected --tool nccl" in capsys.readouterr().err


def test_groups_are_printed_where_the_slowest_is_too_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rails.out"
    file.write_text(made_nccl.output("all_reduce", ("g1", "g2"), {1 << 30: 40_000.0}, groups=4), encoding="utf-8")
    assert main(["pairs", "groups", "--expected", "41000", str(file)]) == 0
    assert capsys.readouterr().out.split() == ["0", "1", "2", "3"]
    assert main(["pairs", "groups", "--expected", "39000", str(file)]) == 0
    assert capsys.readouterr().out == ""
    file.write_text("nothing\n", encoding="utf-8")
    assert main(["pairs", "groups", "--expected", "39000", str(file)]) == 2
