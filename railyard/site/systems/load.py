"""systems/*.yaml, one file per cluster: finds the files, reads them strictly, and returns models.

What replaces a system's nodes and benchmarks in a rehearsal, from the folder that $RAILYARD_REHEARSAL names.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from railyard.base.errors import InputError, RailyardError, SetupError, did_you_mean, note_remark
from railyard.base.paths import ALLOCATION_VARIABLE, REHEARSAL_VARIABLE, REPLAY_VARIABLE, SPACK_VARIABLE
from railyard.base.strict_yaml import Document, load, validate
from railyard.base.values import show
from railyard.base.wording import listing
from railyard.site.systems.checks import check_prices, check_system
from railyard.site.systems.jobs import SLURM_WITHOUT_DATABASE, is_slurm
from railyard.site.systems.model import (
    Fabric,
    System,
)
from railyard.site.systems.node_part import load_written_out
from railyard.site.systems.stack_entry import StackEntry, declare_stacks
from railyard.site.systems.stated_topology import with_topologies

#: In that folder: the rehearsal, as JSON (``railyard.provision.rehearsal.form``).
FILE = "rehearsal.json"


#: Why a tool of a stack does not run in a rehearsal.
NO_STAND_IN = "a rehearsal has no stand-in for it"


@dataclass(frozen=True, slots=True)
class RehearsedSystem:
    """The rehearsed system, and its nodes that exist in the rehearsal.

    ``programs`` has the path of each stack's tools (stack: tool: path), ``launchers`` the folder of its mpirun, and
    ``wrf_cases`` the folder of each case's inputs. ``folder`` is the rehearsal's.
    """

    system: str
    nodes: tuple[str, ...]
    programs: Mapping[str, Mapping[str, str]]
    wrf_cases: Mapping[str, str]
    launchers: Mapping[str, str]
    folder: str

    def of(self, system: System) -> System:
        """Return the system as its rehearsal sees it: only nodes that exist there, and only stand-ins as benchmarks.

        The requests of jobs to the scheduler stay. Slurm is asked by scontrol, since a rehearsal has no accounting
        database.
        """
        stacks = {
            name: _stack(entry, self.programs.get(name, {}), self.launchers.get(name, ""))
            for name, entry in system.stacks.items()
        }
        # A job's own script says it too: with --export=NONE no variable of this process reaches the job.
        fabrics = {name: self._fabric(fabric) for name, fabric in system.fabrics.items()}
        scheduler = SLURM_WITHOUT_DATABASE if is_slurm(system.scheduler) else system.scheduler
        own = {"scheduler": scheduler, "modules_system": None, "wrf_cases": dict(self.wrf_cases)}
        return with_nodes(system, self.nodes).model_copy(update={"fabrics": fabrics, "stacks": stacks, **own})

    def _fabric(self, fabric: Fabric) -> Fabric:
        """Return a fabric with only those leaf switches that have some of the nodes, and only with these nodes."""
        rails = tuple(
            rail.model_copy(update={"leaf_switches": self._switches(rail.leaf_switches)}) for rail in fabric.rails
        )
        leaves = self._switches(fabric.leaf_switches)
        known = {*leaves, *(leaf for rail in rails for leaf in rail.leaf_switches)}
        there = {group: tuple(leaf for leaf in of if leaf in known) for group, of in fabric.groups.items()}
        groups = {group: of for group, of in there.items() if of}
        env = {**fabric.env, REHEARSAL_VARIABLE: self.folder}
        kept = {"leaf_switches": leaves, "rails": rails, "groups": groups, "env": env}
        return fabric.model_copy(update=kept).without_preparation()

    def _switches(self, switches: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        at = {leaf: tuple(name for name in names if name in self.nodes) for leaf, names in switches.items()}
        return {leaf: names for leaf, names in at.items() if names}


def with_nodes(system: System, names: Sequence[str]) -> System:
    """Return the system as if it had only these of its nodes."""
    nodes = system.nodes.model_copy(update={"names": tuple(names), "count": None})
    return system.model_copy(update={"nodes": nodes})


def current_rehearsal() -> RehearsedSystem | None:
    """Return what the rehearsal of this process replaces; None outside of a rehearsal.

    Raises SetupError if the folder holds no rehearsal.
    """
    folder = os.environ.get(REHEARSAL_VARIABLE)
    return _read_rehearsed(folder) if folder else None


@lru_cache(maxsize=2)
def _read_rehearsed(folder: str) -> RehearsedSystem:
    file = Path(folder, FILE)
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return RehearsedSystem(
            stored["system"],
            tuple(stored["nodes"]),
            stored["programs"],
            stored["wrf_cases"],
            stored.get("launchers", {}),
            folder,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{file}: found no rehearsal ({error}), although {REHEARSAL_VARIABLE} names its folder; "
            f"unset the variable, or type: railyard rehearse --system NAME"
        ) from None


def _stack(entry: StackEntry, programs: Mapping[str, str], launchers: str) -> StackEntry:
    """Return an entry whose benchmarks are stand-ins. Its own variables stay, since the stand-ins obey them.

    ``launchers`` is the folder of its mpirun's stand-in, which comes first on its PATH.
    """
    prefix = "" if entry.prefix is None else entry.prefix if entry.prefix[0] in "/{" else f"{{home}}/{entry.prefix}"
    env = {name: value.replace("{prefix}", prefix) for name, value in entry.env.items()}
    if launchers:
        env["PATH"] = f"{launchers}:{env.get('PATH', '$PATH')}"
    absent = {**entry.absent, **{tool: NO_STAND_IN for tool in entry.tools if tool not in programs}}
    # The Slurm of a rehearsal may lack a plugin of the site's (pmix_v3); it has those of the table of stacks.
    gone = {"prefix": None, "spack": None, "container": None, "srun_mpi": None}
    return entry.model_copy(
        update={"benchmarks": dict(programs), "absent": absent, "env": env, **gone}
    ).without_preparation()


def load_system(path: Path) -> System:
    """Return the system of one file. Raises InputError for any mistake in it, also in its name."""
    return _read_file(path)


@dataclass(frozen=True, slots=True)
class BrokenSystem:
    """A system that no command may use, since one of its files has a mistake.

    ``hostnames`` are the patterns of its file; None if they cannot be read, so that any host may be one of its hosts.
    """

    error: RailyardError
    hostnames: tuple[str, ...] | None

    @property
    def place(self) -> str:
        """The file with the mistake, and its line if it is known."""
        if not isinstance(self.error, InputError):
            return str(self.error)
        line = "" if self.error.line is None else f":{self.error.line}"
        return f"{self.error.file}{line}"


def takes_host(hostnames: Iterable[str], host: str) -> bool:
    """Return whether one of a system's patterns fits the beginning of a host's name, as ReFrame chooses a system."""
    return any(re.match(pattern, host) for pattern in hostnames)


class Systems(dict[str, System]):
    """The systems of a folder by name, without the broken ones: to ask for one of these raises its error."""

    def __init__(self, systems: Mapping[str, System], broken: Mapping[str, BrokenSystem], folder: str) -> None:
        super().__init__({name: system for name, system in systems.items() if name not in broken})
        self.broken = dict(broken)
        self.folder = folder

    def __missing__(self, name: str) -> System:
        """Raise the error of a broken system, else InputError for an unknown name, offering the nearest known one."""
        if name in self.broken:
            raise self.broken[name].error
        known = {*self, *self.broken}
        raise InputError(
            f"{self.folder}/", f"no system {show(name)}", "a system of that name", action=did_you_mean(name, known)
        )

    def leave_out(self, broken: Mapping[str, BrokenSystem]) -> "Systems":
        """Return the systems with more broken ones: those whose references have a mistake."""
        return Systems(self, {**broken, **self.broken}, self.folder)

    def remark(self, but: str | None = None) -> str | None:
        """Return the sentence that names each broken file and what it stops; None if all are right.

        ``but``: the system that was asked for; another sentence is about it, and about its mistake.
        """
        own = None if but is None or but not in self.broken else self.broken[but].place
        names = sorted(name for name, each in self.broken.items() if name != but and each.place != own)
        if not names:
            return None
        places = listing(sorted({self.broken[name].place for name in names}))
        return (
            f"{places}: found a mistake, so nothing runs on {listing(names)}; to see what is wrong, type: railyard lint"
        )


def load_systems(folder: Path, *, asked_for_spack: bool | None = None) -> Systems:
    """Return all systems of a folder by name; if ``asked_for_spack`` is None, RAILYARD_SPACK decides.

    A file with a mistake stops its own system only: this is in ``broken``, under the file's name and under the name
    that the file gives. Raises InputError if there is no folder, no file, or none without a mistake.
    """
    if not folder.is_dir():
        raise InputError(str(folder), "no such folder", "the folder of systems/*.yaml")
    paths = sorted(folder.glob("*.yaml"))
    others = sorted(folder.glob("*.yml"))
    if not paths and not others:
        raise InputError(str(folder), "no system", "at least one *.yaml file", action='add one, or copy "local.yaml"')
    broken = {path.stem: BrokenSystem(_wrong_ending(path), _hostnames_of(path)) for path in others}
    systems: dict[str, System] = {}
    for path in paths:
        try:
            systems[path.stem] = _read_file(path, asked_for_spack)
        except RailyardError as error:
            found = BrokenSystem(error, _hostnames_of(path))
            for name in {path.stem, _text_in(path, "system")} - {""}:
                broken.setdefault(name, found)
    for path in paths:
        # A mistake in a file is reported for that file, not for one that is like it.
        other = broken.get(_text_in(path, "like")) if path.stem in broken else None
        if other is not None:
            broken[path.stem] = replace(broken[path.stem], error=other.error)
    read = Systems(systems, broken, folder.name)
    if not read:
        raise next(iter(broken.values())).error
    return read


def _read_file(path: Path, asked_for_spack: bool | None = None) -> System:
    system, document = _read(path, asked_for_spack)
    _check_file_name(path, system, document)
    return system


def _wrong_ending(path: Path) -> InputError:
    return InputError(
        _short_path(path), 'a file that ends in ".yml"', '".yaml"', action=f"rename it to {path.stem}.yaml"
    )


def _text_in(path: Path, field: str) -> str:
    """Return the text that a broken file has in a field; empty if it has none, or cannot be read."""
    try:
        text = load(path).data.get(field)
    except InputError:
        return ""
    return text if isinstance(text, str) else ""


def _hostnames_of(path: Path) -> tuple[str, ...] | None:
    """Return the host names of a broken file; None if it has none that can be read: the rest may be cut off."""
    try:
        found = load(path).data.get("hostnames")
    except InputError:
        return None
    return tuple(found) if isinstance(found, list) and all(map(_is_pattern, found)) else None


def _is_pattern(text: object) -> bool:
    try:
        return isinstance(text, str) and re.compile(text) is not None
    except re.error:
        return False


def find_system(folder: Path, name: str, *, alone: bool = False) -> System:
    """Return one system of a folder by name. Notes a remark for each other system whose file has a mistake.

    ``alone``: read no file but the system's own and that of the system that it is like, so nothing is noted about
    others. A gate does that, before each job on each node. All files are read if this finds anything wrong.

    Raises InputError for an unknown name, offering the nearest known one, and for a mistake in the system's own file.
    """
    names = {path.name for path in folder.glob("*.y*ml")} if alone else set()
    if f"{name}.yaml" in names and f"{name}.yml" not in names:
        with contextlib.suppress(RailyardError):
            return load_system(folder / f"{name}.yaml")
    systems = load_systems(folder)
    note_remark(systems.remark(but=name))
    return systems[name]


def replays_all() -> bool:
    """Return whether RAILYARD_REPLAY tells Railyard to replay every system's outputs, except those of a single host."""
    return _is_set(REPLAY_VARIABLE)


def _short_path(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _read(path: Path, asked_for_spack: bool | None = None) -> tuple[System, Document]:
    document = load_written_out(path)
    system = validate(System, document)
    declare_stacks(system.stacks, document)
    system = with_topologies(system, document, path.parent)
    check_system(system, document)
    check_prices(system, document)
    if asked_for_spack is None:
        asked_for_spack = _is_set(SPACK_VARIABLE)
    system = system.using_spack(asked_for_spack)
    # A single host has no rails whose outputs could replace a run, so it is not replayed.
    if system.provider == "replay" or (system.provider != "host" and replays_all()):
        system = system.as_replay()
    elif (standing := current_rehearsal()) is not None and standing.system == system.system:
        system = standing.of(system)
    elif is_slurm(system.scheduler) and _is_set(ALLOCATION_VARIABLE):
        system = system.as_allocation(tuple(os.environ[ALLOCATION_VARIABLE].split(",")))
    return system, document


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def _check_file_name(path: Path, system: System, document: Document) -> None:
    if path.stem == system.system:
        return
    other = path.with_name(f"{system.system}.yaml")
    if other.exists():
        found = f"the system {show(system.system)} for the second time"
        expected = f"one file per system ({_short_path(other)} has that name)"
        raise document.error(("system",), found, expected, "rename one")
    expected = f'"{path.stem}", the name of the file'
    raise document.error(("system",), show(system.system), expected, f"rename the file to {system.system}.yaml")
