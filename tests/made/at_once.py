"""The same command line in several processes that begin at the same moment."""

import multiprocessing
import os
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from tests.patience import PATIENCE_S


def exit_codes(home: Path, commands: Sequence[Sequence[str]]) -> list[int | None]:
    """Return the exit code of each command of a site, all started at once; None for one that did not end."""
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(len(commands))
    processes = [fork.Process(target=_run, args=(home, barrier, command)) for command in commands]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_S)
        process.kill()
    return [process.exitcode for process in processes]


def _run(home: Path, barrier: Barrier, command: Sequence[str]) -> None:
    os.environ[HOME_VARIABLE] = str(home)
    barrier.wait(PATIENCE_S)
    os._exit(main(list(command)))  # nothing of the test runs again at this process's end
