"""What of a WRF case's namelist.input is read, remarked and refused."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.wrf import check, read

WHOLE = """\
 &time_control
 run_days                            = 0,
 run_hours                           = 3,   ! simulated
 history_interval                    = 180,  60,
 restart                             = .false.,
 restart_interval                    = 1440,
 /

 &domains
 time_step                           = 72,
 max_dom                             = 1,
 e_we                                = 425,  112,
 /
 &namelist_quilt
 nio_tasks_per_group = 0,
 nio_groups = 1,
 /
"""


def checked(folder: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    text = WHOLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "namelist.input").write_text(text, encoding="utf-8")
    return check(folder)


def test_fields_are_read_by_group_and_name_without_comments() -> None:
    found = read(WHOLE, "namelist.input")
    assert found.values["time_control", "run_hours"] == "3"
    assert found.values["domains", "e_we"] == "425"
    assert found.number("domains", "time_step", 0) == 72
    assert found.minutes("time_control", "history_interval") == 180


def test_a_case_that_writes_nothing_before_its_end_has_no_remark(tmp_path: Path) -> None:
    assert checked(tmp_path) == ()


@pytest.mark.parametrize(
    ("old", "new", "remark"),
    [
        ("history_interval                    = 180", "history_interval = 60", "history every 60 minutes"),
        ("history_interval                    = 180", "history_interval_h = 1", "history every 60 minutes"),
        ("restart_interval                    = 1440", "restart_interval = 90", "a restart file every 90 minutes"),
    ],
)
def test_files_that_are_written_on_the_way_are_remarked(tmp_path: Path, old: str, new: str, remark: str) -> None:
    assert checked(tmp_path, (old, new)) == (
        f"the namelist writes {remark}; these steps are left out of the time per step",
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            *("nio_tasks_per_group = 0", "nio_tasks_per_group = 4"),
            "namelist_quilt.nio_tasks_per_group: found 4, expected 0: these ranks only write files, so fewer compute "
            "than we count; set it to 0",
        ),
        (
            *("max_dom                             = 1", "max_dom = 3"),
            "domains.max_dom: found 3, expected 1: a step of the outer domain contains those of its nests, and no case "
            "here has nests",
        ),
        (
            *("history_interval                    = 180", "history_interval_s = 60"),
            "time_control.history_interval: found 1 minutes, expected more than a step of 72 s: each step would write "
            "a file, and none would count; raise it",
        ),
        (
            *("restart                             = .false.", "restart = .true."),
            "time_control.restart: found .true. and no wrfrst_d01_* beside it, expected that file; fetch the case's "
            "inputs again, or set restart to .false.",
        ),
        (
            *("time_step                           = 72", "time_step = many"),
            "domains.time_step: found many, expected a number",
        ),
        (
            *("&domains", "&other"),
            "found no &domains, expected a namelist of WRF; fetch the case's inputs again",
        ),
    ],
)
def test_what_would_make_a_step_mean_something_else_is_refused(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(RailyardError) as caught:
        checked(tmp_path, (old, new))
    assert str(caught.value) == f"{tmp_path / 'namelist.input'}: {sentence}"


def test_a_restart_with_its_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "wrfrst_d01_2019-11-26_23:00:00").write_text("x", encoding="ascii")
    assert checked(tmp_path, ("restart                             = .false.", "restart = .true.")) == ()
