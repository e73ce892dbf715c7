"""A stack's container in a system's file: what is wrong there is said with file, line, field and what to do."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

FABRIC = "  ib: {description: two cards, kind: ib, link: ib-edr, rails: [{device: mlx5_0, port: 1, counters: mlx5}]}\n"
HEAD = (
    "system: made\ndescription: made for this test\nscheduler: slurm\nlauncher: srun\nnodes: {count: 2}\n"
    f"report_only: made for this test\nfabrics:\n{FABRIC}stacks:\n"
)
ENTRY = "  openmpi:\n    container: {CONTAINER}\n    prefix: /opt/openmpi\n    benchmarks: {osu: /opt/osu}\n"
SIF = "kind: apptainer, image: /images/mpi.sif"


def read(folder: Path, stacks: str) -> System:
    (folder / "systems").mkdir()
    path = folder / "systems/made.yaml"
    path.write_text(HEAD + stacks, encoding="utf-8")
    return load_system(path)


def entry(container: str, *more: str) -> str:
    return ENTRY.replace("CONTAINER", container) + "".join(f"    {line}\n" for line in more)


@pytest.mark.parametrize(
    ("stacks", "said"),
    [
        (
            entry("kind: aptainer, image: /images/mpi.sif"),
            ':11: stacks.openmpi.container.kind: found "aptainer", expected one of apptainer, singularity, '
            "podman, sarus, "
            'charliecloud, pyxis, uenv; did you mean "apptainer"?',
        ),
        (entry(""), ':11: stacks.openmpi.container.kind: found nothing, expected the field "kind"; add it'),
        (
            entry("kind: apptainer"),
            ':11: stacks.openmpi.container.image: found nothing, expected the field "image"; add it',
        ),
        (
            entry("kind: apptainer, image: /images/my mpi.sif"),
            ':11: stacks.openmpi.container.image: found "/images/my mpi.sif", expected a path or a name of an '
            "image, such "
            "as /images/mpi.sif",
        ),
        (
            entry('kind: apptainer, image: "/images/$(id).sif"'),
            ':11: stacks.openmpi.container.image: found "/images/$(id).sif", expected a path or a name of an '
            "image, such "
            'as /images/mpi.sif; a shell would run what is in "$("',
        ),
        (
            entry('kind: apptainer, image: "{prefix}/mpi.sif"'),
            ':11: stacks.openmpi.container.image: found "{prefix}/mpi.sif", expected no blanks but {home}',
        ),
        (
            entry(f"{SIF}, mounts: [scratch]"),
            ':11: stacks.openmpi.container.mounts[0]: found "scratch", expected an absolute path, or two with a colon '
            "between them (on the node:inside), such as /scratch:/data",
        ),
        (
            entry(f"{SIF}, options: [--env A=b]"),
            ':11: stacks.openmpi.container.options[0]: found "--env A=b", expected one word per item; write "--env", '
            '"A=b", or "--env=A=b"',
        ),
        (
            entry(f"{SIF}, view: default"),
            ':11: stacks.openmpi.container.view: found "default", expected none: Apptainer has no views; leave it out',
        ),
        (
            entry("kind: uenv, image: prgenv-gnu, mounts: [/scratch]"),
            ":11: stacks.openmpi.container.mounts: found a list, expected none: with uenv all folders of the node are "
            "there inside; leave it out",
        ),
        (
            entry("kind: pyxis, image: /images/mpi.sqsh", "launcher: mpirun"),
            ":11: stacks.openmpi.container.kind: found launcher mpirun, expected launcher srun: enroot with pyxis is "
            "started by options of srun; change launcher, or take another kind",
        ),
        (
            entry(f'{SIF}, host_prefix: "{{prefix}}/x"', "launcher: mpirun"),
            ':11: stacks.openmpi.container.host_prefix: found "{prefix}/x", expected no {prefix}: that is a '
            "path inside; "
            "write the path",
        ),
        (
            entry(SIF).replace("prefix: /opt", "prefix: opt"),
            ':12: stacks.openmpi.prefix: found "opt/openmpi", expected an absolute path: it is a path inside the image',
        ),
        (
            entry(SIF).replace("osu: /opt", "osu: opt"),
            ':13: stacks.openmpi.benchmarks.osu: found "opt/osu", expected an absolute path: it is a path '
            "inside the image",
        ),
        (
            entry(SIF, "spack: {benchmarks: [osu]}"),
            ":11: stacks.openmpi.container: found container and spack, expected one of them: Spack builds for "
            "the nodes, "
            "not for an image; leave one of them out",
        ),
        (
            entry(SIF).replace("osu: /opt/osu", "wrf: /opt/wrf/main/wrf.exe"),
            ":11: stacks.openmpi.container: found a container and wrf, expected no wrf: its files are copied "
            "from beside "
            "the program, and those of an image cannot be; name wrf for another stack",
        ),
        (
            entry(SIF) + "  nccl: {mpi: openmpi, prefix: /opt/nccl, benchmarks: {nccl: /opt/nccl-tests}}\n",
            ":14: stacks.nccl.mpi: found none, and openmpi has one, expected the same one: openmpi starts the "
            "programs of "
            "nccl, which are linked to it; give both the same container",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, stacks: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, stacks)
    assert str(raised.value).startswith(f"systems/made.yaml{said}"), str(raised.value)


def test_a_relative_image_is_below_the_sites_folder(tmp_path: Path) -> None:
    own = read(tmp_path, entry("kind: apptainer, image: images/mpi.sif, mounts: [/scratch, '/a:/b']"))
    container = own.stacks["openmpi"].container
    assert container is not None
    inside = container.image_at(Path("/site"))
    assert (inside.image, inside.mounts) == ("/site/images/mpi.sif", (("/scratch", "/scratch"), ("/a", "/b")))


def test_a_replay_starts_nothing_in_an_image(tmp_path: Path) -> None:
    assert read(tmp_path, entry(SIF)).as_replay().stacks["openmpi"].container is None
