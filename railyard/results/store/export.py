"""Stored records as one JSON object, for other programs and other sites."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.results.record import pair_rows
from railyard.results.record.form import FORMAT, Record

#: The key of the files beside records: each by its name, its bytes in base64.
FILES = "files"


def as_json(records: Sequence[Mapping[str, Any]], files: Mapping[str, bytes] | None = None) -> str:
    """Return the records, and the files that they name, as one object, for `railyard results merge`."""
    values: dict[str, Any] = {"format": FORMAT, "records": list(records)}
    if files:
        values[FILES] = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def files_of(runs: Path, records: Iterable[Record]) -> dict[str, bytes]:
    """Return the rows of pairs that records name, by file, from the folders of all runs. They contain no names.

    Raises InputError for a file that is missing, cut or different: an export without it could not be judged again.
    """
    found: dict[str, bytes] = {}
    for record in records:
        rows = None if record.found.pairs is None else record.found.pairs.rows
        if rows is not None:
            found[rows.file] = pair_rows.content_of(runs / record.made.run, rows)
    return found


def exported_files(data: object) -> dict[str, bytes]:
    """Return the files in an exported object; a file whose text is not base64 is left out."""
    listed = data.get(FILES) if isinstance(data, dict) else None
    found: dict[str, bytes] = {}
    for name, text in listed.items() if isinstance(listed, dict) else ():
        try:
            found[str(name)] = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            continue
    return found
