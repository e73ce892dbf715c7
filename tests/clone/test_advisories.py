"""ci/advisories.py: which locked versions an advisory covers, and that an empty list is no pass."""

import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[2]
PROGRAM = CLONE / "ci/advisories.py"

#: A locked package, whichever version the lock has now.
ADVISORY = """\
id: PYSEC-2099-1
aliases: [CVE-2099-1]
affected:
- package: {{ecosystem: PyPI, name: Jinja2}}
  ranges:
  - type: ECOSYSTEM
    events: {events}
"""


def ask(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("events", "is_affected"),
    [
        ('[{introduced: "0"}]', True),
        ('[{introduced: "0"}, {fixed: 999}]', True),
        ("[{fixed: 999}, {introduced: 1.0}]", True),
        ('[{introduced: "0"}, {last_affected: 999}]', True),
        ('[{introduced: "0"}, {fixed: "1.0"}, {introduced: "2.0"}, {fixed: 999}]', True),
        ('[{introduced: "0"}, {fixed: "1.0"}]', False),
        ('[{introduced: "0"}, {last_affected: "1.0"}]', False),
        ("[{introduced: 999}]", False),
    ],
)
def test_a_locked_version_is_found_in_the_span_of_an_advisory(tmp_path: Path, events: str, is_affected: bool) -> None:
    (tmp_path / "vulns/jinja2").mkdir(parents=True)
    (tmp_path / "vulns/jinja2/PYSEC-2099-1.yaml").write_text(ADVISORY.format(events=events), encoding="utf-8")
    answer = ask(tmp_path)
    assert answer.returncode == int(is_affected), answer.stderr
    assert ("PYSEC-2099-1 CVE-2099-1" in answer.stdout) == is_affected
    assert "1 advisories" in answer.stdout


def test_a_folder_without_advisories_is_a_sentence(tmp_path: Path) -> None:
    answer = ask(tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "found 0 advisories" in answer.stderr
