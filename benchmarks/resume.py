"""What a long series keeps of each finished part in a file, one line of JSON each, so that it can go on later."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def earlier_results(file: Path | None, of: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the results in the file that are of this series: those that have all these values, such as the seed."""
    if file is None or not file.exists():
        return []
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if of.items() <= line.items()]


def keep_result(file: Path | None, of: Mapping[str, object], result: Mapping[str, object]) -> None:
    """Append one result of this series to the file, if there is one."""
    if file is not None:
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({**of, **result}) + "\n")
