"""What tests of ReFrame's side share."""

from collections.abc import Iterator

import pytest

from railyard.rfm import system_choice


@pytest.fixture(autouse=True)
def no_systems_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no test know the systems that another one has made ReFrame refuse or prefer."""
    monkeypatch.setattr(system_choice, "_OURS", {})
    monkeypatch.setattr(system_choice, "_FOR_ANY_HOST", set())
    yield
