"""The committed JSON Schemas are those of the models, and accept the project's own files."""

import datetime
import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.commands.schema import NAMES, command, schema, schema_file, schema_text
from railyard.results.record.form import PART_OF
from tests.made.records import made_record

ROOT = Path(__file__).parents[2]


def plain(data: Any) -> Any:
    """Return the data as an editor's validator sees it: dates and keys are text."""
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [plain(value) for value in data]
    return data.isoformat() if isinstance(data, datetime.date) else data


def valid(kind: str, data: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema(kind)).is_valid(plain(data)))


@pytest.mark.parametrize("kind", NAMES)
def test_the_committed_schema_equals_the_model(kind: str) -> None:
    assert (ROOT / schema_file(kind)).read_text(encoding="utf-8") == schema_text(kind), (
        f"{schema_file(kind)} is not the model's: type railyard schema {kind} --write"
    )


@pytest.mark.parametrize(
    "path",
    [path for kind in ("systems", "references", "references/classes") for path in sorted(ROOT.glob(f"{kind}/*.yaml"))],
    ids=str,
)
def test_the_projects_files_hold_to_their_schema(path: Path) -> None:
    jsonschema.Draft202012Validator(schema(path.parent.name)).validate(
        plain(yaml.safe_load(path.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("fabrics", "hsn", "link"), "ib-erd"),
        (("fabrics", "hsn", "kind"), "iba"),
        (("fabrics", "hsn", "rails"), []),
        (("fabrics", "hsn", "colour"), "blue"),
        (("report_only",), True),
        (("system",), "--help"),
    ],
)
def test_an_editor_marks_what_the_model_refuses(path: tuple[str, ...], value: Any) -> None:
    data = yaml.safe_load((ROOT / "systems" / "virtual.yaml").read_text(encoding="utf-8"))
    assert valid("systems", data)
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert not valid("systems", data)


def test_one_or_a_list_is_accepted_where_the_model_takes_both() -> None:
    data = yaml.safe_load((ROOT / "references" / "virtual.yaml").read_text(encoding="utf-8"))
    entry = data["entries"][0]
    for field, values in {
        "rails": (1, "any", [1, 2]),
        "stack": ("any", ["mpich"]),
        "policy": ("single", ["single", "striping"]),
        "floor": (47.0, {"of": "limit", "fraction": 0.9}),
    }.items():
        for value in values:
            assert valid("references", {**data, "entries": [{**entry, field: value}]}), (field, value)
    assert not valid("references", {**data, "entries": [{**entry, "rails": 0}]})


def test_the_command_prints_the_schema() -> None:
    result = CliRunner().invoke(command, ["systems"], standalone_mode=False)
    assert result.return_value == 0
    assert json.loads(result.output) == schema("systems")


def test_the_command_writes_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    result = CliRunner().invoke(command, ["references", "--write"], standalone_mode=False)
    assert (result.return_value, result.output) == (0, "wrote references/schema.json\n")
    assert (tmp_path / "references" / "schema.json").read_text(encoding="utf-8") == schema_text("references")


def test_a_stored_result_holds_to_its_schema_and_another_does_not() -> None:
    line = made_record().to_json()
    assert valid("results", line)
    assert valid("results", {**line, "from_a_newer_one": 1})
    changes: list[tuple[str, dict[str, Any]]] = [
        ("found", {"state": "passed"}),
        ("test", {"rails": "1"}),
        ("found", {"verdict": {"rule": 1}}),
        ("how", {"variables": {"A": 1}}),
        ("found", {"curves": [{"metric": "latency"}]}),
        ("where", {"hardware": [{"nodes": "vn1"}]}),
    ]
    for part, change in changes:
        assert not valid("results", {**line, part: {**line[part], **change}}), change
    assert not valid("results", {**line, "format": 1})
    for part in ("test", "where", "found", "made"):
        assert not valid("results", {key: value for key, value in line.items() if key != part})


def test_the_schema_of_results_has_every_key_of_a_record() -> None:
    made, parts = schema("results"), {"test", "where", "found", "how", "made"}
    assert list(made["properties"]) == ["format", "test", "where", "found", "how", "made"]
    of_part = {name: made["$defs"][f"{name.title()}Part"]["properties"] for name in parts}
    assert {key: part for part, keys in of_part.items() for key in keys} == PART_OF
    assert max(map(len, of_part.values())) < 10
