"""The path MTU that RoCE gets on an interface."""

import pytest

from railyard.hardware.links import roce_mtu


@pytest.mark.parametrize(
    ("interface", "path"), [(9000, 4096), (4200, 4096), (4191, 2048), (1500, 1024), (1119, 512), (351, None)]
)
def test_the_path_mtu_that_the_kernel_gives_roce(interface: int, path: int | None) -> None:
    assert roce_mtu(interface) == path
