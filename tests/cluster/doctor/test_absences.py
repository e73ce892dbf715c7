"""What a dry run says of things that this host lacks: a sentence for each, and nothing of paths in an image."""

from pathlib import Path

from railyard.cluster.doctor.login import absences, ask
from railyard.job.node_files import is_only_on_nodes
from railyard.rfm.run import requirements
from railyard.site.site import Site, site_at
from tests.made.systems import ETH_ANYWHERE

#: A name of 300 signs gives the kind of error that a closed folder gives, to root too.
CLOSED = f"/{'x' * 300}/there"


def site_with(home: Path, stack: str) -> Site:
    (home / "systems").mkdir()
    text = f"{ETH_ANYWHERE.partition('stacks:')[0]}stacks:\n  openmpi: {stack}\n"
    (home / "systems/eth.yaml").write_text(text, encoding="utf-8")
    return site_at(home, "eth")


def stack_absences(site: Site) -> list[str]:
    return [one for one in absences(site, [("openmpi", "osu")]) if one.startswith("stacks.")]


def test_paths_in_an_image_are_of_no_host(tmp_path: Path) -> None:
    """/usr is here, and /nowhere is not: neither says anything of the image."""
    image = "container: {kind: apptainer, image: /nowhere/mpi.sif}"
    site = site_with(tmp_path, f"{{{image}, prefix: /usr, benchmarks: {{osu: /nowhere/osu}}}}")
    assert stack_absences(site) == [
        "stacks.openmpi.container: /nowhere/mpi.sif is not on this host, and nobody looked into Apptainer "
        "/nowhere/mpi.sif; the job does so itself before the benchmark (in_image.sh)"
    ]


def test_nobody_looked_into_an_image_that_is_here(tmp_path: Path) -> None:
    (tmp_path / "mpi.sif").touch()
    image = f"container: {{kind: apptainer, image: {tmp_path}/mpi.sif}}"
    site = site_with(tmp_path, f"{{{image}, prefix: /usr, benchmarks: {{osu: /nowhere/osu}}}}")
    assert stack_absences(site) == [
        f"stacks.openmpi.container: nobody looked into Apptainer {tmp_path}/mpi.sif; the job does so itself before the "
        "benchmark (in_image.sh)"
    ]


def test_a_path_that_this_person_may_not_look_at_is_named_as_that(tmp_path: Path) -> None:
    site = site_with(tmp_path, f"{{prefix: {CLOSED}, benchmarks: {{osu: {CLOSED}}}}}")
    why = "cannot be looked at on this host (file name too long)"
    assert stack_absences(site) == [
        f"stacks.openmpi.prefix: {CLOSED} {why}, so that nobody looked for the library there",
        f"stacks.openmpi.benchmarks.osu: {CLOSED} {why}, so that nobody looked for programs there; if it is a folder, "
        "the job does so itself (find_program.sh)",
    ]
    assert is_only_on_nodes(CLOSED, ("osu_bw",))
    assert ask(tmp_path, "eth")[0].paths[CLOSED] is False
    assert "found nothing there" in str(requirements._why_not_installed(site, "openmpi"))
