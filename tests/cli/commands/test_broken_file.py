"""A file with a mistake stops its own system only: other commands say it in a remark, `lint` refuses."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.site.systems.load import load_systems
from tests.made.foreign_suite import SYSTEM, config_of, write_site

CLONE = Path(__file__).resolve().parents[3]
REFRAME = str(Path(sys.executable).with_name("reframe"))
REMARK = "remark: {place}: found a mistake, so nothing runs on {names}; to see what is wrong, type: railyard lint"
#: What is wrong -> the file with the mistake and what it has, where the remark sees it, and a part of lint's sentence.
MISTAKES = {
    "a field": ("systems/bad.yaml", SYSTEM.replace("kind: tcp", "kind: tpc"), "systems/bad.yaml:8", "fabrics.eth.kind"),
    "no YAML": ("systems/bad.yaml", "system: [bad\nhostnames: [login-bad]\n", "systems/bad.yaml:2", "YAML"),
    "another name": ("systems/bad.yaml", SYSTEM.replace("{name}", "worse"), "systems/bad.yaml:1", '"worse"'),
    "empty": ("systems/bad.yaml", "", "systems/bad.yaml:1", "an empty file"),
    "the ending": ("systems/bad.yml", SYSTEM, "systems/bad.yml", 'ends in ".yml"'),
    "references": ("references/bad.yaml", "system: bad\nentries: 3\n", "references/bad.yaml:2", "entries"),
    "none": ("systems/bad.yaml", re.sub("report_only.*\n", "", SYSTEM), "systems/bad.yaml", "report_only"),
}


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A site with the systems good and bad, both right so far."""
    (tmp_path / "references").mkdir()
    write_site(tmp_path, "good", "bad", more="hostnames: [login-good]")
    (tmp_path / "systems/bad.yaml").write_text(SYSTEM.format(name="bad", more="hostnames: [login-bad]"))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    yield tmp_path


def break_it(site: Path, mistake: str) -> tuple[str, str]:
    """Plant a mistake of the table; return the remark about it, and the part of lint's sentence."""
    file, text, place, said = MISTAKES[mistake]
    if file.endswith(".yml"):
        (site / "systems/bad.yaml").unlink()
    more = "hostnames: [login-bad]"
    (site / file).write_text(text.format(name="bad", more=more) if "{name}" in text or "{more}" in text else text)
    names = "bad and worse" if mistake == "another name" else "bad"
    return REMARK.format(place=place, names=names), said


def reframe(site: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [REFRAME, "-C", str(site / "reframe_settings.py"), "-c", str(CLONE / "checks"), "-R", "-l", *words],
        cwd=site, env={"PATH": "/usr/bin:/bin", "HOME": str(site), "PYTHONPATH": str(CLONE)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


ABOUT_SYSTEMS = [name for name in MISTAKES if name not in ("references", "none")]


@pytest.mark.parametrize("mistake", ABOUT_SYSTEMS)
@pytest.mark.parametrize(
    "words",
    [
        "matrix --system good --json",
        "references --system good",
        "judge osu_bw.out --system good --fabric eth --stack mpich",
    ],
)
def test_another_system_is_used_and_one_remark_names_the_file(
    site: Path, capsys: pytest.CaptureFixture[str], mistake: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site)
    Path("osu_bw.out").write_text("# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n4194304  1100.00\n")
    code, before = main(words.split()), capsys.readouterr()
    remark, _ = break_it(site, mistake)
    assert main(words.split()) == code
    after = capsys.readouterr()
    assert after.out == before.out
    assert " ".join(after.err.split()).removeprefix(before.err).strip() == f"railyard: {remark}"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_lint_refuses_with_the_whole_sentence(site: Path, capsys: pytest.CaptureFixture[str], mistake: str) -> None:
    _, said = break_it(site, mistake)
    assert main(["lint", "--json"]) == 2
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert len(errors) == 1 and said in errors[0] and "expected" in errors[0], errors
    assert main(["lint"]) == 2
    assert errors[0] in capsys.readouterr().err


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_broken_system_itself_is_refused(site: Path, capsys: pytest.CaptureFixture[str], mistake: str) -> None:
    _, said = break_it(site, mistake)
    for words in ("run --system bad -l", "run --system bad", "run --system bad:eth", "matrix --system bad"):
        assert main(words.split()) == 2, words
        told = capsys.readouterr()
        assert said in told.err and "expected" in told.err, words
        assert "remark" not in told.err or mistake == "another name"


def test_plain_reframe_runs_the_other_system_and_refuses_the_broken_one(site: Path) -> None:
    code, before = reframe(site, "--system", "good")
    assert code == 0
    remark, said = break_it(site, "a field")
    code, text = reframe(site, "--system", "good")
    assert code == 0 and text.count(f"railyard: {remark}") == 1, text
    assert re.findall(r"^- .*", text, re.MULTILINE) == re.findall(r"^- .*", before, re.MULTILINE) != []
    code, text = reframe(site, "--system", "bad")
    assert code == 1 and said in text.partition("failed to load configuration: ")[2], text


def chosen_system(site: Path, system: str | None, host: str = "") -> str:
    """Return the system that ReFrame takes, or the sentence with which it refuses."""
    config = config_of(site / "reframe_settings.py")
    config.set_autodetect_methods([f"echo {host}"])
    try:
        config.select_subconfig(system)
    except ConfigError as error:
        return f"refused: {error}"
    return str(config.subconfig_system)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_reframe_takes_the_other_system_and_not_the_broken_one(
    site: Path, capsys: pytest.CaptureFixture[str], mistake: str
) -> None:
    assert (chosen_system(site, "bad"), capsys.readouterr().err) == ("bad", "")
    remark, said = break_it(site, mistake)
    assert (chosen_system(site, "good"), capsys.readouterr().err) == ("good", f"railyard: {remark}\n")
    for name in ("bad", "bad:eth"):
        refused = chosen_system(site, name)
        assert refused.startswith("refused: ") and said in refused


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_host_of_the_broken_system_is_not_taken_for_another(site: Path, mistake: str) -> None:
    """Else its run would pass with the few tests of a system for any host."""
    (site / "systems/local.yaml").write_text(SYSTEM.format(name="local", more='hostnames: [".*"]'))
    assert chosen_system(site, None, "login-bad") == "bad"
    _, said = break_it(site, mistake)
    refused = chosen_system(site, None, "login-bad")
    assert said in refused and 'this host is or may be one of "bad"' in refused.replace("worse", "bad")
    # If nobody can read its host names, any host may be one of its hosts.
    known = mistake not in ("no YAML", "empty")
    assert (chosen_system(site, None, "login-good") == "good") == known
    assert (chosen_system(site, None, "elsewhere") == "local") == known


def test_a_file_that_is_cut_off_may_have_had_any_host(site: Path) -> None:
    (site / "systems/local.yaml").write_text(SYSTEM.format(name="local", more='hostnames: [".*"]'))
    file = site / "systems/bad.yaml"
    whole = file.read_text()
    refused = 0
    for length in range(0, len(whole), 7):
        file.write_text(whole[:length])
        if "bad" in load_systems(site / "systems").broken:  # else it is a whole system that has no host
            assert chosen_system(site, None, "login-bad").startswith("refused: ")
            refused += 1
    assert refused > 30


def test_a_listing_of_the_other_system_does_not_repeat_what_reframe_says(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_it(site, "a field")
    assert main(["run", "--system", "good", "-l"]) == 0
    assert "remark" not in capsys.readouterr().err, "ReFrame said it: its words go straight to the terminal"


def test_a_system_that_is_like_a_broken_one_is_broken_too_by_the_same_file(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "systems/also.yaml").write_text("system: also\ndescription: Like it\nlike: bad\n")
    assert main(["matrix", "--system", "also", "--json"]) == 0
    capsys.readouterr()
    break_it(site, "a field")
    assert main(["matrix", "--system", "good", "--json"]) == 0
    said = REMARK.format(place="systems/bad.yaml:8", names="also and bad")
    assert " ".join(capsys.readouterr().err.split()) == f"railyard: {said}"
    assert main(["matrix", "--system", "also"]) == 2
    assert "railyard: systems/bad.yaml:8: fabrics.eth.kind: found" in capsys.readouterr().err
