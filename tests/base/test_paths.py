"""A site, and what ships with Railyard, is found in the same way everywhere; if not found, the places are named."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import find_home, find_shipped, packaged_text, part, shown_path, state_folder, why_unfit

CLONE = Path(__file__).parents[2]
ACTION = "make one: railyard init mysite && cd mysite; or go to your clone or site, or set RAILYARD_HOME to its folder"


@pytest.fixture(autouse=True)
def no_home_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAILYARD_HOME", raising=False)


def site(folder: Path) -> Path:
    (folder / "systems").mkdir(parents=True)
    return folder


def test_the_variable_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, other = site(tmp_path / "named"), site(tmp_path / "other")
    monkeypatch.setenv("RAILYARD_HOME", str(named))
    monkeypatch.chdir(other)
    assert find_home(other / "reframe_settings.py") == named


def test_then_the_folder_of_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, cwd = site(tmp_path / "settings"), site(tmp_path / "cwd")
    monkeypatch.chdir(cwd)
    assert find_home(settings / "reframe_settings.py") == settings


def test_then_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site(tmp_path / "cwd"))
    assert find_home() == tmp_path / "cwd"


def test_an_empty_variable_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, cwd = site(tmp_path / "settings"), site(tmp_path / "cwd")
    monkeypatch.setenv("RAILYARD_HOME", "")
    monkeypatch.chdir(cwd)
    assert find_home(settings / "reframe_settings.py") == settings


def test_links_and_dots_are_resolved(tmp_path: Path) -> None:
    real = site(tmp_path / "real")
    (tmp_path / "link").symlink_to(real)
    assert find_home(tmp_path / "link" / ".." / "link" / "reframe_settings.py") == real


@pytest.mark.parametrize("how", ["variable", "settings", "cwd"])
def test_a_folder_without_systems(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "reframe_settings.py"
    why = {
        "variable": "RAILYARD_HOME says so",
        "settings": f"{settings} is there",
        "cwd": "it is the working folder",
    }
    if how == "variable":
        monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError) as refused:
        find_home(settings if how == "settings" else None)
    assert str(refused.value) == (
        f"{tmp_path}: found no folder systems/, expected a Railyard site there ({why[how]}); {ACTION}"
    )


def test_a_file_named_systems_is_no_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systems").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError, match="found no folder systems/"):
        find_home()


def test_what_runs_leave_lies_in_one_folder(tmp_path: Path) -> None:
    assert state_folder(tmp_path) == tmp_path / ".railyard"


def test_a_clone_ships_what_stands_beside_the_package() -> None:
    assert find_shipped() == CLONE


def test_a_wheel_ships_what_is_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "railyard"
    (package / "_shipped").mkdir(parents=True)
    assert find_shipped(package) == package / "_shipped"


def test_a_sites_own_folder_goes_before_what_is_shipped(tmp_path: Path) -> None:
    assert part(tmp_path, "checks") == CLONE / "checks"
    (tmp_path / "checks").mkdir()
    assert part(tmp_path, "checks") == tmp_path / "checks"


def test_a_file_of_the_package_is_read_by_its_path() -> None:
    assert packaged_text("job/scripts/start.sh") == (CLONE / "railyard/job/scripts/start.sh").read_text(
        encoding="utf-8"
    )


def test_letters_of_all_languages_digits_and_some_signs_are_fit() -> None:
    assert why_unfit(Path("/home/jürgen.weiß/ŝtatio_2-a+b=c@d/サイト")) is None


#: A folder's name -> what is said about it.
UNFIT = {
    "a $(touch pwned)": "found a blank in this path: ReFrame and schedulers would end the path there",
    "a$(touch pwned)": "found the sign $ in this path: ReFrame or a shell would run or replace what follows it",
    "$HOME": "found the sign $ in this path: ReFrame or a shell would run or replace what follows it",
    "a`touch pwned`": "found the sign ` in this path: ReFrame or a shell would run or replace what follows it",
    "o'neill": "found the sign ' in this path: ReFrame or a shell would start a quotation there",
    'a"b': 'found the sign " in this path: ReFrame or a shell would start a quotation there',
    "a\\b": "found the sign \\ in this path: a shell would drop it",
    "a;b": "found the sign ; in this path: a shell would end its command there",
    "a&b": "found the sign & in this path: a shell would end its command there",
    "a*b": "found the sign * in this path: a shell would read it as a pattern",
    "100%": "found the sign % in this path: ReFrame would read it as a blank to fill",
    "{sessionid}": "found the sign { in this path: ReFrame would read it as a blank to fill",
    "a:b": "found the sign : in this path: a list of folders, such as PATH, would end there",
    "a#b": "found the sign # in this path: a scheduler would read a comment there",
    "a\nb": "found a control character, or a letter that is not UTF-8: a line of a job would end there",
    "a\tb": "found a control character, or a letter that is not UTF-8: a line of a job would end there",
    "a\udcfc": "found a control character, or a letter that is not UTF-8: a line of a job would end there",
    "-rf": 'found a folder whose name begins with "-": a program would read it as an option',
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_sign_that_jobs_cannot_have_is_named_with_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = site(tmp_path / name)
    monkeypatch.setenv("RAILYARD_HOME", str(home))
    with pytest.raises(SetupError) as refused:
        find_home()
    assert str(refused.value) == (
        f"{shown_path(home)}: {UNFIT[name]}; expected a site or a clone in a folder whose path has only letters, "
        "digits and _ . - + = @; move it, or choose another folder"
    )
    assert len(str(refused.value).splitlines()) == 1
