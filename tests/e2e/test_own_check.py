"""docs/howto/own-check.md as a newcomer types it: its files, its commands, and what it shows below them."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD, REFRAME, VirtualSite, skip_disturbed
from tests.made.pages import PageCommand, page_commands

pytestmark = pytest.mark.e2e

PAGE = "docs/howto/own-check.md"
TEXT = (CLONE / PAGE).read_text(encoding="utf-8")
#: The command that needs stacks and namespaces.
MEASURES = "railyard run --system virtual:hsn -p mpich -c own"
#: Beginning of a command -> its exit code, if it is not 0.
CODES: Mapping[str, int] = {
    "railyard run --system virtual -c own -p tcp -l": 2,
}


def block(language: str) -> str:
    """Return the page's only block in a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return str(text)


def page_steps() -> list[PageCommand]:
    """Return the page's commands in order."""
    return [command for command in page_commands() if command.page == PAGE]


def write_check(site: Path) -> None:
    (site / "own").mkdir(exist_ok=True)
    (site / "own/neighbours.py").write_text(block("python"), encoding="utf-8")


def write_bound(site: Path) -> None:
    file = site / "references/virtual.yaml"
    head, mark, tail = file.read_text(encoding="utf-8").partition("\nentries:\n")
    assert mark
    file.write_text(f"{head}{mark}{block('yaml')}\n{tail}", encoding="utf-8")


def call(words: str, site: VirtualSite) -> tuple[int, str]:
    """Return how a command of the page ends in the site, and what it prints."""
    command = shlex.split(words)
    done = subprocess.run(
        [*RAILYARD, *command[1:]] if command[0] == "railyard" else command,
        cwd=site.folder, env=site.environment() | {"RAILYARD_HOME": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_file_is_a_check_of_30_to_60_lines() -> None:
    assert 30 <= len(block("python").splitlines()) <= 60
    assert "own/neighbours.py" in TEXT


def test_every_command_of_the_page_does_what_it_shows(tmp_path: Path) -> None:
    first, *others = [command for command in page_steps() if command.words not in ("cd my-site", "mkdir own", MEASURES)]
    site = VirtualSite(tmp_path / "my-site")
    assert first.words == "railyard init my-site"
    assert subprocess.run([*RAILYARD, "init", str(site.folder)], check=False).returncode == 0
    write_check(site.folder)
    replays = 0
    for number, command in enumerate(others):
        if command.words.startswith("railyard lint") and others[number - 1].words.startswith("railyard lint"):
            write_bound(site.folder)
        code, said = call(command.words, site)
        assert command.missing_lines(said) == [], f"{command.words}\n{said}"
        replays += "--replay" in command.words
        fails = "--replay" in command.words and replays == 2
        assert code == (1 if fails else CODES.get(command.words, 0)), f"{command.words}\n{said}"
    assert replays == 2


def test_the_check_measures_with_a_proven_path(site: VirtualSite) -> None:
    write_check(site.folder)
    write_bound(site.folder)
    (command,) = (one for one in page_steps() if one.words == MEASURES)
    ran = skip_disturbed(site.call(*RAILYARD, *shlex.split(command.words)[1:]))
    assert (ran.code, command.missing_lines(ran.out)) == (0, []), ran.full_text
    assert [(record.test.rails, record.found.state) for record in ran.records] == [(1, "pass"), (2, "pass")]
    assert {record.how.path_proof.state for record in ran.records if record.how.path_proof} == {"proven"}


CHECKS = """\
import reframe as rfm
from railyard.osucheck import OsuCheck

@rfm.simple_test
class Absent(OsuCheck):
    benchmark = "osu_bw"

@rfm.simple_test
class AbsentToo(OsuCheck):
    benchmark = "osu_bibw"

@rfm.simple_test
class ManyNodes(OsuCheck):
    benchmark = "osu_bw"
    num_nodes = 32

@rfm.simple_test
class OtherSystem(rfm.RunOnlyRegressionTest):
    valid_systems = ["daint:mc"]
    valid_prog_environs = ["*"]

@rfm.simple_test
class OtherFeature(rfm.RunOnlyRegressionTest):
    valid_systems = ["+opa"]
    valid_prog_environs = ["*"]

@rfm.simple_test
class OtherStack(rfm.RunOnlyRegressionTest):
    valid_systems = ["virtual"]
    valid_prog_environs = ["gnu"]
"""
#: What ReFrame says of each on the virtual cluster.
DROPPED = (
    "own/all.py: Absent, AbsentToo: no package has OSU; Spack builds it: make run SPACK=1; ",
    "own/all.py: ManyNodes: needs 32 nodes, virtual has 4 ",
    "own/all.py: OtherSystem: valid_systems: found ['daint:mc'], expected one that fits virtual:hsn and virtual:eth",
    "own/all.py: OtherFeature: valid_systems: found ['+opa'], expected one that fits virtual:hsn and virtual:eth",
    "own/all.py: OtherStack: valid_prog_environs: found ['gnu'], expected one that fits openmpi, mpich, intelmpi, tcp ",
    "own/helper.py: found no test, expected a class with @rfm.simple_test above it",
    "own/module.py: found ModuleNotFoundError: No module named 'nosuch', expected a check that imports",
)


@pytest.mark.parametrize(
    "program", ["reframe", *(pytest.param(each, marks=pytest.mark.full) for each in ("railyard", "railyard -l"))]
)
def test_each_check_that_is_dropped_has_a_line_with_its_reason(program: str, tmp_path: Path) -> None:
    site = VirtualSite(tmp_path)
    assert subprocess.run([*RAILYARD, "init", str(site.folder)], check=False).returncode == 0
    (tmp_path / "own").mkdir()
    (tmp_path / "own/all.py").write_text(CHECKS, encoding="utf-8")
    (tmp_path / "own/helper.py").write_text("SIZES = (1, 2)\n", encoding="utf-8")
    (tmp_path / "own/module.py").write_text("import reframe as rfm\nimport nosuch\n", encoding="utf-8")
    by_hand = (REFRAME, "--nocolor", "-C", "reframe_settings.py", "-l")
    words = by_hand if program == "reframe" else (*RAILYARD, "run", *program.split()[1:])
    ran = site.finish(*words, "--system", "virtual", "-c", "own")
    assert ran.code == (1 if program == "reframe" else 2)
    lines = (ran.out + ran.err).splitlines()
    (begin,) = (number for number, line in enumerate(lines) if line.endswith("selected: no check of own fits"))
    for said, line in zip(DROPPED, lines[begin + 1 :], strict=False):
        assert line.startswith(f"  {said}"), ran.full_text
    assert "Traceback" not in ran.full_text


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'tool = "imb"',
            'tool = "imbb"',
            'tool: found "imbb", expected a tool of Railyard\'s benchmarks; did you mean "imb"? (a new tool: '
            "docs/developers/add.md)",
        ),
        (
            'benchmark = "PingPing"',
            'benchmark = "PingPink"',
            'unknown benchmark "imb/PingPink": did you mean "imb/PingPing"?',
        ),
    ],
)
@pytest.mark.parametrize("command", ["lint", "matrix", "run -l", pytest.param("run", marks=pytest.mark.full)])
def test_an_unknown_tool_or_benchmark_is_refused_by_each_command(
    command: str, old: str, new: str, sentence: str, tmp_path: Path
) -> None:
    site = VirtualSite(tmp_path)
    assert subprocess.run([*RAILYARD, "init", str(site.folder)], check=False).returncode == 0
    (tmp_path / "own").mkdir()
    (tmp_path / "own/neighbours.py").write_text(block("python").replace(old, new, 1), encoding="utf-8")
    code, said = call(f"railyard {command} --system virtual -c own", site)
    assert code == 2, said
    assert f"own/neighbours.py: Neighbours: {sentence}" in said and "Traceback" not in said
