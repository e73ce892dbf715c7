"""What the groups of a run left: which are whole, which are not and why, and what the whole ones say together.

A group is whole if its job wrote its end after its output, and the output has as many bytes as the end says. A group
gives no value if its output is cut or of another run, or if the scheduler ended it. Its nodes are then named with the
reason.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from railyard.base.errors import InputError
from railyard.base.files import read_bounded
from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing
from railyard.benchmarks.node_pairs import hosts_of
from railyard.cluster.rolling.job import BEGUN, END, ERRORS, OUTPUT
from railyard.cluster.rolling.kept_run import KeptGroup, KeptRun, KeptStep
from railyard.job.batch import State
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.parsers.pairs import parse
from railyard.verdict.hints.first_cause import never_began

#: ``waits`` and ``runs``: it is not over. ``lost``: the scheduler ended it, or its nodes went away. ``broken``: it
#: failed by itself. ``cut``: its files are not whole. ``foreign``: its files are of another run.
Kind = Literal["whole", "waits", "runs", "lost", "broken", "cut", "foreign"]
#: A clock is off if it differs by more than this from the time that it is compared with, in seconds. Jobs begin within
#: seconds, and clocks that NTP sets differ by less than one second.
CLOCK_S = 60.0
#: How much the duration of a job may differ between its node's clock and its files' times, in seconds. If it differs
#: more, the files have been copied since.
_COPIED_S = 5.0


@dataclass(frozen=True, slots=True)
class Part:
    """What became of one group. ``words`` say why it is not whole; empty if it is.

    ``parsed`` is its output, ``folder`` has its files. ``began`` and ``ended`` are seconds since 1970 by the clock of
    its first node. That clock is at least ``clock_off_s`` ahead (below 0: behind); None if nothing shows it.
    """

    step: str
    number: int
    nodes: tuple[str, ...]
    folder: Path
    kind: Kind
    words: str = ""
    parsed: ParsedOutput | None = None
    began: float | None = None
    ended: float | None = None
    clock_off_s: float | None = None

    @property
    def table(self) -> Table | None:
        """Its pairs, if it is whole."""
        return None if self.parsed is None else self.parsed.tables[0]

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.kind not in ("waits", "runs")

    @property
    def name(self) -> str:
        """The group as sentences name it."""
        return f"group {self.number}" if self.step == "sample" else f"group {self.number} of {self.step}"


@dataclass(frozen=True, slots=True)
class _Mark:
    """The line that a job writes when it begins or ends: its tag and the other words."""

    tag: str
    words: tuple[str, ...]
    written: float


def part_of(
    folder: Path, run: KeptRun, step: KeptStep, number: int, state: State | None, now: float, ended: str = ""
) -> Part:
    """Return what became of a group: from its files or, if they do not say it, from its job's state.

    ``state`` is None if the scheduler does not know the job. ``ended`` is what the scheduler says of a job that it
    ended. ``now`` is this machine's clock, in seconds since 1970.
    """
    group, own = step.groups[number - 1], folder / step.folder(number)
    begun, end = _mark(own / BEGUN), _mark(own / END)

    def part(kind: Kind, words: str = "", parsed: ParsedOutput | None = None) -> Part:
        began, over = _time(begun, 2), _time(end, 2)
        off = clock_off(began, over, _begin_time(begun, end), _time(begun, 3), run.submitted, now)
        return Part(step.name, number, group.nodes, own, kind, words, parsed, began, over, off)

    foreign = None if begun is None else _why_foreign(run, begun)
    if foreign is not None:
        return part("foreign", foreign)
    if end is not None:
        return part(*_read_group(own, run, group, end))
    if not group.job:
        return part("lost", group.why or "it was never submitted")
    if state is not None and state.phase != "ended":
        why = f" ({state.reason})" if state.phase == "waits" and state.reason else ""
        return part(state.phase, f"its job {'waits' if state.phase == 'waits' else 'runs'}{why}")
    said = ended or (
        "the scheduler does not know its job any more" if state is None else f"its job ended ({state.word})"
    )
    when = "before it had ended its measurement" if begun is not None else "before it began"
    return part("lost", said if ended else f"{said}, {when}")


def incomplete_groups(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the groups whose files may still be on their way: a file system may show them up to a minute late."""
    return tuple(one for one in parts if one.kind == "cut" or (one.kind == "lost" and one.began is not None))


def absent_nodes(run: KeptRun, parts: Iterable[Part]) -> Mapping[str, str]:
    """Return the nodes that no whole group measured, each with the reason."""
    there = {label(host) for one in parts if one.table is not None for host in hosts_of(one.table)}
    found = dict(run.left_out)
    for one in parts:
        if one.step != run.steps[0].name:
            continue
        for node in one.nodes:
            if label(node) not in there and node not in found:
                found[node] = f"{one.name}: {one.words or 'it was not among the nodes of its job'}"
    return found


def clock_off(
    began: float | None,
    ended: float | None,
    written: float | None,
    started: float | None,
    submitted: float,
    now: float,
) -> float | None:
    """Return by how many seconds at least a node's clock is ahead (below 0: behind); None if nothing shows it.

    The node wrote ``began`` and ``ended``. They are compared with three times. ``written`` is the file server's time of
    what the node wrote when it began (some file systems give the node's own time). ``started`` is the scheduler's time
    of the job's start. The whole job was between ``submitted`` and ``now`` by this machine's clock.
    """
    if began is None:
        return None
    found = [] if written is None else [began - written]
    # A prolog may run between the start of a job and the start of its script.
    found += [began - started] if started is not None and began < started else []
    found += [began - submitted] if began < submitted else []
    found += [ended - now] if ended is not None and ended > now else []
    worst = max(found, key=abs, default=0.0)
    return worst if abs(worst) > CLOCK_S else None


def why_not_together(runs: Iterable[tuple[str, KeptRun]]) -> None:
    """Do nothing if these runs, each with its name, may be merged.

    Raises InputError that names the first run of another system, or the first that measured something else.
    """
    named = list(runs)
    first_name, first = named[0]
    for name, run in named[1:]:
        for what in ("system", "fabric", "stack", "rails", "policy", "words", "railyard"):
            mine, theirs = getattr(first, what), getattr(run, what)
            if mine != theirs:
                shown = {"words": "the words of railyard-pairs", "railyard": "Railyard"}.get(what, what)
                of = " ".join(theirs) if isinstance(theirs, tuple) else theirs
                wanted = " ".join(mine) if isinstance(mine, tuple) else mine
                raise InputError(name, f"{shown} {of}", f"{wanted} as in {first_name}", action="collect each by itself")


def summary(parts: Iterable[Part]) -> str:
    """Return how many groups are measured, and how the others are: ``12 of 20 groups measured, 4 run, 4 wait``."""
    counts: dict[Kind, int] = {}
    every = list(parts)
    for one in every:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    said = {
        "runs": "run",
        "waits": "wait",
        "lost": "lost",
        "broken": "broke",
        "cut": "cut",
        "foreign": "of another run",
    }
    others = [f"{counts[kind]} {word}" for kind, word in said.items() if kind in counts]
    head = f"{counts.get('whole', 0)} of {count_of(len(every), 'group')} measured"
    return ", ".join([head, *others])


def clock_words(parts: Iterable[Part]) -> Iterator[str]:
    """Yield a sentence for each group whose first node's clock is off."""
    for one in parts:
        if one.clock_off_s is not None:
            way = "ahead" if one.clock_off_s > 0 else "behind"
            node = one.nodes[0] if one.nodes else "a node"
            off = duration(abs(one.clock_off_s))
            yield f"the clock of {one.name} ({node}) is {off} {way}: its values count, its times do not"


def duration(seconds: float) -> str:
    """Return a time as people write it: ``42 s``, ``5 min``, ``1 h 0 min``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _read_group(own: Path, run: KeptRun, group: KeptGroup, end: _Mark) -> tuple[Kind, str, ParsedOutput | None]:
    """Return the kind of a group whose job wrote its end, and why it is not whole, or its table."""
    if end.tag != run.tag:
        return "foreign", f"its files are of another run ({end.tag})", None
    code, size = end.words[0], int(end.words[1]) if len(end.words) > 1 and end.words[1].isdigit() else -1
    try:
        # NFS caches show what was there before; listing a folder makes NFS look again.
        os.listdir(own)
        content = read_bounded(own / OUTPUT)
    except OSError:
        return "cut", f"its output is missing, and had {size} bytes", None
    if content.size != size:
        return "cut", f"its output has {content.size} of {size} bytes", None
    if code != "0":
        if never_began(text_in(own / ERRORS)):
            return "lost", "a bug of the launcher (mpi/pmi2) ended its start twice, so it was not measured", None
        said = _first_line(own / ERRORS)
        return "broken", f"it ended with exit code {code}{f': {said}' if said else ''}", None
    try:
        parsed = parse(content.text)
    except ParseError as error:
        return "broken", f"its output is not from railyard-pairs ({error})", None
    if len(parsed.tables) != 1 or not parsed.tables[0].complete:
        return "broken", "its output has no whole table, though its job ended well", None
    planned = {label(node) for node in group.nodes}
    strangers = [host for host in hosts_of(parsed.tables[0]) if label(host) not in planned]
    if strangers:
        return "foreign", f"its job had {listing(strangers)}, which it was not given", None
    return "whole", "", parsed


def _why_foreign(run: KeptRun, begun: _Mark) -> str | None:
    system, railyard = (*begun.words, "", "")[:2]
    if begun.words and system != run.system:
        return f"its files are of the system {system}, expected {run.system}"
    if begun.words and railyard != run.railyard:
        return f"its files are of Railyard {railyard}, expected {run.railyard}"
    return None if begun.tag == run.tag else f"its files are of another run ({begun.tag})"


def _mark(file: Path) -> _Mark | None:
    """Return the words of a mark; None if it is missing or not whole."""
    try:
        text, written = file.read_text(encoding="utf-8", errors="replace"), file.stat().st_mtime
    except OSError:
        return None
    words = text.split()
    return _Mark(words[0], tuple(words[1:]), written) if words and text.endswith("\n") else None


def _begin_time(begun: _Mark | None, end: _Mark | None) -> float | None:
    """Return when a job began by the file server's time; None if the files have other times, as in a copied folder."""
    began, ended = _time(begun, 2), _time(end, 2)
    if begun is None or end is None or began is None or ended is None:
        return None
    return begun.written if abs((end.written - begun.written) - (ended - began)) < _COPIED_S else None


def _time(mark: _Mark | None, place: int) -> float | None:
    word = mark.words[place] if mark is not None and len(mark.words) > place else ""
    return float(word) if word.isdigit() else None


def _first_line(file: Path) -> str:
    return next((line.strip()[:200] for line in text_in(file).splitlines() if line.strip()), "")


def text_in(file: Path) -> str:
    """Return the text of a file of a group, empty if there is none."""
    try:
        return read_bounded(file).text
    except OSError:
        return ""
