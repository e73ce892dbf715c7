"""A site's checks in the form that the matrix needs, and the sentence for a file that cannot be imported."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.rfm.checks import catalogue
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import DEVICE_BUFFERS, Need
from railyard.site.systems.measure import Takes

ROOT = Path(__file__).resolve().parents[3]

CHECK = """\
import reframe as rfm
from railyard.check import InterconnectCheck

class Base(InterconnectCheck):
    tool = "osu"

@rfm.simple_test
class Put(Base):
    benchmark = "osu_put_bw"
    num_nodes = 8

@rfm.simple_test
class Plain(rfm.RunOnlyRegressionTest):
    pass
"""


def four(check: str, tool: str, benchmark: str, **more: Any) -> Need:
    return Need(check, tool, f"{tool}/{benchmark}", 4, ranks=4, **more)


def test_every_mpi_check_is_found_with_what_it_asks() -> None:
    tools = ("imb", "netpipe", "osu")
    found = [replace(need, takes=Takes()) for need in needs(ROOT / "checks") if need.tool in tools]
    assert [need for need in found if not need.extended] == [
        Need("DeviceLatency", "osu", "osu/osu_latency/device", 2, feature=DEVICE_BUFFERS),
        Need("DeviceBandwidth", "osu", "osu/osu_bw/device", 2, feature=DEVICE_BUFFERS),
        Need("DeviceBidirectional", "osu", "osu/osu_bibw/device", 2, feature=DEVICE_BUFFERS),
        Need("ImbPingPong", "imb", "imb/PingPong", 2, passes=3),
        Need("ImbUniband", "imb", "imb/Uniband", 2, passes=3, pair_a_rail=True),
        Need("ImbBiband", "imb", "imb/Biband", 2, passes=3, pair_a_rail=True),
        four("ImbAllreduce", "imb", "Allreduce", smallest=4),
        Need("NetpipePingPong", "netpipe", "netpipe/pingpong", 2),
        Need("NetpipeStream", "netpipe", "netpipe/stream", 2),
        Need("NetpipeBidirectional", "netpipe", "netpipe/bidirectional", 2),
        Need("OsuLatency", "osu", "osu/osu_latency", 2),
        Need("OsuBandwidth", "osu", "osu/osu_bw", 2),
        Need("OsuBidirectional", "osu", "osu/osu_bibw", 2),
        four("OsuAllreduce", "osu", "osu_allreduce", smallest=4),
    ]
    assert [need for need in found if need.extended and need.tool != "netpipe"] == [
        Need("DeviceMessageRate", "osu", "osu/osu_mbw_mr/device", 2, extended=True, feature=DEVICE_BUFFERS),
        four("DeviceAllreduce", "osu", "osu_allreduce/device", smallest=4, extended=True, feature=DEVICE_BUFFERS),
        *(
            Need(
                f"HostDeviceBandwidth %buffers={ends}",
                "osu",
                f"osu/osu_bw/{ends}",
                2,
                extended=True,
                feature=DEVICE_BUFFERS,
            )
            for ends in ("host-device", "device-host")
        ),
        Need("ImbPingPongColdCaches", "imb", "imb/PingPong/cold-caches", 2, passes=3, extended=True),
        Need("ImbSendrecv", "imb", "imb/Sendrecv", 2, passes=3, extended=True),
        Need("ImbExchange", "imb", "imb/Exchange", 2, passes=3, extended=True),
        four("ImbAlltoall", "imb", "Alltoall", extended=True),
        four("ImbAlltoallv", "imb", "Alltoallv", extended=True),
        four("OsuMessageRate", "osu", "osu_mbw_mr", extended=True, pair_a_rail=True),
        Need(
            *("OsuCoresMessageRate", "osu", "osu/osu_mbw_mr/all-cores", 2),
            largest=8192,
            extended=True,
            pair_a_rail=True,
            every_core=True,
        ),
        four("OsuMultiLatency", "osu", "osu_multi_lat", extended=True, pair_a_rail=True),
        *(
            four(f"OsuCollective %collective={name}", "osu", f"osu_{name}", smallest=4, extended=True)
            for name in ("alltoall", "alltoallv", "allgather", "bcast", "reduce", "reduce_scatter", "barrier")
        ),
        four("OsuInit", "osu", "osu_init", extended=True),
        Need("OsuPutBandwidth", "osu", "osu/osu_put_bw", 2, extended=True),
        Need("OsuGetBandwidth", "osu", "osu/osu_get_bw", 2, extended=True),
        Need("OsuPutLatency", "osu", "osu/osu_put_latency", 2, extended=True),
        Need("OsuGetLatency", "osu", "osu/osu_get_latency", 2, extended=True),
    ]


def test_every_published_check_measures_a_known_benchmark() -> None:
    assert [need.benchmark for need in needs(ROOT / "checks") if need.benchmark not in BENCHMARKS] == []


def test_each_check_says_which_numbers_of_nodes_and_ranks_it_takes() -> None:
    takes = {need.check: need.takes for need in needs(ROOT / "checks")}
    assert takes["OsuLatency"] == Takes()
    assert takes["OsuAllreduce"] == Takes(nodes=4, fewest=2, ranks=True)
    assert takes["OsuMessageRate"] == Takes(nodes=4, fewest=2, even=True, ranks=True)
    assert takes["Hpl"] == Takes(nodes=2, fewest=2, ranks=True)
    assert takes["HplEveryNode"] == Takes(nodes=2, fewest=2)
    assert takes["HplScaling %nodes=4"] == Takes(swept=True, ranks=True)
    assert takes["MilcScaling %edge=4 %nodes=2"] == Takes(swept=True, powers=16, ranks=True)
    assert takes["GpcnetCongestion"] == Takes(nodes=10, fewest=10, ranks=True)
    assert takes["SharedProcessor"] == Takes(nodes=1)


def test_only_tests_of_the_base_class_count(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "osu.py").write_text(CHECK, encoding="utf-8")
    (tmp_path / "helper.py").write_text("X = 1\n", encoding="utf-8")
    assert needs(tmp_path) == (Need("Put", "osu", "osu/osu_put_bw", 8, ranks=8, takes=Takes(nodes=8)),)


def test_checks_of_several_files_and_folders_come_in_the_order_of_the_places(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.py").write_text(CHECK.replace("class Put", f"class Put{name}"), encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "three.py").rename(tmp_path / "deep/three.py")
    found = needs(tmp_path / "two.py", tmp_path / "deep", tmp_path / "one.py")
    assert [need.check for need in found] == ["Puttwo", "Putthree", "Putone"]
    with pytest.raises(RailyardError, match=r"-c .*four.py: found no such file or folder, expected checks$"):
        needs(tmp_path / "one.py", tmp_path / "four.py")


def test_checks_come_in_the_order_of_their_files(tmp_path: Path) -> None:
    for letter in "hdbfgcae":
        text = CHECK.replace("class Put", f"class Put{letter.upper()}")
        (tmp_path / f"{letter}.py").write_text(text, encoding="utf-8")
    assert [need.check for need in needs(tmp_path)] == [f"Put{letter}" for letter in "ABCDEFGH"]


def test_a_folder_without_checks_needs_nothing(tmp_path: Path) -> None:
    assert needs(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def broken(:\n", "SyntaxError: invalid syntax (bad.py, line 1)"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
    ],
)
def test_a_file_that_does_not_import_is_named(tmp_path: Path, text: str, found: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(RailyardError) as caught:
        needs(tmp_path)
    assert str(caught.value) == f"{bad}: found {found}, expected a check that imports"


def test_an_unknown_benchmark_of_a_known_tool_is_refused_with_the_nearest(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(CHECK.replace("osu_put_bw", "osu_put_wb"), encoding="utf-8")
    with pytest.raises(RailyardError) as caught:
        needs(own)
    assert str(caught.value) == f'{own}: Put: unknown benchmark "osu/osu_put_wb": did you mean "osu/osu_put_bw"?'
    own.write_text(CHECK.replace("osu", "nosuchtool"), encoding="utf-8")  # an application of a system's file
    assert [need.tool for need in needs(own)] == ["nosuchtool"]


def test_gpcnets_congestion_asks_for_ten_nodes() -> None:
    found = [replace(need, takes=Takes()) for need in needs(ROOT / "checks") if need.tool in ("hpcc", "gpcnet")]
    asked: dict[str, Any] = {"extended": True, "pair_a_rail": True, "all_nodes": True, "check_class": "app"}
    assert found == [
        Need("GpcnetNetwork", "gpcnet", "gpcnet/network_test", 2, **asked),
        Need("GpcnetCongestion", "gpcnet", "gpcnet/network_load_test", 10, ranks=10, **asked),
        Need("Hpcc", "hpcc", "hpcc/Summary", 2, **asked),
    ]


def test_an_application_is_found_with_its_problem_and_its_nodes() -> None:
    found = {need.benchmark: need for need in needs(ROOT / "checks") if need.tool in ("hpl", "npb")}
    assert found["hpl/hpl"] == Need(
        *("Hpl", "hpl", "hpl/hpl", 2),
        extended=True,
        pair_a_rail=True,
        all_nodes=True,
        check_class="app",
        takes=Takes(fewest=2, ranks=True),
    )
    whole, alone, four = (found[f"npb/FT/W{nodes}"] for nodes in ("", "/1-nodes", "/4-nodes"))
    assert (whole.nodes, whole.feature, whole.within_node) == (2, "npb-ft-W", False)
    assert (alone.nodes, alone.ranks, alone.feature, alone.within_node) == (1, 1, "npb-swept-ft-W", True)
    assert (four.nodes, four.ranks, four.within_node) == (4, 4, False)
    assert len(found) == 2 + 4 + 7 + 8 * 7 + 2 * 7 * 7
    (zones,) = (need for need in needs(ROOT / "checks") if need.benchmark == "npb/LU-MZ/C")
    assert zones == Need(
        *("NpbMz %code=lu-mz %problem=C", "npb-mz", "npb/LU-MZ/C", 2), extended=True, pair_a_rail=True,
        feature="npb-lu-mz-C",
        all_nodes=True, check_class="app", takes=Takes(fewest=2, ranks=True),
    )  # fmt: skip


def test_milc_is_measured_with_every_edge_on_the_published_numbers_of_nodes() -> None:
    found = [need for need in needs(ROOT / "checks") if need.tool == "milc"]
    assert [(need.benchmark, need.nodes) for need in found] == [
        (f"milc/asqtad/L{edge}/{nodes}-nodes", nodes) for edge in (4, 6, 8, 10, 12, 14) for nodes in (1, 2, 4, 8, 16)
    ]
    assert {need.within_node for need in found if need.nodes == 1} == {True}
    assert all(need.extended and need.check.startswith("MilcScaling ") for need in found)


OWN_APPLICATION = """\
import reframe as rfm
from railyard.check import InterconnectCheck


@rfm.simple_test
class OwnCode(InterconnectCheck):
    tool = "mycode"
    benchmark = "time"
"""


def test_a_tool_that_some_system_states_as_its_application_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN_APPLICATION, encoding="utf-8")
    stated: dict[str, SimpleNamespace] = {}
    monkeypatch.setattr(catalogue, "load_systems", lambda folder: stated)
    with pytest.raises(RailyardError) as refused:
        needs(own, home=tmp_path)
    assert str(refused.value).startswith(
        f'{own}: OwnCode: tool: found "mycode", expected a tool of Railyard\'s benchmarks; known: '
    )
    stated["other"] = SimpleNamespace(applications={"mycode": None})
    assert [need.tool for need in needs(own, home=tmp_path)] == ["mycode"]


def test_every_published_check_has_a_known_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "load_systems", lambda folder: {})
    assert needs(ROOT / "checks", home=ROOT)
