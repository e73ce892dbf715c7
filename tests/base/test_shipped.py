"""What Railyard ships is found in a clone and in a wheel, and a site's own folder goes before it."""

from pathlib import Path

from railyard.base.paths import part, shipped

CLONE = Path(__file__).parents[2]


def test_a_clone_ships_what_stands_beside_the_package() -> None:
    assert shipped() == CLONE


def test_a_wheel_ships_what_is_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "railyard"
    (package / "_shipped").mkdir(parents=True)
    assert shipped(package) == package / "_shipped"


def test_a_sites_own_folder_goes_before_what_is_shipped(tmp_path: Path) -> None:
    assert part(tmp_path, "checks") == CLONE / "checks"
    (tmp_path / "checks").mkdir()
    assert part(tmp_path, "checks") == tmp_path / "checks"
