"""The table of counters: it has every driver that a system's file may name, and agrees with the documentation."""

from pathlib import Path
from typing import get_args

import pytest

from railyard.hardware.counters import DRIVERS, Driver, document, error_maximum, of_device
from railyard.site.systems.node_view import Counters

ROOT = Path(__file__).parents[2]
ROWS = list(DRIVERS.values())


def test_every_driver_that_a_file_may_name_has_a_row_and_none_is_left_over() -> None:
    assert {*DRIVERS, "none"} == set(get_args(Counters))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_what_it_counts_and_where_that_is_written(row: Driver) -> None:
    assert row.source and row.sees
    assert row.tx != row.rx
    assert set(row.errors).isdisjoint(row.signals)
    counters = (*row.tx.split("+"), *row.rx.split("+"), *row.errors, *row.signals)
    assert all(name.removeprefix("hw/").isidentifier() for name in counters)


@pytest.mark.parametrize(
    ("name", "unit", "scope", "packets"),
    [
        ("netdev", "bytes", "function", False),
        ("mlx4", "4 bytes", "port", False),
        ("mlx5", "4 bytes", "function", False),
        ("hfi1", "8 bytes", "port", False),
        ("bnxt_re", "bytes", "function", False),
        ("irdma", "bytes", "function", False),
        ("efa", "bytes", "function", False),
        ("cxi", "bytes", "port", False),
        ("rxe", "packets", "function", True),
    ],
)
def test_units_and_whose_traffic(name: str, unit: str, scope: str, packets: bool) -> None:
    row = DRIVERS[name]
    assert (row.unit, row.scope, row.packets) == (unit, scope, packets)


@pytest.mark.parametrize(
    ("name", "layer", "overlap"),
    [
        ("mlx5", "InfiniBand", "port"),
        ("mlx5", "Ethernet", "apart"),
        ("mlx5", None, "apart"),
        ("hfi1", "InfiniBand", "port"),
        ("cxi", None, "port"),
        ("rxe", "Ethernet", "interface"),
        ("netdev", None, "none"),
    ],
)
def test_on_infiniband_a_port_sees_its_interface_too(name: str, layer: str | None, overlap: str) -> None:
    assert DRIVERS[name].overlaps(layer) == overlap


@pytest.mark.parametrize(
    ("module", "counters", "name"),
    [
        ("mlx5_core", {"port_xmit_data", "port_rcv_data"}, "mlx5"),
        ("hfi1", {"port_xmit_data", "port_rcv_data"}, "hfi1"),
        (None, {"hw/sent_pkts", "hw/rcvd_pkts"}, "rxe"),
        ("efa", {"hw/tx_bytes", "hw/rx_bytes"}, "efa"),
        (None, {"tx_bytes", "rx_bytes"}, "netdev"),
        ("mlx5_core", {"tx_bytes", "rx_bytes"}, "netdev"),
        ("mlx5_core", {"port_xmit_data"}, None),
        (None, set(), None),
    ],
)
def test_a_device_that_no_file_names_is_known_by_what_it_shows(
    module: str | None, counters: set[str], name: str | None
) -> None:
    found = of_device(module, counters)
    assert (None if found is None else found.name) == name


@pytest.mark.parametrize(
    ("counter", "largest"),
    [("symbol_error", 65535), ("link_downed", 255), ("local_link_integrity_errors", 15), ("rx_errors", None)],
)
def test_narrow_counters_have_a_largest_value(counter: str, largest: int | None) -> None:
    assert error_maximum(counter) == largest


def test_the_table_in_the_documentation_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "reference" / "counters.md").read_text(encoding="utf-8")
    assert page.endswith("## Every driver\n\n" + document())
