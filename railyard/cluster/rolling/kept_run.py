"""What is kept of a run that tests pairs of nodes in groups: which nodes are tested how, and the job of each group.

``run.json`` in the run's folder is written before a job is submitted, and again after each change. The groups' files
are beside it, in one folder per group. So you can leave a run, look at it again from anywhere, and merge it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from railyard.base.errors import InputError, SetupError
from railyard.base.files import write_whole
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import state_folder

# History of the format: 1 the first.
FORMAT = 1
FILE = "run.json"
#: The first step, in which each node is in one group; later steps measure suspects again.
SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """One group: its nodes in topology order, and the scheduler's number of its job; empty if none was submitted.

    ``why`` says why it has no job, or has none any more.
    """

    nodes: tuple[str, ...]
    job: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class KeptStep:
    """Groups that are measured side by side, and why.

    ``array`` is the number of their jobs' array, if they are in one. ``over`` is the one rail that they are measured
    over; empty for all rails of the run.
    """

    name: str
    groups: tuple[KeptGroup, ...]
    why: str = ""
    over: str = ""
    array: str = ""

    def folder(self, number: int) -> str:
        """Return where a group leaves its files, below the run's folder; groups are numbered from 1."""
        return f"{self.name}/{number}"

    def with_group(self, number: int, group: KeptGroup) -> "KeptStep":
        """Return the step with another group in place of one."""
        return replace(self, groups=(*self.groups[: number - 1], group, *self.groups[number:]))


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run in groups.

    ``words`` are the arguments of railyard-pairs after its file of rounds. ``tag`` marks all that its jobs write.
    ``submitted`` is the time of submission, in seconds since 1970 by the clock of the machine that submitted.
    ``left_out`` has the nodes that are in no group, or were taken out of their group, with the reason. ``leaves`` has
    each node's leaf switch, if it is known. At most ``at_most`` groups run at once. A group may measure for
    ``budget_s`` seconds. ``seed`` chose the groups.
    """

    id: str
    railyard: str
    system: str
    fabric: str
    stack: str
    rails: int
    policy: str
    size: int
    words: tuple[str, ...]
    tag: str
    submitted: float
    at_most: int
    budget_s: float
    seed: int
    steps: tuple[KeptStep, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def step(self, name: str) -> KeptStep:
        """Return the step of that name. Raises KeyError if there is none."""
        found = next((one for one in self.steps if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def with_step(self, step: KeptStep) -> "KeptRun":
        """Return the run with this step: in place of the step of the same name, or after all others."""
        if all(one.name != step.name for one in self.steps):
            return replace(self, steps=(*self.steps, step))
        return replace(self, steps=tuple(step if one.name == step.name else one for one in self.steps))

    def drop_node(self, node: str, why: str) -> "KeptRun":
        """Return the run in which this node is not tested any more."""
        return replace(self, left_out={**self.left_out, node: why})


def folder_of(home: Path, name: str) -> Path:
    """Return the folder of a run, given by its id or as a folder. Raises InputError if there is none."""
    found = next((path for path in (Path(name), runs_in(home) / name) if (path / FILE).is_file()), None)
    if found is None:
        known = sorted(path.parent.name for path in runs_in(home).glob(f"*/{FILE}"))[-3:]
        those = f"; the last ones are {', '.join(known)}" if known else "; there is none here"
        raise InputError(name, "no run in groups", f"the id or the folder of one{those}")
    return found


def runs_in(home: Path) -> Path:
    """Return the folder of all runs in groups of a site. Nodes must see it: it is beside the site's results."""
    return state_folder(home) / "rolling"


def keep(folder: Path, run: KeptRun) -> None:
    """Write what is kept, whole or not at all. Raises SetupError if the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, f"{json.dumps(encode(run), ensure_ascii=False, indent=1)}\n")
    except OSError as error:
        raise SetupError(f"pairs: {folder} cannot be written ({error.strerror}), where the jobs write too") from None


def read(folder: Path) -> KeptRun:
    """Return what is kept of a run. Raises InputError for a file that is damaged or has another format."""
    file, action = folder / FILE, "start the run again: railyard pairs run --rolling"
    try:
        run = decode(KeptRun, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, FormError) as error:
        raise InputError(
            str(file), f"no whole run ({error})", "what `railyard pairs run` wrote", action=action
        ) from None
    if run.format != FORMAT:
        raise InputError(str(file), f"format {run.format}", f"format {FORMAT}", action=action)
    return run
