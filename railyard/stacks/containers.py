"""How a program is started in a container or a user environment, one entry per kind. A new kind is one entry.

A kind either has words that come before the program of each process (``words``), or options of srun (``srun``), or
both. Then srun is given its options, and any other launcher starts the words. Blanks of a word: ``{image}``,
``{stage}`` (the job's folder), ``{variables}`` (names of the run's variables, with commas), ``{mounts}`` (all mounts,
with commas). A word that is only ``{options}``, ``{views}`` or ``{each mount}`` stands for any number of words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

OPTIONS, VIEWS, EACH_MOUNT = "{options}", "{views}", "{each mount}"


@dataclass(frozen=True, slots=True)
class ContainerKind:
    """One kind. ``mount`` is one mount's word, with ``{from}`` and ``{to}``; None if this kind mounts no folders.

    ``view`` is one view's word, None without views. ``whole``: the root folder inside is the image's, and a folder of
    the node is only there if it is mounted; otherwise the image adds a folder to the node's own. ``is_file``: an image
    is a file or a folder of the node unless its name begins with one of ``schemes`` and a colon (docker://); otherwise
    only if it begins with a /. ``is_mounted``: after a file and a colon may be where it is mounted. ``carries`` says
    how the run's variables come in. ``version`` says what was tried, or that nothing was.
    """

    title: str
    words: tuple[str, ...]
    srun: tuple[str, ...]
    mount: str | None
    view: str | None
    whole: bool
    is_file: bool
    carries: str
    version: str
    source: str
    schemes: tuple[str, ...] = ()
    is_mounted: bool = False

    def __post_init__(self) -> None:
        if not (self.words or self.srun):
            raise ValueError(f"{self.title}: neither words nor options of srun")
        for words in filter(None, (self.words, self.srun)):
            if (VIEWS in words) != (self.view is not None) or OPTIONS not in words:
                raise ValueError(f"{self.title}: views or options have no place in {' '.join(words)}")
            if any(EACH_MOUNT in word or "{mounts}" in word for word in words) != (self.mount is not None):
                raise ValueError(f"{self.title}: mounts have no place in {' '.join(words)}")


NEVER_RUN = "never run by Railyard's authors"
_APPTAINER = ContainerKind(
    title="Apptainer",
    words=("apptainer", "exec", EACH_MOUNT, "--pwd={stage}", OPTIONS, "{image}"),
    srun=(),
    mount="--bind={from}:{to}",
    view=None,
    whole=True,
    is_file=True,
    carries="it passes all variables on, except LD_LIBRARY_PATH, and with --cleanenv or --containall none",
    version="1.5.3 as root in a user namespace, on the virtual cluster",
    # github.com/apptainer/apptainer, internal/pkg/build/sources and pkg/util/uri of 1.4
    schemes=(
        *("docker", "docker-archive", "docker-daemon", "oci", "oci-archive", "oras", "library", "shub", "instance"),
        *("http", "https"),
    ),
    source="Apptainer User Guide 1.4: Bind Paths and Mounts, Environment and Metadata, Apptainer and MPI applications",
)

CONTAINERS: Mapping[str, ContainerKind] = MappingProxyType(
    {
        "apptainer": _APPTAINER,
        "singularity": replace(
            _APPTAINER,
            title="Singularity",
            words=("singularity", *_APPTAINER.words[1:]),
            version=NEVER_RUN,
            source="SingularityCE User Guide 4.2: Bind Paths and Mounts, Environment and Metadata, Singularity and MPI",
        ),
        # The launcher's processes find one another only in the node's own network, process and IPC namespaces.
        "podman": ContainerKind(
            title="Podman",
            words=(
                *("podman", "run", "--rm", "--env-host", "--userns=keep-id"),
                *("--network=host", "--pid=host", "--ipc=host"),
                *(EACH_MOUNT, "--workdir={stage}", OPTIONS, "{image}"),
            ),
            srun=(),
            mount="--volume={from}:{to}",
            view=None,
            whole=True,
            is_file=False,
            carries="--env-host passes all variables on; those that the image sets lose",
            version=NEVER_RUN,
            source="podman-run(1) of Podman 4.3; podman.io, Podman in HPC environments",
        ),
        "sarus": ContainerKind(
            title="Sarus",
            words=("sarus", "run", EACH_MOUNT, "--workdir={stage}", OPTIONS, "{image}"),
            srun=(),
            mount="--mount=type=bind,source={from},destination={to}",
            view=None,
            whole=True,
            is_file=False,
            carries="it passes all variables on; those that the image sets win",
            version=NEVER_RUN,
            source="Sarus User Guide 1.6: sarus run, Mounting custom files and directories; MPI of the host: --mpi",
        ),
        "charliecloud": ContainerKind(
            title="Charliecloud",
            words=("ch-run", EACH_MOUNT, "--cd={stage}", OPTIONS, "{image}", "--"),
            srun=(),
            mount="--bind={from}:{to}",
            view=None,
            whole=True,
            is_file=True,
            carries="it passes all variables on, except HOME, PATH and TMPDIR",
            version="0.31, on the virtual cluster",
            source="ch-run(1) of Charliecloud 0.31",
        ),
        # pyxis starts Slurm's tasks in enroot's containers. These have the node's /sys and /proc, so the counters are
        # read inside. The image's own variables win over those of the job, except those that are named.
        "pyxis": ContainerKind(
            title="enroot with pyxis",
            words=(),
            srun=(
                "--container-image={image}",
                "--container-mounts={mounts}",
                "--container-workdir={stage}",
                "--container-env={variables}",
                OPTIONS,
            ),
            mount="{from}:{to}",
            view=None,
            whole=True,
            is_file=False,
            carries="it passes all variables on; those of the run are named, so that they win over the image's",
            version=NEVER_RUN,
            source="README of NVIDIA/pyxis, Usage; enroot's conf/mounts/10-system.fstab",
        ),
        "uenv": ContainerKind(
            title="uenv",
            words=("uenv", "run", VIEWS, OPTIONS, "{image}", "--"),
            srun=("--uenv={image}", VIEWS, OPTIONS),
            mount=None,
            view="--view={view}",
            whole=False,
            is_file=False,
            carries="it passes all variables on; a view sets PATH and others",
            version=NEVER_RUN,
            source="docs.cscs.ch, Software, uenv: Using uenvs, Running a uenv and Slurm integration",
            is_mounted=True,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Image:
    """One image and what it is started with; ``mounts`` are pairs of paths, on the node and inside."""

    kind: str
    image: str
    mounts: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    view: str | None = None

    @property
    def table(self) -> ContainerKind:
        """The entry of its kind."""
        return CONTAINERS[self.kind]

    @property
    def file(self) -> str | None:
        """The path of the image on a node; None if it is a name that the runtime finds."""
        before, colon, _ = self.image.partition(":")
        is_name = not self.table.is_file or (bool(colon) and before in self.table.schemes)
        if is_name and not self.image.startswith("/"):
            return None
        if not self.table.is_mounted:
            return self.image
        # uenv: FILE:MOUNT, several with commas
        return None if "," in self.image else before

    def before_program(self, stage: str) -> list[str]:
        """Return the words before a program; none if only srun's options start it inside."""
        return self._fill(self.table.words, stage, ())

    def options_of_srun(self, stage: str, variables: Sequence[str]) -> list[str]:
        """Return srun's options; none if its words come before a program."""
        return self._fill(self.table.srun, stage, variables)

    def __str__(self) -> str:
        view = f" with the view {self.view}" if self.view else ""
        return f"{self.table.title} {self.image}{view}"

    def _fill(self, words: Sequence[str], stage: str, variables: Sequence[str]) -> list[str]:
        table = self.table
        # A folder inside another one is mounted after it.
        pairs = (*self.mounts, (stage, stage)) if table.mount is not None else ()
        mounts = [(table.mount or "").replace("{from}", here).replace("{to}", there) for here, there in pairs]
        many = {
            OPTIONS: list(self.options),
            VIEWS: [] if self.view is None else [(table.view or "").replace("{view}", self.view)],
            EACH_MOUNT: mounts,
        }
        one = {
            "{image}": self.image,
            "{stage}": stage,
            "{mounts}": ",".join(mounts),
            "{variables}": ",".join(variables),
        }
        return [
            filled
            for word in words
            for filled in many.get(word, [_fill_one(word, one)])
            if filled != "--container-env="  # a run without variables names none
        ]


def _fill_one(word: str, blanks: Mapping[str, str]) -> str:
    for blank, value in blanks.items():
        word = word.replace(blank, value)
    return word
