"""Launchers that ReFrame lacks: importing this module registers them.

``namespaces`` starts a stack's own mpirun on the first node of the virtual cluster, ``guests`` on the first guest. The
machine makes one measurement at a time. ``timeout`` ends it, so that a run that hangs still gets its verdict.
``replay`` plays a recording instead of the benchmark. The benchmark's own command line follows it in the job's script,
so that a reader sees it.
"""

import contextlib
import shlex
from functools import lru_cache
from pathlib import Path

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

from railyard.provision.testbed.lock import measurement_lock


@register_launcher("namespaces")
class NamespacesLauncher(JobLauncher):
    """``flock LOCK timeout S ENTER NODE -- mpirun``: the base check sets ``railyard`` to this command line."""

    railyard: list[str] | None = None

    def command(self, job: Job) -> list[str]:
        """Return the words before the launcher's options. A check without the base class runs the host's mpirun."""
        if self.railyard is None:
            return ["mpirun", "-n", str(job.num_tasks)]
        return [shlex.quote(word) for word in self.railyard]


@register_launcher("guests")
class GuestsLauncher(NamespacesLauncher):
    """The same command line with the ``enter`` of the Soft-RoCE guests."""


@register_launcher("replay")
class ReplayLauncher(JobLauncher):
    """``sh -c 'exec cat -- "$0"' RECORDING BENCHMARK …``: the base check sets ``recording``."""

    recording: Path | None = None

    def command(self, job: Job) -> list[str]:
        """Return the words before the benchmark's. A check without the base class has no recording and fails."""
        if self.recording is None:
            sentence = "this test has no recording: it is not derived from InterconnectCheck"
            return ["sh", "-c", shlex.quote(f"echo {sentence!r} >&2; exit 1")]
        return ["sh", "-c", shlex.quote('exec cat -- "$0"'), shlex.quote(str(self.recording))]


_held = contextlib.ExitStack()


@lru_cache(maxsize=1)
def hold_measurement_lock(home: Path) -> None:
    """Take the machine's measurement lock for the rest of this process, unless `railyard run` above it has the lock.

    Raises SetupError if the lock file cannot be used.
    """
    _held.enter_context(measurement_lock(lambda sentence: getlogger().info(sentence), home))
