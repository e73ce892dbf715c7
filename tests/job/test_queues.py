"""How the clients of a system's scheduler are found: those of the virtual cluster, or the ones on PATH.

What closes queues and nodes is told by what real schedulers said (``tests/recordings``, whose tests say when).
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.job.clients import client_words, closed_queues, unfit_nodes
from railyard.site.site import Site
from railyard.site.systems.model import System

RECORDED = Path(__file__).parents[1] / "recordings"
#: A family of schedulers -> the commands that are asked, each with its words: about queues, and about nodes.
ASKED = {
    "slurm-nodb": ("scontrol -o show partition", "scontrol -o show nodes"),
    "pbs": ("qstat -Q -f", "pbsnodes -a"),
    "sge": ("qstat -f -xml -explain aAcE", "qstat -f -xml -explain aAcE"),
    "flux-batch": ("flux queue status", "flux resource status -n -o {state}|{nodelist}|{reason}"),
}
Asked = Callable[..., System]


@pytest.fixture
def system_of_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, virtual: Site) -> Asked:
    """Return what makes a system whose scheduler says what the file of a recording has, if it is asked just so."""

    def system(scheduler: str, about: int, file: str, **jobs: Any) -> System:
        program, _, words = ASKED[scheduler][about].partition(" ")
        (tmp_path / "bin").mkdir()
        script = f'#!/bin/sh\n[ "$*" = "{words}" ] && exec cat "{RECORDED}/{file}"\nexit 1\n'
        (tmp_path / "bin" / program).write_text(script, encoding="ascii")
        (tmp_path / "bin" / program).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        model = virtual.system
        changes = {
            "scheduler": scheduler, "provider": "nodes", "access": (), "jobs": model.jobs.model_copy(update=jobs),
            "nodes": model.nodes.model_copy(update={"names": (), "count": 4}),
        }  # fmt: skip
        return model.model_copy(update=changes)

    return system


STARTS_NONE, TAKES_NONE = "starts no jobs (started = False)", "takes no jobs (enabled = False)"
FLUX_CLOSED = (
    ("batch", "Job submission is disabled: no more"),
    ("batch", "Scheduling is stopped: new cables"),
)


@pytest.mark.parametrize(
    ("scheduler", "file", "jobs", "closed"),
    [
        ("pbs", "pbs/queues-closed.txt", {}, (("workq", STARTS_NONE), ("shut", TAKES_NONE))),
        ("pbs", "pbs/queues-closed.txt", {"partition": "other"}, ()),
        ("pbs", "pbs/queues-closed.txt", {"partition": "shut"}, (("shut", TAKES_NONE),)),
        ("pbs", "pbs/queue-stopped.txt", {}, (("workq", STARTS_NONE),)),
        ("sge", "sge/queues-disabled.xml", {}, (("all.q", "it is disabled on all its nodes (state d)"),)),
        ("sge", "sge/queues-disabled.xml", {"partition": "long.q"}, ()),
        ("sge", "sge/queues-node-disabled.xml", {}, ()),
        ("sge", "sge/queues-alarm.xml", {}, ()),
        ("flux-batch", "flux/queue-closed.txt", {}, FLUX_CLOSED),
        ("flux-batch", "flux/queue-closed.txt", {"partition": "debug"}, ()),
        ("flux-batch", "flux/queue-started.txt", {}, ()),
        (
            "slurm-nodb",
            "slurm/partitions-down.txt",
            {"partition": "urgent"},
            (("urgent", "starts no jobs (State=DOWN)"),),
        ),
        ("slurm-nodb", "slurm/partitions-down.txt", {}, ()),  # those of the default partition begin
        (
            "slurm-nodb",
            "slurm/26.05.3/partitions-down.txt",
            {"partition": "urgent,all"},
            (("urgent", "starts no jobs (State=DOWN)"),),
        ),
        ("pbs", "pbs/finished.txt", {}, ()),  # no answer about queues
    ],
)
def test_a_queue_that_takes_or_starts_no_jobs_is_named_in_the_schedulers_words(
    system_of_recording: Asked,
    tmp_path: Path,
    scheduler: str,
    file: str,
    jobs: dict[str, Any],
    closed: tuple[tuple[str, str], ...],
) -> None:
    assert (RECORDED / file).is_file()
    assert closed_queues(system_of_recording(scheduler, 0, file, **jobs), tmp_path) == closed


DRAINED, MAINTENANCE = "drained (bad cable)", "in maintenance"


@pytest.mark.parametrize(
    ("scheduler", "file", "jobs", "unfit"),
    [
        (
            "pbs",
            "pbs/nodes-down-and-offline.txt",
            {},
            {"vn3": "down, offline (bad cable)", "vn4": "down (node down: communication closed)"},
        ),
        (
            "pbs",
            "pbs/nodes-busy.txt",
            {},
            {"vn3": "down, offline (bad cable)", "vn4": "down (node down: communication closed)"},
        ),
        ("pbs", "pbs/nodes-offline.txt", {}, {"vn3": "offline (bad cable)"}),
        ("sge", "sge/queues-died.xml", {}, {"vn4": "all.q is unreachable there (state u)"}),
        ("sge", "sge/queues-died.xml", {"partition": "long.q"}, {}),
        ("sge", "sge/queues-node-disabled.xml", {}, {"vn3": "all.q is disabled there (state d)"}),
        ("sge", "sge/queues-alarm.xml", {}, {}),  # it ends by itself
        ("flux-batch", "flux/nodes-drained.txt", {}, {"vn3": "drained (bad cable)"}),
        ("flux-batch", "flux/nodes-died.txt", {}, {"vn3": "offline", "vn4": "offline"}),
        ("slurm-nodb", "slurm/nodes-maintenance.txt", {}, {"vn3": DRAINED, "vn4": MAINTENANCE}),
        ("slurm-nodb", "slurm/26.05.3/nodes-maintenance.txt", {"exclude": ("vn3",)}, {"vn4": MAINTENANCE}),
        ("pbs", "pbs/finished.txt", {}, {}),  # no answer about nodes
    ],
)
def test_a_node_that_can_run_no_job_is_named_in_the_schedulers_words(
    system_of_recording: Asked, tmp_path: Path, scheduler: str, file: str, jobs: dict[str, Any], unfit: dict[str, str]
) -> None:
    system = system_of_recording(scheduler, 1, file, **jobs)
    assert (RECORDED / file).is_file()
    found = dict(unfit_nodes(system, tmp_path))
    assert found.keys() == unfit.keys()
    assert all(found[node].startswith(words) for node, words in unfit.items()), found
    # A file that names its nodes asks about these alone.
    few = system.model_copy(update={"nodes": system.nodes.model_copy(update={"names": ("vn1", "vn4")})})
    assert dict(unfit_nodes(few, tmp_path)).keys() == unfit.keys() & {"vn1", "vn4"}


def test_the_queues_and_nodes_of_others_are_not_asked_about(system_of_recording: Asked, tmp_path: Path) -> None:
    system = system_of_recording("pbs", 0, "pbs/queues-closed.txt")
    for change in ({"scheduler": "torque"}, {"scheduler": "lsf"}, {"scheduler": "local"}, {"provider": "host"}):
        other = system.model_copy(update=change)
        assert (closed_queues(other, tmp_path), unfit_nodes(other, tmp_path)) == ((), ())


def test_on_the_virtual_cluster_the_clients_are_those_of_its_own_scheduler(tmp_path: Path, virtual: Site) -> None:
    """Pairs in groups called the qsub of the host, which found no server there."""
    folder = tmp_path / ".railyard/testbed/pbs/bin"
    folder.mkdir(parents=True)
    (folder / "qsub").write_text("#!/bin/sh\necho ours $*\n", encoding="ascii")
    (folder / "qsub").chmod(0o755)
    site = replace(virtual, system=virtual.system.model_copy(update={"scheduler": "pbs"}))
    words = [*client_words(site.system, tmp_path), "qsub", "job.sh"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "ours job.sh\n"


def test_elsewhere_they_are_the_ones_on_path(tmp_path: Path, virtual: Site) -> None:
    for scheduler in ("pbs", "flux-batch", "slurm"):
        system = virtual.system.model_copy(update={"scheduler": scheduler, "provider": "nodes"})
        assert client_words(system, tmp_path) == ()
