"""Small inputs from the field that once came out wrong, with their right outcomes. They lie beside the clone."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.base.errors import RailyardError
from railyard.cli.commands.judge import command as judge
from railyard.cli.commands.parse import command as parse
from railyard.results.store.exchange import merge
from tests.made.words import below_words

FIELD = Path(__file__).parents[3] / "shared" / "field"


def run(command: object, file: str, *words: str) -> tuple[int, str]:
    """Return exit code and text of a command on a field case, or skip."""
    path = FIELD / file
    if not path.exists():
        pytest.skip("the folder of field cases is not beside the clone")
    result = CliRunner().invoke(command, [str(path), *words], standalone_mode=False)  # type: ignore[arg-type]
    if result.exception is not None:
        return 2, str(result.exception)
    return result.return_value, result.output


@pytest.mark.parametrize(
    ("file", "words", "code", "said"),
    [
        ("02-imb-pingpong-tenth-of-edr.txt", ["--link", "ib-edr"], 1, below_words(1250, 8446, 4 << 20)),
        ("02b-imb-pingpong-1-percent.txt", ["--link", "ib-edr"], 1, below_words(120, 8446, 4 << 20)),
        (
            *("03-imb-pingpong-falls-at-1M.txt", [], 1),
            "bandwidth falls by 89.8 %: from 10730 MB/s at 512 KiB, its peak, to 1099 MB/s at 1 MiB",
        ),
        ("03-imb-pingpong-falls-at-1M.txt", ["--link", "ib-edr"], 1, "falls by 89.8 %"),
        ("05-perftest-report-both.txt", ["--link", "ib-edr"], 0, "pass: 3 benchmarks"),
        ("06-ib_write_bw-default-size.txt", ["--link", "roce-100"], 1, "bandwidth 775.0 MB/s at 64 KiB"),
        ("wrap-or-number-perftest_wrap.txt", ["--link", "ib-qdr"], 1, "lines that are broken at column"),
        ("wrap-or-number-imb_inf.txt", ["--link", "eth-1"], 1, "beyond any measurement"),
    ],
)
def test_judge(file: str, words: list[str], code: int, said: str) -> None:
    found = run(judge, file, *words)
    assert found[0] == code, found[1]
    assert said in found[1]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("03-imb-pingpong-falls-at-1M.txt", "peak 10730 MB/s at 512 KiB, N½ "),
        ("04-osu-header-short.txt", "size    avg    min    max  iterations"),
        ("07-perftest-heading-without-hash.txt", "ib_read_bw (perftest), line 1: 2 rows"),
        ("08-iperf3-three-titles.txt", "role s1, s2, s3, sum, clients 3, streams 3"),
        ("wrap-or-number-hpl_wrap53.txt", "lines that are broken at column 53"),
        ("wrap-or-number-osu_lat_wrap24.txt", "lines that are broken at column 24"),
        ("wrap-or-number-nccl_inf.txt", "beyond any measurement"),
        ("wrap-or-number-osu_1e-320.txt", "line 19: beyond any measurement: 16384 1e-320 Pass"),
    ],
)
def test_parse(file: str, said: str) -> None:
    code, text = run(parse, file)
    assert code == 0
    assert said in text


def test_a_record_that_names_a_device_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    if not (FIELD / "merge_dev_zero.jsonl").exists():
        pytest.skip("the folder of field cases is not beside the clone")
    with pytest.raises(RailyardError) as caught:
        merge(tmp_path, FIELD / "merge_dev_zero.jsonl")
    assert "found a record that names '/dev/zero', expected a file beside it" in str(caught.value)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_node_that_took_tcp_is_named_with_its_line() -> None:
    code, text = run(judge, "01-nccl-ofi-provider-tcp.txt", "--nodes-have", "gpus=1,nics=1,link=efa-100")
    assert code == 1
    assert "FI_PROVIDER" in text
