"""Railyard's partitions in a system of a site's own ReFrame configuration; the site's own part is left as it is."""

import copy
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError

from railyard.base.paths import HOME_VARIABLE
from railyard.siteconfig import extend
from tests.made.foreign_suite import config_of, settings_of, write_foreign, write_site

CLONE = Path(__file__).resolve().parents[2]
REFRAME = str(Path(sys.executable).with_name("reframe"))
CALL = 'from railyard.siteconfig import extend\n\nsite_configuration = extend(site_configuration, "csd3", "{home}")\n'


@pytest.fixture(autouse=True)
def no_home_variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    yield


@pytest.fixture
def theirs(tmp_path: Path) -> Any:
    """The site's own configuration: system csd3 with a partition icelake and environments gnu and mpich."""
    return settings_of(write_foreign(tmp_path / "theirs"))


def refusal(*given: Any) -> str:
    with pytest.raises(ConfigError) as told:
        extend(*given)
    assert told.value.__suppress_context__
    return str(told.value)


# --- what comes out


def test_partitions_and_environments_are_added_and_the_rest_is_untouched(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd3", "mine")
    before = copy.deepcopy(theirs)
    made = extend(theirs, "csd3", tmp_path / "ours")
    assert theirs == before, "the site's own dictionary is not changed"
    (system,) = made["systems"]
    own, added = system["partitions"]
    assert own == before["systems"][0]["partitions"][0]
    assert {**system, "partitions": [own]} == before["systems"][0]
    assert (added["name"], added["environs"]) == ("eth", ["mpich"])
    assert made["environments"][:2] == before["environments"]
    # the site has an environment mpich for its whole system: that of ours is for its own partition only
    assert [(each["name"], each["target_systems"]) for each in made["environments"][2:]] == [("mpich", ["csd3:eth"])]
    assert made.keys() == before.keys()


def test_reframe_reads_the_same_for_the_sites_own_partition(tmp_path: Path) -> None:
    write_site(tmp_path / "ours", "csd3")
    alone = write_foreign(tmp_path / "alone")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    read = []
    for path in (alone, both):
        site = config_of(path)
        site.select_subconfig("csd3:icelake")
        read.append({name: site[name] for name in site})
    assert read[0] == read[1]
    site = config_of(both)
    site.select_subconfig("csd3:eth")
    (mpich,) = [each for each in site["environments"] if each["name"] == "mpich"]
    assert "rails1" in mpich["features"] and "cc" not in mpich


@pytest.mark.parametrize("other", ["all", "for another"])
def test_an_environment_for_the_whole_system_is_added_where_the_site_has_none(
    tmp_path: Path, theirs: Any, other: str
) -> None:
    write_site(tmp_path / "ours", "csd3")
    theirs["environments"][1]["target_systems"] = ["*"] if other == "all" else ["somewhere"]
    made = extend(theirs, "csd3", tmp_path / "ours")["environments"][2:]
    assert [each["target_systems"] for each in made] == [["csd3:eth"]] if other == "all" else [["csd3"], ["csd3:eth"]]


@pytest.mark.parametrize("form", ["path", "text", "module"])
def test_the_configuration_may_be_in_a_file_or_a_module(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path / "ours", "csd3")
    path = write_foreign(tmp_path / "theirs")
    monkeypatch.syspath_prepend(str(path.parent))
    given: Any = {"path": path, "text": str(path), "module": "their_settings"}[form]
    (system,) = extend(given, "csd3", tmp_path / "ours")["systems"]
    assert [each["name"] for each in system["partitions"]] == ["icelake", "eth"]


def test_without_a_folder_it_is_that_of_the_variable(
    tmp_path: Path, theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path / "ours", "csd3")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "ours"))
    assert len(extend(theirs, "csd3")["systems"][0]["partitions"]) == 2


def test_the_sites_host_names_choose_the_system(tmp_path: Path) -> None:
    write_site(tmp_path / "ours", "csd3", more="hostnames: [elsewhere]")
    for host, system in (("login-csd3", "csd3"), ("elsewhere", "generic")):
        site = config_of(write_foreign(tmp_path / host, end=CALL.format(home=tmp_path / "ours")))
        site.set_autodetect_methods([f"echo {host}"])
        site.select_subconfig(None, ignore_resolve_errors=True)
        assert site.subconfig_system == system


# --- what is refused, each in one sentence


def test_a_system_that_the_site_does_not_have(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd4")
    assert refusal(theirs, "csd4", tmp_path / "ours") == (
        'extend: found no system "csd4" in the site\'s configuration, expected one of the name of systems/csd4.yaml; '
        'did you mean "csd3"?'
    )


def test_a_system_that_railyard_does_not_have(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd4")
    assert refusal(theirs, "csd3", tmp_path / "ours") == (
        'systems/: found no system "csd3", expected a system of that name; did you mean "csd4"?'
    )


def test_a_fabric_of_the_name_of_a_partition(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd3")
    theirs["systems"][0]["partitions"][0]["name"] = "eth"
    assert refusal(theirs, "csd3", tmp_path / "ours") == (
        "systems/csd3.yaml: fabrics.eth: found the name of a partition of the site's system csd3, expected another; "
        "rename the fabric, also in the references"
    )


def test_an_environment_for_the_partition_of_ours(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd3")
    theirs["environments"][1]["target_systems"] = ["csd3:eth"]
    assert refusal(theirs, "csd3", tmp_path / "ours") == (
        "systems/csd3.yaml: stacks.mpich: found an environment of this name for csd3:eth in the site's configuration, "
        "expected none; remove it there"
    )


def test_another_module_system(tmp_path: Path, theirs: Any) -> None:
    write_site(tmp_path / "ours", "csd3", more="modules_system: lmod")
    assert refusal(theirs, "csd3", tmp_path / "ours") == (
        "systems/csd3.yaml: modules_system: found lmod, expected nomod, as the site's system csd3 has: "
        "ReFrame loads the modules of a system with one of them"
    )
    theirs["systems"][0]["modules_system"] = "lmod"
    assert extend(theirs, "csd3", tmp_path / "ours")["systems"][0]["modules_system"] == "lmod"


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, "extend: the first argument: found no lists of systems and environments"),
        ("no_such_module", 'extend: found "no_such_module", which cannot be imported'),
        ("/no/such.py", 'extend: found no file "/no/such.py", expected the site'),
    ],
)
def test_what_is_no_configuration(tmp_path: Path, given: Any, said: str) -> None:
    write_site(tmp_path / "ours", "csd3")
    assert refusal(given, "csd3", tmp_path / "ours").startswith(said)


def test_the_same_system_in_a_second_file(tmp_path: Path) -> None:
    ours = write_site(tmp_path / "ours", "csd3")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    with pytest.raises(ConfigError, match=r'found the system "csd3", which .* has too'):
        config_of(both, ours)


# --- a file with a mistake


def test_a_mistake_in_the_systems_file_refuses_this_system_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_site(tmp_path / "ours", "csd3", "mine")
    broken = tmp_path / "ours/systems/csd3.yaml"
    broken.write_text(broken.read_text(encoding="utf-8").replace("kind: tcp", "kindd: tcp"), encoding="utf-8")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    third = write_foreign(tmp_path / "third", "third")
    site = config_of(both, third)
    assert "systems/csd3.yaml:6: found a mistake, so nothing runs on csd3" in capsys.readouterr().err
    site.select_subconfig("third")
    for name in ("csd3", "csd3:icelake"):
        with pytest.raises(ConfigError, match=r"systems/csd3\.yaml:8: fabrics\.eth\.kindd: found"):
            config_of(both, third).select_subconfig(name)


# --- both suites in one command


def reframe(folder: Path, settings: Path, *words: str, checks: Sequence[Path] = ()) -> tuple[int, str]:
    chosen = checks or (settings.parent / "their_checks.py", CLONE / "checks")
    places = [word for place in chosen for word in ("-c", str(place))]
    done = subprocess.run(
        [REFRAME, "-C", str(settings), *places, "-R", "--system", "csd3", "--prefix", str(folder / "out"), *words],
        cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(CLONE)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def cases(text: str) -> list[str]:
    return re.findall(r"^ *[-^] *(\S.* @csd3:\S+)$", text, re.MULTILINE)


def test_both_suites_are_listed_and_theirs_is_what_it_was(tmp_path: Path) -> None:
    write_site(tmp_path / "ours", "csd3")
    alone = write_foreign(tmp_path / "alone")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    code, text = reframe(tmp_path, alone, "-lC")
    before = cases(text)
    assert code == 0 and len(before) == 6, text
    code, text = reframe(tmp_path, both, "-lC")
    after = cases(text)
    assert code == 0, text
    assert [each for each in after if "@csd3:icelake" in each] == before
    ours = [each for each in after if each not in before]
    assert ours and all("@csd3:eth+mpich" in each for each in ours)
    assert any(each.startswith("OsuBandwidth %rails=1") for each in ours)
    assert not any(name in each for each in ours for name in ("Anywhere", "ByFeature", "WithoutGpus", "Library"))


@pytest.mark.parametrize("first", [0, 1], ids=["theirs", "ours"])
def test_a_test_name_of_both_suites_is_refused(tmp_path: Path, first: int) -> None:
    """ReFrame would skip the second file with a warning, so one suite would pass with fewer tests."""
    write_site(tmp_path / "ours", "csd3")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    theirs, ours = both.parent / "their_checks.py", CLONE / "checks/microbench/osu.py"
    theirs.write_text(theirs.read_text(encoding="utf-8").replace("ByFeature", "OsuBandwidth"), encoding="utf-8")
    files = [theirs, ours] if first == 0 else [ours, theirs]
    code, text = reframe(tmp_path, both, "-l", checks=files)
    assert code == 1, text
    assert (
        f'the test "OsuBandwidth": found it in {files[0]} and in {files[1]}, expected each name in one of the files '
        "that a command loads; give -c so that one of the two is left out"
    ) in text


def test_a_test_name_of_two_other_files_is_what_reframe_makes_of_it(tmp_path: Path) -> None:
    write_site(tmp_path / "ours", "csd3")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    theirs = both.parent / "their_checks.py"
    again = both.parent / "again.py"
    again.write_text(theirs.read_text(encoding="utf-8"), encoding="utf-8")
    code, text = reframe(tmp_path, both, "-l", checks=[theirs, again])
    assert code == 0 and "name conflict error" in text, text


def test_a_name_that_no_test_has_fails_only_where_all_checks_are_ours(tmp_path: Path) -> None:
    write_site(tmp_path / "ours", "csd3")
    both = write_foreign(tmp_path / "both", end=CALL.format(home=tmp_path / "ours"))
    assert reframe(tmp_path, both, "-l", "-n", "NoSuch")[0] == 0
    (both.parent / "their_checks.py").write_text("", encoding="utf-8")
    code, text = reframe(tmp_path, both, "-l", "-n", "NoSuch")
    assert code == 1 and "nothing was selected" in text, text
