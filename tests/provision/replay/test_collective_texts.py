"""A published curve of nccl-tests is printed as the tool prints it, and read back to the digit."""

import pytest

from railyard.benchmarks.table.nccl import CHECKED
from railyard.parsers import nccl
from railyard.provision.replay.index import content_of, folder_of, read_index
from railyard.provision.replay.texts import OutputPlan, text_of
from railyard.site.site import site_at
from tests.conftest import ROOT

RATES = {1 << 29: 356_010.0, 1 << 30: 365_900.0}


@pytest.mark.parametrize("collective", CHECKED)
@pytest.mark.parametrize(("ranks", "a_node"), [(96, 8), (2, 1)])
def test_what_is_printed_is_read_back(collective: str, ranks: int, a_node: int) -> None:
    times = tuple(size / rate for size, rate in RATES.items())
    made = OutputPlan(f"nccl/{collective}_perf", tuple(RATES), times, "made up", ranks=ranks, ranks_per_node=a_node)
    parsed = nccl.parse(text_of(made))
    (table,) = parsed.tables
    assert parsed.failures == () and table.complete
    assert (table.benchmark, table.context["ranks"], table.context["nodes"]) == (
        *(f"{collective}_perf", ranks, ranks // a_node),
    )
    assert table.column("busbw") == pytest.approx(tuple(RATES.values()))


def test_a_row_of_seconds_keeps_its_columns_apart() -> None:
    made = OutputPlan("nccl/all_reduce_perf", (8 << 30,), ((8 << 30) / 4180.0,), "made up", ranks=4, ranks_per_node=1)
    parsed = nccl.parse(text_of(made))
    assert parsed.failures == ()
    assert parsed.tables[0].column("busbw") == pytest.approx((4180.0,))


def test_a_published_cluster_of_gpus_plays_its_sources_numbers_alone() -> None:
    site = site_at(ROOT, "coreweave-h100")
    folder = folder_of(ROOT, "coreweave-h100")
    (one,) = read_index(folder).recordings
    (table,) = nccl.parse(content_of(folder, one).decode()).tables
    entry = next(each for each in site.references.entries if each.id == "all-reduce")
    assert (one.origin, one.benchmark, table.context["ranks"]) == ("computed", "nccl/all_reduce_perf", 96)
    assert dict(zip(table.column("size"), table.column("busbw"), strict=True)) == pytest.approx(dict(entry.curve or {}))
