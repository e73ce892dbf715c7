"""The words of --fault: what each plants, and the sentence for each that is wrong."""

from pathlib import Path
from typing import get_args

import pytest

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal.form import GRAMMAR, Fault, FaultKind, parse_fault, plant_faults
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

SITE = Path(__file__).parents[2] / "sites/rehearsed"
NODES = ("n1", "n2", "n3", "n9", "n10")


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(SITE / "systems/ndr.yaml")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rail=n3:mlx5_1,share=0.5", {"kind": "slow", "node": "n3", "device": "mlx5_1:1", "share": 0.5}),
        ("rail=n3:mlx5_1:1,share=.25", {"kind": "slow", "node": "n3", "device": "mlx5_1:1", "share": 0.25}),
        ("rail=n10:mlx5_0,idle", {"kind": "idle", "node": "n10", "device": "mlx5_0:1"}),
        ("rail=*:mlx5_1,idle", {"kind": "idle", "node": "*", "device": "mlx5_1:1"}),
        ("rail=n3:mlx5_0,lanes=1", {"kind": "lanes", "node": "n3", "device": "mlx5_0:1", "lanes": 1}),
        ("rail=n3:mlx5_0,counters=unreadable", {"kind": "unreadable", "node": "n3", "device": "mlx5_0:1"}),
        ("rail=n3:mlx5_1,far", {"kind": "far", "node": "n3", "device": "mlx5_1:1"}),
        ("node=n3,dies", {"kind": "dies", "node": "n3"}),
        ("leaf=leaf2,share=0.5", {"kind": "leaf", "leaf": "leaf2", "share": 0.5}),
        ("fallback=tcp", {"kind": "fallback"}),
    ],
)
def test_each_form_plants_its_fault(system: System, text: str, fault: dict[str, object]) -> None:
    assert parse_fault(text, system, NODES) == Fault(text=text, **fault)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fat() -> System:
    return load_system(SITE / "systems/fat.yaml")


def test_every_form_that_a_sentence_shows_is_one(fat: System) -> None:
    named = {"NODE": "gpu2", "DEVICE": "mlx5_0", "NAME": "leaf1", "NUMBER": "3"}
    shown = []
    for form in GRAMMAR:
        for word, name in named.items():
            form = form.replace(word, name)
        shown.append(form)
    assert {fault.kind for fault in plant_faults(shown, fat, ("gpu1", "gpu2"))} == set(get_args(FaultKind))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpu=gpu2:3,lanes=4", {"kind": "narrow", "node": "gpu2", "gpu": 3, "lanes": 4}),
        ("gpu=*:7,missing", {"kind": "missing", "node": "*", "gpu": 7}),
        ("gpu=gpu2:0,dead", {"kind": "dead", "node": "gpu2", "gpu": 0}),
    ],
)
def test_each_form_of_a_gpu_plants_its_fault(fat: System, text: str, fault: dict[str, object]) -> None:
    assert parse_fault(text, fat, ("gpu1", "gpu2")) == Fault(text=text, **fault)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gpu=gpu2:8,dead", "found GPU 8, expected one of the GPUs 0 to 7 of each node"),
        ("gpu=gpu2,dead", 'found "gpu2", expected a node and a GPU: gpu=NODE:NUMBER, or gpu=*:NUMBER for every node'),
        ("gpu=gpu2:x,dead", 'found "gpu2:x", expected a node and a GPU: gpu=NODE:NUMBER, or gpu=*:NUMBER for every '
         "node"),
        ("gpu=gpu2:3,missin", 'found "missin", expected one of lanes=4, missing, dead; did you mean "missing"?'),
        ("gpu=gpu2:3,lanes=16", 'found "lanes=16", expected fewer lanes than the 16 of the slot: 1, 2, 4, 8'),
    ],
)  # fmt: skip
def test_each_wrong_word_of_a_gpu_has_its_sentence(fat: System, text: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        plant_faults([text], fat, ("gpu1", "gpu2"))
    assert str(caught.value) == f"--fault {text}: {sentence}"


def test_a_gpu_of_a_system_without_any_is_refused(system: System) -> None:
    with pytest.raises(RailyardError) as caught:
        plant_faults(["gpu=n3:0,dead"], system, NODES)
    assert str(caught.value) == '--fault gpu=n3:0,dead: found "n3:0", expected gpus in systems/ndr.yaml, which has none'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rial=n3:mlx5_0,idle", 'found "rial=n3:mlx5_0", expected one of rail=, gpu=, node=, leaf=, fallback=; '
         'did you mean "rail"?'),
        ("rail", 'found "rail", expected one of rail=, gpu=, node=, leaf=, fallback=; did you mean "rail"?'),
        ("rail=n3,idle", 'found "n3", expected a node and a device: rail=NODE:DEVICE, or rail=*:DEVICE for every node'),
        ("rail=nn3:mlx5_0,idle", 'found no node "nn3", expected one of the rehearsed nodes; did you mean "n3"?'),
        ("rail=n5:mlx5_0,idle", 'found "n5", which is not rehearsed, expected one of the rehearsed nodes; '
         "--nodes N rehearses more nodes"),
        ("rail=n3:mlx4_0,idle", 'found no rail "mlx4_0", expected a rail of ndr; did you mean "mlx5_0:1"?'),
        ("rail=n3:mlx5_0:2,idle", 'found no rail "mlx5_0:2", expected a rail of ndr; did you mean "mlx5_0:1"?'),
        ("rail=n3:mlx5_0,shore=0.5", 'found "shore=0.5", expected one of share=0.5, idle, lanes=1, '
         'counters=unreadable, far; did you mean "share"?'),
        ("rail=n3:mlx5_0,share=1.5", 'found "share=1.5", expected the share of the rate that is left, above 0 and '
         "below 1: share=0.5"),
        ("rail=n3:mlx5_0,share=0.0", 'found "share=0.0", expected the share of the rate that is left, above 0 and '
         "below 1: share=0.5"),
        ("rail=n3:mlx5_0,lanes=4", 'found "lanes=4", expected a cable with 1 or 2 of its four lanes left: '
         "lanes=1"),
        ("node=n1,dies", 'found "n1", the first rehearsed node, which runs the scheduler\'s controller, '
         "expected another node; for example n10"),
        ("node=n3,sleeps", 'found "sleeps", expected "dies": node=n3,dies'),
        ("leaf=leaf3,share=0.5", 'found no leaf switch "leaf3", expected one of its leaf_switches; '
         'did you mean "leaf2"?'),
        ("leaf=leaf2,slow", 'found "slow", expected the share of the rate that is left, above 0 and below 1: '
         "share=0.5"),
        ("fallback=udp", 'found "fallback=udp", expected "fallback=tcp" and nothing after it'),
    ],
)  # fmt: skip
def test_each_wrong_word_has_its_sentence(system: System, text: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        plant_faults([text], system, NODES)
    assert str(caught.value) == f"--fault {text}: {sentence}"


def test_a_leaf_switch_whose_nodes_do_not_stand_is_refused(system: System) -> None:
    with pytest.raises(RailyardError, match='found "leaf2", which has no rehearsed node'):
        parse_fault("leaf=leaf2,share=0.5", system, ("n1", "n2"))


def test_a_fault_is_planted_once(system: System) -> None:
    with pytest.raises(RailyardError, match="found this fault for the second time, expected each fault once"):
        plant_faults(["fallback=tcp", "fallback=tcp"], system, NODES)


def test_a_device_of_two_ports_is_asked_for_its_port(system: System) -> None:
    fabric = system.fabrics["ndr"]
    second = fabric.rails[0].model_copy(update={"port": 2})
    wider = fabric.model_copy(update={"rails": (*fabric.rails, second)})
    two = system.model_copy(update={"fabrics": {"ndr": wider}})
    with pytest.raises(RailyardError, match=r'found "mlx5_0", which has several ports, .* type: mlx5_0:1 or mlx5_0:2'):
        parse_fault("rail=n3:mlx5_0,idle", two, NODES)
    assert parse_fault("rail=n3:mlx5_0:2,idle", two, NODES).device == "mlx5_0:2"


def test_rails_of_tcp_have_no_lanes_and_rails_without_counters_none_to_hide(system: System) -> None:
    fabric = system.fabrics["ndr"]
    bare = fabric.model_copy(
        update={"kind": "tcp", "rails": (fabric.rails[0].model_copy(update={"counters": "none"}),)}
    )
    changed = system.model_copy(update={"fabrics": {"ndr": bare}})
    with pytest.raises(RailyardError, match="found a fabric of kind tcp, expected a cable with 1 or 2 of"):
        parse_fault("rail=n3:mlx5_0,lanes=1", changed, NODES)
    with pytest.raises(RailyardError, match="found mlx5_0:1, which has counters: none"):
        parse_fault("rail=n3:mlx5_0,counters=unreadable", changed, NODES)
