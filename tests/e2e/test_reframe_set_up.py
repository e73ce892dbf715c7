"""docs/howto/reframe-set-up.md as a site types it: its settings, its commands, and what it shows below them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made.foreign_suite import write_site
from tests.made.pages import CLONE, PageCommand, page_commands

pytestmark = pytest.mark.e2e

PAGE = "docs/howto/reframe-set-up.md"
TEXT = (CLONE / PAGE).read_text(encoding="utf-8")
SETTINGS, LINES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
CHECK = """\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Throughput(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @sanity_function
    def is_right(self):
        return sn.assert_true(True)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of the page: a suite of the site's own, and Railyard's site beside it."""
    (tmp_path / "settings.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/throughput.py").write_text(CHECK, encoding="utf-8")
    write_site(tmp_path / "rails", "csd3")
    (tmp_path / "checks").symlink_to(CLONE / "checks")
    return tmp_path


def call(command: PageCommand, folder: Path) -> tuple[int, str]:
    program, *words = shlex.split(command.words)
    done = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *words], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(CLONE), "RFM_COLORIZE": "n"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_page_as_it_is_typed(site: Path) -> None:
    alone, two_files, both = (command for command in page_commands() if command.page == PAGE)
    for command, exit_code in ((alone, 0), (two_files, 1)):
        code, text = call(command, site)
        assert (code, command.missing_lines(text)) == (exit_code, []), text
    with (site / "settings.py").open("a", encoding="utf-8") as file:
        file.write(LINES)
    code, text = call(both, site)
    assert (code, both.missing_lines(text)) == (0, []), text
    # nothing of the site's own is changed
    code, text = call(alone, site)
    assert (code, alone.missing_lines(text)) == (0, []), text


def test_the_remark_of_the_page_is_that_of_a_mistake(site: Path) -> None:
    write_site(site / "rails", "mine")
    file = site / "rails/systems/mine.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("kind: tcp", "kind: tpc"), encoding="utf-8")
    with (site / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(LINES)
    (alone, *_) = (command for command in page_commands() if command.page == PAGE)
    code, text = call(alone, site)
    (remark,) = re.findall(r"^railyard: remark: .*$", TEXT, re.MULTILINE)
    assert code == 0 and remark in text.splitlines(), text
