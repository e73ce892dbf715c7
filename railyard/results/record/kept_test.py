"""What is kept of a measured test beside its output, so that a rehearsal can replay it: format 1.

It is ``outputs/CASE.json`` in a run's folder, and ``CHECK.json`` beside the output in a recording. It has what the
benchmark was given (its command words and the texts of its input files), which rails it was to use, and by how much the
counters of each node grew. It has only devices that moved something or were intended, so the file of a hundred nodes
stays small. It has no environment variables.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeVar

from railyard.base.errors import InputError
from railyard.base.json_codec import FormError, decode, encode
from railyard.results.record.form import NodeGroup
from railyard.results.record.masking import mask_text, masked_words

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
