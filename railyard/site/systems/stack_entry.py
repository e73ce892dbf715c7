"""One stack in a system's file: installed by the site, or built by Spack."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from railyard.base.fields import Model, Name, Prose, Size, Template
from railyard.site.systems.container import Container
from railyard.site.systems.declared_mpi import DeclaredMpi
from railyard.site.systems.fields import ToolName
from railyard.site.systems.preparation import Preparation


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
