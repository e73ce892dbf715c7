"""Stored records as one JSON object, for other programs and other sites."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from railyard.results.record.form import FORMAT


def as_json(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the records as one object, which `railyard results merge` reads again."""
    return (
        json.dumps({"format": FORMAT, "records": list(records)}, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    )
