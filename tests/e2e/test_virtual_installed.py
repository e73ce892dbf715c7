"""An installed application on the virtual cluster: measured, refused its licence, dead, and ended without a word."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Ran, VirtualSite, failed

pytestmark = [pytest.mark.e2e, pytest.mark.full]

#: The application: IMB's all-to-all between ranks that say at their end what a solver says.
SOLVER = """\
#!/bin/sh
case $1 in
unlicensed) echo 'Error: cannot connect to license server 27000@lm1'; exit 1 ;;
dies) [ "$PMI_RANK" != 2 ] || kill -9 $$ ;;
esac
IMB Alltoall -npmin 4 -msglog 18:18 -iter 40 >"imb.$PMI_RANK" || exit 1
[ "$PMI_RANK" = 0 ] || exit 0
echo 'Total wall-clock time:      1.25 sec'
[ "$1" = silent ] || echo 'Calculation complete.'
"""
STATED = """\
applications:
  solver:
    arguments: [{mode}, '-t{{ranks}}']
    figure: 'Total wall-clock time:\\s+(?P<seconds>[0-9.]+) sec'
    success: 'Calculation complete'
    licence: 'cannot connect to license server'
"""


def measured(site: VirtualSite, mode: str) -> Ran:
    program = site.folder / "solver.sh"
    imb = Path(site.folder, ".stacks/intelmpi/bin/IMB-MPI1")
    program.write_text(SOLVER.replace("IMB Alltoall", f"{imb} Alltoall"), encoding="utf-8")
    program.chmod(0o755)
    file = site.folder / "systems/virtual.yaml"
    file.write_text(file.read_text(encoding="utf-8") + STATED.format(mode=mode), encoding="utf-8")
    site.edit(
        "systems/virtual.yaml",
        "      imb: .stacks/intelmpi/bin/IMB-MPI1\n",
        f"      imb: .stacks/intelmpi/bin/IMB-MPI1\n      solver: {program}\n",
    )
    return site.run("--extended", "--system", "virtual:hsn", "-p", "mpich", "-n", "Installed%.*rails=1")


def test_an_installed_application_is_measured_and_its_path_proven(site: VirtualSite, machine: None) -> None:
    ran = measured(site, "whole")
    assert ran.code == 0, ran.said
    assert (ran.record.benchmark, ran.record.state) == ("installed/solver", "report-only")
    assert [(figure.name, figure.value, figure.unit) for figure in ran.record.figures] == [("runtime", 1.25, "s")]
    assert ran.record.path_proof is not None and ran.record.path_proof.state == "proven"


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (
            "unlicensed",
            "solver got no licence, which is no fault of the network: Error: cannot connect to",
        ),
        ("dies", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
        ("silent", "solver printed no line like success: Calculation complete"),
    ],
)
def test_a_run_that_came_to_nothing_fails_in_a_sentence(
    site: VirtualSite, machine: None, mode: str, sentence: str
) -> None:
    ran = measured(site, mode)
    assert ran.code == 1, ran.said
    assert failed(ran.record)[:2] == ("fail", 1)
    assert sentence in ran.record.verdict.sentence
