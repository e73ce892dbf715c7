"""Where a test's record and output go: the run's folder, given by `railyard run`, else one per ReFrame session.

Beside its records a run leaves, in format 1, the results of relations between curves, and what fabrics cost.

What is kept of a measured test beside its output, so that a rehearsal can replay it: format 1.

It is ``outputs/CASE.json`` in a run's folder, and ``CHECK.json`` beside the output in a recording. It has what the
benchmark was given (its command words and the texts of its input files), which rails it was to use, and by how much the
counters of each node grew. It has only devices that moved something or were intended, so the file of a hundred nodes
stays small. It has no environment variables.
"""

import json
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TypeVar

from railyard.base.errors import InputError, SetupError
from railyard.base.files import read_bounded, read_regular
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import runs_folder, with_variables
from railyard.results.record.form import ENDED_FILE_NAME, NodeGroup
from railyard.results.record.masking import mask_text, masked_words
from railyard.results.record.pair_rows import PackedRows, write
from railyard.site.references.band import RelationState

# History of the format:
#   1  the first
FORMAT = 1
MOST_INDENTED = 64

PathLike = TypeVar("PathLike", bound=PurePath)


@dataclass(frozen=True, slots=True)
class DeviceMoved:
    """What one device's counters grew by during the run, beyond what an idle one would have moved.

    ``tx_bytes`` and ``rx_bytes`` are None if they are unknown; ``trouble`` then says why. ``grown`` has the driver's
    counters of errors and signals that grew, by name.
    """

    device: str
    meant: bool
    tx_bytes: int | None
    rx_bytes: int | None
    grown: Mapping[str, int] = field(default_factory=dict)
    trouble: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodeMoved:
    """What the devices of one node moved; ``problem`` says why its counters are unreliable."""

    node: str
    devices: tuple[DeviceMoved, ...]
    problem: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NicOfRank:
    """The device that one rank of a node reported, if each rank was given a device of its own."""

    node: str
    rank: int | None
    device: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class KeptTest:
    """What is kept of a test. ``nodes`` are in the order of the ranks, ``files`` are the input files by name.

    ``time`` is when it was recorded (ISO 8601, UTC), ``policy`` its rail policy, ``hardware`` what the nodes reported
    about themselves (only in recordings: in a run, the record has it).
    """

    time: str
    policy: str
    ranks_per_node: int
    words: tuple[str, ...]
    files: Mapping[str, str]
    nodes: tuple[NodeMoved, ...]
    nics: tuple[NicOfRank, ...] = ()
    hardware: tuple[NodeGroup, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def to_text(self, said: Callable[[str], str] = str) -> str:
        """Return the text of its file; ``said`` replaces each text value that may name a host.

        Names of devices, counters and files stay as they are. Secrets are masked.
        """
        values = encode(self)
        values["words"] = list(masked_words(values["words"]))
        texts = {key: _map_texts(values[key], lambda text: said(mask_text(text))) for key in ("words", "hardware")}
        texts["files"] = {name: said(mask_text(text)) for name, text in values["files"].items()}
        texts["nodes"] = [node | {"node": said(node["node"])} for node in values["nodes"]]
        texts["nics"] = [nic | {"node": said(nic["node"])} for nic in values["nics"]]
        # A person may read the file of a few nodes; with thousands of nodes, half of it would be indentation.
        indent = 1 if len(self.nodes) <= MOST_INDENTED else None
        return json.dumps({"format": FORMAT} | values | texts, ensure_ascii=False, indent=indent) + "\n"


def read(text: str, file: str) -> KeptTest:
    """Return the content of a file's text; ``file`` names it. Raises InputError for a text of another form."""
    action = "leave the recording out, or record the run again with `railyard record`"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(file, f"no readable JSON ({error})", "what a run kept of a test", action=action) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = repr(data.get("format")) if isinstance(data, dict) else "no object"
        raise InputError(file, found, f"format {FORMAT}", field="format", action=action)
    try:
        return decode(KeptTest, {key: value for key, value in data.items() if key != "format"})
    except FormError as error:
        raise InputError(file, error.found, error.expected, field=error.field, action=action) from None


def kept_path(output: PathLike) -> PathLike:
    """Return the path of the kept file that belongs to an output file."""
    return output.with_suffix(".json")


def _map_texts(value: object, said: Callable[[str], str]) -> object:
    """Return a JSON value with ``said`` applied to each text in it; keys stay."""
    if isinstance(value, str):
        return said(value)
    if isinstance(value, list):
        return [_map_texts(item, said) for item in value]
    if isinstance(value, dict):
        return {key: _map_texts(item, said) for key, item in value.items()}
    return value


#: `railyard run` sets these for its ReFrame: the id and the folder of the run that every test belongs to.
RUN_VARIABLE = "RAILYARD_RUN"
RUN_FOLDER_VARIABLE = "RAILYARD_RUN_FOLDER"
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9.+=-]+")
RELATIONS_FILE_NAME = "relations.json"
COSTS_FILE_NAME = "costs.json"
#: The stacks that no test of the run can use, each with the reason.
UNFIT_FILE_NAME = "unfit-stacks.json"


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """One relation as a run shows it; ``stack`` if it was judged for that stack, ``source`` in one line."""

    id: str
    says: str
    form: str
    state: RelationState
    sentence: str
    source: str
    stack: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class CostRecord:
    """What one node pays for a fabric in a cluster of ``nodes_from`` to ``nodes_to`` nodes, and what it gets for that.

    ``bandwidth_mb_s`` is the largest one-way bandwidth of any benchmark, ``latency_us`` the smallest half round trip;
    None if not measured. ``latency_high_us`` is the other end if the source prints a range. ``kept_by`` says whose
    figures they are (a run's, or the references').
    """

    fabric: str
    stack: str
    rails: int
    currency: str
    date: str
    price_low: float
    price_high: float
    bound: str
    nodes_from: int | None
    nodes_to: int | None
    bandwidth_mb_s: float | None
    latency_us: float | None
    latency_high_us: float | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    @property
    def price(self) -> float:
        """The middle of the price's range, by which figures are divided."""
        return (self.price_low + self.price_high) / 2

    @property
    def bandwidth_per_price(self) -> float | None:
        """MB/s for 1000 of the currency."""
        return None if self.bandwidth_mb_s is None else 1000 * self.bandwidth_mb_s / self.price

    @property
    def latency_price(self) -> float | None:
        """us times thousands of the currency: it halves if the latency or the price halves."""
        middle = self.latency_middle_us
        return None if middle is None else middle * self.price / 1000

    @property
    def latency_middle_us(self) -> float | None:
        """The latency, or the middle of its range, in us."""
        if self.latency_us is None or self.latency_high_us is None:
            return self.latency_us
        return (self.latency_us + self.latency_high_us) / 2


def new_run_id(now: datetime) -> str:
    """Return a name for a run that sorts by time and is unique between clones: ``20261121T060000Z-1a2b``."""
    return f"{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


@lru_cache(maxsize=1)
def _own_run() -> str:
    """Return the run id of a ReFrame session that was started by hand, the same for all its tests."""
    return f"{new_run_id(datetime.now(timezone.utc))}{secrets.token_hex(1)}"


def run_id() -> str:
    """Return the id of the run that this process belongs to."""
    return os.environ.get(RUN_VARIABLE) or _own_run()


def run_folder(home: Path) -> Path:
    """Return the folder of the run that this process belongs to; it is created if it is missing.

    Raises SetupError for a run that has ended: its variables were left in the environment by an earlier session.
    """
    given = os.environ.get(RUN_FOLDER_VARIABLE)
    folder = Path(given) if given else runs_folder(home) / run_id()
    if (folder / ENDED_FILE_NAME).exists():
        raise SetupError(
            f"{RUN_FOLDER_VARIABLE}: found {folder}, a run that has ended, expected a running one; "
            f"type: unset {RUN_VARIABLE} {RUN_FOLDER_VARIABLE}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def as_run(run: str, folder: Path) -> AbstractContextManager[None]:
    """Make this process belong to a run while the block runs, whatever it belongs to otherwise."""
    return with_variables({RUN_VARIABLE: run, RUN_FOLDER_VARIABLE: str(folder)})


def file_name(case: str) -> str:
    """Return a file name for a case: one word, without characters that trouble a shell or a file system."""
    return _NOT_IN_A_FILE_NAME.sub("_", case).strip("_")


def keep_output(home: Path, case: str, stdout: Path, rows: Path | None = None) -> str | None:
    """Copy a job's output into the run's folder and return its path relative to that; None if there is none.

    ``rows`` is the error output, if the tool prints its rows there; it is appended. Secrets, known by name or form, are
    masked: a program in verbose mode may print its environment. Of an output that is too long, both ends are kept.
    """
    if not stdout.is_file():
        return None
    folder = run_folder(home)
    kept = folder / "outputs" / f"{file_name(case)}.out"
    kept.parent.mkdir(exist_ok=True)
    content = read_bounded(stdout).content
    if rows is not None and rows.is_file():
        content += b"\n" + read_bounded(rows).content
    # Latin-1 has a character for each byte, so every other byte stays as it was.
    kept.write_bytes(mask_text(content.decode("latin-1")).encode("latin-1"))
    return str(kept.relative_to(folder))


#: What a record may name as its output: a file of the folder beside it, never one elsewhere.
_OUTPUT = re.compile(r"outputs/[A-Za-z0-9.+=_-]{1,250}")


def kept_output(folder: Path, name: str | None) -> Path | None:
    """Return the output that a record of a run's folder names; None if there is none, or the name is not of our form.

    A record from elsewhere may name any file of this machine, or put a link in the place of the output.
    """
    if name is None or _OUTPUT.fullmatch(name) is None:
        return None
    path = folder / name
    return path if path.is_file() and not path.is_symlink() else None


def keep_pairs(home: Path, file: PackedRows) -> None:
    """Write the rows of pairs beside the run's records. Raises SetupError if they cannot be written."""
    write(run_folder(home), file)


def keep_beside(home: Path, output: str, kept: KeptTest) -> None:
    """Write what is kept of a test beside its output; ``output`` is the path in its record.

    Raises SetupError if the file cannot be written.
    """
    file = kept_path(run_folder(home) / output)
    try:
        file.write_text(kept.to_text(), encoding="utf-8")
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise SetupError(f"{file}: found {found}, expected to write there what the test was given") from error


def list_text(items: Sequence[RelationRecord] | Sequence[CostRecord], name: str) -> str:
    """Return the text of a file of relations or of costs; ``name`` is the key of the list in it."""
    return json.dumps({"format": FORMAT, name: encode(list(items))}, ensure_ascii=False, indent=1) + "\n"


def read_relations(path: Path) -> tuple[RelationRecord, ...]:
    """Return the relations of a run, () if it left none. Raises InputError for a file of another form."""
    items = _list_in(path, "relations")
    try:
        return tuple(decode(RelationRecord, item, f"relations[{index}]") for index, item in enumerate(items))
    except FormError as error:
        raise InputError(str(path), error.found, error.expected, field=error.field) from error


def read_costs(path: Path) -> tuple[CostRecord, ...]:
    """Return the costs of a run's fabrics, () if it left none. Raises InputError for a file of another form."""
    items = _list_in(path, "costs")
    try:
        return tuple(decode(CostRecord, item, f"costs[{index}]") for index, item in enumerate(items))
    except FormError as error:
        raise InputError(str(path), error.found, error.expected, field=error.field) from error


def _list_in(path: Path, name: str) -> list[object]:
    if not path.is_file():
        return []
    try:
        data = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", f"the {name} of a run") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get(name), list):
        raise InputError(str(path), "something else", f'{{"format": {FORMAT}, "{name}": […]}}')
    items: list[object] = data[name]
    return items


def note_unfit_stacks(folder: Path, unfit: Mapping[str, str]) -> None:
    """Write the stacks that no test can use, each with the reason, into the run's folder; its tests read them there."""
    if unfit:
        (folder / UNFIT_FILE_NAME).write_text(json.dumps(dict(unfit), indent=1), encoding="utf-8")


def why_unfit(stack: str) -> str | None:
    """Return why no test of this run can use a stack, as found before the first test; None if tests can use it."""
    folder = os.environ.get(RUN_FOLDER_VARIABLE)
    file = Path(folder or "", UNFIT_FILE_NAME)
    if not folder or not file.is_file():
        return None
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found.get(stack)
