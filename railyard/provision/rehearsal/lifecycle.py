"""A rehearsal while it is up: its nodes and their scheduler come up, the variables lead there, and all goes down again.

It is a testbed of its own kind beside the virtual cluster, so both may be up. It ends as the virtual cluster does: one
kill ends all its processes, and nothing of it is left on this machine.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.base.variables import with_variables
from railyard.provision.rehearsal import node_scripts, sysfs
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.rehearsal.machine import Machine, machine_of
from railyard.provision.rehearsal.nodes import SCHEDULERS, names_of
from railyard.provision.rehearsal.scheduler_files import files_of
from railyard.provision.testbed import lock, needs, scheduler_clients, schedulers, slurm
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.flux import FLUX
from railyard.provision.testbed.lifecycle import OWNER_FILE, is_left_over, sign, terminated_as_interrupted
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.provision.testbed.scripts import REHEARSAL, bed_folder, enter_script
from railyard.provision.testbed.slurm import SLURM
from railyard.provision.testbed.spec import rehearsal_spec
from railyard.site.systems.job_requests import requested_words
from railyard.site.systems.model import System

_LAID_WITHIN_S = 30.0
_PROGRAMS = {"tar": "tar", "taskset": "util-linux"}
#: The command that ends what `--keep` left up.
DOWN = "railyard rehearse --down"


@contextlib.contextmanager
def turn(home: Path, echo: Callable[[str], None]) -> Iterator[None]:
    """Take this machine for a rehearsal. Raises SetupError beside another one of this site folder: both use its files.

    It waits for a measurement, which it would disturb, and a measurement waits for it. Rehearsals of other site folders
    may run beside it. SIGTERM and a closed terminal end it as Ctrl-C does, so everything goes down.
    """
    with terminated_as_interrupted(), measurement_lock(echo, home, shared=True):
        _refuse_another(Testbed(home, kind=REHEARSAL))
        yield


@contextlib.contextmanager
def standing(rehearsal: Rehearsal, system: System, keep: bool, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep the nodes of a rehearsal up, with their scheduler on them, and lead this process and its children there.

    Whatever happens inside, everything goes down afterwards, unless it is to ``keep`` it. Raises SetupError for what
    this machine lacks.
    """
    home = Path(rehearsal.home)
    bring_up(rehearsal, system, keep=keep)
    try:
        with _led_by({REHEARSAL_VARIABLE: rehearsal.folder, **client_variables(home, scheduler_of(system))}):
            yield
    finally:
        if keep:
            echo(f"the nodes are left up; enter one: {enter_script(home, REHEARSAL)} {rehearsal.nodes[0]} -- sh")
            echo(f"take them down: {DOWN}")
        else:
            end_nodes(home)


def take_down(home: Path) -> bool:
    """Take down what was kept, and return whether anything was up. Raises SetupError if its command still runs."""
    note = bed_folder(home, REHEARSAL) / OWNER_FILE
    if note.exists() and not is_left_over(note):
        raise SetupError("--down: found a rehearsal of this site folder that runs, expected one that was kept: end it")
    return end_nodes(home)


@contextlib.contextmanager
def _led_by(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables inside the block; ``$PATH`` in a value means the present one."""
    path = os.environ.get("PATH", os.defpath)
    with with_variables({name: value.replace("$PATH", path) for name, value in variables.items()}):
        yield


def find_refusal(scheduler: BedScheduler = SLURM) -> str | None:
    """Return None if a rehearsal can come up on this machine, else the sentence that says why not (0.02 s)."""
    try:
        needs.require_programs(*_PROGRAMS, packages=_PROGRAMS)
    except SetupError as error:
        return str(error)
    return scheduler.find_refusal() or needs.namespaces_refused()


def bring_up(rehearsal: Rehearsal, system: System, *, keep: bool) -> None:
    """Bring up the nodes of a rehearsal with their scheduler on them.

    If it is interrupted at any point, it leaves nothing behind. The nodes end with this process, whatever ends it,
    unless it is to ``keep`` them. A rehearsal that a killed process left behind is taken down first. Raises SetupError,
    one sentence: for what this machine lacks or refuses, for a file that cannot be rehearsed, during a measurement
    (which it would disturb), and beside another rehearsal of the same site folder.
    """
    home = Path(rehearsal.home)
    bed = Testbed(home, rehearsal_spec(rehearsal.nodes), REHEARSAL)
    scheduler = scheduler_of(system)
    _refuse(bed, system, scheduler)
    end_nodes(home)
    machine = machine_of(system)
    files = files_of(system, rehearsal.nodes, str(bed.folder / node_scripts.PROLOG))
    trees = {
        node: sysfs.node_tree(system, machine, rehearsal.faults, node, number).archive()
        for number, node in enumerate(rehearsal.nodes, 1)
    }
    try:
        bed.bring_up(lasting=keep)
        sign(bed.folder / OWNER_FILE)
        _write(bed.folder, machine, trees, scheduler)
        if scheduler is FLUX:
            (bed.folder / node_scripts.FLUX_SHELL).mkdir()
            text = node_scripts.flux_shell(str(bed.folder), rehearsal.folder, machine)
            write_whole(bed.folder / node_scripts.FLUX_SHELL / node_scripts.FLUX_FILE, text)
        _lay(bed)
        scheduler.start(bed, files)
        if scheduler is SLURM:
            _reserve(bed, names_of(requested_words(system, "reservation")))
    except BaseException:
        end_nodes(home)
        raise


def end_nodes(home: Path) -> bool:
    """End all processes of the rehearsal of a site folder and remove its files; return whether any was running."""
    bed = Testbed(home, kind=REHEARSAL)
    if not bed.folder.is_dir():
        return False
    found = bed.take_down()
    with contextlib.suppress(FileNotFoundError):  # the command that brought it up is taking it down right now
        shutil.rmtree(bed.folder)
    return found


def client_variables(home: Path, scheduler: BedScheduler = SLURM) -> dict[str, str]:
    """Return the variables by which a process of the host finds the rehearsal's own scheduler. ``$PATH`` is left to
    fill in.
    """
    found = scheduler_clients.client_variables(home, scheduler.name, REHEARSAL)
    shell = bed_folder(home, REHEARSAL) / node_scripts.FLUX_SHELL
    return {**found, **({"FLUX_SHELL_RC_PATH": str(shell)} if scheduler is FLUX else {})}


def scheduler_of(system: System) -> BedScheduler:
    """Return what runs a system's jobs in its rehearsal. Raises SetupError for a scheduler that cannot be started."""
    found = schedulers.scheduler_of(system.scheduler)
    if found is None or system.scheduler not in SCHEDULERS:
        raise SetupError(f"rehearsal: found the scheduler {system.scheduler}, expected one of {', '.join(SCHEDULERS)}")
    return found


def _refuse(bed: Testbed, system: System, scheduler: BedScheduler) -> None:
    sentence = find_refusal(scheduler)
    if sentence is not None:
        raise SetupError(
            f"rehearsal: {sentence.removeprefix('testbed: ')}; nothing was run; for the job scripts alone type: "
            f"railyard run --system {system.system} --dry-run"
        )
    measuring = lock.who_measures()
    if measuring is not None:
        raise SetupError(f"rehearsal: {measuring}, and a rehearsal would disturb it: wait until it has ended")
    _refuse_another(bed)


def _refuse_another(bed: Testbed) -> None:
    if bed.is_up() and not is_left_over(bed.folder / OWNER_FILE):
        raise SetupError("rehearsal: another one of this site folder is up: wait until it has ended")


def _write(folder: Path, machine: Machine, trees: dict[str, bytes], scheduler: BedScheduler) -> None:
    for name, text in node_scripts.scripts(str(folder), machine, scheduler.daemons).items():
        write_whole(folder / name, text, 0o755)
    (folder / node_scripts.ARCHIVES).mkdir()
    for node, archive in trees.items():
        (folder / node_scripts.ARCHIVES / f"{node}.tar").write_bytes(archive)
    for path, text in machine.files().items():
        file = folder / node_scripts.MACHINE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="ascii")


def _lay(bed: Testbed) -> None:
    """Lay the synthetic devices over each node's /sys. Raises SetupError with a node's error message if that fails."""

    def lay_node(node: str) -> str:
        try:
            done = bed.exec(node, [str(bed.folder / node_scripts.LAY), node], timeout_s=_LAID_WITHIN_S)
        except subprocess.TimeoutExpired:
            return f"not done within {_LAID_WITHIN_S:g} s"
        return "" if done.returncode == 0 else (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]

    with ThreadPoolExecutor(len(bed.spec.nodes)) as together:
        said = dict(zip(bed.spec.nodes, together.map(lay_node, bed.spec.nodes), strict=True))
    for node, sentence in said.items():
        if sentence:
            raise SetupError(f"rehearsal: the devices of {node} could not be laid over its /sys: {sentence}")


def _reserve(bed: Testbed, names: Sequence[str]) -> None:
    """Make the reservations that jobs name, with all nodes and without an end."""
    whole = ("StartTime=now", "Duration=UNLIMITED", "Users=root", f"Nodes={','.join(bed.spec.nodes)}", "Flags=OVERLAP")
    for name in names:
        slurm.scontrol(bed, "create", "reservation", f"ReservationName={name}", *whole)
