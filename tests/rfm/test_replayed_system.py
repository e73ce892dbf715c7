"""A replayed system: its scheduler, launcher and stacks are not used, and no lock of the machine is taken."""

import subprocess
from pathlib import Path

import pytest

from railyard.base.paths import REPLAY_VARIABLE
from railyard.provision.testbed import lifecycle
from railyard.rfm.settings import build
from railyard.site.systems.load import load_system, load_systems

ROOT = Path(__file__).resolve().parents[2]


def test_a_published_system_is_replayed_by_its_file() -> None:
    system = load_system(ROOT / "systems/dell-c6320.yaml")
    assert (system.provider, system.scheduler, system.launcher) == ("replay", "local", "replay")
    stack = system.stacks["hpcx"]
    assert (stack.prefix, stack.modules, dict(stack.env), stack.spack) == (None, (), {}, None)
    assert stack.tools == ("osu",)
    assert system.stacks["verbs"].tools == ("perftest",)


def test_any_system_but_a_single_host_is_replayed_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {name: system.provider for name, system in load_systems(ROOT / "systems").items()}
    monkeypatch.setenv(REPLAY_VARIABLE, "1")
    asked = {name: system.provider for name, system in load_systems(ROOT / "systems").items()}
    assert (measured["virtual"], measured["local"]) == ("testbed", "host")
    assert {name for name, provider in asked.items() if provider != "replay"} == {"local"}
    monkeypatch.setenv(REPLAY_VARIABLE, "0")
    assert load_system(ROOT / "systems/virtual.yaml").provider == "testbed"


def basedir(configuration: dict[str, list[dict[str, list[dict[str, str]]]]]) -> str:
    return Path(configuration["logging"][0]["handlers_perflog"][0]["basedir"]).name


def test_figures_of_a_replay_of_everything_are_logged_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert basedir(build(ROOT / "reframe_settings.py")) == "perflogs"
    monkeypatch.setenv(REPLAY_VARIABLE, "1")
    assert basedir(build(ROOT / "reframe_settings.py")) == "perflogs-replayed"


def test_no_lock_is_taken_and_no_cluster_brought_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*words: object) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(lifecycle, "measurement_lock", refuse)
    monkeypatch.setattr(lifecycle, "Testbed", refuse)
    with lifecycle.provide_testbed(ROOT, load_system(ROOT / "systems/dell-c6320.yaml"), print):
        pass


@pytest.mark.parametrize(
    ("words", "needs_stacks"),
    [((), True), (("SYSTEM=virtual",), True), (("SYSTEM=virtual", "REPLAY=1"), False), (("SYSTEM=dell-c6320",), False)],
)
def test_make_run_of_a_replay_makes_no_stacks(words: tuple[str, ...], needs_stacks: bool) -> None:
    planned = subprocess.run(
        ["make", "--no-print-directory", "-n", "run", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert ("railyard stacks install" in planned) == needs_stacks
    assert ("--replay" in planned) == ("REPLAY=1" in words)
