"""How the clients of a system's scheduler are found: those of the virtual cluster, or the ones on PATH."""

import subprocess
from dataclasses import replace
from pathlib import Path

from railyard.job.queues import way_in
from railyard.site.site import Site


def test_on_the_virtual_cluster_the_clients_are_those_of_its_own_scheduler(tmp_path: Path, virtual: Site) -> None:
    """Pairs in groups called the qsub of the host, which found no server there."""
    folder = tmp_path / ".railyard/testbed/pbs/bin"
    folder.mkdir(parents=True)
    (folder / "qsub").write_text("#!/bin/sh\necho ours $*\n", encoding="ascii")
    (folder / "qsub").chmod(0o755)
    site = replace(virtual, system=virtual.system.model_copy(update={"scheduler": "pbs"}))
    words = [*way_in(site.system, tmp_path), "qsub", "job.sh"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "ours job.sh\n"


def test_elsewhere_they_are_the_ones_on_path(tmp_path: Path, virtual: Site) -> None:
    for scheduler in ("pbs", "flux-batch", "slurm"):
        system = virtual.system.model_copy(update={"scheduler": scheduler, "provider": "nodes"})
        assert way_in(system, tmp_path) == ()
