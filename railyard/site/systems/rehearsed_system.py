"""What replaces a system's nodes and benchmarks in a rehearsal, from the folder that $RAILYARD_REHEARSAL names."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.site.systems.jobs import SLURM_WITHOUT_DATABASE, is_slurm
from railyard.site.systems.model import Fabric, System
from railyard.site.systems.stack_entry import StackEntry

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
        nodes = system.nodes.model_copy(update={"names": self.nodes, "count": None})
        scheduler = SLURM_WITHOUT_DATABASE if is_slurm(system.scheduler) else system.scheduler
        own = {"scheduler": scheduler, "modules_system": None, "wrf_cases": dict(self.wrf_cases)}
        return system.model_copy(update={"nodes": nodes, "fabrics": fabrics, "stacks": stacks, **own})

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


def current_rehearsal() -> RehearsedSystem | None:
    """Return what the rehearsal of this process replaces; None outside of a rehearsal.

    Raises SetupError if the folder holds no rehearsal.
    """
    folder = os.environ.get(REHEARSAL_VARIABLE)
    return _read(folder) if folder else None


@lru_cache(maxsize=2)
def _read(folder: str) -> RehearsedSystem:
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
