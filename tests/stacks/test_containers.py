"""Kinds of containers: what starts a program inside, word by word."""

from dataclasses import replace

import pytest

from railyard.stacks.containers import CONTAINERS, Image

STAGE = "/site/stage"
#: Kind -> the words before a program, with a mount and an option where it takes them.
WORDS = {
    "apptainer": f"apptainer exec --bind=/a:/b --bind={STAGE}:{STAGE} --pwd={STAGE} --one /images/i",
    "singularity": f"singularity exec --bind=/a:/b --bind={STAGE}:{STAGE} --pwd={STAGE} --one /images/i",
    "podman": "podman run --rm --env-host --userns=keep-id --network=host --pid=host --ipc=host --volume=/a:/b "
    f"--volume={STAGE}:{STAGE} --workdir={STAGE} --one /images/i",
    "sarus": f"sarus run --mount=type=bind,source=/a,destination=/b --mount=type=bind,source={STAGE},"
    f"destination={STAGE} --workdir={STAGE} --one /images/i",
    "charliecloud": f"ch-run --bind=/a:/b --bind={STAGE}:{STAGE} --cd={STAGE} --one /images/i --",
    "pyxis": "",
    "uenv": "uenv run --one /images/i --",
}
#: Kind -> srun's options.
OPTIONS = {
    "pyxis": f"--container-image=/images/i --container-mounts=/a:/b,{STAGE}:{STAGE} --container-workdir={STAGE} "
    "--container-env=UCX_TLS,UCX_NET_DEVICES --one",
    "uenv": "--uenv=/images/i --one",
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_each_kind_starts_a_program_with_these_words(kind: str) -> None:
    inside = Image(kind, "/images/i", (("/a", "/b"),), ("--one",))
    assert " ".join(inside.before_program(STAGE)) == WORDS[kind]
    assert " ".join(inside.options_of_srun(STAGE, ["UCX_TLS", "UCX_NET_DEVICES"])) == OPTIONS.get(kind, "")


def test_a_view_is_a_word_of_its_own() -> None:
    inside = Image("uenv", "prgenv-gnu/24.11:v1", view="default")
    assert inside.before_program(STAGE) == ["uenv", "run", "--view=default", "prgenv-gnu/24.11:v1", "--"]
    assert inside.options_of_srun(STAGE, []) == ["--uenv=prgenv-gnu/24.11:v1", "--view=default"]


def test_a_run_without_variables_names_none() -> None:
    options = Image("pyxis", "ubuntu:24.04").options_of_srun(STAGE, [])
    assert not any(option.startswith("--container-env") for option in options)


@pytest.mark.parametrize(
    ("kind", "image", "file"),
    [
        ("apptainer", "/images/mpi.sif", "/images/mpi.sif"),
        ("apptainer", "docker://ubuntu:24.04", None),
        ("apptainer", "docker-archive:/images/mpi.tar", None),
        ("singularity", "oci-archive:images/mpi.tar", None),
        ("apptainer", "/images/mpi:5.0.sif", "/images/mpi:5.0.sif"),
        ("apptainer", "mpi:5.0.sif", "mpi:5.0.sif"),
        ("charliecloud", "docker/mpi", "docker/mpi"),
        ("pyxis", "/images/mpi:5.sqsh", "/images/mpi:5.sqsh"),
        ("charliecloud", "images/mpi", "images/mpi"),
        ("podman", "registry.site/mpi:5.0", None),
        ("pyxis", "/images/mpi.sqsh", "/images/mpi.sqsh"),
        ("pyxis", "nvcr.io#nvidia/pytorch:24.10-py3", None),
        ("uenv", "prgenv-gnu/24.11:v1", None),
        ("uenv", "/images/my.squashfs:/user-tools", "/images/my.squashfs"),
        ("uenv", "/a.squashfs,/b.squashfs:/user-tools", None),
    ],
)
def test_an_image_is_a_file_or_a_name(kind: str, image: str, file: str | None) -> None:
    assert Image(kind, image).file == file


@pytest.mark.parametrize("kind", CONTAINERS)
def test_each_kind_says_its_source_and_whether_it_ran(kind: str) -> None:
    assert len(CONTAINERS[kind].source) > 15
    assert len(CONTAINERS[kind].version) > 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": (), "srun": ()}, "Podman: neither words nor options of srun"),
        ({"words": ("podman", "{options}", "{image}")}, "Podman: mounts have no place in podman {options} {image}"),
        ({"view": "--view={view}"}, "Podman: views or options have no place in "),
    ],
)
def test_an_entry_without_a_place_for_its_words_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        replace(CONTAINERS["podman"], **change)  # type: ignore[arg-type]
