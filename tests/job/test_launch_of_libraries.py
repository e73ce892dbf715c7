"""How the tests of a library that is not an MPI (NCCL) start: with the MPI that its entry names; both get settings."""

from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.job.launch import Launch
from railyard.rfm.settings import configuration
from railyard.site.systems.load import load_system
from tests.made.judged_run import launch_of
from tests.made.nccl import RAILS, REPORT_ONLY, SYSTEM, gpu_site


def nccl_launch(folder: Path, devices: tuple[str, ...] = RAILS, system: str = SYSTEM, **words: Any) -> Launch:
    site = gpu_site(folder, system=system)
    return launch_of(site, "nccl", devices, fabric="ndr", ranks=16, ranks_per_node=4, **words)


def test_the_library_is_told_all_rails_and_the_mpi_that_starts_it_the_first(tmp_path: Path) -> None:
    found = nccl_launch(tmp_path)
    assert found.program == "/opt/openmpi/bin/mpirun"
    assert found.options == ("--mpi=pmix",)
    assert (found.env["UCX_NET_DEVICES"], found.env["OMPI_MCA_pml"]) == ("mlx5_0:1", "ucx")
    assert found.env["PATH"] == "/opt/openmpi/bin:$PATH"
    assert {name: value for name, value in found.env.items() if name.startswith("NCCL")} == {
        "NCCL_NET": "IB",
        "NCCL_NET_PLUGIN": "none",
        "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
        "NCCL_IB_MERGE_NICS": "0",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET",
        "NCCL_CROSS_NIC": "0",
    }
    assert (found.settings.policy, found.meant, found.prefix, found.library_prefix) == (
        *("striping", RAILS, "/opt/openmpi", "/opt/nccl"),
    )
    assert found.mpi is not None and found.mpi.stack == "openmpi"


def test_the_mpis_own_launcher_hands_on_what_the_library_is_told(tmp_path: Path) -> None:
    mpirun = SYSTEM.replace("launcher: srun", "launcher: mpirun")
    found = nccl_launch(tmp_path, RAILS[:1], mpirun, variables={"NCCL_TESTS_SPLIT": "MOD 4"})
    words = dict(zip(found.options[1::2], found.options[::2], strict=True))
    assert words["NCCL_IB_HCA==mlx5_0:1"] == words["NCCL_TESTS_SPLIT=MOD 4"] == "-x"


def test_within_a_node_the_library_keeps_what_it_is_told_and_mpi_is_told_nothing(tmp_path: Path) -> None:
    found = nccl_launch(tmp_path, RAILS[:1], within_node=True)
    assert found.env["NCCL_DEBUG"] == "INFO" and "UCX_NET_DEVICES" not in found.env
    assert (found.meant, found.watched) == ((), RAILS)


def test_a_fabrics_own_settings_reach_the_library(tmp_path: Path) -> None:
    knobs = SYSTEM.replace("kind: ib", "kind: roce\n    gid_index: 3\n    traffic_class: 106").replace(
        "ib-ndr", "roce-400"
    )
    found = nccl_launch(tmp_path, system=knobs)
    assert (found.env["NCCL_IB_GID_INDEX"], found.env["NCCL_IB_TC"]) == ("3", "106")
    assert found.env["UCX_IB_TRAFFIC_CLASS"] == "106"


def test_modules_of_the_mpi_are_loaded_too(tmp_path: Path) -> None:
    with_modules = SYSTEM.replace("    prefix: /opt/nccl\n", "    modules: [nccl/2.28]\n")
    site = gpu_site(tmp_path, system=with_modules)
    made = configuration(tmp_path, {"gpus": site.system})["environments"]
    (modules,) = [each["modules"] for each in made if each["name"] == "nccl" and "modules" in each]
    assert modules == ["openmpi/5", "nccl/2.28"]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            *("    mpi: openmpi\n", ""),
            "stacks.nccl: found no mpi, expected the MPI with which its tests are built: openmpi; add mpi: openmpi",
        ),
        (
            *("mpi: openmpi", "mpi: mpich"),
            'stacks.nccl.mpi: found "mpich", expected a stack of gpus that is an MPI library; ',
        ),
        (
            *("    modules: [openmpi/5]\n", "    mpi: openmpi\n"),
            'stacks.openmpi.mpi: found "openmpi", expected none: openmpi starts its own programs; leave it out',
        ),
    ],
)
def test_who_starts_a_library_must_be_said_and_be_there(tmp_path: Path, before: str, after: str, sentence: str) -> None:
    path = tmp_path / "gpus.yaml"
    path.write_text(SYSTEM.replace(before, after, 1) + REPORT_ONLY, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_system(path)
    assert sentence in str(error.value)
