"""A job that is run again as it was, for a measurement that was disturbed."""

import copy
import re
import time
from pathlib import Path
from typing import Any

import reframe.utility.osext as osext

from railyard.rfm.checks.place import COUNTERS


class Again:
    """Runs a test's job once more in its stage directory, through the scheduler that ran it.

    ``job`` is ReFrame's, not yet submitted. ``mark`` begins every word of the job that must never come twice: counters
    of an earlier run would else be taken for this one's.
    """

    def __init__(self, job: Any, stage: Path, mark: str) -> None:
        self._unsubmitted, self._stage = copy.copy(job), stage
        self._marked = re.compile(rf"{re.escape(mark)}-[0-9a-f]{{10,}}")
        self._mark = mark

    def run(self, tag: str) -> tuple[Any, str]:
        """Return the job that ran and what stands for ``tag`` in it. Raises what ReFrame raises of a job that ended."""
        script = self._stage / str(self._unsubmitted.script_filename)
        text = script.read_text(encoding="utf-8")
        marked = sorted({*self._marked.findall(text), tag})
        new = {old: f"{self._mark}-{time.time_ns() + n:x}" for n, old in enumerate(marked)}
        script.write_text(self._marked.sub(lambda found: new[found.group()], text), encoding="utf-8")
        for file in (self._stage / COUNTERS).glob("*.counters"):
            file.unlink()
        job = copy.copy(self._unsubmitted)
        with osext.change_dir(str(self._stage)):
            job.submit()
            job.wait()
        return job, new[tag]
