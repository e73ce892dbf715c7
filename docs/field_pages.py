"""Pages of every field of systems/*.yaml, references/*.yaml, stored results and sick parts, out of their schemas.

``python docs/field_pages.py`` writes them into docs/reference; ``make docs`` does so.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.cli.commands.schema import schema_text

REFERENCE = Path(__file__).parent / "reference"
#: Page in docs/reference -> kind of schema, title of the page.
PAGES = {
    "system-file.md": ("systems", "Fields of systems/NAME.yaml"),
    "references-file.md": ("references", "Fields of references/NAME.yaml"),
    "run-record.md": ("results", "Fields of a stored result"),
    "sick-list.md": ("sick", "Fields of the list of sick parts"),
}


def pages() -> dict[str, str]:
    """Return the text of each page of ``PAGES`` by its name."""
    return {name: page(title, kind, json.loads(schema_text(kind))) for name, (kind, title) in PAGES.items()}


def page(title: str, kind: str, schema: Mapping[str, Any]) -> str:
    """Return a page: the file's own fields first, then a section for each part that they are made of."""
    made = f"`make docs` writes this page from the schema (`railyard schema {kind}`). Change the models, not this page."
    lines = [f"# {title}", "", made, "", str(schema.get("description", "")), "", *_table(schema)]
    for name, part in sorted(schema.get("$defs", {}).items()):
        if "properties" in part:
            lines += ["", f"## {name}", "", str(part.get("description", "")), "", *_table(part)]
    return "\n".join(lines) + "\n"


def _table(part: Mapping[str, Any]) -> Iterator[str]:
    yield "| field | value | default | what it is |"
    yield "| --- | --- | --- | --- |"
    required = part.get("required", ())
    for name, field in part.get("properties", {}).items():
        default = "required" if name in required else _default(field)
        yield f"| `{name}` | {_cell(_kind(field))} | {_cell(default)} | {_cell(_description(field))} |"


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value in (None, [], {}) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _description(field: Mapping[str, Any]) -> str:
    return str(field.get("description", ""))


def _kind(field: Mapping[str, Any]) -> str:
    """Return in words what values a field takes; a part of its own is a link to its section."""
    if "$ref" in field:
        name = str(field["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        shown = [f"`{value}`" for value in field["enum"][:8]]
        return ", ".join(shown) + (f" … ({len(field['enum'])} in all)" if len(field["enum"]) > 8 else "")
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in field:
            kinds = [_kind(each) for each in field[choice] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    return _plain(field)


def _plain(field: Mapping[str, Any]) -> str:
    kind = str(field.get("type", "anything"))
    if kind == "array":
        items = field.get("items") or (field.get("prefixItems") or [{}])[0]
        return f"list of {_kind(items)}"
    if kind == "object":
        inner = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), None)
        return f"mapping to {_kind(inner)}" if isinstance(inner, Mapping) else "mapping"
    bounds = [f"{word} {field[key]}" for key, word in _BOUNDS.items() if key in field]
    return " ".join([kind, *bounds])


_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
