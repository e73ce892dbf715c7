"""Railyard's settings beside those of another suite: they change nothing for systems that are not Railyard's."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError

from railyard.base.paths import HOME_VARIABLE
from railyard.rfm.settings import build
from railyard.rfm.versions import POLL_SETTINGS
from tests.made.foreign_suite import config_of, write_foreign, write_site

REFRAME = str(Path(sys.executable).with_name("reframe"))
#: The other suite's own `general` and `logging`, for all its systems.
SECTIONS = """\
"general": [{"trap_job_errors": False, "remote_detect": True, POLLING"check_search_path": ["theirs"]}],
"logging": [{"level": "debug", "handlers_perflog": [{"type": "filelog", "prefix": "theirs", "basedir": "theirs",
                                                      "format": "%(check_result)s"}]}],
"modes": [{"name": "daily", "options": ["-t daily"]}],
""".replace("POLLING", '"poll_rate_min": 7, ' if POLL_SETTINGS else "")


@pytest.fixture(autouse=True)
def no_home_variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    yield


def resolved_config(system: str, *paths: Path) -> dict[str, Any]:
    """Return all that ReFrame would read for a system."""
    site = config_of(*paths)
    site.select_subconfig(system, ignore_resolve_errors=True)
    by_name = {name: sorted(site[name], key=lambda each: each.get("name", "")) for name in site}
    return {name: section for name, section in by_name.items() if section != [{}]}


OUR_KEYS = [
    *("general/trap_job_errors", "general/remote_detect", "general/check_search_path"),
    *(f"general/{name}" for name in POLL_SETTINGS),
    *("general/check_search_recursive", "general/report_file"),
    *("logging/level", "logging/handlers", "logging/handlers_perflog"),
]


def test_these_are_all_keys_of_ours(tmp_path: Path) -> None:
    made = build(write_site(tmp_path / "ours", "mine"))
    assert made.keys() == {"systems", "environments", "general", "logging"}
    keys = {f"{section}/{key}" for section in ("general", "logging") for key in made[section][0]}
    assert keys - {"general/target_systems", "logging/target_systems"} == set(OUR_KEYS)
    assert all(each["target_systems"] for each in made["environments"])


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param("", id="theirs are ReFrame's", marks=pytest.mark.full),
        pytest.param(SECTIONS, id="they have their own"),
    ],
)
@pytest.mark.parametrize("key", OUR_KEYS)
def test_a_key_of_ours_is_not_one_of_their_system(tmp_path: Path, key: str, sections: str) -> None:
    theirs, ours = write_foreign(tmp_path / "theirs", sections=sections), write_site(tmp_path / "ours", "mine", "more")
    third = write_foreign(tmp_path / "third", "third")
    place = key.replace("/", "/0/")

    def value(system: str, *paths: Path) -> Any:
        site = config_of(*paths)
        site.select_subconfig(system, ignore_resolve_errors=True)
        return site.get(place)

    alone = value("csd3", theirs)
    for order in itertools.permutations((theirs, ours)):
        assert value("csd3", *order) == alone
        assert value("mine", *order) == value("mine", ours)
    if sections:  # a key that is the same everywhere proves nothing
        assert value("mine", ours) != alone
    beside_third = value("csd3", theirs, third)
    for order in itertools.permutations((theirs, ours, third)):
        assert value("csd3", *order) == beside_third
        assert value("third", *order) == value("third", *(each for each in order if each != ours))


@pytest.mark.parametrize("sections", ["", SECTIONS], ids=["theirs are ReFrame's", "they have their own"])
def test_nothing_that_reframe_reads_for_their_system_is_changed(tmp_path: Path, sections: str) -> None:
    theirs, ours = write_foreign(tmp_path / "theirs", sections=sections), write_site(tmp_path / "ours", "mine", "more")
    alone = resolved_config("csd3", theirs)
    assert resolved_config("csd3", theirs, ours) == alone
    assert resolved_config("csd3", ours, theirs) == alone


def ran(folder: Path, *settings: Path) -> tuple[int, str, dict[str, str]]:
    """Return how a run of the other suite ends: exit code, what it prints, and the files that it leaves."""
    folder.mkdir()
    checks = settings[0].parent / "their_checks.py"
    words = [word for path in settings for word in ("-C", str(path))]
    done = subprocess.run(
        [REFRAME, *words, "-c", str(checks), "--system", "csd3", "--prefix", str(folder / "out"), "-r"],
        cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = {
        path.relative_to(folder).as_posix(): plain(path.read_text(encoding="utf-8"), folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ("perflogs" in path.parts or "theirs" in path.parts or path.suffix == ".sh")
    }
    said = done.stdout + done.stderr
    lines = [line for line in said.splitlines() if not line.lstrip().startswith(("command:", "settings files:"))]
    return done.returncode, plain("\n".join(lines), folder), files


def plain(text: str, folder: Path) -> str:
    """Return a text without what differs from run to run: the folder, times, and names of log files."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"\d+-\d\d-\d\dT?\s?\d\d:\d\d:\d\d\S*|\w+ \w+ +\d+ \d\d:\d\d:\d\d \d{4}\S*", "TIME", text)
    text = re.sub(r"\d+(\.\d+)?(s|ms)\b|rfm-\w+\.\w+|\d+\.\d+ ?s", "N", text)
    text = re.sub(r"(start|end|session|pid|jobid)\S*: *\S+", r"\1", text)
    return "\n".join(sorted(text.splitlines()))


@pytest.mark.parametrize("sections", ["", SECTIONS], ids=["theirs are ReFrame's", "they have their own"])
def test_a_run_of_their_checks_prints_and_logs_the_same(tmp_path: Path, sections: str) -> None:
    theirs, ours = write_foreign(tmp_path / "theirs", sections=sections), write_site(tmp_path / "ours", "mine")
    alone = ran(tmp_path / "alone", theirs)
    assert alone[0] == 0 and "Ran 6/6 test case(s)" in alone[1] and len(alone[2]) > 3, alone
    assert ran(tmp_path / "beside", theirs, ours) == alone


# --- one system, one file


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_system_that_two_files_have_is_refused(tmp_path: Path, first: str) -> None:
    theirs, ours = write_foreign(tmp_path / "theirs"), write_site(tmp_path / "ours", "csd3", "mine")
    files = (theirs, ours) if first == "theirs" else (ours, theirs)
    with pytest.raises(ConfigError) as told:
        config_of(*files)
    assert str(told.value) == (
        f'{files[1]}: found the system "csd3", which {files[0]} has too, expected each system in one file; rename one, '
        "or leave out reframe_settings.py and let the site's own file call railyard.siteconfig.extend "
        "(docs/howto/reframe-set-up.md)"
    )


def test_two_files_that_are_not_ours_may_have_one_name(tmp_path: Path) -> None:
    ours = write_site(tmp_path / "ours", "mine")
    site = config_of(write_foreign(tmp_path / "one", "both"), ours, write_foreign(tmp_path / "two", "both"))
    site.select_subconfig("both")
    assert site["systems"][0]["name"] == "both"


# --- which host is whose

ANY_HOST = 'hostnames: [".*"]'


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_host_that_they_name_is_theirs_though_a_system_of_ours_takes_any(tmp_path: Path, first: str) -> None:
    theirs, ours = write_foreign(tmp_path / "theirs"), write_site(tmp_path / "ours", "anywhere", more=ANY_HOST)
    for host, system in (("login-csd3", "csd3"), ("elsewhere", "anywhere")):
        site = config_of(*((theirs, ours) if first == "theirs" else (ours, theirs)))
        site.set_autodetect_methods([f"echo {host}"])
        site.select_subconfig(None)
        assert site.subconfig_system == system
