"""Pages of every field of systems/*.yaml, references/*.yaml, stored results and sick parts, out of their schemas."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.results.schemas import schema_text

#: Kind of schema -> title of its page.
PAGES = {
    "systems": "Fields of systems/NAME.yaml",
    "references": "Fields of references/NAME.yaml",
    "results": "Fields of a stored result",
    "sick": "Fields of the list of sick parts",
}


def write_pages(folder: Path) -> None:
    """Write a page a kind of file into ``folder``; one that did not change is left, as Sphinx reads by date."""
    folder.mkdir(exist_ok=True)
    for kind, title in PAGES.items():
        text = page(title, json.loads(schema_text(kind)))
        path = folder / f"{kind}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page(title: str, schema: Mapping[str, Any]) -> str:
    """Return a page: the file's own fields first, then a section for each part that they are made of."""
    lines = [f"# {title}", "", str(schema.get("description", "")), "", *_table(schema)]
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
        yield f"| `{name}` | {_cell(_kind(field))} | {_cell(default)} | {_cell(_about(field))} |"


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value in (None, [], {}) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _about(field: Mapping[str, Any]) -> str:
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
