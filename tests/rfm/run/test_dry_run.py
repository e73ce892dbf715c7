"""A dry run: what is selected, where the scripts are, and which one is shown; a fake `reframe` writes them."""

import os
import stat
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.rfm.run.reframe import MOST_CHARACTERS, MOST_LINES, dry_run, script_lines, without_actions

#: Lists one test unless its words have NoSuch, and writes its script into the stage directory that it names. As ReFrame
#: does, with and without colours, it says that a dry run passed: nobody should read that.
MADE = """\
#!/bin/sh
case "$* " in
  *"-lC "*)
    case "$*" in
      *NoSuch*) echo "Concretized 0 test case(s)" ;;
      *) printf '%s\\n' "- ${NAME:-OsuBandwidth %rails=1} /0a1b2c3d @mine:ib+openmpi" "Concretized 1 test case(s)" ;;
    esac ;;
  *" --dry-run "*)
    echo "  stage directory:   '$STAGE'"
    if [ -z "$FAILS" ]; then
      mkdir -p "$STAGE/mine/ib/openmpi/${NAME:-OsuBandwidth_0a1b2c3d}"
      echo "#SBATCH --exclusive" > "$STAGE/mine/ib/openmpi/${NAME:-OsuBandwidth_0a1b2c3d}/rfm_job.sh"
    fi
    printf '[ \\033[32m PASSED \\033[0m ] Ran 1/1 test case(s)\\n[  PASSED  ] Ran 1/1 test case(s)\\n'
    exit ${FAILS:-0} ;;
esac
"""


def reframe_words(folder: Path) -> list[str]:
    program = folder / "reframe"
    program.write_text(MADE, encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return [str(program), "-n"]


def run(folder: Path, name: str, fails: str = "", listed: str = "") -> tuple[int, list[str]]:
    said: list[str] = []
    env = {"PATH": os.environ["PATH"], "STAGE": f"{folder}/stage", "FAILS": fails, "NAME": listed}
    return dry_run([*reframe_words(folder), name], env, said.append), said


def test_a_dry_run_says_where_its_scripts_lie_and_shows_one(tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    script = f"{stage}/mine/ib/openmpi/OsuBandwidth_0a1b2c3d/rfm_job.sh"
    assert run(tmp_path, "OsuBandwidth") == (
        0,
        [f"  stage directory:   '{stage}'", "", f"1 job script of 1 test below {stage}; {script}:", "",
         "#SBATCH --exclusive"],
    )  # fmt: skip


def test_the_script_of_a_test_without_parameters_is_found(tmp_path: Path) -> None:
    code, said = run(tmp_path, "FabricState", listed="FabricState")
    script = f"{tmp_path}/stage/mine/ib/openmpi/FabricState/rfm_job.sh"
    assert (code, said[2]) == (0, f"1 job script of 1 test below {tmp_path}/stage; {script}:")


def test_a_dry_run_that_selects_nothing_fails_as_a_run_does(tmp_path: Path) -> None:
    with pytest.raises(RailyardError, match=r'^-n NoSuch: found no check "NoSuch", expected the class of a check; '):
        run(tmp_path, "NoSuch")
    assert not (tmp_path / "stage").exists()


def test_a_pattern_may_go_beyond_the_class_of_a_check(tmp_path: Path) -> None:
    assert run(tmp_path, "^OsuBand.*rails=1$")[0] == 0
    with pytest.raises(RailyardError, match="found no check"):
        run(tmp_path, "^OsuBand.*rails=2$")


def test_the_script_of_an_earlier_dry_run_is_not_shown(tmp_path: Path) -> None:
    run(tmp_path, "OsuBandwidth")
    (script,) = tmp_path.glob("stage/**/rfm_job.sh")
    os.utime(script, (1_700_000_000, 1_700_000_000))
    code, said = run(tmp_path, "OsuBandwidth", fails="1")
    assert code == 1
    assert said[1:] == [
        "",
        f"no job script was written below {tmp_path}/stage for 1 test: ReFrame's lines above say why",
    ]


def test_a_long_script_is_shown_in_part(tmp_path: Path) -> None:
    script = tmp_path / "rfm_job.sh"
    script.write_text("x" * (MOST_CHARACTERS + 1) + "\n" + "echo\n" * (MOST_LINES + 1), encoding="ascii")
    head, blank, first, *rest = script_lines([script], 3, tmp_path)
    assert (head, blank) == (f"1 job script of 3 tests below {tmp_path}; {script}:", "")
    assert first == "x" * MOST_CHARACTERS + " …"
    assert rest == ["echo"] * (MOST_LINES - 1) + ["… 2 more lines"]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--dry-run", "-n", "Osu"), ("-n", "Osu")),
        (("-r", "--dry", "-n", "Osu"), ("-n", "Osu")),
        (("--disable-hook=x", "--system=a"), ("--disable-hook=x", "--system=a")),
    ],
)
def test_reframe_lists_without_the_word_for_a_dry_run(options: tuple[str, ...], left: tuple[str, ...]) -> None:
    assert without_actions(options) == left
