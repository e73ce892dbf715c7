"""JUnit XML: it is valid, and only a pass is reported as a pass."""

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest

from railyard.results.record.form import Record, Suspect
from railyard.results.report.files import junit
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId


def cases(text: str) -> dict[str, ElementTree.Element]:
    """The test cases by name."""
    return {str(case.get("name")): case for case in ElementTree.fromstring(text).iter("testcase")}


def test_the_totals_are_those_of_the_states(faulty_run: list[Record]) -> None:
    root = ElementTree.fromstring(junit(faulty_run))
    assert root.attrib == {"name": "railyard", "tests": "29", "failures": "2", "errors": "1", "skipped": "6"}
    (suite,) = root
    assert suite.attrib == {
        "name": "virtual 20261121T060000Z-ab12",
        "tests": "29",
        "failures": "2",
        "errors": "1",
        "skipped": "6",
        "timestamp": "2026-11-21T06:00:12",
        "time": "142.800",
    }
    outcomes = [[child.tag for child in case if child.tag != "properties"] for case in root.iter("testcase")]
    assert sorted(map(str, outcomes)) == sorted(
        map(str, [[]] * 20 + [["failure"]] * 2 + [["error"]] + [["skipped"]] * 6)
    )


def test_a_failure_has_its_sentence_suspects_and_next_look(faulty_run: list[Record]) -> None:
    case = cases(junit(faulty_run))["ImbUniband %rails=2 @virtual:hsn+mpich"]
    assert (case.get("classname"), case.get("time")) == ("virtual.hsn.mpich", "5.100")
    failure = case.find("failure")
    assert failure is not None
    sentence = (
        "bandwidth at 4 MiB is 76.6 MB/s, below 94.03 MB/s, the floor of reference hsn-2 (94 % of the shaped rate of "
        "hsn, systems/virtual.yaml): 81 % of what it should be."
    )
    headline = "Rail hsn1 of vn2: it moved 4.9 MB/s while hsn0 moved 47.8 MB/s"
    assert (failure.get("message"), failure.get("type")) == (headline, "fabric")
    assert failure.text == (
        f"{headline}\nfound: {sentence}\nlook at: the rate of hsn1 on vn2: railyard testbed status, ethtool hsn1\n"
        "type next: railyard doctor --system virtual --nodes"
    )
    assert {str(item.get("name")): item.get("value") for item in case.iter("property")} == {
        "state": "fail",
        "fabric": "hsn",
        "stack": "mpich",
        "rails": "2",
        "benchmark": "imb/Uniband",
        "nodes": "vn1 vn2",
        "peak": "76.6 MB/s",
        "percent_of_reference": "81.5",
        "percent_of_limit": "78.9",
        "split_percent": "50/50",
    }


def test_a_failure_has_no_names_of_references_and_bounds_and_says_a_suspects_sentence_once(
    faulty_run: list[Record],
) -> None:
    slow = next(one for one in faulty_run if one.found.state == "fail" and one.found.verdict.rule == 5)
    reason = "hsn1 of vn2 is slow with every partner: at best 5 MB/s (margin 4.2 %, probe-margin)"
    verdict = dataclasses.replace(
        slow.found.verdict,
        sentence="bandwidth is 76.6 MB/s, the bound of hsn-2 is 94",
        suspects=(Suspect("rail", reason, "vn2", "hsn1", brief="is slow: 5 MB/s"),),
        remarks=(reason,),
        headline="Rail hsn1 of vn2 is slow: 5 MB/s",
        measured="bandwidth is 76.6 MB/s, its bound 94",
    )
    text = junit([slow.with_fields(verdict=verdict)])
    assert text.count("slow with every partner") == 1
    assert "hsn-2" not in text and "probe-margin" not in text
    assert "measured: bandwidth is 76.6 MB/s, its bound 94\n" in text


@pytest.mark.parametrize(
    ("name", "tag", "message"),
    [
        (
            "ImbAllreduce %rails=1 @virtual:hsn+mpich",
            "skipped",
            "report-only: No reference is asserted for collectives here; every meant rail moved and no other did.",
        ),
        (
            "NetpipeBidirectional %rails=1 @virtual:hsn+openmpi",
            "skipped",
            "expected failure: Open MPI 4.1 shows no gain in both directions with one TCP link a pair; expected until "
            "2027-03-01.",
        ),
        (
            "ImbBiband %rails=1 @virtual:eth+intelmpi",
            "skipped",
            "not tested: Ctrl-C came before this test was started.",
        ),
        (
            "ImbAllreduce %rails=1 @virtual:eth+mpich",
            "error",
            "Node vn3: no answer on eth0",
        ),
        (
            "NetpipeStream %rails=2 @virtual:hsn+openmpi",
            "failure",
            "hsn1 of vn1 carried 0.0 of 168 MB, below 45 %, the split of policy striped",
        ),
    ],
)
def test_each_state_is_told_as_what_it_is(faulty_run: list[Record], name: str, tag: str, message: str) -> None:
    outcome = cases(junit(faulty_run))[name].find(tag)
    assert outcome is not None
    assert outcome.get("message") == message


def test_what_was_disturbed_is_a_failure_of_its_own_type(disturbed_run: list[Record]) -> None:
    text = junit(disturbed_run)
    failure = cases(text)["NetpipePingpong %rails=1 @virtual:hsn+openmpi"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == (
        "disturbed",
        "Disturbed: its processes waited for a processor 12 % of the time (bound 2 %)",
    )
    root = ElementTree.fromstring(text)
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["29", "1", "0", "5"]


def test_problems_and_cells_without_a_record_are_errors(healthy_run: list[Record]) -> None:
    text = junit(healthy_run, ["checks/x.py failed to load"], [Cell(TestId("hsn", "mpich", 2, "imb/Uniband"))])
    root = ElementTree.fromstring(text)
    assert root.get("errors") == "2"
    suite = list(root)[-1]
    assert [(case.get("name"), error.get("message")) for case in suite for error in case] == [
        ("the run itself", "checks/x.py failed to load"),
        (
            "imb/Uniband rails=2 @hsn+mpich",
            "imb/Uniband on hsn, 2 rails, mpich: should have run, but left no record",
        ),
    ]


def test_texts_that_try_to_break_out_stay_text(hostile: Record) -> None:
    root = ElementTree.fromstring(junit([hostile], ["\x00\x1b[31m<problem>]]>"]))
    (failure,) = root.iter("failure")
    name = "<script>alert(1)</script>]]>&red'\" next line"
    assert failure.get("message") == f"Rail {name} of {name}"
    assert name in str(failure.text)
    (error,) = root.iter("error")
    assert error.get("message") == "<problem>]]>"


def test_no_records_is_an_empty_document() -> None:
    assert ElementTree.fromstring(junit([])).get("tests") == "0"
