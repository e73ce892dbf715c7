"""ReFrame's deprecated variables: setting one gives a warning, and making a test does not look for somebody to warn."""

from typing import Any

import pytest
import reframe as rfm
from reframe.core import fields, variables
from reframe.core.warnings import ReframeDeprecationWarning

from railyard.rfm.checks.base import InterconnectCheck


def walks(monkeypatch: pytest.MonkeyPatch, check: type[Any]) -> int:
    """Return how often ReFrame searches the call stack for somebody to warn when it makes a test of a class."""
    told: list[str] = []
    with monkeypatch.context() as patched:
        for module in (fields, variables):
            patched.setattr(module, "user_deprecation_warning", lambda message, *_: told.append(message))
        deprecated = [(name, each) for name, each in check._rfm_var_space.items() if each.is_deprecated()]
        assert deprecated
        for name, each in deprecated:
            each.field.__get__(None, check)
            each.default_value  # noqa: B018  # what reads it is what is tested
            each.__set_name__(check, name)  # converts the default value
    return len(told)


def test_making_a_test_of_ours_walks_no_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(InterconnectCheck):
        pass

    assert walks(monkeypatch, Own) == 0
    assert walks(monkeypatch, rfm.RunOnlyRegressionTest) == 3, "ReFrame's own tests are as they were"


def test_a_test_that_sets_one_itself_is_told_and_gets_what_it_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(InterconnectCheck):
        pass

    told: list[str] = []
    monkeypatch.setattr(fields, "user_deprecation_warning", lambda message, *_: told.append(message))
    test = Own.__new__(Own)
    Own._rfm_var_space["variables"].field.__set__(test, {"UCX_TLS": "rc"})
    assert [message.partition(";")[0] for message in told] == ["the use of 'variables' is deprecated"]
    assert test.env_vars == {"UCX_TLS": "rc"}


def test_a_check_that_sets_one_is_told_and_gets_what_it_meant() -> None:
    with pytest.warns(ReframeDeprecationWarning, match="'variables' is deprecated"):

        class Old(InterconnectCheck):
            variables = {"UCX_TLS": "rc"}  # noqa: RUF012  # as a user's check has it

    assert Old._rfm_var_space["env_vars"].default_value == {"UCX_TLS": "rc"}
