"""GPUs of one node: below the rate of their slots nothing passes, and NVLink that was not seen is said."""

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.osu import parse
from railyard.site.site import site_at
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes, of_link, unnamed_link
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("mb_s", "state", "remark"), [(1600.0, "not-judged", False), (10800.0, "pass", True), (140000.0, "pass", False)]
)
def test_a_rate_of_pcie_between_gpus_is_named(mb_s: float, state: str, remark: bool) -> None:
    text = (
        "# OSU MPI-CUDA Bandwidth Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size        Bandwidth (MB/s)\n1048576  {mb_s:.2f}\n2097152  {mb_s:.2f}\n4194304  {mb_s:.2f}\n"
    )
    (found,) = judge(parse(text), unnamed_link(), nodes=Nodes(count=1, ranks_each=2), text=text)
    assert (found.state, any("NVLink was not seen" in each for each in found.remarks)) == (state, remark)


@pytest.mark.parametrize(("mb_s", "state"), [(5_000.0, "not-judged"), (9_000.0, "not-judged"), (11_000.0, "pass")])
def test_half_a_round_trip_between_gpus_is_not_judged_below_the_rate_of_their_slots(mb_s: float, state: str) -> None:
    rows = "".join(f"{1 << power}  {17 + (1 << power) / mb_s:.2f}\n" for power in range(23))
    text = (
        "# OSU MPI-CUDA Latency Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size          Latency (us)\n{rows}"
    )
    (found,) = judge(parse(text), unnamed_link(), nodes=Nodes(count=1, ranks_each=2), text=text)
    is_doubted = "us at 4 MiB" in found.sentence and "GPUs of one" in found.sentence
    assert (found.state, is_doubted) == (state, state != "pass")


@pytest.mark.parametrize(
    ("link", "slot", "mb_s", "state"),
    [
        ("ib-hdr", None, 0.50 * 24842, "fail"),
        ("ib-hdr", None, 0.60 * 24842, "fail"),
        ("ib-hdr", None, 0.92 * 24842, "pass"),
        ("ib-ndr", None, 0.45 * 49685, "fail"),
        ("slingshot-11", None, 0.60 * 25000, "fail"),
        ("ib-edr", None, 9500.0, "pass"),  # a V100
        ("ib-hdr", "pcie3-x16", 9500.0, "pass"),  # the same behind the slot of its card
    ],
)
def test_half_of_a_fast_link_does_not_pass_between_gpus_of_two_nodes(
    link: str, slot: str | None, mb_s: float, state: str
) -> None:
    start_us, late_us = (17, 85) if mb_s < 10_000 else (4, 12)
    times = {
        size: start_us + late_us * min(1, size / (512 << 10)) + size / mb_s for size in (1 << n for n in range(23))
    }
    rows = "".join(f"{size}  {time:.2f}\n" for size, time in times.items())
    text = (
        "# OSU MPI-CUDA Latency Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size          Latency (us)\n{rows}"
    )
    (found,) = judge(parse(text), of_link(link, slot), text=text)
    assert found.state == state


def osu(benchmark: str, mb_s: float, buffers: str = "DEVICE (D)") -> str:
    """Return what osu_bw or osu_latency prints between two GPUs with this rate."""
    title = {"Bandwidth": "# Size        Bandwidth (MB/s)", "Latency": "# Size          Latency (us)"}[benchmark]
    figures = {size: 3 + size / mb_s for size in (1 << power for power in range(23))}
    rows = (f"{size}  {us if benchmark == 'Latency' else size / us:.2f}\n" for size, us in figures.items())
    head = f"# OSU MPI-CUDA {benchmark} Test v7.3\n# Send Buffer on {buffers} and Receive Buffer on {buffers}\n"
    return f"{head}{title}\n{''.join(rows)}"


@pytest.mark.parametrize("benchmark", ["Bandwidth", "Latency"])
@pytest.mark.parametrize(
    ("link", "mb_s", "state"),
    [
        ("nvlink-4", 120_000.0, "pass"),  # GH200 with six of 18 links between two
        ("nvlink4", 40_000.0, "not-judged"),  # PCIe in place of it
        ("NVLink-3", 87_000.0, "pass"),  # A100 with four of 12
        ("nvlink-3", 24_000.0, "not-judged"),
        ("xgmi-mi300x", 48_000.0, "pass"),  # what AMD's blog says of a link
        ("xGMI MI300X", 24_000.0, "not-judged"),
        ("pcie4-x16", 24_000.0, "pass"),
        ("pcie-gen4-x16", 12_000.0, "not-judged"),  # half of its lanes
        ("pcie5-x16", 24_000.0, "not-judged"),
    ],
)
def test_what_connects_the_gpus_is_the_bound_if_it_is_named(benchmark: str, link: str, mb_s: float, state: str) -> None:
    text = osu(benchmark, mb_s)
    (found,) = judge(parse(text), of_link(link), text=text)
    assert (found.state, "GPUs of one node exchange over" in found.sentence) == (state, state != "pass")


def test_a_systems_file_names_what_connects_its_gpus() -> None:
    site = site_at(ROOT, "coreweave-h100")
    for mb_s, state in ((330_000.0, True), (40_000.0, False)):
        text = osu("Bandwidth", mb_s)
        (found,) = judge(parse(text), of_system(site, None), nodes=Nodes(count=1), text=text)
        assert (found.is_pass, "over NVLink 4" in found.sentence) == (state, not state)


def test_buffers_of_hosts_do_not_pass_by_what_connects_gpus() -> None:
    text = osu("Bandwidth", 120_000.0, "HOST (H)")
    (found,) = judge(parse(text), of_link("nvlink-4"), text=text)
    assert found.sentence.startswith("not judged: its buffers are not in the memory of GPUs, so nothing crossed NVLink")


def test_options_of_a_network_do_not_go_with_what_connects_gpus() -> None:
    with pytest.raises(RailyardError, match="--slot, --mtu or --rails, expected none: it is within one node"):
        of_link("nvlink-4", rails=2)
    with pytest.raises(RailyardError, match="expected a slot of"):
        of_link("pcie9-x16")


def test_what_is_below_infinity_fabric_is_looked_up_with_amds_tool() -> None:
    text = osu("Bandwidth", 20_000.0)
    (found,) = judge(parse(text), of_link("xgmi-mi300x"), text=text)
    assert "exchange over xGMI (MI300X)" in found.sentence
    assert "look at rocm-smi --showtopo, at the slots' width" in found.sentence


@pytest.mark.parametrize(
    ("name", "why"),
    [("xgmi-mi250x", "; two of its GPUs have one, two or four links"), ("xgmi", ""), ("xgmi-2", "")],
)
def test_infinity_fabric_is_named_by_its_gpu(name: str, why: str) -> None:
    with pytest.raises(RailyardError) as raised:
        of_link(name)
    assert str(raised.value) == f'--link: found "{name}", expected xgmi-mi300x or xgmi-mi355x{why}'
