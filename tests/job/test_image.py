"""How a job starts a program in an image and what it sees there: the scripts on this host, which plays the image."""

import os
import subprocess
from pathlib import Path

import pytest

from railyard.job.image import NodeImage, SeenImage, read, read_node, scripts
from railyard.stacks.containers import Image
from railyard.stacks.libraries import ImageFiles

TAG = "1a2b3c4d-17"


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """Return a job's folder; ``apptainer`` beside it starts a program as it is, without an image."""
    (tmp_path / "image.sif").write_text("an image\n")
    (tmp_path / "bin").mkdir()
    runtime = tmp_path / "bin/apptainer"
    runtime.write_text('#!/bin/sh\necho "$@" >>words\nwhile [ "$1" != "$IMAGE" ]; do shift; done\nshift\nexec "$@"\n')
    runtime.chmod(0o755)
    folder = tmp_path / "stage"
    (folder / "counters").mkdir(parents=True)
    for name, text in scripts(Image("apptainer", str(tmp_path / "image.sif")), str(folder), ["osu_bw"]).items():
        (folder / name).write_text(text)
    return folder


def start(stage: Path, *words: str, path: str | None = None, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Start a program as a process of a launch does."""
    search = f"{stage.parent}/bin:{os.environ['PATH']}" if path is None else path
    environment = {"PATH": search, "IMAGE": str(stage.parent / "image.sif"), **variables}
    return subprocess.run(
        ["/bin/sh", "image.sh", *words], cwd=stage, env=environment, capture_output=True, text=True, check=False
    )


def look(stage: Path, tool: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return start(stage, "sh", "in_image.sh", TAG, str(tool), *words)


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(Path("/bin/sh").resolve().read_bytes())
    file.chmod(0o755)
    return file


def test_a_program_starts_inside_and_the_image_is_noted(stage: Path) -> None:
    ran = start(stage, "echo", "a b", "c")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("a b c\n", "", 0)
    image = stage.parent / "image.sif"
    assert (stage / "words").read_text() == f"exec --bind={stage}:{stage} --pwd={stage} {image} echo a b c\n"
    (noted,) = (stage / "counters").iterdir()
    found = read_node(noted, noted.read_text())
    assert found == NodeImage(os.uname().nodename, 9, int(image.stat().st_mtime), found.begin if found else 0)
    image.write_text("an Image\n")
    noted.unlink()
    start(stage, "true")
    other = read_node(noted, noted.read_text())
    assert found is not None and other is not None
    assert (other.size, other.begin != found.begin) == (9, True)


def test_a_node_without_the_image_says_so(stage: Path) -> None:
    (stage.parent / "image.sif").unlink()
    ran = start(stage, "echo", "never")
    node, image = os.uname().nodename, stage.parent / "image.sif"
    said = f"found no image {image} on {node}, expected it on every node of the run: copy it there"
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", f"railyard: error: {said}\n", 66)


def test_a_node_without_the_program_that_starts_it_says_so(stage: Path) -> None:
    ran = start(stage, "echo", "never", path="/usr/bin:/bin" if not Path("/usr/bin/apptainer").exists() else "/none")
    assert ran.returncode == 66
    assert ran.stderr == (
        f"railyard: error: found no apptainer on {os.uname().nodename}, expected the program that starts "
        f"{stage.parent / 'image.sif'}: install it there, or load its module\n"
    )


def test_the_other_ranks_do_not_wait_for_a_node_without_the_image(stage: Path) -> None:
    """MPICH's launcher ignores an exit before MPI_Init: an abort on its own wire ends all ranks."""
    (stage.parent / "image.sif").unlink()
    ran = start(stage, "echo", PMI_FD="1")
    assert (ran.stdout, ran.returncode) == ("cmd=abort exitcode=66\n", 66)


def test_what_is_inside_is_seen(stage: Path, tmp_path: Path) -> None:
    program(tmp_path / "osu/pt2pt/osu_bw")
    program(tmp_path / "osu/collective/osu_allreduce")
    lib = tmp_path / "mpi-5.0/lib"
    (lib / "ucx").mkdir(parents=True)
    for name in ("libmpi.so.12.1", "libother.so", "ucx/libucp.so.0"):
        (lib / name).touch()
    (lib / "libmpi.so.12").symlink_to("libmpi.so.12.1")
    (tmp_path / "mpi").symlink_to("mpi-5.0")
    ran = look(stage, tmp_path / "osu", "osu_bw", "", str(tmp_path / "mpi"))
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert os.readlink(stage / "programs/osu_bw") == str(tmp_path / "osu/pt2pt/osu_bw")
    assert (stage / "programs/osu_allreduce").exists()
    assert "libc.so" in (stage / "linked.txt").read_text()
    seen = read((stage / "inside.txt").read_text(), TAG)
    assert seen is not None
    assert seen.real(tmp_path / "mpi") == tmp_path / "mpi-5.0"
    assert seen.real(tmp_path / "mpi/lib/libmpi.so.12") == lib / "libmpi.so.12.1"
    assert seen.find(tmp_path / "mpi", ["lib*/*/libucp.so*"]) == [tmp_path / "mpi/lib/ucx/libucp.so.0"]
    assert seen.find(tmp_path / "mpi-5.0", ["lib*/*/libucp.so*"]) == [lib / "ucx/libucp.so.0"]
    assert not seen.find(tmp_path / "mpi", ["lib*/libother.so"])


def test_the_libraries_beside_the_real_mpi_are_seen(stage: Path, tmp_path: Path) -> None:
    """A distribution's prefix has only links."""
    for name in ("usr/lib/libmpi.so.12", "usr/lib/libucp.so.0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "mpi/lib").mkdir(parents=True)
    (tmp_path / "mpi/lib/libmpi.so").symlink_to(tmp_path / "usr/lib/libmpi.so.12")
    look(stage, program(tmp_path / "osu_bw"), "osu_bw", "", str(tmp_path / "mpi"))
    seen = read((stage / "inside.txt").read_text(), TAG)
    assert seen is not None
    assert seen.find(tmp_path / "usr/lib", ["libucp.so*"]) == [tmp_path / "usr/lib/libucp.so.0"]


def test_the_name_of_another_release_is_taken(stage: Path, tmp_path: Path) -> None:
    program(tmp_path / "osu/osu_old")
    assert look(stage, tmp_path / "osu", "osu_new", "osu_old").returncode == 0
    assert os.readlink(stage / "programs/osu_new") == str(tmp_path / "osu/osu_old")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ((), "found nothing at TOOL inside the image, expected the benchmark there: fix benchmarks of that stack"),
        (
            ("osu/osu_latency",),
            "found no osu_bw below TOOL inside the image, expected one executable: name it, or a folder that has it",
        ),
        (
            ("osu/a/osu_bw", "osu/b/osu_bw"),
            "found several osu_bw below TOOL inside the image, expected one executable",
        ),
    ],
)
def test_a_program_that_is_not_there_once_ends_the_job(
    stage: Path, tmp_path: Path, files: tuple[str, ...], said: str
) -> None:
    for name in files:
        program(tmp_path / name)
    ran = look(stage, tmp_path / "osu", "osu_bw", "")
    assert (ran.returncode, ran.stderr) == (66, f"railyard: error: {said.replace('TOOL', str(tmp_path / 'osu'))}\n")
    assert not (stage / "inside.txt").exists()


WHOLE = f"railyard-inside 1 {TAG}\nfolder /opt/mpi\t/opt/mpi-5.0\nfile /opt/mpi/lib/libmpi.so\t/x\nend\n"


def test_a_text_that_was_cut_or_is_another_runs_says_nothing() -> None:
    assert read(WHOLE, TAG) is not None
    assert not [end for end in range(len(WHOLE)) if read(WHOLE[:end], TAG) is not None]
    assert read(WHOLE, "another") is None
    assert read(WHOLE.replace("\t", " "), TAG) is None


@pytest.mark.parametrize("text", ["", "12", "12 x\n", "1 2\n", "1 2 3\n", "-1 2\n3 4\n", "1 2\n3 4"])
def test_a_nodes_file_that_was_cut_says_nothing(text: str) -> None:
    assert read_node(Path("n1.image"), text) is None


def test_images_of_two_sizes_are_not_the_same() -> None:
    inside = Image("apptainer", "/images/mpi.sif")
    same = SeenImage(inside, ImageFiles.of((), ()), (NodeImage("n1", 9, 1, 7), NodeImage("n2", 9, 2, 7)))
    other = SeenImage(inside, None, (NodeImage("n1", 9, 1, 7), NodeImage("n2", 9, 1, 7), NodeImage("n3", 8, 1, 7)))
    assert same.find_unlike() is None
    assert other.find_unlike() == (other.nodes[0], other.nodes[2])
    rebuilt = SeenImage(inside, None, (NodeImage("n1", 9, 1, 7), NodeImage("n2", 9, 1, 8)))
    assert rebuilt.find_unlike() == rebuilt.nodes
    assert same.words() == "Apptainer /images/mpi.sif (9 bytes, changed 1970-01-01T00:00:01Z)"
    assert SeenImage(Image("podman", "mpi:5"), None).words() == "Podman mpi:5"
