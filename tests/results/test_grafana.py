"""The dashboard of Grafana: of the form of one, and every metric and label that it asks for is one that is exported."""

import copy
import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from railyard.benchmarks.model import Figure
from railyard.cli.main import main
from railyard.results import exports
from railyard.results.exports import dashboard_text
from railyard.results.record.form import STATES
from railyard.results.sick import SeenTest, SickPart
from tests.made.records import made_record

NOW = datetime(2026, 11, 24, tzinfo=timezone.utc)
SCHEMA = json.loads((Path(__file__).parent / "grafana.schema.json").read_text(encoding="utf-8"))
DASHBOARD: dict[str, Any] = json.loads(dashboard_text())
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
TABLES = [each for each in DASHBOARD["panels"] if each["type"] == "table"]

_METRIC = re.compile(r"\brailyard_\w+")
_SELECTED = re.compile(r"(railyard_\w+)\{([^}]*)\}")
_LABEL = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_BY = re.compile(r"\bby \(([^)]*)\)")
_LABEL_VALUES = re.compile(r"label_values\((?P<of>.+), (?P<label>\w+)\)")


def exported_labels() -> dict[str, set[str]]:
    """Return the labels of each metric, as `railyard export prometheus` writes them."""
    from prometheus_client.parser import text_string_to_metric_families

    record = made_record(figures=(Figure("peak", 47.8, "MB/s"),))
    seen = SeenTest("r1", record.test.case, record.made.time)
    part = SickPart("virtual", "rail", "hsn1", "slow", "slow", "named", "sick", seen, seen, "vn2", ("vn2",), "hsn1")
    text = exports.text_of(exports.registry_of([record], NOW, [part]))
    return {
        sample.name: set(sample.labels) for family in text_string_to_metric_families(text) for sample in family.samples
    }


def queries() -> Iterator[tuple[str, str]]:
    """Yield each query with where it stands."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for name, variable in VARIABLES.items():
        if variable["type"] == "query":
            yield f"variable {name}", variable["query"]["query"]


needs_library = pytest.mark.skipif(find_spec("prometheus_client") is None, reason="prometheus_client is an extra")


def test_it_is_of_the_form_of_a_dashboard() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(DASHBOARD)


@pytest.mark.parametrize("spoil", ["key", "type", "datasource", "panels"])
def test_the_schema_refuses_what_is_no_dashboard(spoil: str) -> None:
    spoilt = copy.deepcopy(DASHBOARD)
    panel = spoilt["panels"][0]
    if spoil == "key":
        panel["gridpos"] = panel["gridPos"]
    elif spoil == "type":
        panel["type"] = "graph"
    elif spoil == "datasource":
        panel["targets"][0]["datasource"]["uid"] = "P1809F7CD0C75ACF3"  # of one Grafana alone
    else:
        spoilt["panels"] = []
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(spoilt)


@needs_library
@pytest.mark.parametrize(("where", "query"), list(queries()), ids=[where for where, _ in queries()])
def test_every_metric_and_label_of_a_query_is_exported(where: str, query: str) -> None:
    there = exported_labels()
    asked = _LABEL_VALUES.fullmatch(query)
    metrics = _METRIC.findall(query)
    assert metrics and set(metrics) <= there.keys()
    for metric, selectors in _SELECTED.findall(query):
        assert selectors.count("=") == len(_LABEL.findall(selectors)), selectors
        for label, _, value in _LABEL.findall(selectors):
            assert label in there[metric], f"{metric} has no label {label}"
            if value.startswith("$"):
                assert value[1:] in VARIABLES
            elif label == "state":
                assert set(value.split("|")) <= set(STATES)
    labels = {name.strip() for found in _BY.findall(query) for name in found.split(",")}
    labels |= {asked["label"]} if asked else set()
    assert all(labels <= there[metric] for metric in metrics), f"{where}: {labels}"


@needs_library
def test_legends_and_columns_are_labels_that_their_queries_have() -> None:
    there = exported_labels()
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            by = _BY.search(target["expr"])
            labels = {each.strip() for each in by[1].split(",")} if by else there[_METRIC.findall(target["expr"])[0]]
            assert set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", ""))) <= labels, panel["title"]
    for panel in TABLES:
        by = _BY.search(panel["targets"][0]["expr"])
        assert by is not None
        columns = {each.strip() for each in by[1].split(",")} | {"Time", "Value", "Value #A", "Value #B"}
        (organized,) = (each["options"] for each in panel["transformations"] if each["id"] == "organize")
        for part in ("excludeByName", "indexByName", "renameByName"):
            assert set(organized[part]) <= columns, panel["title"]
        shown = {organized["renameByName"].get(each, each) for each in columns}
        assert {each["displayName"] for each in panel["options"]["sortBy"]} <= shown, panel["title"]


@needs_library
def test_nothing_that_is_exported_is_forgotten() -> None:
    used = {metric for _, query in queries() for metric in _METRIC.findall(query)}
    assert used == exported_labels().keys()


def test_panels_do_not_overlap_and_have_numbers_of_their_own() -> None:
    fields: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in own) < 24
        assert not own & fields, panel["title"]
        fields |= own
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_command_prints_or_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "grafana"]) == 0
    assert json.loads(capsys.readouterr().out) == DASHBOARD
    assert main(["export", "grafana", "-o", str(tmp_path / "railyard.json")]) == 0
    assert json.loads((tmp_path / "railyard.json").read_text(encoding="utf-8")) == DASHBOARD
    assert main(["export", "grafana", "-o", str(tmp_path / "none/railyard.json")]) == 2
    assert capsys.readouterr().err.endswith(
        f"railyard: {tmp_path}/none/railyard.json: the file could not be written (No such file or directory); correct "
        "the path, or choose another -o\n"
    )
