"""Names of nodes with every odd character, from a scheduler, as what reads our results reads them back."""

import csv
import io
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import datetime, timezone
from importlib.util import find_spec

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from railyard.base.fields import Name
from railyard.base.values import clean, one_line
from railyard.cli.gitlab_pipeline import Settings, format_pipeline, pipeline
from railyard.results import exports
from railyard.results.exports import csv_text
from railyard.results.record.form import Record, Suspect, VerdictRecord
from railyard.results.report.files import junit
from railyard.results.report.html import html_report
from railyard.results.sick import SeenTest, SickPart
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId
from tests.made.html_page import Page
from tests.made.records import made_record

ODD = (
    "n'1", 'n"1', "n:1", "n: 1", "n #1", "#n1", "%n1", "n%1", "{{n1}}", "${n1}", "$n1", "$$n1", "$(n1)", "`n1`",
    "n\n1", "&lt;", "<!--", "\\n1", "n\\", "yes", "no", "- n1",
    "n\r\n1", "n\t1", "knöten", "节点1", "😀", "n\u2028", "n\u202e1", "*", "*n1", "&n1", "!n1", "!!str", "-", "-n1",
    "---", "...", "? n1", "| n1", "> n1", "[n1", "{n1", "n1]", "@n1", ",n1", "n,1", "n;1", "null", "~", "on",
    "1", "007", "0o17", "0x1f", "1e3", "1:20", "1_000", ".inf", ".nan", "2026-11-30", "<<", "=", "=n1", "n\x00",
    "n\x1b[31m1", "<n1>", "]]>", "x" * 5000,
)  # fmt: skip


def record_of(name: str) -> Record:
    verdict = VerdictRecord("hsn0 is slow", 5, "fabric", (), (Suspect("rail", name, "hsn0", "slow"),), "look there")
    return made_record(state="fail", nodes=(name, "vn2"), verdict=verdict)


@pytest.mark.parametrize("name", ODD)
def test_a_table_for_spreadsheets_has_the_name_in_one_cell(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(csv_text([record_of(name)]), newline=""))
    assert None not in row
    assert row["nodes"].replace("'", "").split() == [*clean(name).replace("'", "").split(), "vn2"]
    assert (row["fabric"], row["state"]) == ("hsn", "fail")


@pytest.mark.parametrize("name", ODD)
def test_junit_has_the_name_and_no_element_of_its_own(name: str) -> None:
    plain, odd = (ElementTree.fromstring(junit([record_of(each)])) for each in ("vn1", name))
    assert [each.tag for each in odd.iter()] == [each.tag for each in plain.iter()]
    said = " ".join(text for each in odd.iter() for text in (each.text or "", *each.attrib.values()))
    assert one_line(name) in " ".join(said.split())


@pytest.mark.parametrize(
    "name", [name if place % 3 == 0 else pytest.param(name, marks=pytest.mark.full) for place, name in enumerate(ODD)]
)
def test_the_page_has_the_name_and_no_element_of_its_own(name: str) -> None:
    plain, odd = (Page(html_report([record_of(each)])) for each in ("vn1", name))
    assert {each for each, _ in odd.elements} == {each for each, _ in plain.elements}
    assert " ".join(one_line(name).split()) in odd.text


@pytest.mark.skipif(find_spec("prometheus_client") is None, reason="prometheus_client is not installed")
def test_prometheus_reads_each_name_as_one_label() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    test = SeenTest("r1", "case", "1970-01-01T00:00:01Z")
    part = SickPart("virtual", "rail", "x", "slow", "slow", "likely", "sick", test, test, nodes=("vn1",), rail="hsn0")
    parts = [replace(part, node=name, nodes=(name,)) for name in ODD]
    text = exports.text_of(exports.registry_of([], datetime(2026, 11, 30, tzinfo=timezone.utc), parts))
    read = [
        sample.labels["node"]
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "railyard_suspect"
    ]
    assert read == list(ODD)


def test_a_pipeline_has_no_name_of_a_node_and_no_odd_name_of_a_system() -> None:
    """GitLab expands $NAME in many fields: no name of a system's file has a dollar, or is read as another one."""
    adapter = TypeAdapter(Name)
    accepted = []
    for name in ODD:
        try:
            accepted.append(adapter.validate_python(name))
        except ValidationError:
            continue
    assert not any("$" in name for name in accepted)
    for name in accepted:
        cell = Cell(TestId(name, name, 1, "imb/Uniband", "ImbUniband", "single"), None)
        made = pipeline(name, (cell,), Settings(("login",)))
        assert yaml.safe_load(format_pipeline(made)) == made


def test_tags_of_runners_are_read_back_as_they_were_given() -> None:
    cell = Cell(TestId("hsn", "mpich", 1, "imb/Uniband", "ImbUniband", "single"), None)
    tags = tuple(name for name in ODD if clean(name) == name)
    made = yaml.safe_load(format_pipeline(pipeline("mine", (cell,), Settings(tags))))
    assert made["default"]["tags"] == list(tags)
