"""The rows of pairs beside the records: ``pairs-….tsv.gz``, one row per measured pair, complete or not there at all.

Format 1: three lines of heading (``# railyard pair rows 1``, how many nodes and rows, the names of the columns), then
the rows with tabs, and ``# end``. Nodes are numbers: indices from 0 into the record's ``pairs.nodes``, so a file has no
names. ``step`` is the index into ``pairs.rows.steps``. Bandwidths are MB/s (10^6 B/s) from first to second and back,
latency is half a round trip, us; an empty field gave no result. The file's name has the beginning of its SHA-256, and
the record has all of it. This shows if a file is missing, cut or different.

The record has a summary of the rows: by leaf switch and by node, with the worst pairs. numpy is imported only where it
is used: a page or a list of runs does not need it.

Pairs of nodes in a record: the whole matrix for a few nodes; for many nodes or a sample, a summary of the rows.

A matrix of 5,120 nodes has 26 million fields. So above ``MOST_DENSE`` nodes, and for every sample, the rows are in a
file beside the records (``railyard.results.record.pair_rows``), and the record has a summary of them.
"""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from railyard.base.errors import InputError, unwritable
from railyard.base.files import read_regular, write_whole
from railyard.base.hostlist import label
from railyard.base.json_codec import FormError
from railyard.base.wording import count_of

#: Up to this number of nodes, all pairs are in the record as a matrix.
MOST_DENSE = 512


@dataclass(frozen=True, slots=True)
class PairAgain:
    """A pair, MB/s (10^6 B/s) from first to second and back: measured again in a later step, or one of the worst."""

    first: str
    second: str
    forward: float
    backward: float
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairRows:
    """The file with one row per pair, beside the records: its name, SHA-256 and number of rows.

    ``steps`` are the names of the measurements; rows have their index from 0.
    """

    file: str
    sha256: str
    rows: int
    steps: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsSummary:
    """The summary of the rows, by group and by node; MB/s, each pair with the best value of its steps.

    ``groups`` are the leaf switches, or blocks of neighbours (``are_leaves`` false) if those are unknown or too many;
    ``group_of`` has the index of each node's group. ``worst`` and ``median`` are by the sender's group (row) and the
    receiver's (column), None if no pair was measured. ``node_worst`` and ``node_median`` have one value per node, over
    both directions of its ``node_pairs`` pairs. ``level`` is the median of all values; ``worst_pairs`` come worst
    first.
    """

    groups: tuple[str, ...]
    group_of: tuple[int, ...]
    are_leaves: bool
    worst: tuple[tuple[float | None, ...], ...]
    median: tuple[tuple[float | None, ...], ...]
    node_worst: tuple[float | None, ...]
    node_median: tuple[float | None, ...]
    node_pairs: tuple[int, ...]
    level: float | None = None
    worst_pairs: tuple[PairAgain, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        nodes, groups = len(self.group_of), len(self.groups)
        for name in ("node_worst", "node_median", "node_pairs"):
            if len(getattr(self, name)) != nodes:
                raise FormError(name, f"{len(getattr(self, name))} values", f"{nodes}, one per node")
        for name in ("worst", "median"):
            if [len(row) for row in getattr(self, name)] != [groups] * groups:
                raise FormError(name, f"{len(getattr(self, name))} rows", f"{groups} rows of {groups} columns")
        if any(not 0 <= group < groups for group in self.group_of):
            raise FormError("group_of", "a group that does not exist", f"numbers from 0 to {groups - 1}")


@dataclass(frozen=True, slots=True)
class ExercisedCount:
    """How many things of a kind were exercised: ``used`` of ``all``; ``basis`` says how that is known.

    ``of`` is the kind: nodes, pairs, leaf_pairs, up_links or rails. ``all`` is None if unknown.
    """

    of: str
    used: float
    all: int | None
    basis: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodesNotMeasured:
    """Nodes without a value, with one reason: drained, vanished, busy all the time …"""

    nodes: tuple[str, ...]
    reason: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PromiseRecord:
    """The probability that these steps would have named one fault of a class, if there had been one.

    ``share`` is what the fault leaves of the healthy rate. ``probability`` None: nothing of this class was looked at.
    ``basis`` says what it is based on, or why nothing was.
    """

    kind: str
    share: float
    probability: float | None
    basis: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsSample:
    """What a sample of all pairs covered, and what it promises. ``kind`` is one word: budget, nightly, rolling …

    ``covered`` are the shares exercised, ``partners`` the median number of different partners a node had. ``rounds`` is
    how many ran, with repeats, of the ``rounds_allowed`` that ``budget_s`` seconds allow; ``measurements`` counts
    values. ``began`` and ``ended`` are UTC, as the record's time. ``not_looked_at`` has a sentence for each thing that
    this sample could not see; ``sentence`` is the whole verdict on the pairs.
    """

    kind: str
    covered: tuple[ExercisedCount, ...]
    promises: tuple[PromiseRecord, ...] = ()
    not_measured: tuple[NodesNotMeasured, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    partners: float | None = None
    rounds: int = 0
    rounds_allowed: int | None = None
    measurements: int = 0
    budget_s: float | None = None
    began: str | None = None
    ended: str | None = None
    sentence: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsRecord:
    """Pairs of nodes: a matrix, or (``rows``, ``summary``) a file of rows and their summary.

    ``values`` are MB/s by sender (row) and receiver (column), None if nothing was measured; for pairs within nodes,
    only the diagonal is filled. ``latency_us`` is half a round trip, the same in both places. ``expected`` is the least
    that a pair must reach, in MB/s, None if there is none; ``size`` is the message size, in bytes. ``leaves`` has the
    leaf switch of each node, () if unknown. ``sample``: what was covered, None for all pairs.
    """

    nodes: tuple[str, ...]
    size: int
    values: tuple[tuple[float | None, ...], ...] = ()
    latency_us: tuple[tuple[float | None, ...], ...] = ()
    again: tuple[PairAgain, ...] = ()
    expected: float | None = None
    unit: str = "MB/s"
    leaves: tuple[str, ...] = ()
    rows: PairRows | None = None
    summary: PairsSummary | None = None
    sample: PairsSample | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        count = len(self.nodes)
        for name, rows in (("values", self.values), ("latency_us", self.latency_us)):
            is_due = bool(rows) or (name == "values" and self.summary is None)
            if is_due and [len(row) for row in rows] != [count] * count:
                raise FormError(name, f"{len(rows)} rows", f"{count} rows of {count} columns, one per node")
        if self.leaves and len(self.leaves) != count:
            raise FormError("leaves", f"{len(self.leaves)} names", f"{count}, one per node")
        if self.summary is not None and len(self.summary.group_of) != count:
            raise FormError("summary.group_of", f"{len(self.summary.group_of)} values", f"{count}, one per node")


FORMAT = 1
#: The names of such files beside a run's records.
PATTERN = "pairs-*.tsv.gz"
COLUMNS = ("step", "round", "first", "second", "forward", "backward", "latency")
_NAME = re.compile(r"pairs-[0-9a-f]{16}\.tsv\.gz")
_TITLE = f"# railyard pair rows {FORMAT}"
_COUNTS = re.compile(r"# ([0-9]{1,9}) nodes, ([0-9]{1,12}) rows\Z")
#: Bytes after unpacking, so that a malicious file cannot fill the memory: 1.5 million rows of 40 B are 60 MB.
_MOST_BYTES = 256 * 2**20


class Row(NamedTuple):
    """One measured pair: the index of its step, its round from 1, the indices of its nodes, and its values."""

    step: int
    round: int
    first: int
    second: int
    forward: float | None
    backward: float | None
    latency: float | None


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The rows as they are written: the file's content, and the record's entry for it."""

    told: PairRows
    content: bytes


def pack_rows(nodes: int, rows: Iterable[Row], steps: Sequence[str]) -> PackedRows:
    """Return the file of these rows. Equal rows give equal bytes."""
    lines = ["\t".join(map(_cell, row)) for row in rows]
    text = "\n".join([_TITLE, f"# {nodes} nodes, {len(lines)} rows", "\t".join(COLUMNS), *lines, "# end", ""])
    content = gzip.compress(text.encode(), compresslevel=6, mtime=0)
    digest = hashlib.sha256(content).hexdigest()
    return PackedRows(PairRows(f"pairs-{digest[:16]}.tsv.gz", digest, len(lines), tuple(steps)), content)


def write(folder: Path, file: PackedRows) -> None:
    """Write the file beside a run's records. Raises SetupError if that fails; then nothing of it is left."""
    path = folder / file.told.file
    try:
        write_whole(path, file.content)
    except OSError as error:
        more = ", or choose another folder, then run the test again"
        raise unwritable(path, "the rows of pairs", error, more) from error


def why_not(folder: Path, told: PairRows) -> str | None:
    """Return why the file that a record names is not the one that was written; None if it is, byte for byte."""
    try:
        content_of(folder, told)
    except InputError as error:
        return str(error)
    return None


def read(folder: Path, told: PairRows) -> tuple[Row, ...]:
    """Return the rows of a file. Raises InputError if it is missing, cut, different, or of another form."""
    return parse(content_of(folder, told), str(folder / told.file), told.rows)


def content_of(folder: Path, told: PairRows) -> bytes:
    """Return a file as it was written, byte for byte. Raises InputError if it is missing, cut or different."""
    if not is_file_name(told.file):
        raise _refusal(str(folder), f"a record that names {told.file[:60]!r}")
    path = folder / told.file
    try:
        content = read_regular(path)
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else f"no readable file ({error.strerror})"
        raise _refusal(str(path), found) from None
    if (wrong := _difference(content, told)) is not None:
        raise _refusal(str(path), wrong)
    return content


def is_file_name(name: str) -> bool:
    """Return whether a record may name this file: one beside the record, never one elsewhere, as /dev/zero."""
    return _NAME.fullmatch(name) is not None


def put(folder: Path, told: PairRows, content: bytes | None, source: str) -> str | None:
    """Write a file from elsewhere, if it is what its record says and not there yet; else return why not.

    ``content`` None: ``source`` has no such file. Raises OSError.
    """
    why = why_unlike(content, told, source)
    if content is None or why is not None:
        return None if is_file_name(told.file) and why_not(folder, told) is None else why
    if why_not(folder, told) is not None:
        write_whole(folder / told.file, content)
    return None


def why_unlike(content: bytes | None, told: PairRows, source: str) -> str | None:
    """Return why a source's file is not what was written; ``content`` None: the source has no such file."""
    if not is_file_name(told.file):
        return str(_refusal(source, f"a record that names {told.file[:60]!r}"))
    wrong = "no such file" if content is None else _difference(content, told)
    return None if wrong is None else str(_refusal(f"{source}: {told.file}", wrong))


def parse(content: bytes, file: str, expected: int) -> tuple[Row, ...]:
    """Return the rows of a file's bytes. Raises InputError naming ``file`` for another form."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
            text = unpacked.read(_MOST_BYTES + 1).decode("ascii")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise _refusal(file, f"no complete gzip text ({error})") from None
    if len(text) > _MOST_BYTES:
        raise _refusal(file, f"more than {_MOST_BYTES:,} bytes when unpacked")
    lines = text.split("\n")
    counts = _COUNTS.match(lines[1]) if len(lines) > 4 and lines[0] == _TITLE else None
    if counts is None or lines[2] != "\t".join(COLUMNS) or lines[-2:] != ["# end", ""]:
        raise _refusal(file, "another form")
    nodes, rows = int(counts[1]), lines[3:-2]
    if not len(rows) == int(counts[2]) == expected:
        raise _refusal(file, f"{count_of(len(rows), 'row')}, but {expected} were written")
    try:
        found = tuple(_row(line) for line in rows)
    except ValueError as error:
        raise _refusal(file, f"a row of another form ({error})") from None
    if any(not 0 <= row.first < nodes or not 0 <= row.second < nodes for row in found):
        raise _refusal(file, "a node that is not in the record")
    return found


def _difference(content: bytes, told: PairRows) -> str | None:
    digest = hashlib.sha256(content).hexdigest()
    if digest == told.sha256:
        return None
    return f"a file with the SHA-256 {digest[:16]}…" if _ends(content) else "a file that is cut"


def _ends(content: bytes) -> bool:
    """Return whether the file has gzip's end."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacker.decompress(content, _MOST_BYTES)
    except zlib.error:
        return False
    return unpacker.eof


def _refusal(where: str, found: str) -> InputError:
    return InputError(
        where,
        found,
        "the rows of pairs that its record names",
        action="copy the file from where the run was made; until then nothing that depends on these rows is a pass",
    )


def _cell(value: float | None) -> str:
    return "" if value is None else str(value)


def _row(line: str) -> Row:
    cells = line.split("\t")
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{len(cells)} fields, expected {len(COLUMNS)}")
    values = (float(cell) if cell else None for cell in cells[4:])
    return Row(*map(int, cells[:4]), *values)


#: With more groups than this, nobody can tell the fields of the map apart, and the record has megabytes.
MOST_GROUPS = 256
#: If leaves are unknown or too many, neighbouring nodes share groups, this many of them.
BLOCKS = 128
WORST_PAIRS = 50
#: For a node at no known leaf switch.
NO_LEAF = "no known leaf"


@dataclass(frozen=True, slots=True)
class RecordedPairs:
    """Pairs as a record has them, and the file of their rows, if there is one: write the file before the record."""

    record: PairsRecord
    file: PackedRows | None = None


def of_rows(
    nodes: Sequence[str],
    rows: Sequence[Row],
    steps: Sequence[str],
    *,
    size: int,
    leaves: Sequence[str] = (),
    expected: float | None = None,
    sample: PairsSample | None = None,
) -> RecordedPairs:
    """Return the record of pairs whose rows are in a file, and that file.

    ``rows`` have indices into ``nodes`` and ``steps``; ``leaves`` has the leaf switch of each node, () if unknown.
    ``expected`` is the bandwidth that a pair must reach, MB/s; ``size`` is the message size, bytes.
    """
    file = pack_rows(len(nodes), rows, steps)
    again = sorted((row for row in rows if row.step), key=_slower)
    return RecordedPairs(
        PairsRecord(
            nodes=tuple(nodes),
            size=size,
            again=tuple(_repeated_pair(row, nodes) for row in again[:WORST_PAIRS] if _is_whole(row)),
            expected=expected,
            leaves=tuple(leaves),
            rows=file.told,
            summary=summary(nodes, rows, leaves),
            sample=sample,
        ),
        file,
    )


def leaf_names(nodes: Sequence[str], leaf_of: "Mapping[str, str]") -> tuple[str, ...]:
    """Return the leaf switch of each node (``site.topology.Leaves``), () if none is known."""
    return tuple(leaf_of.get(label(node), NO_LEAF) for node in nodes) if leaf_of else ()


def groups_of(nodes: Sequence[str], leaves: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...], bool]:
    """Return the groups' names, each node's group, and whether groups are leaf switches, not blocks of neighbours."""
    names = tuple(dict.fromkeys(leaves))
    if names and len(names) <= MOST_GROUPS:
        places = {name: place for place, name in enumerate(names)}
        return names, tuple(places[leaf] for leaf in leaves), True
    each = -(-len(nodes) // BLOCKS)
    starts = range(0, len(nodes), each)
    blocks = tuple(
        nodes[at] if each == 1 else f"{nodes[at]} to {nodes[min(at + each, len(nodes)) - 1]}" for at in starts
    )
    return blocks, tuple(place // each for place in range(len(nodes))), False


def rows_of_matrix(values: Sequence[Sequence[float | None]]) -> tuple[Row, ...]:
    """Return the rows of a record's matrix, one per pair; pairs within a node have no row."""
    return tuple(
        Row(0, 1, first, second, values[first][second], values[second][first], None)
        for first in range(len(values))
        for second in range(first + 1, len(values))
        if values[first][second] is not None or values[second][first] is not None
    )


def summary(nodes: Sequence[str], rows: Sequence[Row], leaves: Sequence[str] = ()) -> PairsSummary:
    """Return the summary of rows. If a step repeats a pair, the median counts; of several steps, the best counts."""
    import numpy as np

    count = len(nodes)
    groups, group_of, are_leaves = groups_of(nodes, leaves)
    sender, receiver, value = _select_directions(rows, count)
    of = np.array(group_of, dtype=np.int64)
    cells, worst, middle = _by_key(of[sender] * len(groups) + of[receiver], value)
    ends, low, median = _by_key(np.concatenate((sender, receiver)), np.concatenate((value, value)))
    met = np.unique(np.minimum(sender, receiver) * count + np.maximum(sender, receiver))
    partners = np.bincount(np.concatenate((met // count, met % count)), minlength=count) if count else met
    return PairsSummary(
        groups=groups,
        group_of=group_of,
        are_leaves=are_leaves,
        worst=_square(len(groups), cells, worst),
        median=_square(len(groups), cells, middle),
        node_worst=_line(count, ends, low),
        node_median=_line(count, ends, median),
        node_pairs=tuple(partners.tolist()),
        level=_round(float(np.median(value))) if len(value) else None,
        worst_pairs=_worst(nodes, sender, receiver, value),
    )


def _select_directions(rows: Sequence[Row], count: int) -> "tuple[Any, Any, Any]":
    """Return sender, receiver and MB/s of each measured direction, once, by the rule of ``summary``."""
    import numpy as np

    if not rows:
        return (np.zeros(0, dtype=np.int64),) * 2 + (np.zeros(0),)
    step, _, first, second, forward, backward, _ = zip(*rows, strict=True)
    a, b = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    keys = np.concatenate((a * count + b, b * count + a))
    values = np.array((*forward, *backward), dtype=float)  # None becomes NaN
    steps = np.tile(np.array(step, dtype=np.int64), 2)
    known = np.isfinite(values)
    most = int(steps.max()) + 1
    of_step, _, medians = _by_key(keys[known] * most + steps[known], values[known])
    pairs = of_step // most
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    best = np.maximum.reduceat(medians, starts) if len(starts) else medians
    return pairs[starts] // count, pairs[starts] % count, best


def _by_key(keys: Any, values: Any) -> "tuple[Any, Any, Any]":
    """Return each key once, in rising order, with the least and the median of its values."""
    import numpy as np

    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(starts, append=len(keys))
    middle = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
    return keys[starts], values[starts], middle


def _square(side: int, cells: Any, values: Any) -> tuple[tuple[float | None, ...], ...]:
    flat = _line(side * side, cells, values)
    return tuple(flat[at : at + side] for at in range(0, side * side, side))


def _line(count: int, places: Any, values: Any) -> tuple[float | None, ...]:
    found: list[float | None] = [None] * count
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        found[place] = _round(value)
    return tuple(found)


def _round(value: float) -> float:
    """Return a figure with six digits: that is enough for the colours of a map, and the rows have all digits."""
    return float(f"{value:.6g}")


def _worst(nodes: Sequence[str], sender: Any, receiver: Any, value: Any) -> tuple[PairAgain, ...]:
    import numpy as np

    there = dict(zip(zip(sender.tolist(), receiver.tolist(), strict=True), value.tolist(), strict=True))
    found: dict[tuple[int, int], PairAgain] = {}
    for at in np.argsort(value, kind="stable").tolist():
        pair = int(sender[at]), int(receiver[at])
        back = there.get(pair[::-1])
        if pair[::-1] not in found and back is not None:
            found[pair] = PairAgain(nodes[pair[0]], nodes[pair[1]], float(value[at]), back)
        if len(found) == WORST_PAIRS:
            break
    return tuple(found.values())


def _slower(row: Row) -> float:
    return min(row.forward or 0.0, row.backward or 0.0)


def _is_whole(row: Row) -> bool:
    return row.forward is not None and row.backward is not None


def _repeated_pair(row: Row, nodes: Sequence[str]) -> PairAgain:
    return PairAgain(nodes[row.first], nodes[row.second], row.forward or 0.0, row.backward or 0.0)
