"""An MPI that the table of stacks lacks, declared in a system's file: like one of the table, and what differs.

It becomes an entry of the table while this process runs, with the same checks as the table's own entries
(``railyard.stacks.model``). Its record says so: Railyard's authors never tried its settings.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Prose, ScriptLine, Size, Value, Variable
from railyard.base.strict_yaml import Document
from railyard.base.values import refuse, show
from railyard.base.wording import listing
from railyard.site.systems.fields import HostPattern
from railyard.site.systems.node_view import Kind
from railyard.stacks import table
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

if TYPE_CHECKING:
    from railyard.site.systems.stack_entry import StackEntry

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
        other = table.STACKS[like]
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
            if name not in table.STACKS:
                action = f"{did_you_mean(name, table.STACKS)} If it is another MPI, declare it: like and differs"
                raise document.error(path, show(name), "a stack of docs/reference/stacks.md", action)
            continue
        if like is None or differs is None:
            found, missing = ("differs", "like") if like is None else ("like", "differs")
            raise document.error((*path, found), f"{found} without {missing}", f"{missing} beside it")
        if name in table.OWN or not _NAME.fullmatch(name):
            expected = "a name that the table lacks, of small letters, digits and _"
            raise document.error(path, show(name), expected, "give it another name")
        if like not in table.OWN or not table.OWN[like].is_mpi:
            known = [each for each, stack in table.OWN.items() if stack.is_mpi]
            raise document.error((*path, "like"), show(like), "an MPI of the table", did_you_mean(like, known))
        if entry.spack is not None:
            raise document.error(
                (*path, "spack"), "spack", "none: Spack builds only for the table's own", "leave it out"
            )
        try:
            refused = table.declare(name, differs.as_stack(like))
        except (ValueError, re.error) as error:
            place = (*path, "differs")
            raise document.error(place, str(error), "what the table's own entries have", "fix it there") from None
        if refused:
            raise document.error(
                path, f"another {name} than in a file read before", "one MPI of this name", "rename one"
            )
