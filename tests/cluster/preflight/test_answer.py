"""What a preflight says: its line and exit code, and which nodes are left."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.cluster.preflight.answer import Answer, Fault, Findings, hosts_text, write_hosts
from railyard.cluster.preflight.rounds import RailsFound, SickPart
from tests.preflight_table import PAGE, with_table

NODES = ("n1", "n2", "n3", "n10")


def answer(found: Findings) -> Answer:
    return Answer(NODES, found, 21.4, 60)


def test_a_job_without_faults_is_fit() -> None:
    found = Findings(checked=["links", "hsn0", "allreduce"])
    found.note_unchecked("slots", "the system's file names no slot")
    said = answer(found)
    assert said.line == (
        "preflight of 4 nodes: fit: links, hsn0, allreduce; not checked: slots (the system's file names no slot) "
        "(21 of 60 s)"
    )
    assert (said.exit_code, said.hosts) == (0, NODES)


def test_a_fault_of_a_node_takes_it_out_of_the_list() -> None:
    found = Findings(checked=["links"], doubts=["hsn1: disturbed"], late={"allreduce": "no time"})
    found.faults += [Fault("n2", "hsn1 of n2 is slow", "hsn1", "look at its cable")]
    said = answer(found)
    assert said.line == "preflight of 4 nodes: unfit: hsn1 of n2 is slow (21 of 60 s)"
    assert (said.exit_code, said.hosts) == (1, ("n1", "n3", "n10"))
    assert said.details == (
        "fault: hsn1 of n2 is slow; look at its cable",
        "undecided: hsn1: disturbed",
        "not measured: allreduce: no time",
    )


def test_faults_of_one_node_are_one_sentence() -> None:
    found = Findings(faults=[Fault("n2", f"hsn{rail} of n2 is slow", f"hsn{rail}") for rail in range(3)])
    found.faults.append(Fault("n3", "n3 did not answer"))
    assert answer(found).line == (
        "preflight of 4 nodes: unfit: hsn0 of n2 is slow, and hsn1, hsn2 too (+1 more); sick: n2 and n3 (21 of 60 s)"
    )


def test_a_fault_of_no_single_node_takes_nobody_out() -> None:
    said = answer(Findings(checked=["links"], faults=[Fault(None, "hsn0 between n1-n2 gives 3 MB/s")]))
    assert (said.exit_code, said.hosts) == (1, NODES)


@pytest.mark.parametrize(
    "found",
    [
        Findings(checked=["links"], doubts=["hsn1: disturbed"]),
        Findings(checked=["links", "hsn0"], late={"hsn1": "no time: 3 s were left, 7 s are needed"}),
        Findings(),
    ],
)
def test_what_is_not_known_is_never_a_pass(found: Findings) -> None:
    said = answer(found)
    assert (said.state, said.exit_code, said.hosts) == ("undecided", 3, NODES)


def test_what_was_not_measured_in_time_is_named() -> None:
    found = Findings(checked=["links", "hsn0"], late={"hsn1": "no time: 3 s were left, 7 s are needed"})
    assert "undecided: not measured: hsn1: no time: 3 s were left, 7 s are needed" in answer(found).line


def test_a_low_figure_without_a_control_on_a_busy_node_is_disturbed() -> None:
    rails = RailsFound(level={"a": 3.0})
    rails.sick.append(SickPart("pair", "a", (0, 1), "a between n1-n2 gives 3 MB/s", controlled=False))
    rails.sick.append(SickPart("rail", "a", (2,), "a of n3 gives 3 MB/s"))
    for busy, faults in (("", 2), ("9 processes were running on n1 with 4 processors", 1)):
        found = Findings()
        found.note_rails(NODES, rails, 10.0, busy)
        assert len(found.faults) == faults
        assert found.doubts == ([f"disturbed: a between n1-n2 gives 3 MB/s; {busy}"] if busy else [])


def test_nodes_are_written_as_launchers_read_them(tmp_path: Path) -> None:
    assert hosts_text(("n1", "n2", "n3", "n10"), "slurm") == "n[1-3],n10\n"
    assert hosts_text(("n1", "n10"), "hostfile") == "n1\nn10\n"
    write_hosts(tmp_path / "good.txt", ("n1", "n3"), "slurm")
    assert (tmp_path / "good.txt").read_text(encoding="utf-8") == "n[1,3]\n"
    with pytest.raises(SetupError, match=r"preflight: .*good.txt/more.txt cannot be written"):
        write_hosts(tmp_path / "good.txt" / "more.txt", ("n1",), "slurm")


def test_the_json_has_the_nodes_and_what_is_wrong() -> None:
    told = answer(Findings(faults=[Fault("n2", "hsn1 of n2 is slow", "hsn1")])).as_json()
    assert (told["state"], told["hosts"]) == ("unfit", ["n1", "n3", "n10"])
    assert told["faults"] == [{"node": "n2", "rail": "hsn1", "said": "hsn1 of n2 is slow"}]


def test_the_table_of_the_page_is_what_simulated_jobs_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "write it again: python -m tests.preflight_table"
