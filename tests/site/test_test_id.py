"""The identity of a test, and its name split and joined."""

import pytest

from railyard.site.test_id import TestId, named_policy, named_rails, of_name, plain_check, with_policy

NAMES = [
    ("OsuBandwidth %rails=2", "OsuBandwidth", 2, None),
    ("OsuBandwidth %rails=2 %policy=round-robin @virtual:hsn+mpich", "OsuBandwidth", 2, "round-robin"),
    ("OsuCollective %rails=1 %policy=single %collective=bcast", "OsuCollective %collective=bcast", 1, "single"),
    ("Build", "Build", None, None),
    ("Odd %rails=two", "Odd", None, None),
]


@pytest.mark.parametrize(("name", "check", "rails", "policy"), NAMES)
def test_a_name_has_a_check_rails_and_a_policy(name: str, check: str, rails: int | None, policy: str | None) -> None:
    assert (plain_check(name), named_rails(name), named_policy(name)) == (check, rails, policy)


@pytest.mark.parametrize(
    ("check", "policy", "named"),
    [
        ("OsuBandwidth", None, "OsuBandwidth"),
        ("OsuBandwidth", "round-robin", "OsuBandwidth %policy=round-robin"),
        ("OsuCollective %collective=bcast", "striping", "OsuCollective %policy=striping %collective=bcast"),
    ],
)
def test_a_policy_stands_where_reframe_has_it(check: str, policy: str | None, named: str) -> None:
    assert with_policy(check, policy) == named


def test_a_case_that_reframe_names_is_one_test_with_what_its_name_says() -> None:
    test = of_name("OsuBandwidth %rails=2 %policy=round-robin", "1a2b3c4d", "virtual", "hsn", "mpich")
    assert test == TestId("hsn", "mpich", 2, "", "OsuBandwidth", "round-robin", "virtual", test.name, "1a2b3c4d")
    assert str(test) == "OsuBandwidth %rails=2 %policy=round-robin @virtual:hsn+mpich"
    assert test.place == TestId("hsn", "mpich", 2)
    assert not test.is_fixture


def test_a_build_is_a_fixture_and_has_no_rails() -> None:
    test = of_name("SpackEnvironment ~virtual:hsn+mpich", "22222222", "virtual", "hsn", "mpich")
    assert (test.is_fixture, test.rails, test.policy) == (True, 0, "")
