"""Nodes with GPUs: links of GPUs with the rates of their data sheets, and words that are read or refused by name."""

import pytest

from railyard.base.errors import RailyardError
from railyard.hardware.gpu_nodes import GPU_LINKS, WORDS, GpuNode, Shape, node_of_words, over_slot
from railyard.hardware.links import SLOTS


@pytest.mark.parametrize(
    ("name", "gb_s"),
    [
        ("nvlink-1", 80.0),  # 160 GB/s both ways
        ("nvlink-2", 150.0),
        ("nvlink-3", 300.0),
        ("nvlink-4", 450.0),
        ("nvlink-5", 900.0),
        ("xgmi-mi250x", 350.0),
        ("xgmi-mi300x", 448.0),
    ],
)
def test_a_gpu_moves_half_of_what_a_data_sheet_says_of_both_ways(name: str, gb_s: float) -> None:
    assert GPU_LINKS[name].rate_mb_s(8) == gb_s * 1000


def test_gpus_that_are_connected_directly_have_no_link_to_gpus_that_take_no_part() -> None:
    mi300x = GPU_LINKS["xgmi-mi300x"]
    assert mi300x.rate_mb_s(2) == 64_000  # its one link to the other
    assert mi300x.rate_mb_s(4) == 192_000
    assert mi300x.pair_rate_mb_s() == 64_000
    assert GPU_LINKS["nvlink-4"].rate_mb_s(2) == GPU_LINKS["nvlink-4"].pair_rate_mb_s() == 450_000


def test_a_slot_that_connects_gpus_moves_what_packets_leave() -> None:
    # 32 GT/s x 16 x 128/130 / 8 = 63.015 GB/s, of which 512/536 is payload
    assert over_slot(SLOTS["pcie5-x16"]).rate_mb_s(8) == pytest.approx(63015.38 * 512 / 536, rel=1e-6)


def test_words_are_read() -> None:
    node = node_of_words(
        "gpus=8, nvlink=4, nvlinks=8, nics=4, link=ib-hdr, slot=pcie4-x16, gpu-slot=pcie5-x16, sharp=no"
    )
    assert node.gpu_link is not None and node.gpu_link.rate_mb_s(8) == 200_000  # an H800
    assert node.network is not None and node.network.value_mb_s == pytest.approx(4 * 25_000 * 4096 / 4122)
    assert (node.nics, node.nics_of_gpu, node.behind_slot, node.reduces) == (4, 1, False, False)
    assert node.gpu_slot is SLOTS["pcie5-x16"]


def test_a_slot_below_its_link_is_what_sets_the_bound() -> None:
    node = node_of_words("gpus=8,nvlink=3,nics=8,link=ib-hdr,slot=pcie3-x16")
    # 8 GT/s x 16 x 128/130 / 8, of which 512/536: a payload of 512 B, the most that servers are set to
    assert node.behind_slot and node.network is not None
    assert node.network.value_mb_s == pytest.approx(8 * 15753.85 * 512 / 536, rel=1e-6)


def test_more_nics_than_gpus_are_shared_out() -> None:
    assert node_of_words("gpus=8,nvlink=4,nics=32,link=efa-100").nics_of_gpu == 4


def test_in_network_reduction_is_of_infiniband_hdr_and_later() -> None:
    assert node_of_words("gpus=8,nics=8,link=ib-ndr").reduces
    assert not node_of_words("gpus=8,nics=8,link=ib-edr").reduces
    assert not node_of_words("gpus=8,nics=8,link=roce-400").reduces


#: Words, and the message after the words themselves.
REFUSED = (
    ("gpus", 'found "gpus", expected words such as "gpus=8", with commas between them'),
    ("gpus=8,", 'found "", expected words such as "gpus=8", with commas between them'),
    ("gpus=8,nvlnk=4", 'found "nvlnk", expected a word that it knows; did you mean "nvlink"?'),
    ("gpus=8,gpus=8", 'found "gpus" twice, expected each word once'),
    ("nvlink=4", 'found no gpus, expected the number of GPUs per node, such as "gpus=8"'),
    ("gpus=0", 'found gpus "0", expected a whole number from 1 to 100000'),
    ("gpus=²", 'found gpus "²", expected a whole number from 1 to 100000'),
    ("gpus=8,nvlink=9", 'found nvlink "9", expected one that it knows; known: 1, 2, 3, 4, 5'),
    (
        "gpus=8,nvlink=4,pcie=5",
        "found nvlink and pcie, expected one of them: what connects the GPUs of a node",
    ),
    ("gpus=8,nvlinks=8", "found nvlinks without nvlink, expected the generation too, such as nvlink=4"),
    (
        "gpus=8,nvlink=4,nvlinks=20",
        'found nvlinks "20", expected at most 18, the number of NVLink 4 per GPU',
    ),
    ("gpus=8,nics=8", "found nics alone, expected their link too, such as link=ib-ndr"),
    ("gpus=8,link=ib-ndr", "found link alone, expected nics too: how many"),
    ("gpus=8,nics=8,link=ib-nrd", 'found link "ib-nrd", expected one that it knows; did you mean "ib-ndr"?'),
    (
        "gpus=8,within=nics",
        "found within without nics, expected the NICs of a node and their link too: nics=8,link=ib-ndr",
    ),
    ("gpus=8,pcie=5,domain=72", "found domain 72, expected at least the 8 GPUs of a node, and nvlink"),
)


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=[words for words, _ in REFUSED])
def test_wrong_words_are_refused_in_one_sentence(words: str, said: str) -> None:
    with pytest.raises(RailyardError) as error:
        node_of_words(words)
    assert str(error.value) == f'--nodes-have "{words}": {said}'


def test_every_word_is_refused_where_its_value_is_none_that_it_takes() -> None:
    for word in WORDS:
        rest = "" if word == "gpus" else "gpus=8,"
        with pytest.raises(RailyardError, match=f'found {word} "%"'):
            node_of_words(f"{rest}nics=8,link=ib-ndr,{word}=%" if word not in ("nics", "link") else f"{rest}{word}=%")


def test_a_node_is_a_domain_unless_nvlink_joins_several_or_the_nics_carry_all() -> None:
    node = node_of_words("gpus=4,nvlink=5,nics=4,link=roce-400")
    assert (Shape(node, 18).domains, Shape(node, 18).gpus_a_domain, Shape(node, 18).nics_a_domain) == (18, 4, 4)
    rack = Shape(node_of_words("gpus=4,nvlink=5,domain=72,nics=4,link=roce-400"), 360)
    assert (rack.domains, rack.gpus_a_domain, rack.nics_a_domain) == (20, 72, 72)
    assert rack.network_mb_s == pytest.approx(72 * 50_000 * 4096 / 4178)
    alone = Shape(node_of_words("gpus=8,nvlink=4,nics=4,link=ib-ndr,within=nics"), 1)
    assert (alone.domains, alone.gpus_a_domain, alone.nics_a_domain) == (8, 1, 0.5)


def test_domains_that_are_not_full_are_refused() -> None:
    with pytest.raises(RailyardError, match=r"found 80 GPUs in NVLink domains of 72, expected full domains"):
        Shape(node_of_words("gpus=4,nvlink=5,domain=72,nics=4,link=roce-400"), 20)


def test_two_jobs_of_one_node_are_not_one_of_two_nodes() -> None:
    # Two tables, each from "Rank 0" to "Rank 7": 368 GB/s is above many floors for two nodes.
    shape = Shape(node_of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr"), 2)
    assert shape.why_not(8) == (
        "the output is of 8 ranks, and 2 nodes of 8 GPUs have 16: perhaps it is of several jobs, or of fewer "
        "GPUs per node"
    )
    assert shape.why_not(16) is None
    assert Shape(shape.node, 2, used=4).why_not(8) is None


def test_a_shape_of_nothing_is_refused() -> None:
    for wrong in (lambda: GpuNode(0), lambda: Shape(GpuNode(8), 0), lambda: Shape(GpuNode(8), 1, used=9)):
        with pytest.raises(ValueError):
            wrong()
