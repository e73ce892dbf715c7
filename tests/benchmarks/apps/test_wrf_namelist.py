"""What of a WRF case's namelist.input is read, remarked and refused."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.wrf import check, load, read

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


def check_changed(folder: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    text = WHOLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "namelist.input").write_text(text, encoding="utf-8")
    return check(load(folder))


def test_fields_are_read_by_group_and_name_without_comments() -> None:
    found = read(WHOLE, "namelist.input")
    assert found.values["time_control", "run_hours"] == "3"
    assert found.values["domains", "e_we"] == "425"
    assert found.number("domains", "time_step", 0) == 72
    assert found.minutes("time_control", "history_interval") == 180


def test_a_case_that_writes_nothing_before_its_end_has_no_remark(tmp_path: Path) -> None:
    assert check_changed(tmp_path) == ()


@pytest.mark.parametrize(
    ("old", "new", "remark"),
    [
        ("history_interval                    = 180", "history_interval = 60", "history every 60 minutes"),
        ("history_interval                    = 180", "history_interval_h = 1", "history every 60 minutes"),
        ("restart_interval                    = 1440", "restart_interval = 90", "a restart file every 90 minutes"),
    ],
)
def test_files_that_are_written_on_the_way_are_remarked(tmp_path: Path, old: str, new: str, remark: str) -> None:
    assert check_changed(tmp_path, (old, new)) == (
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
        check_changed(tmp_path, (old, new))
    assert str(caught.value) == f"{tmp_path / 'namelist.input'}: {sentence}"


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("", "wrfrst_d01_2019-11-26_23:00:00"),
        (" nocolons = .true.,\n", "wrfrst_d01_2019-11-26_23_00_00"),
        (" rst_inname = 'restarts/rst_d<domain>_<date>',\n", "restarts/rst_d01_2019-11-26_23:00:00"),
    ],
)
def test_a_restart_begins_with_the_file_of_its_own_start(more: str, name: str) -> None:
    dates = " start_year = 2019, start_month = 11,\n start_month = 11,\n start_day = 26,\n start_hour = 23,\n"
    text = WHOLE.replace(" restart                             = .false.", f"{dates}{more} restart = .true.")
    assert read(text, "namelist.input").restart_file == name
    assert read(WHOLE, "namelist.input").restart_file is None


def test_the_grid_is_that_of_the_outer_domain_if_both_sides_are_there() -> None:
    assert read(WHOLE, "namelist.input").points is None
    assert read(WHOLE.replace(" max_dom", " e_sn = 300,\n max_dom"), "namelist.input").points == (425, 300)
