"""The examples of `--help`, typed: those that need neither cluster, root nor network run in a made site."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.cli.main import main
from tests.cli.test_help import EXAMPLES

#: The command line behind `railyard` -> its exit code in the made site.
RUN: Mapping[str, int] = {
    "init my-site": 0,
    "init my-site --published": 0,
    "detect --name mycluster": 0,
    "detect --name mycluster --write": 2,  # systems/mycluster.yaml is there
    "doctor --system mycluster": -1,  # 1 where this host has no Slurm
    "matrix --system dell-c6320": 0,
    "matrix --system dell-c6320 --why": 0,
    "matrix --system dell-c6320 -c own": 0,
    "stacks status": 1,  # none is installed
    "stacks status openmpi --json": 1,
    "run --system dell-c6320 -n OsuBandwidth": 0,
    "pairs next all.out step2.out": 0,
    "pairs rails all.out step2.out": 0,
    "pairs judge all.out step2.out": 1,  # a node is slow
    "pairs judge --tool nccl logs/ --json": 0,
    "pairs next --tool nccl logs/": 0,
    "pairs groups nccl.log --expected 32000": 0,
    "pairs groups nccl.log --expected 48000": 0,
    "judge osu_bw.out --link ib-edr": 0,
    "judge --each-file outputs --link ib-edr": 0,
    "judge osu_bw.out --system dell-c6320 --fabric edr --stack hpcx": 0,
    "judge nccl.log --nodes-have gpus=8,nvlink=4,nics=8,link=ib-ndr": 0,
    "judge nccl.log --class h100-8xndr400": 1,  # it is of another benchmark than those that are published
    "parse osu_bw.out": 0,
    "parse osu_bw.out ibstat.txt --json": 0,
    "report": 0,
    "report --why": 0,
    "report last5 -o report.html": 0,
    "compare '20261114T*' '20261121T*'": 0,
    "compare last5:rails=1 :rails=2": 0,
    "compare last5:fabric=edr last5:fabric=fdr --fail-on-regression 5%": 1,
    "history --system mycluster": 0,
    "history --since 2026-11 --figure peak -o history.html": 0,
    "scaling": 0,
    "scaling last5 --json": 0,
    "capture --system mycluster": 0,
    "capture --system mycluster --write": 0,
    "capture --system mycluster --hpl-layout": 2,
    "references --system dell-c6320": 0,
    "references --system survey-2004 --json": 0,
    "record --published dell-c6320 --replace": 0,
    "export prometheus": 0,
    "export grafana": 0,
    "export grafana -o railyard.json": 0,
    "export sick --system mycluster": 0,
    "export sick last --as ticket -o ticket.md": 0,
    "lint": 0,
    "lint --system mycluster": 0,
    "lint --system mycluster -c own": 0,
    "schema systems": 0,
    "schema references --write": 0,
    "ci generate --system mycluster -o child.yml": 0,
    "ci generate --system mycluster --executor slurm --per test": 0,
    "results list --newest 10": 0,
    "results list --tests --state fail --since 2026-11": 0,
    "results show": 0,
    "results show last --test OsuBandwidth": 0,
    "results export -o november.json --since 2026-11": 0,
    "results export -o peaks.csv --benchmark osu/osu_bw": 0,
    "results merge november.json": 0,
    "results verify": 0,
    "results verify last --json": 0,
    "spack status --system mycluster": 1,  # nothing is built
    "spack status --system mycluster --json": 1,
}
#: The beginning of a command line that does not run here -> what it needs.
NEEDS: Mapping[str, str] = {
    "run": "the virtual cluster, or Spack",
    "rehearse": "namespaces, and Slurm",
    "testbed": "the virtual cluster",
    "soak": "the virtual cluster, or a scheduler",
    "doctor --system mycluster --nodes": "nodes",
    "fabric": "a node of a fabric, or what its tools printed",
    "gate": "a node",
    "preflight": "a job",
    "stacks install": "a network",
    "pairs run": "a scheduler and nodes",
    "pairs collect": "a run in groups",
    "pairs coverage": "a system of nodes with stored runs of pairs",
    "pairs next --sample": "the nodes of a job",
    "pairs rails all.out step2.out --switches": "steps that were asked for with these switches",
    "stacks compile": "an MPI compiler",
    "spack": "Spack",
    "mpirun": "an MPI",
    "record": "a run of this site that left outputs",
    "results merge /shared/other-clone": "another clone",
    "apps inputs": "the inputs of a case",
    "export prometheus -o": "the folder of a node exporter",
}
LINES = [line for _, line in EXAMPLES]


@pytest.mark.parametrize("line", sorted(set(LINES)))
def test_an_example_runs_or_says_what_it_needs(line: str) -> None:
    words = line.removeprefix("railyard ")
    assert words in RUN or any(words.startswith(beginning) for beginning in NEEDS)


def test_every_line_of_the_tables_is_an_example() -> None:
    shown = [line.removeprefix("railyard ") for line in LINES]
    assert [words for words in RUN if words not in shown] == []
    assert [words for words in NEEDS if not any(line.startswith(words) for line in shown)] == []


@pytest.mark.parametrize("words", RUN)
def test_an_example_does_what_it_says(words: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(shlex.split(words))
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert code == RUN[words] if RUN[words] >= 0 else code in (0, 1), said.err
    if code == 2:
        assert "railyard: " in said.err
