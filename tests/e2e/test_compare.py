"""`railyard compare` finds a rail that is 5 % slower on the virtual cluster, with the sizes at which it shows."""

import json

import pytest

from tests.e2e.conftest import RAILYARD, VirtualSite

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]

#: Enough repeats that one size of eleven can stand out: of the 924 ways to deal twelve curves to two sides, 22 have
#: some size at which the sides are apart by chance; with four repeats per side it is 22 of 70.
REPEATS = 6


def test_a_rail_that_is_five_per_cent_slower_is_found_with_its_size_range(site: VirtualSite) -> None:
    with site.bed() as bed:
        for _ in range(REPEATS):
            assert site.cell("ImbUniband", "mpich", 1).record.found.figures
        # 120 Mbit/s is the rail's own rate
        bed.degrade("vn2", "hsn0", "slow", 114)
        for _ in range(REPEATS):
            assert site.cell("ImbUniband", "mpich", 1).record.found.figures
    runs = [folder.name for folder in site.run_folders()]
    good, slow = "+".join(runs[:REPEATS]), "+".join(runs[REPEATS:])
    compared = site.call(*RAILYARD, "compare", good, slow, "--fail-on-regression", "3%", "--json")
    assert compared.code == 1, compared.out + compared.err
    found = json.loads(compared.out)
    (test,) = found["tests"]
    peak = next(figure for figure in test["figures"] if figure["name"] == "peak")
    assert (peak["kind"], test["repeats"]) == ("worse", [REPEATS, REPEATS])
    assert -6 < peak["percent"] < -4
    bandwidth = next(curve for curve in test["curves"] if curve["metric"] == "bandwidth")
    (stretch,) = [one for one in bandwidth["stretches"] if one["last"] == 1 << 20]
    assert -6 < stretch["percent"] < -4
    # a shaper's bucket lets short messages pass at their old speed
    assert 1 << 10 <= stretch["first"] <= 1 << 20
    assert found["environment"] == []


def test_the_same_rail_twice_is_no_regression(site: VirtualSite) -> None:
    with site.bed():
        for _ in range(2 * REPEATS):
            assert site.cell("ImbUniband", "mpich", 1).record.found.figures
    runs = [folder.name for folder in site.run_folders()]
    # every other run, so a drift of the machine affects both sides
    odd, even = "+".join(runs[::2]), "+".join(runs[1::2])
    compared = site.call(*RAILYARD, "compare", odd, even, "--json")
    assert compared.code == 0, compared.out + compared.err
    (test,) = json.loads(compared.out)["tests"]
    peak = next(figure for figure in test["figures"] if figure["name"] == "peak")
    assert abs(peak["percent"]) < 1
