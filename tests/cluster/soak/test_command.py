"""`railyard soak` on the command line: what it refuses."""

from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.cluster.soak import Log, Reading

ROOT = Path(__file__).resolve().parents[3]
NEEDED = "railyard: give one of --hours, --minutes and --from (see: railyard soak --help)\n"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], NEEDED),
        (["--hours", "1", "--minutes", "1"], NEEDED),
        (
            ["--system", "alps-2024", "--minutes", "1"],
            "railyard: soak: found alps-2024 (replay under the scheduler local), expected the virtual cluster, or "
            "nodes under Slurm, PBS, LSF, Flux or Grid Engine; else repeat railyard run --system alps-2024, and "
            "compare its records (railyard compare)\n",
        ),
    ],
)
def test_a_mistake_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: list[str], sentence: str
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))
    assert main(["soak", *given]) == 2
    assert capsys.readouterr().err == sentence


def test_what_was_kept_is_judged_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(tmp_path / "a.jsonl", "virtual", ())
    for number in range(3):
        counters = {
            "tx_bytes": number * 47_000_000,
            "rx_bytes": number * 46_000_000,
            "carrier_changes": 2 * (number > 1),
        }
        log.keep(Reading(float(number), {("vn1", "hsn0"): counters}))
    assert main(["soak", "--from", str(log.path)]) == 1
    assert capsys.readouterr().out == (
        "node  rail  sent  received  least  link\n"
        "            MB/s      MB/s   MB/s  changes\n"
        "──────────────────────────────────────────\n"
        "vn1   hsn0  47.0      46.0   46.0  2\n"
        "problem: vn1 hsn0: its link went up or down 2 times, first seen after 2 s; change the cable or transceiver, "
        "then the port: a link under load stays up\n"
        "1 rail, 3 readings in 2 s: 1 problem, 0 remarks\n"
    )


def test_too_few_readings_are_no_soak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(tmp_path / "a.jsonl", "virtual", ())
    log.keep(Reading(0.0, {("vn1", "hsn0"): {"tx_bytes": 1}}))
    assert main(["soak", "--from", str(log.path)]) == 2
    assert capsys.readouterr().err == (f"railyard: soak: {log.path} has 1 reading, expected at least two of a rail\n")
