"""Figures that are not those of the run: the rails carried its bytes more slowly than the output says."""

import pytest

from railyard.verdict.wording import NOT_PROVEN
from tests.e2e.conftest import CLONE, VirtualSite, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]

#: Prints another time in each of IMB's rows, and the rate that follows from it; the sizes and repetitions stay.
WRAPPER = """\
#!/bin/sh
{program} "$@" | awk '/^ +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+$/ {{
    printf "%13d %12d %12.2f %12.2f\\n", $1, $2, $3 / {factor}, $1 * {factor} / $3; next }} {{ print }}'
"""
SAID = f"{NOT_PROVEN}the printed figures are not those of this run: by them, the middle 80.0 % of its bytes passed at"


@pytest.mark.parametrize(
    ("mbit_s", "factor"),
    [
        pytest.param(
            *(60, 2.0),
            marks=pytest.mark.fault(
                "path", "a rail at half of its rate, and the figures of an earlier, healthy run", SAID
            ),
        ),
        pytest.param(
            *(80, 1.5),
            marks=pytest.mark.fault(
                "path", "a clock or a benchmark by which all messages take two thirds of their time", SAID
            ),
        ),
    ],
)
def test_figures_that_do_not_fit_the_time_of_the_counters_prove_nothing(
    mbit_s: float, factor: float, promise: str, site: VirtualSite
) -> None:
    wrapper = site.folder / "IMB-MPI1"
    wrapper.write_text(WRAPPER.format(program=CLONE / ".stacks/intelmpi/bin/IMB-MPI1", factor=factor))
    wrapper.chmod(0o755)
    site.edit("systems/virtual.yaml", "imb: .stacks/intelmpi/bin/IMB-MPI1", f"imb: {wrapper}")
    with site.bed() as bed:
        bed.degrade("vn2", "hsn0", "slow", mbit_s)
        record = site.cell("ImbPingPong", "mpich", 1).record
    assert verdict_summary(record) == ("fail", 4, "not-proven")
    assert suspects(record) == set()
    assert record.found.verdict.text.startswith(promise)
