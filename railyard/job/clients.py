"""Asks a scheduler about jobs, nodes and queues with its own clients: an answer within a minute, or none.

Asks Slurm about jobs and nodes with its own clients: an answer within a minute, or none.

Asks a system's scheduler which queues and nodes are closed to jobs.

`way_in` is how any scheduler's clients are found on the virtual cluster.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from railyard.base.values import clean
from railyard.base.wording import listing
from railyard.parsers import flux as flux_records
from railyard.parsers import pbs as pbs_records
from railyard.parsers import sge as sge_records
from railyard.parsers import slurm as slurm_partitions
from railyard.parsers import slurm as slurm_records
from railyard.parsers.slurm import JobState, NodeState
from railyard.provision.testbed.scripts import CLUSTER, bed_folder, client_variables, enter_script
from railyard.provision.testbed.slurm_texts import FOLDER
from railyard.provision.testbed.spec import spec_of
from railyard.results.record.masking import mask_text
from railyard.site.systems.job_requests import asks_for_whole_nodes, requested_words
from railyard.site.systems.jobs import FAMILIES, is_slurm, split_words
from railyard.site.systems.model import System

#: File in a run's folder: each node of the scheduler, and whether a job could run there when the run began.
NODES_FILE = "nodes.json"
_ASK_WITHIN_S = 60
#: In ``scontrol show config``: Slurm gives out whole nodes alone.
_WHOLE = re.compile(r"^SelectType\s*=\s*select/linear\s*$", re.MULTILINE)


def answer(words: Sequence[str]) -> tuple[str, str]:
    """Return a client's output, and the first line of its complaint; no output if it is missing or too slow."""
    done = client_end(words)
    return ("", done) if isinstance(done, str) else (done.stdout, _complaint(done))


def find_refusal(words: Sequence[str]) -> str | None:
    """Return why a client did not do its task, from its own first line; None if it did."""
    done = client_end(words)
    if isinstance(done, str):
        return done
    return None if done.returncode == 0 else _complaint(done) or f"{words[0]} ended with exit code {done.returncode}"


def client_end(words: Sequence[str]) -> "subprocess.CompletedProcess[str] | str":
    """Return how a client ended, or why there is no answer."""
    try:
        return subprocess.run(
            list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_ASK_WITHIN_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{words[0]} gave no answer within {_ASK_WITHIN_S} s"
    except OSError as error:
        return f"{words[0]} cannot be started: {error.strerror}"


def _complaint(done: "subprocess.CompletedProcess[str]") -> str:
    return next(iter(done.stderr.strip().splitlines()), "")


def way_in(system: System, home: Path) -> tuple[str, ...]:
    """Return the words before a client of the system's Slurm, which enter a virtual cluster's node; none elsewhere."""
    if system.provider != "testbed":
        return ()
    node = spec_of(system).nodes[0]
    return (str(enter_script(home)), node, "--", "env", f"SLURM_CONF={client_variables(home, FOLDER)['SLURM_CONF']}")


#: What Slurm says of options that no job can be sent with, at this hour or another. What it says of nodes that are busy
#: or down is none of these. Source: slurm_strerror of Slurm 22.05 and 26.05.
_NEVER = (
    "Invalid partition name specified",
    "No partition specified or system default partition",
    "User's group not permitted to use this partition",
    "Invalid account or account/partition combination specified",
    "Invalid qos specification",
    "Invalid feature specification",
    "Invalid generic resource (gres) specification",
    "Invalid license specification",
    "Invalid node name specified",
    "Requested reservation is invalid",
    "Access denied to requested reservation",
)


def why_never(system: System) -> str | None:
    """Return why Slurm would take no job with the options of this system's file, in its own words; else None.

    It is asked by ``sbatch --test-only``, which sends nothing. None too for another scheduler, and without an answer.
    """
    if not is_slurm(system.scheduler):
        return None
    done = client_end(["sbatch", "--test-only", *system.job_words, "--wrap=true"])
    # An unknown partition is the second line: "sbatch: error: invalid partition specified: nope" comes first.
    said = done if isinstance(done, str) else done.stderr
    return next((never for never in _NEVER if never in said), None)


def why_silent(system: System) -> str | None:
    """Return why a cluster's Slurm gives this host no answer, in the last words of its own client; None if it does.

    The client's programs may be there although its controller is down, or no configuration leads to it. None too for
    another scheduler, for a virtual cluster, which starts its own Slurm, and where the client is missing.
    """
    if not is_slurm(system.scheduler) or system.provider == "testbed" or shutil.which("scontrol") is None:
        return None
    done = client_end(["scontrol", "-o", "show", "partition"])
    if isinstance(done, str):
        return done
    said = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else (said or [f"scontrol ended with exit code {done.returncode}"])[-1]


def why_shared(system: System) -> str | None:
    """Return how Slurm's own settings let other jobs share the nodes of a job, against the system's file; else None.

    The file says that a run has its nodes for itself (``nodes.exclusive``), but its jobs do not ask for whole nodes. So
    their partition must give them: by ``OverSubscribe=EXCLUSIVE``, or because Slurm gives out no part of a node
    (select/linear). None too for another scheduler, and where Slurm does not answer. Source: slurm.conf(5).
    """
    if not is_slurm(system.scheduler) or not system.nodes.exclusive or asks_for_whole_nodes(system):
        return None
    there = slurm_records.parse(answer(["scontrol", "-o", "show", "partition"])[0])
    names = [name for text in requested_words(system, "partition") for name in text.split(",")]
    used = slurm_records.of_jobs(there, names)
    shared = [f"{one.name} (OverSubscribe={one.sharing})" for one in used if one.sharing is not None]
    if not shared or _WHOLE.search(answer(["scontrol", "show", "config"])[0]):
        return None
    return (
        f"nodes.exclusive is true, but jobs do not ask for whole nodes, and partition {listing(shared)} gives parts "
        f"of nodes: other jobs can share the rails and their counters"
    )


def show_job(job: object, before: Sequence[str] = ()) -> tuple[str, str]:
    """Return what ``scontrol -o show job`` prints about a job, and the first line of its complaint.

    ``before`` is the ``way_in``, unless this process is inside already.
    """
    return answer([*before, "scontrol", "-o", "show", "job", str(job)])


def accounted_state(job: object) -> JobState | None:
    """Return a job as sacct has it; None if there is no accounting, or none for this job."""
    text, _ = answer(["sacct", "-X", "-n", "-P", "-o", "State,ExitCode,NodeList,Reason", "-j", str(job)])
    return slurm_records.parse_accounting(text, str(job))


def show_nodes(nodes: str | None = None) -> tuple[NodeState, ...]:
    """Return all nodes, or those of Slurm's own list (``vn[1-2]``), as the scheduler has them; () without answer."""
    words = ["scontrol", "-o", "show", "nodes", *([nodes] if nodes else [])]
    return slurm_records.parse_nodes(answer(words)[0])


def nodes_of(system: System, home: Path) -> tuple[NodeState, ...]:
    """Return the nodes of a system as its Slurm has them, excluded ones marked; none for any other scheduler.

    A secret in the reason that an administrator gave is masked, since runs keep it.
    """
    return _nodes_and_complaint(system, home)[0]


def _nodes_and_complaint(system: System, home: Path) -> tuple[tuple[NodeState, ...], str]:
    """Return the nodes of a system, and the first line of scontrol's complaint; nothing for any other scheduler."""
    if not is_slurm(system.scheduler):
        return (), ""
    text, complaint = answer([*way_in(system, home), "scontrol", "-o", "show", "nodes"])
    jobs = system.jobs
    printed = slurm_records.parse_nodes(text)
    nodes = slurm_records.of_system(
        tuple(replace(node, reason=node.reason and mask_text(node.reason)) for node in printed),
        system.nodes.names,
        jobs.partition,
        jobs.constraint,
        jobs.exclude,
        within_reservation=bool(requested_words(system, "reservation")),
    )
    return nodes, complaint


def note_nodes(system: System, home: Path, folder: Path, echo: Callable[[str], None]) -> str | None:
    """Print how many nodes of a system's Slurm can run a job, keep that in a run's folder, and name those that cannot.

    Return None if all nodes can, if the scheduler is another one, and if it does not answer: then print what its client
    complains of, since nobody knows which nodes cannot.
    """
    nodes, complaint = _nodes_and_complaint(system, home)
    if not nodes:
        if complaint:
            echo(f"which nodes can run a job is not known: {clean(complaint)}")
        return None
    kept = [{"node": one.name, "state": one.state, "reason": one.reason, "tested": one.unfit is None} for one in nodes]
    (folder / NODES_FILE).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    unfit = slurm_records.describe_untested(nodes)
    able = sum(one.unfit is None for one in nodes)
    echo(f"{able} of {len(nodes)} nodes can run a job" + (f"; not tested: {unfit}" if unfit else ""))
    return unfit


def closed_queues(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each queue of a system's jobs that takes or starts none, and the scheduler's words about it.

    If the system's file names no queue, all queues are meant, and of Slurm's partitions the default one. Empty for
    other schedulers, and without an answer.
    """
    family = FAMILIES.get(system.scheduler)
    if family == "slurm":
        asked = tuple(name for text in requested_words(system, "partition") for name in text.split(","))
        there = slurm_partitions.parse(_queue_answer(system, home, "scontrol", "-o", "show", "partition")[0])
        used = slurm_partitions.of_jobs(there, asked)
        return tuple((one.name, one.why_closed) for one in used if one.why_closed is not None)
    if family == "flux":
        found = flux_records.closed_queues(_queue_answer(system, home, "flux", "queue", "status")[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        found = pbs_records.closed_queues(_queue_answer(system, home, "qstat", "-Q", "-f")[0])
    elif family == "sge":
        found = sge_records.closed_queues(_queue_answer(system, home, *_PLACES)[0])
    else:
        return ()
    named = _queue_names(system)
    return tuple((queue, how) for queue, how in found if not named or not queue or queue in named)


#: Grid Engine's words for each queue on each node, with why one is in an error or an alarm.
_PLACES = ("qstat", "-f", "-xml", "-explain", "aAcE")


def client_words(system: System, home: Path) -> tuple[str, ...]:
    """Return the words before a client of a system's scheduler, with which it is that of the virtual cluster.

    Without words (elsewhere) it is the one on PATH.
    """
    if is_slurm(system.scheduler):
        return way_in(system, home)
    if system.provider != "testbed":
        return ()
    return ("env", f"PATH={_clients(system, home)}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


def _queue_answer(system: System, home: Path, program: str, *words: str) -> tuple[str, str]:
    """Return what a client prints; on the virtual cluster it is that of the scheduler there, if one is up."""
    if system.provider == "testbed":
        return answer([str(_clients(system, home) / program), *words])
    return answer([program, *words]) if system.provider == "nodes" else ("", "")


def _clients(system: System, home: Path) -> Path:
    return bed_folder(home, CLUSTER) / FAMILIES[system.scheduler] / "bin"


def _queue_names(system: System) -> tuple[str, ...]:
    """Return the queues that a system's file names: under ``jobs``, or as an option in ``access``."""
    own = (system.jobs.partition,) if system.jobs.partition else ()
    words = [part for word in split_words(system.access) for part in word.split("=", 1)]
    given = (after for word, after in pairwise(words) if word in ("-q", "--queue"))
    return (*own, *given)


def unfit_nodes(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each node of a system that can run no job, and why; empty for other schedulers, and without an answer."""
    family = FAMILIES.get(system.scheduler)
    found: tuple[tuple[str, str], ...] = ()
    if family == "slurm" and system.provider in ("testbed", "nodes"):
        excluded = system.jobs.exclude
        return tuple(
            (node.name, node.why)
            for node in nodes_of(system, home)
            if node.unfit is not None and node.name not in excluded
        )
    if family == "flux":
        words = ("flux", "resource", "status", "-n", "-o", flux_records.NODES_FORMAT)
        found = flux_records.unfit_nodes(_queue_answer(system, home, *words)[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        nodes = pbs_records.parse_nodes(_queue_answer(system, home, "pbsnodes", "-a")[0])
        found = tuple((node.name, node.unfit) for node in nodes if node.unfit is not None)
    elif family == "sge":
        found = sge_records.unfit_nodes(_queue_answer(system, home, *_PLACES)[0], _queue_names(system))
    names = system.nodes.names
    return tuple((node, how) for node, how in found if not names or node in names)
