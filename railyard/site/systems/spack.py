"""What a system's file says of Spack: which benchmarks it builds for a stack, and where."""

from typing import Literal

from pydantic import Field

from railyard.base.fields import Model, Name, Template
from railyard.site.systems.fields import ToolName


class SpackStack(Model):
    """A stack whose benchmarks Spack builds: which of them, from which folder of spack_envs/."""

    environment: Name | None = Field(None, description="Folder of spack_envs/; left out: the stack's own name")
    benchmarks: tuple[ToolName, ...] = Field(min_length=1)
    with_: tuple[Name, ...] = Field((), alias="with", description="Optional groups of the environment, such as wrf")
    without: tuple[Name, ...] = Field((), description="Benchmarks of the environment that are not built here")
    use: Literal["always", "asked"] = Field(
        "always", description="asked: only with `railyard run --spack`, else what is installed is used"
    )


class SpackSite(Model):
    """Where a system's Spack environments are built; compilers, externals and mirrors stand in systems/spack/."""

    root: Template = Field(
        "{home}/.railyard/spack", description="Folder of environments and, unless the overlay names one, install tree"
    )
    build_on: Literal["login", "compute"] = "login"
