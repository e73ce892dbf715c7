"""Records without names: a suspect's nodes are hosts too."""

from railyard.results.record.form import Suspect, VerdictRecord
from railyard.results.store.exchange import scrubbed_records
from tests.made.records import made_record


def test_the_nodes_of_a_leaf_that_is_blamed_are_numbered() -> None:
    leaf = Suspect("leaf", "rack7a is slow", nodes=("rack7a", "rack7b"))
    (told,) = scrubbed_records([made_record(state="fail", verdict=VerdictRecord("so", suspects=(leaf,)))], (), ())
    (suspect,) = told["found"]["verdict"]["suspects"]
    assert (suspect["nodes"], suspect["reason"]) == (["node1", "node2"], "node1 is slow")


def test_a_host_with_the_name_of_a_part_of_the_record_changes_no_key() -> None:
    (told,) = scrubbed_records([made_record(nodes=("test", "made"))], (), ())
    assert (list(told)[1:], told["where"]["nodes"]) == (["test", "where", "found", "how", "made"], ["node1", "node2"])
