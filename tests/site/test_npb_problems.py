"""Which classes of NPB a system runs, by its file and by its nodes."""

from typing import Any

from railyard.hardware.node import NodeHardware
from railyard.site.matrix import npb_features, npb_mz_problems, npb_problems, swept_classes
from railyard.site.site import Site
from railyard.site.systems.model import System


def system_of(virtual: Site, *, classes: tuple[str, ...], count: int, **hardware: Any) -> System:
    given = NodeHardware(**hardware) if hardware else None
    nodes = virtual.system.nodes.model_copy(update={"hardware": given, "names": (), "count": count})
    return virtual.system.model_copy(update={"nodes": nodes, "npb_classes": classes})


def test_a_file_that_names_classes_has_them_for_each_kernel(virtual: Site) -> None:
    stated = system_of(virtual, classes=("S", "W"), count=128, cores=64, memory=240 << 30)
    assert {*npb_problems(stated).values()} == {("S", "W")}
    assert {*npb_mz_problems(stated).values()} == {("S", "W")}
    assert swept_classes(stated) == ("S", "W")


def test_without_them_each_kernel_has_the_class_of_its_nodes(virtual: Site) -> None:
    large = system_of(virtual, classes=(), count=4, cores=20, memory=119 << 30)
    assert npb_problems(large) == {
        **{"bt": ("D",), "cg": ("D",), "ep": ("E",), "ft": ("D",)},
        **{"is": ("E",), "lu": ("D",), "mg": ("E",), "sp": ("D",)},
    }
    assert {*npb_mz_problems(large).values()} == {("C",)}
    # one node must have the memory of a sweep's problem
    assert swept_classes(large) == ("C",)


def test_without_hardware_it_is_class_c(virtual: Site) -> None:
    assert {*npb_problems(system_of(virtual, classes=(), count=128)).values()} == {("C",)}


def test_features_name_classes_then_kernels() -> None:
    assert npb_features({"ft": ("D",), "ep": ("E",)}, ("C",)) == [
        *("npb-D", "npb-E", "npb-C"),
        *("npb-ft-D", "npb-ep-E"),
        "npb-swept-C",
    ]
