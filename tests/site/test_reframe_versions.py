"""Which releases of ReFrame are taken, and what each older one cannot do."""

import pytest

from railyard.site.reframe_versions import FEATURES, PATCHES, choose, has, minor_of, name_switched_off, why_outside


@pytest.mark.parametrize("release", ["4.7.4", "4.8.4", "4.8.5", "4.9.3", "4.10.4", "4.10.12"])
def test_the_newest_patch_of_each_minor_release_is_taken(release: str) -> None:
    assert why_outside(release) is None


@pytest.mark.parametrize("release", ["4.5.2", "4.6.4", "4.11.0", "5.0.0", "4.10", "4.10.5rc1", "unknown"])
def test_a_release_outside_gets_one_sentence(release: str) -> None:
    why = why_outside(release)
    assert why is not None and why.startswith("Railyard works with ReFrame 4.7 to 4.10")
    assert why.endswith(f"; this is {release}") and "\n" not in why


def test_an_early_patch_gets_the_first_one_that_is_taken() -> None:
    assert why_outside("4.10.1") == "Railyard works with ReFrame 4.7 to 4.10, of 4.10 from 4.10.4; this is 4.10.1"


def test_what_an_older_release_lacks_is_named() -> None:
    assert name_switched_off("4.10.4") is None
    assert name_switched_off(None) is None
    assert name_switched_off("4.9.3") == (
        "ReFrame 4.9.3, switched off: references in files and with an index ($ref, $index)"
    )
    said = name_switched_off("4.7.4") or ""
    assert [one.name for one in FEATURES if one.name not in said] == []


def test_each_feature_is_one_of_a_release_in_range() -> None:
    assert {one.since for one in FEATURES} <= set(PATCHES)
    assert [has("4.8.4", one) for one in FEATURES] == [one.since <= minor_of("4.8.4") for one in FEATURES]


def test_a_parameter_is_chosen_by_what_the_release_has() -> None:
    assert choose("4.9.3", "policy", "default") == ("-P", "policy=default")
    assert choose("4.8.4", "policy", "default") == ("-E", "policy == 'default'")
