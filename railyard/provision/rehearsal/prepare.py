"""From a site's own system to its rehearsal: refuses what cannot be rehearsed, and says what is left out."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.paths import state_folder
from railyard.base.wording import count_of, listing
from railyard.provision.rehearsal import nodes, programs
from railyard.provision.rehearsal.faults import nodes_named, plant_faults
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.rehearsal.recorded_run import playable_recordings
from railyard.provision.rehearsal.slurm_layout import gives_whole_nodes
from railyard.site.site import Site
from railyard.site.systems.job_requests import asks_for_whole_nodes
from railyard.site.systems.jobs import SLURM_WITHOUT_DATABASE
from railyard.site.systems.model import System

#: The launchers with which a rehearsal can start processes: Slurm's own, and stand-ins for a stack's own.
KNOWN = ("srun", "mpirun", "mpiexec")


def rehearsal_folder(home: Path) -> Path:
    """Return the folder of a site's rehearsal: there is one at a time, and each makes the folder again."""
    return state_folder(home) / "rehearsal"


def prepare_rehearsal(
    site: Site, faults: Sequence[str], wanted: int | None, recording: Path | None = None
) -> Rehearsal:
    """Return the rehearsal of a site's system, with its stand-ins, written to its folder; nothing runs yet.

    ``faults`` are words of ``railyard.provision.rehearsal.faults``, ``wanted`` is how many nodes to rehearse, and
    ``recording`` is the folder of recordings to play. Raises RailyardError for a system that cannot be rehearsed, for
    faults that it cannot have, and for recordings that cannot be played.
    """
    system, home = site.system, site.home
    standing, meant = choose_nodes(system, faults, wanted, recording)
    folder = rehearsal_folder(home)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    there, cases = programs.write(folder, system), programs.write_wrf_cases(folder, system)
    left_out = (*standing.left_out, *left_out_of(site, there))
    launchers = programs.write_launchers(folder, system)
    played = "" if recording is None else str(recording.resolve())
    made = Rehearsal(
        system.system, str(home), str(folder), standing.nodes, meant, left_out, there, cases, launchers, played
    )
    made.write()
    return made


def choose_nodes(
    system: System, faults: Sequence[str], wanted: int | None, recording: Path | None
) -> tuple[nodes.ChosenNodes, tuple[Fault, ...]]:
    """Return which nodes are rehearsed and what is planted; nothing is written.

    Raises RailyardError as ``prepare_rehearsal`` does.
    """
    named = set(nodes_named(faults)) & set(nodes.site_nodes(system))
    standing = nodes.choose(system, nodes.memory_available_mib(), wanted, named)
    _refuse_launcher(system)
    if recording is not None:
        playable_recordings(recording, system.system)
    return standing, plant_faults(faults, system, standing.nodes)


def _refuse_launcher(system: System) -> None:
    if system.launcher not in KNOWN:
        raise RailyardError(
            f"systems/{system.system}.yaml: found launcher {system.launcher}, expected one of {', '.join(KNOWN)}: "
            f"a rehearsal has no stand-in for another"
        )


def left_out_of(site: Site, there: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield a sentence for each thing that the system's file asks for and that a rehearsal does not have."""
    system = site.system
    if system.scheduler != SLURM_WITHOUT_DATABASE:
        yield f"scheduler: {system.scheduler} is rehearsed as {SLURM_WITHOUT_DATABASE}, without an accounting database"
    if system.nodes.exclusive and not asks_for_whole_nodes(system):
        yield (
            "jobs: no job asks for whole nodes (jobs: exclusive), but nodes: exclusive: true says that the partition "
            "gives them, so it does here; railyard doctor asks Slurm"
            if gives_whole_nodes(system)
            else "jobs: no job asks for whole nodes, so jobs get parts of nodes here; write jobs: {exclusive: true}, "
            "or nodes: {exclusive: true} if the site's partition gives whole nodes by itself"
        )
    modules = dict.fromkeys(str(module) for entry in system.stacks.values() for module in entry.modules)
    if modules:
        yield f"modules: {listing(list(modules))} {'is' if len(modules) == 1 else 'are'} not loaded"
    built = [name for name, entry in system.stacks.items() if entry.spack is not None]
    if built:
        yield f"Spack: nothing is built for {listing(built)}"
    for name, entry in system.stacks.items():
        lacking = [tool for tool in entry.tools if tool not in there.get(name, {})]
        if lacking:
            yield f"{count_of(len(lacking), 'benchmark')} of {name}: there is no stand-in for {listing(lacking)}"
    if not site.references.entries:
        yield "references: there are none, so only physical limits and floors judge"
