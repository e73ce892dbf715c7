"""Puts entries into the text of references/SYSTEM.yaml; every other line and comment stays as it is."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from railyard.base.errors import RailyardError
from railyard.base.fields import show
from railyard.base.strict_yaml import Document, parse
from railyard.results.capture.entry import CapturedEntry

#: The line in a file that has no entry yet.
EMPTY = "entries: []"
HEAD = """\
# yaml-language-server: $schema=schema.json
system: {system}
entries:
"""


def with_entries(text: str | None, path: Path, system: str, entries: Sequence[CapturedEntry]) -> str:
    """Return the file's text with these entries.

    An entry with the same id is replaced in its place, others follow the last. ``text`` is None if there is no file
    yet. Raises InputError if the text is not one YAML mapping.
    """
    if text is None:
        return HEAD.format(system=system) + "\n".join(entry.text for entry in entries)
    shown = f"{path.parent.name}/{path.name}"
    lines = text.split("\n")
    document = parse(text.encode(), shown)
    places = _places(document, lines)
    new = [entry for entry in entries if entry.id not in places]
    replaced = [(places[entry.id], entry) for entry in entries if entry.id in places]
    end = max((last for _, last in places.values()), default=None)
    if end is None and EMPTY in lines:  # a report-only system's, as `railyard detect` writes it
        at = lines.index(EMPTY)
        lines[at : at + 1] = ["entries:", *"\n".join(entry.text for entry in entries).rstrip("\n").split("\n")]
        return "\n".join(lines)
    if end is None:
        raise document.error(("entries",), "no list of entries", "entries, each on a line that begins with -")
    indent = lines[places[next(iter(places))][0]].index("-")
    blocks = [("", *_indent(entry.text, indent)) for entry in new]
    lines[end + 1 : end + 1] = [line for block in blocks for line in block]
    for (first, last), entry in sorted(replaced, key=lambda each: -each[0][0]):
        lines[first : last + 1] = _indent(entry.text, indent)
    return "\n".join(lines)


def _indent(text: str, indent: int) -> list[str]:
    """Return an entry's lines with its dash in this column; the given lines have it in column 2."""
    lines = text.rstrip("\n").split("\n")
    return [" " * indent + line[2:] for line in lines]


def _places(document: Document, lines: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of each entry, counted from 0, by its id."""
    node = next((value for key, value in document.root.value if key.value == "entries"), None)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        return {}
    found: dict[str, tuple[int, int]] = {}
    for item in node.value:
        if not isinstance(item, yaml.MappingNode):
            continue
        name = next((value.value for key, value in item.value if key.value == "id"), None)
        first = item.start_mark.line
        if not lines[first].lstrip().startswith("-"):
            raise RailyardError(
                f"{document.file}:{first + 1}: found an entry whose dash is on another line, expected it before "
                f"{show(str(name))}; put them on one line"
            )
        found[str(name)] = (first, _last_line(item, lines))
    return found


def _last_line(node: yaml.Node, lines: Sequence[str]) -> int:
    """Return the last line of a node that has text; the end mark of a block may be far below it."""
    mark = node.end_mark
    assert mark is not None
    deepest = node
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(value, lines) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(_last_line(value, lines) for value in node.value)
    last = mark.line if mark.column else mark.line - 1
    last = max(last, deepest.start_mark.line)
    while last > deepest.start_mark.line and (not lines[last].strip() or lines[last].lstrip().startswith("#")):
        last -= 1
    return last
