"""What else belongs to a record: the job, the nodes that it ran on, what the loader found, which variables were set."""

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from railyard.job import node_facts
from railyard.results.record.variables import allowed
from railyard.stacks import linkage


def circumstances(
    folder: Path,
    tag: str,
    *,
    said: str | None,
    variables: Mapping[str, str],
    scheduler: str | None,
    job_id: object,
    started: datetime | None,
) -> dict[str, Any]:
    """Return fields of a record. ``folder`` holds a ``.facts`` file a node, ``said`` is what ``ldd`` printed.

    What cannot be read is left empty: no verdict rests on it.
    """
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.facts")))
    nodes = [facts for text in texts if (facts := node_facts.parse(text, tag)) is not None]
    return {
        "started": None if started is None else f"{started.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "scheduler": scheduler,
        "job_id": None if job_id is None else str(job_id),
        "linked": tuple(f"{name} => {path or 'not found'}" for name, path in linkage.parse(said or "").items()),
        "variables": allowed(variables),
        "hardware": node_facts.grouped(nodes),
    }
