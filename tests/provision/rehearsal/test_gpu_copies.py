"""A rehearsed nvbandwidth: its output is judged as a real one is, healthy and with a GPU that is not."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.job.client_server import CopyANode
from railyard.parsers import nvbandwidth
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.play import play_copies
from railyard.site.site import Site, site_at
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.provision.rehearsal import conftest
from tests.provision.rehearsal.conftest import Bed

FAT = Path(__file__).parents[2] / "sites/rehearsed/systems/fat.yaml"
GPUS = """\
gpus:
  per_node: 4
  kind: NVIDIA H100 SXM5
  nvlink: 4
  slot: pcie5-x16
"""


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(FAT)


def text(system: System, test: str, *faults: Fault) -> str:
    return play_copies(system, "gpu2", faults, ["-t", test], "made up")


@pytest.mark.parametrize("test", EVERY_NODE)
def test_each_test_is_a_whole_output_with_a_copy_for_each_gpu(system: System, test: str) -> None:
    parsed = nvbandwidth.parse(text(system, test))
    (table,) = parsed.tables
    assert parsed.failures == () and table.complete and table.benchmark == test
    assert len(table.rows) == (8 if EVERY_NODE[test] == "slot" else 56)


def test_a_narrow_slot_slows_the_copies_of_its_gpu_alone(system: System) -> None:
    narrow = Fault("narrow", "gpu=gpu2:3,lanes=4", "gpu2", lanes=4, gpu=3)
    healthy, slow = (
        [row[2] for row in nvbandwidth.parse(text(system, "host_to_device_memcpy_ce", *faults)).tables[0].rows]
        for faults in ((), (narrow,))
    )
    quarter = [float(str(b)) / float(str(a)) for a, b in zip(healthy, slow, strict=True)]
    assert quarter == pytest.approx([1, 1, 1, 0.25, 1, 1, 1, 1], abs=0.001)
    assert text(system, "device_to_device_memcpy_read_ce", narrow) == text(system, "device_to_device_memcpy_read_ce")
    elsewhere = Fault("narrow", "gpu=gpu1:3,lanes=4", "gpu1", lanes=4, gpu=3)
    assert text(system, "host_to_device_memcpy_ce", elsewhere) == text(system, "host_to_device_memcpy_ce")


def test_a_gpu_that_is_missing_has_no_copy(system: System) -> None:
    found = text(system, "device_to_device_memcpy_write_ce", Fault("missing", "gpu=*:7,missing", gpu=7))
    assert len(nvbandwidth.parse(found).tables[0].rows) == 42
    assert "Device 6:" in found and "Device 7:" not in found


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-t", "all_to_host_memcpy_sm"], "the rehearsal has no stand-in for nvbandwidth -t all_to_host_memcpy_sm"),
        ([], "the rehearsal has no stand-in for nvbandwidth -t (none)"),
    ],
)
def test_another_test_has_no_stand_in(system: System, words: list[str], sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        play_copies(system, "gpu2", (), words, "made up")
    assert str(caught.value).startswith(sentence)


@pytest.fixture
def roomy(tmp_path: Path) -> Site:
    """The site of all rehearsals here, with four GPUs a node and nvbandwidth."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    text = conftest.SYSTEM.replace("sharing: sharing}", "sharing: sharing, nvbandwidth: nvbandwidth}") + GPUS
    (tmp_path / "systems/roomy.yaml").write_text(text, encoding="utf-8")
    return site_at(tmp_path, "roomy")


def test_every_node_runs_a_copy_of_its_own_as_a_check_starts_it(bed: Bed) -> None:
    bed.plant(Fault("missing", "gpu=n10:3,missing", "n10", gpu=3))
    parts = bed.root / "stage" / every_node.PARTS
    parts.mkdir(parents=True)
    bed.run(
        "openmpi", "nvbandwidth", "nvbandwidth", ["-t", "host_to_device_memcpy_ce"],
        files={every_node.SCRIPT: every_node.each_script()}, command=CopyANode(),
    )  # fmt: skip
    found = every_node.nvbandwidth_of_nodes("".join(path.read_text() for path in sorted(parts.glob("*.out"))))
    assert found.failures == ()
    assert dict(zip(every_node.nodes_of(found.tables[0]), found.tables[0].column("copies"), strict=True)) == {
        "n9": 4,
        "n10": 3,
    }
