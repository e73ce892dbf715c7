"""The processor of a system's nodes: as archspec names it, and no stack that does not exist for it."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.systems.load import find_system
from railyard.stacks.ask import why_no_stack
from railyard.stacks.model import OWN
from tests.made import spack_site


def system(folder: Path, processor: str, stack: str = "openmpi") -> str | None:
    """Return the processor as the file is read."""
    hardware = f"exclusive: false, hardware: {{cores: 72, memory: 480G, microarchitecture: {processor}}}"
    text = spack_site.SYSTEM.replace("exclusive: false", hardware)
    more = f"stacks:\n  {stack}:\n    spack: {{benchmarks: [osu]}}\n"
    text = text if stack == "openmpi" else text.replace("stacks:\n", more)
    (folder / "made.yaml").write_text(text, encoding="utf-8")
    return find_system(folder, "made").processor


@pytest.mark.parametrize("name", ["neoverse_v2", "zen4", "x86_64_v3", "aarch64"])
def test_a_processor_by_its_name(tmp_path: Path, name: str) -> None:
    assert system(tmp_path, name) == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "neoverse_v22",
            'found "neoverse_v22", expected a processor as archspec names it; did you mean "neoverse_v2"?',
        ),
        ("grace", 'found "grace", expected a processor as archspec names it; type: spack arch -t'),
    ],
)
def test_a_name_that_archspec_lacks(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        system(tmp_path, name)
    assert str(error.value).endswith(f"made.yaml:6: nodes.hardware.microarchitecture: {said}")


def test_intel_mpi_is_left_out_by_name_where_the_nodes_are_arms(tmp_path: Path) -> None:
    assert system(tmp_path, "zen4", "intelmpi") == "zen4"
    with pytest.raises(InputError) as error:
        system(tmp_path, "neoverse_v2", "intelmpi")
    assert str(error.value).endswith(
        'made.yaml:15: stacks.intelmpi: found "intelmpi", expected a stack for the nodes\' processors: nodes.hardware.'
        "microarchitecture is neoverse_v2, and Intel MPI exists only for x86_64; leave the stack out"
    )


def test_only_intel_mpi_does_not_exist_for_arm() -> None:
    assert [name for name in OWN if why_no_stack(name, "neoverse_v2")] == ["intelmpi"]
    assert [name for name in OWN if why_no_stack(name, "zen4")] == []
