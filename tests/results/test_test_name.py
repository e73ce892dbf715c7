"""A test's name, taken apart and put together."""

import pytest

from railyard.results.test_name import named_policy, named_rails, plain_check, with_policy

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
