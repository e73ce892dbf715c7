"""The schedulers, launchers and modules systems that a system's file may name are those that ReFrame has with ours."""

from importlib import import_module

import pytest
from reframe.core import backends
from reframe.core.exceptions import ConfigError
from reframe.core.modules import ModulesSystem

from railyard.rfm.schedulers import IN_CHUNKS, IN_SLOTS, IN_TOTALS
from railyard.site.systems.jobs import LAUNCHERS, MODULES_SYSTEMS, SCHEDULERS


@pytest.fixture(autouse=True)
def all_backends() -> None:
    names = (*backends._launcher_backend_modules, *backends._scheduler_backend_modules)
    for name in (*names, "railyard.rfm.backends", "railyard.rfm.backends"):
        import_module(name)


def test_every_scheduler_is_one_that_a_file_may_name() -> None:
    # ReFrame is given one of these where a file says pbs or sge.
    assert sorted([*SCHEDULERS, IN_CHUNKS, IN_TOTALS, IN_SLOTS]) == sorted(backends._schedulers)


def test_every_launcher_is_one_that_a_file_may_name() -> None:
    assert sorted(LAUNCHERS) == sorted(backends._launchers)


@pytest.mark.parametrize("name", [*MODULES_SYSTEMS, "tmod32", "lmood"])
def test_reframe_knows_the_modules_systems_that_a_file_may_name(name: str) -> None:
    try:
        ModulesSystem.create(name, validate=False)
    except ConfigError as error:
        assert "unknown module system" not in str(error) or name not in MODULES_SYSTEMS
    else:
        assert name in MODULES_SYSTEMS
