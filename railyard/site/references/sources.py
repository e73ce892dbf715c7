"""Named sources of a reference table: what an entry's ``source: {of: NAME, at: …}`` stands for, written out."""

from collections.abc import Mapping
from typing import Any

from railyard.base.errors import did_you_mean
from railyard.base.fields import show
from railyard.base.strict_yaml import Document

LISTS = ("entries", "relations", "facts")


def written_out(document: Document) -> Document:
    """Return the document with each ``of`` replaced by the fields of the source that it names; own fields stand above.

    Raises InputError where an ``of`` names no source of the file. Whatever else is wrong is left to the model.
    """
    named = document.data.get("sources")
    if not isinstance(named, Mapping):
        named = {}
    data = dict(document.data)
    for part in LISTS:
        items = data.get(part)
        if isinstance(items, list):
            data[part] = [_item(item, named, (part, index), document) for index, item in enumerate(items)]
    return Document(document.file, data, document.root)


def _item(item: Any, named: Mapping[Any, Any], path: tuple[str, int], document: Document) -> Any:
    source = item.get("source") if isinstance(item, Mapping) else None
    if not isinstance(source, Mapping) or "of" not in source:
        return item
    name = source["of"]
    base = named.get(name) if isinstance(name, str | int) else None
    if not isinstance(base, Mapping):
        known = [str(each) for each in named]
        raise document.error(
            (*path, "source", "of"), show(name), "a source of this file", did_you_mean(str(name), known)
        )
    merged = {**base, **{key: value for key, value in source.items() if key != "of"}}
    general, own = base.get("conditions"), source.get("conditions")
    if isinstance(general, Mapping) and isinstance(own, Mapping):
        merged["conditions"] = {**general, **own}
    return {**item, "source": merged}
