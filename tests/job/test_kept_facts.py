"""What a run keeps for a rehearsal: its words, and what each node moved, in the order of the ranks."""

from railyard.job.case import Evidence, kept_test
from railyard.job.node_facts import RankNic
from railyard.results.run_folder import DeviceMoved, NicOfRank, read
from railyard.site.site import Site
from tests.made.judged_run import TAG, case_of, counters_file

WORDS = ("Uniband", "-msglen", "sizes.txt")


def test_each_node_has_its_meant_rails_and_what_else_moved(virtual: Site) -> None:
    case = case_of(virtual, "imb/Uniband")
    first, second, *others = case.launch.nodes
    meant = case.launch.meant
    moved = {meant[0]: (12.0, 3.0), "hsn1": (0.0, 0.0), "mgmt0": (0.5, 0.0)}
    texts = tuple(counters_file(node, moved if node == first else {meant[0]: (0.0, 0.0)}, meant)
                  for node in (second, first))  # fmt: skip
    nic = RankNic(first, 0, meant[0], "0-3", "0-3")
    evidence = Evidence("", counters=texts, tag=TAG)
    kept = kept_test(case, evidence, WORDS, {"sizes.txt": "4\n"}, [nic], "2026-11-20T08:00:00Z")
    assert [node.node for node in kept.nodes] == [first, second, *others]
    assert kept.nodes[0].devices == (
        DeviceMoved(meant[0], True, 12_000_000, 3_000_000),
        DeviceMoved("mgmt0", False, 500_000, 0),
    )
    assert kept.nodes[1].devices == (DeviceMoved(meant[0], True, 0, 0),)
    assert {node.problem for node in kept.nodes[2:]} == {"no counters of it were read"}
    assert (kept.words, kept.files, kept.policy) == (WORDS, {"sizes.txt": "4\n"}, case.test.policy)
    assert kept.nics == (NicOfRank(first, 0, meant[0]),)
    assert read(kept.to_text(), "x.json") == kept


def test_a_file_that_was_cut_says_so(virtual: Site) -> None:
    case = case_of(virtual, "imb/Uniband")
    whole = counters_file(case.launch.nodes[0], {case.launch.meant[0]: (12.0, 3.0)}, case.launch.meant)
    evidence = Evidence("", counters=(whole[: whole.index("after")],), tag=TAG)
    (node, *_) = kept_test(case, evidence, WORDS, {}, (), "2026-11-20T08:00:00Z").nodes
    assert node.problem is not None and "has no end" in node.problem
