"""A whole run of a stand-in on two nodes: its output, its counters, and what the library says of both."""

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import imb, osu
from railyard.provision.rehearsal.form import Fault
from railyard.rfm.checks.osu import moved_repetitions, words_of
from railyard.verdict.assess import Assessment
from tests.provision.rehearsal.conftest import Bed

SIZES = (1, 4 << 20)
TOLD = Repetitions(20, 0)


def osu_bw(bed: Bed, rails: int = 1, **more: object) -> Assessment:
    words = words_of(SIZES, TOLD, 64, validates=True)
    ran = bed.run("openmpi", "osu", "osu_bw", words, rails=rails, **more)  # type: ignore[arg-type]
    told = moved_repetitions(TOLD, validates=True)
    return ran.assessed("osu/osu_bw", osu.parse, window=64, told=told, validates=True)


@pytest.mark.parametrize("rails", [1, 2])
def test_a_healthy_osu_bw_is_sound_on_its_path_and_fast(bed: Bed, rails: int) -> None:
    found = osu_bw(bed, rails)
    print(found.verdict.text, found.path.sentence)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven")
