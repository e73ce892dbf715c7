"""The keys of applications: their problem, their nodes, and what an output can say about both."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.metrics import curves, key_figures, key_of
from railyard.benchmarks.table.applications import installed_name, key_on
from railyard.benchmarks.table.micro import BENCHMARKS, find
from railyard.parsers import npb

CG_A = """\
 CG Benchmark Completed.
 Class           =                        A
 Iterations      =                       15
 Time in seconds =                     1.50
 Total processes =                        4
 Mop/s total     =                  1001.00
 Verification    =               SUCCESSFUL
"""


def test_a_problem_on_some_nodes_is_a_benchmark_of_its_own() -> None:
    alone, two = find("npb/CG/A/1-nodes"), find(key_on("npb/CG/A", 2))
    assert (alone.key, alone.within_node) == ("npb/CG/A/1-nodes", True)
    assert (two.key, two.within_node) == ("npb/CG/A/2-nodes", False)
    assert two.metrics == find("npb/CG/A").metrics
    assert "npb/CG/A/2-nodes" in BENCHMARKS
    assert "npb/CG/A/2-nodes" not in list(BENCHMARKS)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("installed/gamess-1", "gamess-1"),
        ("installed/gamess-1/4-nodes", "gamess-1"),
        ("installed/gamess/more", None),
        ("npb/CG/A/4-nodes", None),
    ],
)
def test_an_installed_application_is_told_from_its_nodes(key: str, name: str | None) -> None:
    assert installed_name(key) == name


def test_an_installed_application_on_some_nodes_is_a_benchmark_too() -> None:
    four, one = find("installed/gamess-1/4-nodes"), find("installed/gamess-1/1-nodes")
    assert (four.key, four.within_node, one.within_node) == ("installed/gamess-1/4-nodes", False, True)
    assert four.metrics == find("installed/gamess-1").metrics
    assert "installed/gamess/more/4-nodes" not in BENCHMARKS


@pytest.mark.parametrize("key", ["imb/Uniband/2-nodes", "npb/CG/A/0-nodes", "npb/CG/A/two-nodes", "npb/CG/A/2-nodes/x"])
def test_other_keys_have_no_nodes(key: str) -> None:
    assert key not in BENCHMARKS
    with pytest.raises(RailyardError, match=r"^unknown benchmark "):
        find(key)


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("npb/CG/A", "npb/CG/A"),
        ("npb/CG/A/16-nodes", "npb/CG/A"),
        ("wrf/wrf/conus12km-v3", "wrf/wrf"),
        ("wrf/wrf/conus12km-v3/4-nodes", "wrf/wrf"),
        ("milc/asqtad/L14", "milc/asqtad"),
        ("milc/asqtad/L4/16-nodes", "milc/asqtad"),
        ("perftest/ib_write_bw/bidirectional", "perftest/ib_write_bw/bidirectional"),
        ("perftest/ib_write_bw/loopback", "perftest/ib_write_bw"),
    ],
)
def test_an_output_says_neither_nodes_nor_case_nor_edge(key: str, printed: str) -> None:
    assert find(key).printed_key == printed


def test_a_run_of_npb_has_its_rate_and_its_time() -> None:
    (table,) = npb.parse(CG_A).tables
    assert key_of(table) == "npb/CG/A"
    figures = key_figures(curves(table, "npb/CG/A/2-nodes"), "npb/CG/A/2-nodes")
    assert [(figure.name, figure.value, figure.unit) for figure in figures] == [
        ("op_rate", 1001.0, "Mop/s"),
        ("runtime", 1.5, "s"),
    ]
    with pytest.raises(ValueError, match=r"^npb/CG/B: the table is of npb/CG/A$"):
        curves(table, "npb/CG/B")


def test_every_kernel_that_is_measured_is_a_benchmark() -> None:
    from railyard.benchmarks.apps.npb import CLASSES, KERNELS

    assert [f"npb/{name.upper()}/{problem}" for name in KERNELS for problem in CLASSES
            if f"npb/{name.upper()}/{problem}" not in BENCHMARKS] == []  # fmt: skip


def test_idle_processes_are_a_failure() -> None:
    idle = CG_A.replace("processes =                        4\n", "processes = 5\n Active processes= 4\n")
    (failure,) = npb.parse(idle).failures
    assert (failure.line, failure.text) == (1, "CG ran on 4 active processes of 5")
    busy = CG_A.replace("processes =                        4\n", "processes = 4\n Active processes= 4\n")
    assert npb.parse(busy).failures == ()


def test_a_key_is_told_from_what_its_output_says() -> None:
    assert find("wrf/wrf/conus12km-v3/2-nodes").printed_key == "wrf/wrf"
    assert find("npb/FT/W/4-nodes").printed_key == "npb/FT/W"
    assert find("osu/osu_bw").printed_key == "osu/osu_bw"
