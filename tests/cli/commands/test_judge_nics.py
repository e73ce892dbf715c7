"""`railyard judge --class` of perftest: one NIC by its link, and beside it what clouds demand of that NIC."""

import json
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.base.wording import IMPOSSIBLE
from railyard.cli.main import main
from tests.made.perftest_output import TEXT as MADE
from tests.made.perftest_output import with_8_mib

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))


def of_host(text: str) -> str:
    """Return the output without the lines about a GPU."""
    return text[text.index("-----") :]


def judge(folder: Path, text: str, *words: str) -> int:
    path = folder / "write.txt"
    path.write_text(text, encoding="utf-8")
    return main(["judge", str(path), *words])


DEMAND = (
    "Azure demands 380.0 Gbit/s at 8 MiB of one NIC of h100-8xndr400 (azure-write; a threshold, not physics; "
    "NICs: all at once; peer: the same NIC): "
)
SOURCE = "; source Microsoft, azurehpc-health-checks at github.com, conf/, commit 0e0a1ac, nd96isr_h100_v5.conf, "


@pytest.mark.parametrize(
    ("text", "code", "whether"),
    [
        (with_8_mib(388.0), 0, "reached"),
        (with_8_mib(380.0), 0, "reached"),
        (with_8_mib(379.9), 0, "not reached, yours has 379.9 Gbit/s at 8 MiB"),
        (MADE, 0, "not compared, since yours has none of its sizes"),
        (of_host(with_8_mib(388.0)), 0, "not compared, since it is for buffers in the memory of GPUs"),
    ],
    ids=["above", "just", "below", "other-sizes", "host"],
)
def test_a_demand_is_held_beside_the_verdict_and_decides_nothing(
    text: str, code: int, whether: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(tmp_path, text, "--class", "h100-8xndr400") == code
    said = capsys.readouterr().out
    assert f"  {DEMAND}{whether}{SOURCE}" in said
    assert "against ib-ndr, 1 rail" in said


def test_the_link_still_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(tmp_path, with_8_mib(410.0), "--class", "h100-8xndr400", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    (one,) = found["judgements"]
    assert one["sentence"].startswith(f"rule 3 (possible): {IMPOSSIBLE}bandwidth 51250 MB/s at 8 MiB")
    assert [remark.partition(": ")[0] for remark in one["remarks"] if "demands" in remark]


def test_a_demand_that_no_nic_of_the_link_can_reach_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "references" / "classes"
    folder.mkdir(parents=True)
    (tmp_path / "systems").mkdir()
    text = (ROOT / "references" / "classes" / "h100-8xndr400.yaml").read_text(encoding="utf-8")
    (folder / "h100-8xndr400.yaml").write_text(text.replace("gbit_s: {8M: 380}", "gbit_s: {8M: 399}"), encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    judge(tmp_path, with_8_mib(388.0), "--class", "h100-8xndr400")
    said = capsys.readouterr().out
    # 400 Gbit/s less the headers of packets of 4096 B: 4096 / (4096 + 26) of it (docs/reference/rates.md)
    assert "; no NIC of this link can reach it, since at most 397.5 Gbit/s are possible; source " in said


def test_where_nobody_demands_anything_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(tmp_path, MADE.replace("H100", "GH200"), "--class", "gh200-4xslingshot11")
    said = capsys.readouterr().out
    assert "nobody's demand of one NIC of gh200-4xslingshot11 with perftest/ib_write_bw/device is stored here" in said


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        (
            MADE,
            ["--class", "h200-8xndr400"],
            "--class h200-8xndr400: found an output from NVIDIA H100 80GB HBM3, expected H200",
        ),
        (
            MADE,
            ["--class", "gb200-nvl72"],
            "--class gb200-nvl72: found an output of perftest, expected a class whose nodes have NICs; judge it with "
            "--link or --system",
        ),
        (
            MADE,
            ["--class", "h100-8xndr400", "--nodes", "2"],
            "--nodes: found 2, expected nothing: perftest runs between two NICs",
        ),
        (
            "".join(f"# railyard: rail mlx5_{n}\n{MADE}" for n in (0, 1)),
            ["--class", "h100-8xndr400"],
            "--class: found an output with a part for each of 2 rails, expected one NIC; --in-turn compares the "
            "slowest of them",
        ),
    ],
    ids=["gpu", "no-nics", "nodes", "rails"],
)
def test_what_a_user_gets_wrong_is_one_sentence(
    text: str, words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge(tmp_path, text, *words) == 2
    assert capsys.readouterr().err.strip() == f"railyard: {sentence}"


def test_of_several_rails_the_slowest_is_held_against_the_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f"# railyard: rail mlx5_{n}\n{with_8_mib(rate)}" for n, rate in enumerate((388.0, 371.0)))
    assert judge(tmp_path, text, "--class", "h100-8xndr400", "--in-turn") == 0
    assert f"{DEMAND}not reached, yours has 371.0 Gbit/s at 8 MiB" in capsys.readouterr().out
