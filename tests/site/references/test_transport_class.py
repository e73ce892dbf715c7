"""references/classes/*.yaml: all are possible and have a source, and there is a sentence for each mistake."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.gpu_collectives import JudgedRow, judge_possible
from railyard.hardware.gpu_nodes import Shape
from railyard.site.references.transport_class import classes, figures, find_class, load_class

CLASSES = Path(__file__).parents[3] / "references" / "classes"
NAMES = classes(CLASSES)

CLASS = """\
class: some
description: A class
node: gpus=8,nvlink=4,nics=8,link=ib-ndr
sources:
  page: {document: A page, date: 2026-01-01}
numbers:
  - {id: one, collective: all_reduce, kind: published, nodes: 2, busbw: {16G: 480.5}, source: {of: page}}
"""


def write(folder: Path, text: str, name: str = "some") -> Path:
    (folder / "references" / "classes").mkdir(parents=True, exist_ok=True)
    path = folder / "references" / "classes" / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_published_table_has_its_classes() -> None:
    assert {"h100-8xndr400", "h100-efa3200", "h100-8xtcpxo200", "gb200-nvl72", "mi300x-8xroce400"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_class_of_the_project_loads(name: str) -> None:
    found = find_class(CLASSES, name)
    for number in found.numbers:
        assert list(figures(number)) and number.source.document


@pytest.mark.parametrize(
    ("name", "collective", "nodes", "size", "value"),
    [
        # The table of public numbers: first those of NVIDIA's cluster-readiness-engine.
        ("h100-efa3200", "all_reduce", 2, 16 << 30, 487.87),
        ("h100-efa3200", "all_gather", 2, 16 << 30, 338.57),
        ("h100-efa3200", "alltoall", 2, 16 << 30, 79.11),
        ("h100-8xtcpxo200", "all_reduce", 2, 16 << 30, 337.09),
        ("h100-8xtcpxo200", "all_gather", 2, 16 << 30, 189.27),
        ("h100-8xtcpxo200", "alltoall", 2, 16 << 30, 40.16),
        ("gb200-nvl72", "all_reduce", 4, 16 << 30, 882.51),
        ("gb200-4xefa400", "all_reduce", 4, 16 << 30, 191.40),
        ("gb300-nvl72", "all_reduce", 8, 16 << 30, 923.32),
        ("gb300-8xroce400", "all_reduce", 8, 16 << 30, 376.01),
        ("h100-8xndr400", "all_reduce", 12, 8 << 30, 386.56),
        ("gb200-nvl72-4xndr400", "all_reduce", 360, 16 << 30, 405.74),
        ("gh200-4xslingshot11", "sendrecv", 8, 512 << 20, 24.2382),
    ],
)
def test_the_published_numbers_are_kept(name: str, collective: str, nodes: int, size: int, value: float) -> None:
    found = [n for n in find_class(CLASSES, name).of(collective) if n.kind == "published" and n.nodes == nodes]
    assert [number.busbw[size] for number in found if number.busbw] == [value]


@pytest.mark.parametrize(
    ("name", "whose", "benchmark", "size", "gbit_s"),
    [
        # azurehpc-health-checks, conf/*.conf, check_ib_bw_gdr; its messages have 8388608 B.
        ("a100-8xhdr200", "Azure", "perftest/ib_write_bw/device", 8 << 20, 180),
        ("h100-8xndr400", "Azure", "perftest/ib_write_bw/device", 8 << 20, 380),
        ("h200-8xndr400", "Azure", "perftest/ib_write_bw/device", 8 << 20, 360),
        # oci-hpc, multi_node_active_healthcheck.py: messages of 65536 B from the host's memory.
        ("a100-16xroce100", "Oracle", "perftest/ib_write_bw", 65536, 96),
        ("h100-16xroce200", "Oracle", "perftest/ib_write_bw", 65536, 192),
        ("h200-8xroce400", "Oracle", "perftest/ib_write_bw", 65536, 384),
        ("b200-8xroce400", "Oracle", "perftest/ib_write_bw", 65536, 384),
        ("b300-16xroce400", "Oracle", "perftest/ib_write_bw", 65536, 375),
        ("gb200-4xroce400", "Oracle", "perftest/ib_write_bw", 65536, 384),
        ("gb300-8xroce400", "Oracle", "perftest/ib_write_bw", 65536, 384),
        ("mi300x-8xroce400", "Oracle", "perftest/ib_write_bw", 65536, 350),
        ("mi355x-8xroce400", "Oracle", "perftest/ib_write_bw", 65536, 350),
    ],
)
def test_what_is_demanded_of_one_nic_is_kept(name: str, whose: str, benchmark: str, size: int, gbit_s: float) -> None:
    (demand,) = find_class(CLASSES, name).nic_thresholds
    assert (demand.whose, demand.benchmark, demand.gbit_s) == (whose, benchmark, {size: gbit_s})


def test_what_was_published_as_passed_and_cannot_be_is_kept_as_a_bad_case() -> None:
    found = find_class(CLASSES, "gb200-4xroce400")
    bad = [number for number in found.numbers if number.kind == "bad-case"]
    assert len(bad) == 3
    for number in bad:
        assert number.nodes is not None
        for _, size, value in figures(number):
            row = JudgedRow(value * 1000, size)
            assert judge_possible(number.collective, Shape(found.has, number.nodes), row).state == "impossible"


REFUSED = (
    ("class: some", "class: other", 'class: found "other", expected "some", the name of the file'),
    (
        "link=ib-ndr",
        "link=ib-nrd",
        'node: found "gpus=8,nvlink=4,nics=8,link=ib-nrd", expected words of --nodes-have; found link "ib-nrd", '
        'expected one that it knows; did you mean "ib-ndr"?',
    ),
    ("all_reduce", "allreduce", 'found "allreduce", expected a collective of nccl-tests; did you mean "all_reduce"?'),
    ("of: page", "of: pag", 'source.of: found "pag", expected a source of this file; did you mean "page"?'),
    ("busbw: {16G: 480.5}, ", "", "found neither busbw nor peak nor mean, expected one of busbw"),
    ("busbw: {16G: 480.5}", "busbw: {16G: 480.5}, peak: 1", "found busbw and peak, expected one of busbw"),
    ("busbw: {16G: 480.5}", "busbw: {}", "found no size, expected at least one size with its busbw"),
    ("published", "threshold", "found a threshold without whose, expected whose in each threshold"),
    ("nodes: 2", "whose: Azure, nodes: 2", "found whose in a published number, expected whose in each threshold"),
    ("published", "bad-case", "found a bad-case without reason, expected a reason in each bad-case"),
    (
        "480.5",
        "837.76",
        f"numbers[0].busbw: found 837.76 GB/s, which is {IMPOSSIBLE}busbw 837.8 GB/s of all_reduce on 2",
    ),
    ("published, nodes: 2", "published, nodes: 2, algorithm: ring", "of what a ring can show"),
    ("16G", "16 GB", "expected a message size in bytes"),
)


@pytest.mark.parametrize(("old", "new", "said"), REFUSED, ids=[new for _, new, _ in REFUSED])
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        load_class(write(tmp_path, CLASS.replace(old, new)))
    assert str(error.value).startswith("references/classes/some.yaml:")
    assert said in str(error.value)


def test_one_id_stands_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'numbers\[1\].id: found "one" for the second time'):
        load_class(write(tmp_path, CLASS + CLASS.splitlines()[-1] + "\n"))


DEMAND = """\
nic_thresholds:
  - {id: nic, benchmark: perftest/ib_write_bw/device, whose: Azure, gbit_s: {8M: 380}, source: {of: page}}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("of: page}}\n", "of: pag}}\n", 'nic_thresholds[0].source.of: found "pag", expected a source of this file'),
        ("id: nic", "id: one", 'nic_thresholds[0].id: found "one" for the second time, expected each id once'),
        (
            "ib_write_bw/device",
            "ib_write_bw/devise",
            'found "perftest/ib_write_bw/devise", expected a bandwidth of perftest, such as '
            'perftest/ib_write_bw/device; did you mean "perftest/ib_write_bw/device"?',
        ),
        ("ib_write_bw", "ib_write_lat", "expected a bandwidth of perftest"),
        ("whose: Azure, ", "", "nic_thresholds[0].whose: found nothing"),
        ("380", "0", "nic_thresholds[0].gbit_s.8M: found 0"),
        (
            ",nics=8,link=ib-ndr",
            "",
            "nic_thresholds[0]: found a demand of a NIC, where nodes have none, ",
        ),
    ],
)
def test_what_is_wrong_with_a_demand_of_one_nic_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    class_of_nics = CLASS.replace("nodes: 2", "nodes: 1")  # so that the number is possible without NICs, too
    text = class_of_nics.replace(old, new) if old.startswith(",nics") else class_of_nics
    with pytest.raises(InputError) as error:
        load_class(write(tmp_path, text + (DEMAND if old.startswith(",nics") else DEMAND.replace(old, new))))
    assert str(error.value).startswith("references/classes/some.yaml:")
    assert said in str(error.value)


def test_a_class_that_does_not_exist_is_named(tmp_path: Path) -> None:
    write(tmp_path, CLASS)
    with pytest.raises(InputError) as error:
        find_class(tmp_path / "references" / "classes", "smoe")
    assert str(error.value) == (
        'references/classes/: found no class "smoe", expected a class of that name; did you mean "some"?'
    )
