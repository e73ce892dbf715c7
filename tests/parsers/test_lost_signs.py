"""Outputs of OSU and IMB whose "#" a page took: they are read as with it, under the same lines."""

from pathlib import Path

import pytest

from railyard.parsers.detect import parse, with_lost_signs

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "file",
    [*sorted(HERE.glob("made/osu-*")), HERE.parent / "recordings" / "imb2021.11-PingPong-mpich5.0.2-veth.out"],
    ids=lambda file: file.name,
)
def test_an_output_without_its_signs_gives_the_same_table(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    whole, lost = parse(text), parse(text.replace("#", ""))
    assert [table.benchmark for table in lost.tables] == [table.benchmark for table in whole.tables] != []
    assert [table.rows for table in lost.tables] == [table.rows for table in whole.tables]
    assert lost.failures == whole.failures


@pytest.mark.parametrize("text", ["Size      Price\n1   2\n", "bytes  iters  total\n", "# OSU MPI Latency Test v7.4\n"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert with_lost_signs(text) == text
