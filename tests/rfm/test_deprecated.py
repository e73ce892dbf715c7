"""ReFrame's deprecated variables: who sets one is told, and making a test does not look for somebody to tell."""

from typing import Any

import pytest
import reframe as rfm
from reframe.core import fields, variables
from reframe.core.warnings import ReframeDeprecationWarning

from railyard.rfm.checks.base import InterconnectCheck


def walks(monkeypatch: pytest.MonkeyPatch, check: type[Any]) -> int:
    """Return how often ReFrame asks the stack for whom to tell, when it reads the variables for a test of a class."""
    told: list[str] = []
    with monkeypatch.context() as patched:
        for module in (fields, variables):
            patched.setattr(module, "user_deprecation_warning", lambda message, *_: told.append(message))
        deprecated = [each for each in check._rfm_var_space.values() if each.is_deprecated()]
        assert deprecated
        for each in deprecated:
            each.field.__get__(None, check)
            each.default_value  # noqa: B018  # what reads it is what is tested
    return len(told)


def test_making_a_test_of_ours_walks_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(InterconnectCheck):
        pass

    assert walks(monkeypatch, Own) == 0
    assert walks(monkeypatch, rfm.RunOnlyRegressionTest) == 2, "ReFrame's own tests are as they were"


def test_a_check_that_sets_one_is_told_and_gets_what_it_meant() -> None:
    with pytest.warns(ReframeDeprecationWarning, match="'variables' is deprecated"):

        class Old(InterconnectCheck):
            variables = {"UCX_TLS": "rc"}  # noqa: RUF012  # as a user's check has it

    assert Old._rfm_var_space["env_vars"].default_value == {"UCX_TLS": "rc"}
