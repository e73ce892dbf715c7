"""What hatchling does beside its own work: each wheel and sdist gets a file with the commit that it was built from.

`railyard --version` shows it. pyproject.toml names this file ([tool.hatch.build.hooks.custom]).
"""

import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes ``commit.txt`` outside of the clone, and has hatchling take it from there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to what is built; an editable installation is the clone itself, where git is asked later."""
        self.folder: Path | None = None
        if version == "editable":
            return
        root = Path(self.root)
        spec = importlib.util.spec_from_file_location("commit", root / "railyard/base/commit.py")
        assert spec is not None and spec.loader is not None
        commit = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(commit)
        self.folder = Path(tempfile.mkdtemp())
        note = self.folder / commit.NOTE
        note.write_text(f"{commit.find_commit(root)}\n", encoding="utf-8")
        target = f"railyard/_shipped/{commit.NOTE}" if self.target_name == "wheel" else commit.NOTE
        build_data["force_include"][str(note)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder of the file."""
        if self.folder is not None:
            shutil.rmtree(self.folder)
