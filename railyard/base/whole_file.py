"""Writes a file whole or not at all. Whoever reads it meanwhile, or after a kill, gets the old file or the new one."""

import os
from pathlib import Path


def write_whole(path: Path, text: str | bytes, mode: int | None = None) -> None:
    """Write a file: first a draft, which then replaces the old one.

    ``mode`` sets its permissions; with None it gets those of any new file of this process. Raises OSError; nothing is
    left of the draft then.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        draft.write_bytes(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
