"""An installed application on the virtual cluster: it is measured, is refused its licence, dies, and ends silently."""

import sys
from pathlib import Path

import pytest

from railyard.verdict.wording import NOT_INTENDED
from tests.e2e.conftest import Ran, VirtualSite, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]

#: The application: IMB's all-to-all between ranks that print at their end what a solver prints.
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


def measure_solver(site: VirtualSite, mode: str) -> Ran:
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
    ran = measure_solver(site, "whole")
    assert ran.code == 0, ran.full_text
    assert (ran.record.test.benchmark, ran.record.found.state) == ("installed/solver", "report-only")
    assert [(figure.name, figure.value, figure.unit) for figure in ran.record.found.figures] == [("runtime", 1.25, "s")]
    assert ran.record.how.path_proof is not None and ran.record.how.path_proof.state == "proven"


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (
            "unlicensed",
            "solver got no licence, which is not a fault of the network: Error: cannot connect to",
        ),
        ("dies", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
        ("silent", "solver printed no line like success: Calculation complete"),
    ],
)
def test_a_run_that_came_to_nothing_fails_in_a_sentence(
    site: VirtualSite, machine: None, mode: str, sentence: str
) -> None:
    ran = measure_solver(site, mode)
    assert ran.code == 1, ran.full_text
    assert verdict_summary(ran.record)[:2] == ("fail", 1)
    assert sentence in ran.record.found.verdict.text


# Without MPI: the first node's process starts one on each other node through the agent, and gets answers over sockets.

#: Its words are MODE ADDRESSES AGENT RANKS; a worker's are "worker", the first node's address and port, and its own
#: address.
EXCHANGE = """\
import socket, subprocess, sys, time

MIB = 1 << 20

def heard(connection):
    got = 0
    while data := connection.recv(MIB):
        got += len(data)
    return got

if sys.argv[1] == "worker":
    first, port, own = sys.argv[2:]
    with socket.create_connection((first, int(port)), source_address=(own, 0)) as sending:
        sending.sendall(bytes(8 * MIB))
    sys.exit()
mode, addresses, agent, ranks = sys.argv[1:]
first, *others = [one.replace("10.99.1.", "10.99.0.") if mode == "astray" else one for one in addresses.split(",")]
begun = time.monotonic()
time.sleep(0.05)
with socket.create_server((first, 0)) as listening:
    port = str(listening.getsockname()[1])
    started = [
        subprocess.Popen([agent, address, sys.executable, __file__, "worker", first, port, address])
        for address in others
    ]
    got = sum(heard(listening.accept()[0]) for _ in others)
codes = [one.wait() for one in started]
print(f"{got / MIB:g} MiB of {len(others)} nodes for {ranks} ranks")
print(f"Total wall-clock time: {time.monotonic() - begun:.3f} sec")
if mode == "dies" or any(codes):
    sys.exit("a worker was lost")
print("Calculation complete.")
"""
OVER_TCP = """\
applications:
  solver:
    without_mpi: [{mode}, '{{addresses}}', '{{agent}}', '{{ranks}}']
    figure: 'Total wall-clock time:\\s+(?P<seconds>[0-9.]+) sec'
    success: 'Calculation complete'
    ranks_per_node: 2
"""


def measure_exchange(site: VirtualSite, mode: str, check: str) -> Ran:
    program = site.folder / "exchange.py"
    program.write_text(f"#!{sys.executable}\n{EXCHANGE}", encoding="utf-8")
    program.chmod(0o755)
    file = site.folder / "systems/virtual.yaml"
    file.write_text(file.read_text(encoding="utf-8") + OVER_TCP.format(mode=mode), encoding="utf-8")
    site.edit(
        "systems/virtual.yaml",
        '      netpipe: "{prefix}/bin/NPtcp"\n',
        f'      netpipe: "{{prefix}}/bin/NPtcp"\n      solver: {program}\n',
    )
    return site.run("--extended", "--system", "virtual:hsn", "-p", "tcp", "-n", check)


def test_an_application_without_mpi_starts_its_own_processes_on_2_and_4_nodes(site: VirtualSite, machine: None) -> None:
    # Without a number of rails: it cannot run over two, so only one is selected.
    ran = measure_exchange(site, "whole", "InstalledScaling")
    assert ran.code == 0, ran.full_text
    found = {record.test.benchmark: record for record in ran.records}
    assert sorted(found) == [f"installed/solver/{nodes}-nodes" for nodes in (1, 2, 4)]
    for nodes in (1, 2, 4):
        record = found[f"installed/solver/{nodes}-nodes"]
        assert record.found.state == "report-only", record.found.verdict.text
        assert record.made.output is not None
        output = (site.run_folders()[-1] / record.made.output).read_text(encoding="utf-8")
        assert f"{8 * (nodes - 1)} MiB of {nodes - 1} nodes for {2 * nodes} ranks\n" in output
        assert record.how.path_proof is not None and record.how.path_proof.state == "proven"
        assert [node.node for node in record.how.path_proof.nodes] == [f"vn{number}" for number in range(1, nodes + 1)]


@pytest.mark.parametrize(
    ("mode", "rule", "sentence"),
    [
        ("astray", 4, f"eth0 of vn1, which {NOT_INTENDED}, received 25."),
        ("dies", 1, "solver printed no line like success: Calculation complete"),
    ],
)
def test_an_application_without_mpi_fails_by_its_path_and_by_its_end(
    site: VirtualSite, machine: None, mode: str, rule: int, sentence: str
) -> None:
    ran = measure_exchange(site, mode, "Installed%.*rails=1")
    assert ran.code == 1, ran.full_text
    assert verdict_summary(ran.record)[:2] == ("fail", rule)
    assert sentence in ran.record.found.verdict.text
