"""One stack in a system's file: installed by the site, or built by Spack, perhaps in a container or user environment.

Also what a job does before a benchmark: a site's own commands, modules and variables, for a fabric or for a stack.
"""

import re
import shlex
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field

from railyard.base.fields import EnvValue, Model, Module, Name, PathText, Prose, ScriptLine, Size, Template, Variable
from railyard.base.values import refuse, shell_reason, show
from railyard.site.systems.declared_mpi import DeclaredMpi
from railyard.site.systems.fields import ContainerName, LauncherName, ToolName
from railyard.stacks.containers import CONTAINERS, ContainerKind, Image

_IMAGE_PATTERN = re.compile(r"[A-Za-z0-9_./{][A-Za-z0-9_./+@%=:,{}#-]*")
_MOUNT_PATTERN = re.compile(r"/[A-Za-z0-9_./+@%=-]*(?::/[A-Za-z0-9_./+@%=-]*)?")
_VIEW_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:,-]*")
_Prepared = TypeVar("_Prepared", bound="Preparation")


class Preparation(Model):
    """What the jobs of a fabric or of a stack do first."""

    launcher: LauncherName | None = Field(
        None, description="Its launcher, if it is not the system's; a stack's own wins over its fabric's"
    )
    prepare_cmds: tuple[ScriptLine, ...] = Field(
        (), description="Lines of a job's script before modules are loaded, as the shell takes them"
    )
    unuse: tuple[PathText, ...] = Field((), description="Folders of modules that are left out (module unuse)")
    use: tuple[PathText, ...] = Field((), description="Folders of modules that are added (module use)")
    modules: tuple[Module, ...] = ()
    env: dict[Variable, EnvValue] = Field({}, description="Variables for every run; {home} and {prefix} are filled")

    @property
    def prepare_lines(self) -> tuple[str, ...]:
        """The lines of a script before its modules are loaded: folders of modules, then the site's own commands."""
        folders = (*(("unuse", path) for path in self.unuse), *(("use", path) for path in self.use))
        return (*(f"module {word} {shlex.quote(path)}" for word, path in folders), *self.prepare_cmds)

    def without_preparation(self: _Prepared) -> _Prepared:
        """Return it without commands and modules: nothing of the site's is loaded in a replay or a rehearsal."""
        return self.model_copy(update={"prepare_cmds": (), "unuse": (), "use": (), "modules": ()})


def _image(text: str) -> str:
    for blank in re.findall(r"\{[^{}]*\}", text):
        if blank != "{home}":
            raise refuse(show(text), "no blanks but {home}")
    if _IMAGE_PATTERN.fullmatch(text):
        return text
    raise refuse(show(text), "a path or a name of an image, such as /images/mpi.sif", shell_reason(text) or "")


def _mount(text: str) -> str:
    if _MOUNT_PATTERN.fullmatch(text):
        return text
    expected = "an absolute path, or two with a colon between them (on the node:inside), such as /scratch:/data"
    raise refuse(show(text), expected, shell_reason(text) or "")


def _option(text: str) -> str:
    if " " not in text or not text.startswith("-"):
        return text
    first, _, rest = text.partition(" ")
    raise refuse(show(text), "one word per item", f'write {show(first)}, {show(rest)}, or "{first}={rest}"')


def _view(text: str) -> str:
    if _VIEW_PATTERN.fullmatch(text):
        return text
    raise refuse(show(text), 'a view, such as "default", or several with commas', shell_reason(text) or "")


ImageText = Annotated[str, AfterValidator(_image)]
MountText = Annotated[str, AfterValidator(_mount)]
OptionWord = Annotated[ScriptLine, AfterValidator(_option)]
ViewText = Annotated[str, AfterValidator(_view)]


class Container(Model):
    """In which image a stack's programs run, and how that is started. Paths of the entry are then paths inside."""

    kind: ContainerName
    image: ImageText = Field(
        description="Its file or folder on the nodes (a relative path is under the site's folder), or its name"
    )
    view: ViewText | None = Field(None, description="Only for uenv: the view that sets its variables")
    mounts: tuple[MountText, ...] = Field(
        (), description="Folders of the node that are there inside too: /scratch, or /scratch:/data. The job's is added"
    )
    options: tuple[OptionWord, ...] = Field((), description="More words of its command, one per item: --nv")
    host_prefix: Template | None = Field(
        None,
        description="With launcher mpirun: where the node itself has this MPI, whose mpirun starts the processes; if "
        "left out, it is on PATH",
    )

    @property
    def table(self) -> ContainerKind:
        """The entry of its kind."""
        return CONTAINERS[self.kind]

    def image_at(self, home: Path) -> Image:
        """Return how a program is started inside it, with paths under ``home``."""
        named = Image(self.kind, self.image.replace("{home}", str(home)), view=self.view)
        image = named.image if named.file is None or named.image.startswith("/") else str(home / named.image)
        pairs = tuple((here, there or here) for here, _, there in (text.partition(":") for text in self.mounts))
        return Image(self.kind, image, pairs, self.options, self.view)


class SpackStack(Model):
    """A stack whose benchmarks Spack builds: which ones, and from which folder of spack_envs/."""

    environment: Name | None = Field(None, description="Folder of spack_envs/; if left out: the stack's own name")
    benchmarks: tuple[ToolName, ...] = Field(min_length=1)
    with_: tuple[Name, ...] = Field((), alias="with", description="Optional groups of the environment, such as wrf")
    without: tuple[Name, ...] = Field((), description="Benchmarks of the environment that are not built here")
    use: Literal["always", "asked"] = Field(
        "always", description="asked: only with `railyard run --spack`; otherwise the installed benchmarks are used"
    )


class SpackSite(Model):
    """Where a system's Spack environments are built; compilers, externals and mirrors are in systems/spack/."""

    root: Template = Field(
        "{home}/.railyard/spack",
        description="Folder of the environments, and of the install tree unless the overlay names one",
    )
    build_on: Literal["login", "compute"] = "login"
    local_configuration: tuple[Literal["user", "system"], ...] = Field(
        (),
        description="Scopes of Spack's own local configuration that environments use too (user: ~/.spack, system: "
        "/etc/spack). They are the weakest, and each record names their files; if left out: neither is read",
    )


class StackEntry(Preparation):
    """One stack, installed on this system or with benchmarks that Spack builds."""

    like: Name | None = Field(
        None, description="For an MPI that the table of stacks lacks: the stack of the table from which it differs"
    )
    differs: DeclaredMpi | None = Field(None, description="What differs from that stack")
    container: Container | None = Field(
        None,
        description="The container or user environment in which its programs run; prefix, libraries and benchmarks are "
        "then paths inside",
    )
    prefix: Template | None = Field(None, description="Where it is installed, relative to the site folder")
    libraries: tuple[Template, ...] = Field(
        (),
        description="Folders, besides the prefix, of the libraries that carry messages (UCX, libfabric and its "
        "providers, PSM2, verbs, NCCL and its plugins). A benchmark that loads one from elsewhere fails. If left out: "
        "the prefix if it has its own, else the operating system's",
    )
    benchmarks: dict[Name, Template] = Field({}, description="Tool: executable, or the folder of its executables")
    absent: dict[Name, Prose] = Field({}, description="Tool: why this stack does not have it")
    striping_thresholds: tuple[Size, ...] = Field(
        (),
        description="Besides the stack's own: sizes above which it should also stripe (8K is the policy striping-8K)",
    )
    srun_mpi: Name | None = Field(None, description="The value of srun --mpi, if it is not the stack's own: pmix_v4")
    mpi: Name | None = Field(
        None, description="Only for nccl and rccl: the stack of this system with whose MPI their tests are built"
    )
    device_buffers: Literal["cuda", "rocm"] | None = Field(
        None,
        description="How its library and its benchmarks take messages from the memory of GPUs, if both are "
        "built for it; if left out: not tested",
    )
    spack: SpackStack | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """The benchmark tools that this stack has, installed or built."""
        return tuple(dict.fromkeys((*self.benchmarks, *(self.spack.benchmarks if self.spack else ()))))

    def resolve(self, text: str, home: Path) -> str:
        """Return a text with its ``{home}`` and ``{prefix}`` filled."""
        if "{prefix}" in text and self.prefix is not None:
            text = text.replace("{prefix}", self.path(self.prefix, home))
        return text.replace("{home}", str(home))

    def path(self, text: str, home: Path) -> str:
        """Return a path of this entry, blanks filled, relative ones under ``home``."""
        return str(home / self.resolve(text, home))

    def executable(self, tool: str, home: Path) -> str:
        """Return the absolute path of a tool's executable or folder. Raises KeyError if the entry names none."""
        return self.path(self.benchmarks[tool], home)

    def environment(self, home: Path) -> dict[str, str]:
        """Return the variables with their blanks filled, in the file's order."""
        return {name: self.resolve(value, home) for name, value in self.env.items()}

    def choose_origin(self, asked: bool) -> "StackEntry":
        """Return the entry as a run sees it, with or without what Spack builds; ``asked``: the user requested Spack."""
        if self.spack is None or (self.spack.use == "asked" and not asked):
            return self.model_copy(update={"spack": None})
        unbuilt = [tool for tool in self.benchmarks if tool not in self.spack.benchmarks]
        absent = {tool: why for tool, why in self.absent.items() if tool not in self.spack.benchmarks}
        absent |= {tool: "Spack does not build it for this stack here (spack: benchmarks)" for tool in unbuilt}
        return self.model_copy(update={"benchmarks": {}, "absent": absent})
