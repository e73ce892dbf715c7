"""What a job does before a benchmark: a site's own commands, modules and variables, for a fabric or for a stack."""

import shlex
from typing import TypeVar

from pydantic import Field

from railyard.base.fields import EnvValue, Model, Module, PathText, ScriptLine, Variable
from railyard.site.systems.fields import LauncherName

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
