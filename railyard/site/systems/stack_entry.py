"""One stack in a system's file: installed by the site, or built by Spack, perhaps in a container or user environment.

Also what a job does before a benchmark: a site's own commands, modules and variables, for a fabric or for a stack.

An MPI that the table of stacks lacks, declared in a system's file: like one of the table, and what differs.

It becomes an entry of the table while this process runs, with the same checks as the table's own entries
(``railyard.stacks.model``). Its record says so: Railyard's authors never tried its settings.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import (
    Count,
    EnvValue,
    Model,
    Module,
    Name,
    PathText,
    Prose,
    ScriptLine,
    Size,
    Template,
    Value,
    Variable,
)
from railyard.base.strict_yaml import Document
from railyard.base.values import refuse, shell_reason, show
from railyard.base.wording import listing
from railyard.site.systems.fields import ContainerName, HostPattern, LauncherName, ToolName
from railyard.site.systems.node_view import Kind
from railyard.stacks import model
from railyard.stacks.containers import CONTAINERS, ContainerKind, Image
from railyard.stacks.libraries import is_mpi_library
from railyard.stacks.model import (
    KNOBS,
    MEMORIES,
    NO_TEST_SETS_IT,
    Knob,
    Launch,
    Proof,
    Setting,
    Spread,
    Stack,
    Way,
    silent,
)

#: The policies as the table has them; a test compares these with it.
PolicyName = Literal["single", "striping", "round-robin", "nic-per-rank"]
#: The ``version`` of its settings on every page and in every message.
DECLARED = "declared by the system's file, never run by Railyard's authors"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _soname(text: str) -> str:
    if is_mpi_library(text):
        return text
    raise refuse(show(text), 'the name of an MPI library such as "libmpi.so.12", for which a benchmark is searched')


Soname = Annotated[str, AfterValidator(_soname)]
#: Variable -> its value with the table's blanks ({devices}, {ports}, {rails} …), or null: the other's is left out.
Variables = dict[Variable, Value | None]


class DeclaredLauncher(Model):
    """The words of its launcher that differ. Blanks are those of the table: {hosts}, {ranks}, {name}, {value} …"""

    program: ScriptLine | None = None
    hosts: tuple[ScriptLine, ...] | None = None
    ranks: tuple[ScriptLine, ...] | None = None
    ranks_per_node: tuple[ScriptLine, ...] | None = None
    share_cores: tuple[ScriptLine, ...] | None = Field(None, description="For ranks that share cores: no binding")
    cores_a_rank: tuple[ScriptLine, ...] | None = Field(None, description="For ranks with several threads: {cores}")
    forward: tuple[ScriptLine, ...] | None = Field(None, description="Passes one variable to the ranks")
    each_node: tuple[ScriptLine, ScriptLine] | None = Field(
        None, description="An option and its value: puts {ranks_per_node} ranks on each node of a job"
    )


class DeclaredPolicy(Model):
    """One rail policy."""

    settings: Variables = Field({}, description="Variable: its value; null: not set")
    says: Prose = Field(description="From which size messages are split, or why they are not")
    from_bytes: Size | None = Field(
        None, description="The size from which all rails carry one message; if left out: unknown"
    )
    most_rails: Count | None = None


class DeclaredLog(Model):
    """How its log says which network it used."""

    settings: Variables = Field({}, description="Variable: its value; null: not set")
    pattern: HostPattern = Field(description="Regular expression of its line; {device} is each device in turn")
    says: Prose


class DeclaredWay(Model):
    """What differs on one kind of fabric."""

    transport: Prose | None = None
    settings: Variables = Field({}, description="Variable: its value, with {devices}, {ports} …; null: not set")
    policies: dict[PolicyName, DeclaredPolicy] = Field({})
    cannot: dict[PolicyName, Prose] = Field({}, description="Policy: why it has none")
    log: DeclaredLog | Literal["silent"] | None = Field(
        None, description="silent: it does not say which network it used, so only counters prove the path"
    )


class DeclaredMpi(Model):
    """What differs from the stack that it is like."""

    title: Prose
    source: Prose = Field(description="Where its settings are documented")
    version_words: HostPattern | None = Field(
        None, description="Regular expression for the beginning of what MPI_Get_library_version gives"
    )
    sonames: tuple[Soname, ...] = Field((), description="Names of its library, to which its benchmarks are linked")
    launcher: DeclaredLauncher | None = None
    fabrics: dict[Kind, DeclaredWay] = Field({}, description="Kind of fabric: what differs on it")

    def as_stack(self, like: str) -> Stack:
        """Return the entry of the table that it becomes.

        Raises ValueError for what the table refuses of its own entries, with the place in its message.
        """
        other = model.STACKS[like]
        ways: dict[str, Way | str] = dict(other.ways)
        for kind, own in self.fabrics.items():
            ways[kind] = self._way(kind, other.ways[kind], own)
        launches = tuple(self._launch(launch) for launch in other.launches)
        return replace(
            other,
            title=self.title,
            version_pattern=f"^{words.lstrip('^')}" if (words := self.version_words) else other.version_pattern,
            told_apart=f"declared by the system's file, like {like}",
            also_prints=(like, *other.also_prints),
            sonames=self.sonames or other.sonames,
            launches=launches,
            ways=ways,
            not_built="it is declared by a system's file",
        )

    def _launch(self, launch: Launch) -> Launch:
        if self.launcher is None:
            return launch
        own = {name: value for name, value in self.launcher if value is not None}
        return replace(launch, **own, version=DECLARED, source=self.source)

    def _way(self, kind: str, other: Way | str, own: DeclaredWay) -> Way:
        if isinstance(other, str):
            if own.log is None or "single" not in own.policies:
                raise ValueError(
                    f"fabrics.{kind}: the stack that it is like cannot use {kind}, so settings, policies (single, and "
                    "others in policies or cannot) and log are needed"
                )
            return self._complete(kind, None, own)
        return self._complete(kind, other, own)

    def _complete(self, kind: str, other: Way | None, own: DeclaredWay) -> Way:
        spreads = {spread.policy: spread for spread in (() if other is None else other.spreads)}
        cannot = {} if other is None else dict(other.cannot)
        for policy, declared in own.policies.items():
            before = spreads.get(policy)
            spreads[policy] = self._spread(policy, before, declared)
            cannot.pop(policy, None)
        for policy, why in own.cannot.items():
            if policy in own.policies:
                raise ValueError(f"fabrics.{kind}: {policy} is in policies and in cannot")
            spreads.pop(policy, None)
            cannot[policy] = why if why.endswith(".") else f"{why}."
        settings = self._change_settings(() if other is None else other.settings, own.settings)
        for spread in spreads.values():
            twice = {line.name for line in settings} & {line.name for line in spread.settings}
            if twice:
                raise ValueError(f"fabrics.{kind}: {listing(sorted(twice))} is set for all and in {spread.policy}")
        return Way(
            transport=own.transport or (self.title if other is None else other.transport),
            settings=settings,
            spreads=tuple(spreads.values()),
            proof=self._proof(None if other is None else other.proof, own.log),
            cannot=cannot,
            knobs=_NO_KNOBS if other is None else other.knobs,
            memories=dict.fromkeys(MEMORIES, NO_TEST_SETS_IT) if other is None else other.memories,
        )

    def _spread(self, policy: str, before: Spread | None, own: DeclaredPolicy) -> Spread:
        kept = Spread(policy, own.says) if before is None else before
        return replace(
            kept,
            threshold=own.says,
            settings=self._change_settings(kept.settings, own.settings),
            threshold_bytes=own.from_bytes,
            max_rails=own.most_rails or kept.max_rails,
            # The other's threshold and log belong to its own settings.
            tunable=None,
            proof=None,
        )

    def _proof(self, before: Proof | None, own: DeclaredLog | str | None) -> Proof:
        if isinstance(own, DeclaredLog):
            return Proof(self._change_settings((), own.settings), own.pattern, own.says)
        return silent(self.title) if own is not None or before is None else before

    def _change_settings(self, lines: Sequence[Setting], own: Mapping[str, str | None]) -> tuple[Setting, ...]:
        kept = [line for line in lines if line.name not in own]
        given = [(name, value) for name, value in own.items() if value is not None]
        return (*kept, *(Setting(name, value, "as declared", DECLARED, self.source) for name, value in given))


_NO_KNOBS: Mapping[str, Knob] = dict.fromkeys(KNOBS, "the system's file declares no variable for it")


def declare_stacks(stacks: Mapping[str, "StackEntry"], document: Document) -> None:
    """Add the stacks that a system's file declares to the table. Raises InputError for the first that is wrong."""
    for name, entry in stacks.items():
        path = ("stacks", name)
        like, differs = entry.like, entry.differs
        if like is None and differs is None:
            if name not in model.STACKS:
                action = f"{did_you_mean(name, model.STACKS)} If it is another MPI, declare it: like and differs"
                raise document.error(path, show(name), "a stack of docs/reference/stacks.md", action)
            continue
        if like is None or differs is None:
            found, missing = ("differs", "like") if like is None else ("like", "differs")
            raise document.error((*path, found), f"{found} without {missing}", f"{missing} beside it")
        if name in model.OWN or not _NAME.fullmatch(name):
            expected = "a name that the table lacks, of small letters, digits and _"
            raise document.error(path, show(name), expected, "give it another name")
        if like not in model.OWN or not model.OWN[like].is_mpi:
            known = [each for each, stack in model.OWN.items() if stack.is_mpi]
            raise document.error((*path, "like"), show(like), "an MPI of the table", did_you_mean(like, known))
        if entry.spack is not None:
            raise document.error(
                (*path, "spack"), "spack", "none: Spack builds only for the table's own", "leave it out"
            )
        try:
            refused = model.declare(name, differs.as_stack(like))
        except (ValueError, re.error) as error:
            place = (*path, "differs")
            raise document.error(place, str(error), "what the table's own entries have", "fix it there") from None
        if refused:
            raise document.error(
                path, f"another {name} than in a file read before", "one MPI of this name", "rename one"
            )


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
