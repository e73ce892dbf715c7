"""Writes a file whole or not at all: whoever reads it meanwhile, or after a kill, has the old one or the new one."""

import os
from pathlib import Path


def write_whole(path: Path, text: str | bytes, mode: int | None = None) -> None:
    """Write a file by renaming a finished one over it.

    ``mode`` are its permissions; None for what the process gives new files. Raises OSError; nothing is left of the new
    one then.
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
