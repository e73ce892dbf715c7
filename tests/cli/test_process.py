"""What the process itself sets: nobody outside of its group may change what it writes."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("umask", "mode"), [("000", 0o775), ("022", 0o755), ("077", 0o700)])
def test_what_a_command_writes_is_no_other_users_to_change(tmp_path: Path, umask: str, mode: int) -> None:
    site = tmp_path / "site"
    words = ["sh", "-c", f'umask {umask}; exec "$0" -m railyard init {site}', sys.executable]
    subprocess.run(words, check=True, capture_output=True)
    assert site.stat().st_mode & 0o777 == mode
    assert [path for path in site.rglob("*") if path.stat().st_mode & 0o002] == []
