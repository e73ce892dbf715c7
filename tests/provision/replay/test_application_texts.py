"""Texts from an application's published figure: what its parser reads back, and what cannot be written."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.metrics import curves
from railyard.parsers import hpl, wrf
from railyard.provision.replay.texts import application_text_of

SAID = "computed, not measured: references/made.yaml: hpl"


def test_hpl_has_the_rate_and_a_problem_that_takes_1000_s_at_it() -> None:
    text = application_text_of("hpl/hpl", 16090.9, 16, SAID)
    (table,) = hpl.parse(text).tables
    order, block, rows, columns, seconds, rate, passed = table.rows[0]
    assert (block, rows, columns, seconds, rate, passed) == (192, 4, 4, 1000.0, 16091.0, True)
    assert isinstance(order, int) and 2 / 3 * order**3 / 1000 / 1e9 == pytest.approx(16090.9, rel=1e-3)
    assert table.complete and text.startswith(f"# {SAID}\n")


def test_hpl_of_every_node_has_a_part_a_node() -> None:
    (table,) = every_node.hpl_of_nodes(application_text_of("hpl/every-node", 832.95, 3, SAID)).tables
    assert every_node.nodes_of(table) == ("node1", "node2", "node3")
    assert [row[:2] for row in table.rows] == [(832.95, True)] * 3


def test_wrf_has_the_mean_of_a_step_behind_a_longer_first_one() -> None:
    (table,) = wrf.parse(application_text_of("wrf/wrf/conus12km-v3/2-nodes", 0.14165, 2, SAID)).tables
    assert (table.version, table.complete, table.column("time")[:2], len(table.rows)) == (
        *("3.8.1", True, (2.0, 0.14165)),
        150,
    )
    (runtime,) = curves(table, "wrf/wrf/conus12km-v3/2-nodes")
    assert list(runtime.values) == pytest.approx([0.14165])


@pytest.mark.parametrize("key", ["npb/FT/C", "hpl/hpl_ai", "installed/gamess"])
def test_what_cannot_be_made_is_refused(key: str) -> None:
    with pytest.raises(RailyardError) as caught:
        application_text_of(key, 1.0, 2, SAID)
    assert str(caught.value) == f"{key}: Railyard cannot write an output of it; expected one of hpl, wrf"
