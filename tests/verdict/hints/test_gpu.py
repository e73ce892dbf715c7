"""Likely causes of a low or impossible busbw: each with an example, and silence where nothing is wrong."""

from pathlib import Path

import pytest

from railyard.hardware.gpu_nodes import Shape, node_of_words
from railyard.verdict.hints.gpu import CAUSES, GpuSeen, document, likely_causes

NDR = "gpus=8,nvlink=4,nics=8,link=ib-ndr"


def seen_gpus(words: str, nodes: int, collective: str, peak: float) -> GpuSeen:
    return GpuSeen(collective, Shape(node_of_words(words), nodes), peak)


EXAMPLES = [
    # computed: 4 of 8 NICs of 49.68 GB/s are 198.7 GB/s; healthy nodes show 94 % of this
    (
        "fewer-nics",
        seen_gpus(NDR, 4, "all_reduce", 186.0),
        "4 of 8 NICs of a node: 186.0 GB/s is 96.6 % of the 192.5 GB/s",
    ),
    ("fewer-nics", seen_gpus(NDR, 2, "alltoall", 12.0), None),
    ("across-sockets", seen_gpus(NDR, 4, "all_reduce", 186.0), "a path across sockets"),
    # computed: NDR cards in slots of PCIe 4 carry 31 GB/s each
    ("narrow-slot", seen_gpus(NDR, 4, "all_gather", 225.0), "NICs in slots of pcie4-x16"),
    # areal-project/AReaL issue 639: 5 GB/s over sockets on an Ethernet bond; 25 were expected over RoCE
    (
        "sockets",
        seen_gpus("gpus=8,nvlink=4,nics=1,link=roce-200", 2, "all_reduce", 5.0),
        "sockets (TCP) over one interface of eth-50, in place of roce-200",
    ),
    ("sockets", seen_gpus(NDR, 2, "all_reduce", 1.1), "sockets (TCP) over one interface of eth-10, in place of ib-ndr"),
    # NVIDIA/nccl-tests issue 250: H20 with NVLink switched off goes over PCIe or shared memory
    ("over-pcie", seen_gpus(NDR, 1, "all_reduce", 40.0), "PCIe in place of NVLink between the GPUs of a node"),
    # NVIDIA/nccl issue 700: two nodes of eight A100, one RoCE card of 200 Gbit/s used, ACS on: 9.84 GB/s
    (
        "no-gpu-direct",
        seen_gpus("gpus=8,nvlink=3,nics=1,link=roce-200", 2, "all_reduce", 9.84),
        "without GPUDirect RDMA (nvidia_peermem or DMA-BUF missing, ACS on): 40.1 %",
    ),
    # NVIDIA/nccl issue 949: two cards of 200 Gbit/s, ACS: 27 GB/s, and 48 without
    ("no-gpu-direct", seen_gpus("gpus=8,nvlink=3,nics=2,link=ib-hdr", 2, "all_reduce", 27.0), "ACS on): 54.3 %"),
    ("no-gpu-direct", seen_gpus("gpus=8,nvlink=3,nics=2,link=ib-hdr", 2, "all_reduce", 33.0), None),
    # references/classes, gb200-4xroce400: 837.76 GB/s although four cards carry 200
    (
        "one-domain",
        seen_gpus("gpus=4,nvlink=5,nics=4,link=roce-400", 2, "all_reduce", 837.76),
        "one NVLink domain over",
    ),
    # computed: 16 cards of 200 Gbit/s although 8 were stated
    (
        "more-nics",
        seen_gpus("gpus=8,nvlink=4,nics=8,link=roce-200", 4, "all_gather", 370.0),
        "with 2 times as many NICs",
    ),
]


@pytest.mark.parametrize(("cause", "of", "words"), EXAMPLES)
def test_each_cause_has_an_example(cause: str, of: GpuSeen, words: str | None) -> None:
    found = {each.cause: each.description for each in likely_causes(of)}
    if words is None:
        assert cause not in found
    else:
        assert words in found[cause]


def test_every_cause_of_the_table_has_an_example() -> None:
    assert {cause for cause, _, words in EXAMPLES if words} == {cause.name for cause in CAUSES}


@pytest.mark.parametrize(
    ("nodes", "collective", "peak"),
    [(2, "all_reduce", 460.0), (4, "all_reduce", 370.0), (1, "all_reduce", 370.0), (2, "sendrecv", 47.0)],
)
def test_a_healthy_figure_looks_like_nothing(nodes: int, collective: str, peak: float) -> None:
    assert likely_causes(seen_gpus(NDR, nodes, collective, peak)) == ()


def test_one_gpu_looks_like_nothing() -> None:
    assert likely_causes(seen_gpus("gpus=1,nics=1,link=ib-ndr", 1, "all_reduce", 1.0)) == ()


def test_the_document_has_a_row_for_each_cause() -> None:
    lines = document().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == [cause.name for cause in CAUSES]
    page = Path(__file__).parents[3] / "docs" / "reference" / "verdicts.md"
    assert f"\n\n{document()}\n" in page.read_text(encoding="utf-8")
    assert all("|" not in cause.looked_for + cause.source for cause in CAUSES)
