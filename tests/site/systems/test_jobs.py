"""A system's scheduler settings: each becomes the scheduler's own option, and one without an option is refused."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.systems.jobs import FAMILIES, SchedulerSettings, document, is_slurm, options, seconds, why_not
from railyard.site.systems.load import load_system

ROOT = Path(__file__).parents[3]
ALL = {
    "account": "abc",
    "partition": "hpc",
    "qos": "normal",
    "reservation": "maint",
    "constraint": "edr&haswell",
    "exclude": ["n3", "n7"],
    "gres": "gpu:4",
    "switches": 1,
    "exclusive": True,
}


def settings(**fields: object) -> SchedulerSettings:
    return SchedulerSettings.model_validate(fields)


@pytest.mark.parametrize("scheduler", ["slurm", "squeue", "slurm-nodb"])
def test_slurm_has_an_option_for_each(scheduler: str) -> None:
    assert options(scheduler, settings(**ALL)) == (
        "--account=abc", "--partition=hpc", "--qos=normal", "--reservation=maint", "--constraint=edr&haswell",
        "--exclude=n3,n7", "--gres=gpu:4", "--switches=1", "--exclusive",
    )  # fmt: skip
    assert why_not(scheduler, settings(**ALL, max_pending="2m")) is None


def test_pbs_and_lsf_have_their_own_words() -> None:
    few = settings(account="abc", partition="hpc", exclusive=True)
    assert options("pbs", few) == ("-A abc", "-q hpc", "-l place=scatter:excl")
    assert options("lsf", few) == ("-P abc", "-q hpc", "-x")


def test_nothing_set_is_no_option() -> None:
    for scheduler in (*FAMILIES, "local", "flux"):
        assert options(scheduler, settings()) == ()
        assert why_not(scheduler, settings()) is None


@pytest.mark.parametrize(
    ("scheduler", "fields", "refused"),
    [
        (
            "pbs",
            {"qos": "normal"},
            ("qos", "a setting for which the scheduler pbs has an option: account, partition, reservation, exclusive"),
        ),
        ("local", {"account": "abc"}, ("account", "a setting for which the scheduler local has an option: none")),
        ("local", {"max_pending": "2m"}, ("max_pending", "no max_pending: jobs of the scheduler local do not wait")),
    ],
)
def test_what_a_scheduler_cannot_be_told(scheduler: str, fields: dict[str, str], refused: tuple[str, str]) -> None:
    assert why_not(scheduler, settings(**fields)) == refused


def test_each_class_of_checks_has_its_time() -> None:
    own = settings(time_limits={"app": "2h"})
    assert (own.time_limit("micro", "10m"), own.time_limit("app", "10m")) == ("10m", "2h")


SYSTEM = """\
system: made
description: made for this test
scheduler: local
launcher: local
nodes: {count: 2}
report_only: made for this test
fabrics:
  eth: {description: one card, kind: tcp, link: eth-10, rails: [{device: eth0, counters: netdev}]}
stacks:
  openmpi: {prefix: /opt/openmpi}
"""


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        (
            "{account: abc}",
            "systems/made.yaml:11: jobs.account: found account of the scheduler local, expected a setting for which "
            "the scheduler local has an option: none; leave it out, or write the option into access",
        ),
        (
            '{constraint: "edr haswell"}',
            'systems/made.yaml:11: jobs.constraint: found "edr haswell", expected one word, as the scheduler\'s own '
            "option takes it",
        ),
        (
            '{gres: "gpu;reboot"}',
            'systems/made.yaml:11: jobs.gres: found "gpu;reboot", expected one word, as the scheduler\'s own '
            'option takes it; a shell would end its command at ";"',
        ),
    ],
)
def test_mistakes_are_sentences_with_their_line(tmp_path: Path, jobs: str, sentence: str) -> None:
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    path.write_text(f"{SYSTEM}jobs: {jobs}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_system(path)
    assert str(caught.value) == sentence


def test_slurm_is_told_from_the_others() -> None:
    assert [name for name in (*FAMILIES, "local", "flux") if is_slurm(name)] == ["slurm", "squeue", "slurm-nodb"]


def test_the_table_in_the_documentation_is_the_codes() -> None:
    assert document() in (ROOT / "docs/howto/clusters.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "value"), [("120s", 120), ("10m", 600), ("1h30m", 5400), ("1d", 86400), ("1d2h3m4s", 93784)]
)
def test_a_duration_in_seconds(text: str, value: int) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["10", "s", "1m1h", "1.5h", "-1s", "10 m"])
def test_what_is_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{text}' is not a duration$"):
        seconds(text)
