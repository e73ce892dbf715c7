"""Which classes of NPB a system runs, by its file and by its nodes."""

from typing import Any

from railyard.hardware.node import NodeHardware
from railyard.site.matrix import npb_features, npb_mz_problems, npb_problems, npb_swept_problems
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
    assert npb_swept_problems(stated) == {"ep": ("S", "W"), "ft": ("S", "W")}


def test_without_them_each_kernel_has_the_class_of_its_nodes(virtual: Site) -> None:
    large = system_of(virtual, classes=(), count=4, cores=20, memory=119 << 30)
    assert npb_problems(large) == {
        **{"bt": ("D",), "cg": ("D",), "ep": ("E",), "ft": ("D",)},
        **{"is": ("E",), "lu": ("D",), "mg": ("E",), "sp": ("D",)},
    }
    assert npb_mz_problems(large) == {"bt-mz": ("D",), "lu-mz": ("D",), "sp-mz": ("D",)}


def test_a_sweep_has_a_class_that_one_node_holds_and_that_is_long_enough_on_all(virtual: Site) -> None:
    """FT's class D takes 112 GiB: 94 % of such a node."""
    large = system_of(virtual, classes=(), count=4, cores=20, memory=119 << 30)
    assert npb_swept_problems(large) == {"ep": ("E",), "ft": ("C",)}
    larger = system_of(virtual, classes=(), count=4, cores=20, memory=240 << 30)
    assert npb_swept_problems(larger) == {"ep": ("E",), "ft": ("D",)}
    alone = system_of(virtual, classes=(), count=1, cores=20, memory=240 << 30)
    assert npb_swept_problems(alone) == {"ep": ("D",), "ft": ("D",)}


def test_where_no_class_fits_a_test_of_class_c_says_so(virtual: Site) -> None:
    small = system_of(virtual, classes=(), count=2, cores=2, memory=64 << 20)
    assert {*npb_mz_problems(small).values(), npb_swept_problems(small)["ft"]} == {("C",)}


def test_without_hardware_it_is_class_c(virtual: Site) -> None:
    unknown = system_of(virtual, classes=(), count=128)
    assert {*npb_problems(unknown).values(), *npb_mz_problems(unknown).values()} == {("C",)}
    assert {*npb_swept_problems(unknown).values()} == {("C",)}


def test_features_name_classes_then_kernels() -> None:
    assert npb_features({"ft": ("D",), "ep": ("E",)}, {"ft": ("C",)}) == [
        *("npb-D", "npb-E"),
        *("npb-ft-D", "npb-ep-E"),
        *("npb-swept-C", "npb-swept-ft-C"),
    ]
