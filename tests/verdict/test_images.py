"""A run in an image: its linkage and its libraries are compared with what is inside, never with this host."""

from dataclasses import replace
from typing import Any

import pytest

from railyard.job.environment import RankEnvironment, planned_variables
from railyard.job.image import NodeImage, SeenImage
from railyard.job.launch import Launch
from railyard.site.site import Site
from railyard.site.systems.stack_entry import Container
from railyard.stacks import wording as stack_words
from railyard.stacks.containers import Image
from railyard.stacks.libraries import ImageFiles
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import program
from tests.made.judged_run import launch_of, run_of_cell

INSIDE = Image("apptainer", "/images/mpi.sif")
LIBMPI, LIBUCP = "/opt/mpi/lib/libmpi.so.12", "/opt/mpi/lib/ucx/libucp.so.0"
SEEN = SeenImage(
    INSIDE,
    ImageFiles.of([("/opt/mpi", "/opt/mpi")], [(LIBMPI, "/opt/mpi/lib/libmpi.so.12.3"), (LIBUCP, LIBUCP)]),
    (NodeImage("vn1", 9, 1, 7), NodeImage("vn2", 9, 1, 7)),
)


@pytest.fixture
def image_site(virtual: Site) -> Site:
    container = Container.model_validate({"kind": "apptainer", "image": "/images/mpi.sif"})
    entry = virtual.system.stacks["mpich"].model_copy(update={"container": container, "prefix": "/opt/mpi"})
    system = virtual.system.model_copy(update={"stacks": {**virtual.system.stacks, "mpich": entry}})
    return replace(virtual, system=system)


def judge(imaged: Site, virtual: Site, libmpi: str = LIBMPI, libucp: str = LIBUCP, **evidence: Any) -> Assessment:
    launch = launch_of(imaged, "mpich", ("hsn0",), nodes=("vn1", "vn2"))
    has = dict(planned_variables(launch))
    ranks = tuple(RankEnvironment(node, "IMB-MPI1", has, (libmpi, libucp)) for node in launch.nodes)
    given = {"linked": f"\tlibmpi.so.12 => {LIBMPI} (0x00007f)\n", "image": SEEN, "environment": ranks}
    return run_of_cell(virtual, site=imaged, **{**given, **evidence})


def test_libraries_of_the_image_pass(image_site: Site, virtual: Site) -> None:
    found = judge(image_site, virtual, libmpi="/opt/mpi/lib/libmpi.so.12.3")
    assert found.verdict.state == "pass", found.verdict.text
    assert "not proven" not in found.verdict.text


def test_another_libmpi_inside_fails(image_site: Site, virtual: Site) -> None:
    found = judge(image_site, virtual, linked="\tlibmpi.so.12 => /usr/lib/libmpi.so.12 (0x00007f)\n")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    sentence = stack_words.other_folder("imb/Uniband", "/usr/lib/libmpi.so.12", ["libmpi.so.12"], "/opt/mpi")
    assert sentence in found.verdict.text


def test_another_ucx_than_the_images_fails(image_site: Site, virtual: Site) -> None:
    """The prefix has its own copy inside. On this host there is no such folder, and nothing would be proven."""
    found = judge(image_site, virtual, libucp="/lib/libucp.so.0")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "IMB-MPI1 on vn1 loaded /lib/libucp.so.0, expected UCX of /opt/mpi" in found.verdict.text


def test_a_run_that_did_not_look_inside_fails(image_site: Site, virtual: Site) -> None:
    found = judge(image_site, virtual, linked="", image=replace(SEEN, files=None))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert program.unknown_linkage("imb/Uniband", "") in found.verdict.text


def test_nodes_with_different_images_fail(image_site: Site, virtual: Site) -> None:
    found = judge(
        image_site, virtual, image=replace(SEEN, nodes=(NodeImage("vn1", 9, 1, 7), NodeImage("vn2", 7, 1, 7)))
    )
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert program.other_image("/images/mpi.sif", ("vn1", 9), ("vn2", 7)) in found.verdict.text


def test_a_node_that_shows_nothing_of_a_process_inside_is_named(image_site: Site, virtual: Site) -> None:
    launch = launch_of(image_site, "mpich", ("hsn0",), nodes=("vn1", "vn2"))
    silent = tuple(RankEnvironment(node, "IMB-MPI1", dict(planned_variables(launch))) for node in launch.nodes)
    found = judge(image_site, virtual, environment=silent)
    assert program.libraries_unread(["vn1", "vn2"]) in found.verdict.text


def slurm_launch(imaged: Site, launcher: str, kind: str = "apptainer", **changes: Any) -> Launch:
    """Return how one rank per node is launched under Slurm."""
    container = Container.model_validate({"kind": kind, "image": "/images/mpi.sif"})
    entry = imaged.system.stacks["mpich"].model_copy(update={"container": container, **changes})
    stacks = {**imaged.system.stacks, "mpich": entry}
    system = imaged.system.model_copy(update={"stacks": stacks, "provider": "nodes", "scheduler": "slurm"})
    site = replace(imaged, system=system)
    return launch_of(site, "mpich", ("hsn0",), nodes=("vn1", "vn2"), launcher=launcher, stage="/stage")


def test_the_loaders_variables_are_set_only_inside(image_site: Site) -> None:
    launch = slurm_launch(image_site, "srun", env={"LD_LIBRARY_PATH": "{prefix}/lib", "UCX_LOG_LEVEL": "info"})
    assert launch.inside == ("sh", "image.sh", "env", "LD_LIBRARY_PATH=/opt/mpi/lib")
    assert "LD_LIBRARY_PATH" not in launch.env
    assert launch.env["UCX_LOG_LEVEL"] == "info"


def test_options_of_srun_start_it_or_words_before_the_program(image_site: Site) -> None:
    by_srun, by_words = (
        slurm_launch(image_site, "srun", "uenv", env={}),
        slurm_launch(image_site, "mpirun", "uenv", env={}),
    )
    assert ("--uenv=/images/mpi.sif" in by_srun.options, by_srun.inside) == (True, ())
    assert ("--uenv=/images/mpi.sif" in by_words.options, by_words.inside) == (False, ("sh", "image.sh"))


def test_a_prefix_inside_is_not_on_the_nodes_path(image_site: Site) -> None:
    """The same path on a node would be another MPI, or none."""
    assert "PATH" not in slurm_launch(image_site, "mpirun").env
