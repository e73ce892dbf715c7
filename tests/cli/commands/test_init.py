"""`railyard init`: makes a site that loads and has all its parts, and never overwrites one."""

import re
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from railyard.cli.commands.init import command, files_to_copy
from railyard.cli.main import main, railyard_group
from railyard.rfm.settings import build
from railyard.site.systems.load import load_systems

CLONE = Path(__file__).parents[3]


def init(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [str(folder), *options], catch_exceptions=False)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_new_site_has_settings_systems_references_and_pipelines(tmp_path: Path) -> None:
    result = init(tmp_path / "site")
    made = files(tmp_path / "site")
    assert (result.exit_code, result.output.splitlines()[0]) == (0, f"{tmp_path}/site: wrote {len(made)} files")
    assert made == {
        ".gitignore",
        "README.md",
        "reframe_settings.py",
        "systems/virtual.yaml",
        "systems/virtual-flux.yaml",
        "systems/virtual-pbs.yaml",
        "systems/virtual-sge.yaml",
        "systems/virtual-slurm.yaml",
        "systems/local.yaml",
        "systems/schema.json",
        "references/virtual.yaml",
        "references/schema.json",
        "ci/Jenkinsfile",
        "ci/github-actions.yml",
        "ci/gitlab-ci.yml",
        "ci/parent.gitlab-ci.yml",
        "ci/needs.sh",
        "systems/spack/virtual.yaml",
    }


def test_the_pipelines_of_a_site_run_the_railyard_that_the_runner_has(tmp_path: Path) -> None:
    init(tmp_path)
    for name in ("gitlab-ci.yml", "parent.gitlab-ci.yml"):
        variables = yaml.safe_load((tmp_path / "ci" / name).read_text(encoding="utf-8"))["variables"]
        assert (variables["RAILYARD_PREPARE"], variables["RAILYARD_PROGRAM"]) == (":", "railyard"), name
    variables = yaml.safe_load((tmp_path / "ci/github-actions.yml").read_text(encoding="utf-8"))["env"]
    assert (variables["RAILYARD_PREPARE"], variables["RAILYARD_PROGRAM"]) == (":", "railyard")
    jenkins = (tmp_path / "ci/Jenkinsfile").read_text(encoding="utf-8")
    assert "RAILYARD_PREPARE = ':'\n        RAILYARD_PROGRAM = 'railyard'\n" in jenkins


def test_the_readme_of_a_site_has_only_commands_that_exist(tmp_path: Path) -> None:
    """Each command's words are read by the command itself; tests/e2e/test_wheel.py types those that need no cluster."""
    init(tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    typed = [line.partition("#")[0].split() for line in text.splitlines() if line.startswith("    ")]
    typed += [words.split() for words in re.findall(r"`(railyard [^`]+)`", text)]
    assert len(typed) == 9
    for words in (words for words in typed if words[0] == "railyard"):
        group: click.Command | None = railyard_group
        for word in words[1:3]:
            if isinstance(group, click.Group):
                group = group.get_command(click.Context(group), word)
        assert group is not None, words
        known = {option for parameter in group.params for option in parameter.opts} | {"--dry-run"}
        assert {word for word in words if word.startswith("--")} <= known, words
    assert ["reframe", "-C", "reframe_settings.py", "-r", "--system", "NAME"] in typed
    for name in re.findall(r"`(?:sh )?(\w[\w./-]*/\w[\w.-]*\.(?:sh|yml))`", text):
        assert (tmp_path / name).is_file(), name


@pytest.mark.parametrize("name", ["a$(touch pwned)", "a b", "o'neill", "a\nb"])
def test_a_folder_whose_path_jobs_cannot_have_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith(f"railyard: {tmp_path}/{name.splitlines()[0]}")
    assert files(tmp_path) == set()


def test_the_published_systems_come_with_their_references_and_recordings(tmp_path: Path) -> None:
    init(tmp_path, "--published")
    for folder in ("systems", "references", "recordings"):
        ours = {path for path in files(CLONE / folder) if "__pycache__" not in path}
        assert files(tmp_path / folder) == ours, folder


def test_reframe_takes_the_new_site_and_finds_the_checks_that_railyard_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAILYARD_HOME", raising=False)
    init(tmp_path)
    built = build(tmp_path / "reframe_settings.py")
    systems = set(load_systems(tmp_path / "systems"))
    assert {system["name"] for system in built["systems"]} == systems
    found = {
        (target, *general["check_search_path"], general["check_search_recursive"])
        for general in built["general"]
        for target in general["target_systems"]
    }
    assert found == {(name, str(CLONE / "checks"), True) for name in systems}


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "systems").mkdir()
    mine = tmp_path / "systems" / "virtual.yaml"
    mine.write_text("mine\n", encoding="utf-8")
    assert main(["init", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}: found systems/virtual.yaml there already, expected none of the files of a new site; "
        "give an empty folder, or --missing to write only what it lacks\n"
    )
    assert files(tmp_path) == {"systems/virtual.yaml"}


def test_missing_writes_only_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    mine = tmp_path / "systems" / "virtual.yaml"
    mine.write_text("mine\n", encoding="utf-8")
    result = init(tmp_path, "--missing")
    assert result.output.splitlines()[0] == f"{tmp_path}: wrote {len(files(tmp_path)) - 1} files, left 1 as they are"
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "systems" / "local.yaml").is_file()


def test_the_clone_itself_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(CLONE)
    assert main(["init", "."]) == 2
    assert capsys.readouterr().err == (
        "railyard: .: found Railyard's own clone, expected a folder for a site; the clone is one already\n"
    )


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    first = files_to_copy(CLONE, published=False)[0]
    assert main(["init", str(tmp_path / "file" / "site")]) == 2
    assert capsys.readouterr().err == (
        f"railyard: {tmp_path}/file/site/{first}: the file could not be written (Not a directory); correct the path, "
        "or choose another folder\n"
    )
