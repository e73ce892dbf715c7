"""Is my number right? Rule 5 with the published numbers of a class, and with the floor of healthy nodes."""

from pathlib import Path

import pytest

from railyard.base.bounds import GPU_FLOOR_FROM, GPU_FLOOR_NODES, GPU_FLOOR_SHARE
from railyard.base.errors import RailyardError
from railyard.benchmarks.gpu_collectives import COLLECTIVES, busbw_bounds, own_nics
from railyard.hardware.gpu_nodes import Shape
from railyard.parsers import nccl
from railyard.site.references.transport_class import classes, figures, find_class
from railyard.verdict.gpu.run import GpuTarget, of_class, of_words
from railyard.verdict.stored_outputs.collectives import judge_collectives
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.wording import class_standing as standing_words
from tests.made.nccl_output import CLASS_CURVE as PUBLISHED
from tests.made.nccl_output import GIB, output

CLASSES = Path(__file__).parents[3] / "references" / "classes"
NDR = of_class(find_class(CLASSES, "h100-8xndr400"))


def nodes(count: int) -> list[str]:
    return [f"n{n}" for n in range(count)]


def one(text: str, target: GpuTarget = NDR) -> Judgement:
    (found,) = judge_collectives(nccl.parse(text), target, text=text)
    return found


def test_a_curve_among_published_ones_passes_with_its_sources() -> None:
    found = one(output("all_reduce", PUBLISHED, nodes(12)))
    assert found.state == "pass"
    assert found.sentence.startswith("within ") and "h100-8xndr400: busbw " in found.sentence
    assert "of 5 comparisons: 5 within" in found.sentence
    assert any(said.startswith("source coreweave: CoreWeave, nccl-tests at github.com") for said in found.remarks)


def test_what_vendors_demand_is_told_and_decides_nothing() -> None:
    low = {**PUBLISHED, 16 * GIB: 389.0}
    found = one(output("all_reduce", low, nodes(12)))
    assert found.state == "pass"
    assert any("Azure demands 400.0 GB/s at 16 GiB (azure-warns; a threshold, not physics)" in r for r in found.remarks)


def test_a_curve_below_published_ones_fails_with_the_size() -> None:
    found = one(output("all_reduce", {size: value * 0.8 for size, value in PUBLISHED.items()}, nodes(12)))
    assert found.state == "fail"
    assert "rule 5 (reference): below " in found.sentence and "h100-8xndr400" in found.sentence
    assert "is 80.0 % of" in found.sentence


def test_more_nodes_than_were_published_are_not_blamed_for_less() -> None:
    found = one(output("all_reduce", {size: value * 0.8 for size, value in PUBLISHED.items()}, nodes(40)))
    assert found.state == "not-judged"
    assert "which is from 12 nodes; yours is from more, and more nodes may give less" in found.sentence


def test_a_curve_above_published_ones_is_possible_and_passes() -> None:
    found = one(output("all_reduce", {size: value * 1.08 for size, value in PUBLISHED.items()}, nodes(12)))
    assert found.state == "pass" and found.sentence.startswith("above ")


UNKNOWN = [
    (
        output("all_reduce", PUBLISHED, nodes(2)),
        f"coreweave: {standing_words.other_node_count(12, 2)}",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12), gpu="NVIDIA A100-SXM4-80GB"),
        "the output is from NVIDIA A100-SXM4-80GB, but h100-8xndr400 is for H100",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12), gpu="NVIDIA GH100"),  # "h100" is a part of it
        "the output is from NVIDIA GH100, but h100-8xndr400 is for H100",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12)).replace("NVIDIA H100 80GB HBM3", "NVIDIA H200", 8),
        "the output is from NVIDIA H100 80GB HBM3, NVIDIA H200, but h100-8xndr400 is for H100",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12), gpu="NVIDIA H100 PCIe"),
        "the output is from NVIDIA H100 PCIe, a card that no NVLink switch connects as in h100-8xndr400",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12), gpu="NVIDIA H100 NVL"),
        "the output is from NVIDIA H100 NVL, a card that no NVLink switch connects as in h100-8xndr400",
    ),
    (
        output("all_reduce", PUBLISHED, nodes(12), gpus=4),
        "the output is from 4 of 8 GPUs per node, but the published numbers are from all",
    ),
    (
        output("sendrecv", {GIB: 47.0, 2 * GIB: 47.5}),
        standing_words.nothing_published("sendrecv", "h100-8xndr400"),
    ),
]


@pytest.mark.parametrize(("text", "why"), UNKNOWN)
def test_it_abstains_where_conditions_differ_or_are_not_known(text: str, why: str) -> None:
    found = one(text)
    assert found.state == "not-judged" and why in found.sentence


def test_a_class_that_abstains_lets_nothing_pass_that_is_below_the_floor() -> None:
    found = one(output("sendrecv", {GIB: 15.0, 2 * GIB: 15.1}))
    assert found.state == "fail" and "healthy nodes have at least 60.0 %" in found.sentence


def test_nodes_other_than_those_of_the_class_are_refused() -> None:
    with pytest.raises(RailyardError, match="whose NICs is 4, expected 8 as in the class"):
        of_words("gpus=8,nvlink=4,nics=4,link=ib-ndr", find_class(CLASSES, "h100-8xndr400"))


def test_all_that_was_published_of_healthy_nodes_is_above_the_floor() -> None:
    """The floor's source: each measured number that it would judge. It should find the bad cases."""
    least, count = 1.0, 0
    for name in classes(CLASSES):
        of = find_class(CLASSES, name)
        for number in of.numbers:
            if number.kind != "published" or number.nodes is None or number.nodes > GPU_FLOOR_NODES.value:
                continue
            node = of.has
            if node.domain or node.within_over_nics or node.gpu_link is None or node.gpu_link.word != "NVLink":
                continue
            if COLLECTIVES[number.collective].rooted:
                continue
            shape = Shape(node, number.nodes)
            bound = own_nics(number.collective, shape) or busbw_bounds(number.collective, shape)[0]
            for _, size, value in figures(number):
                if size is None or size >= GPU_FLOOR_FROM.value:
                    least, count = min(least, value * 1000 / bound.busbw_mb_s), count + 1
    assert count >= 15
    assert GPU_FLOOR_SHARE.value + 0.1 < least < 0.8
