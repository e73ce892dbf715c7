"""The answers of all nodes of a launch, one file per node: where nodes write them, and how they are read and checked.

If thousands of nodes answer through one launcher's output, their lines arrive mixed and cut: srun of Slurm 22.05 passes
on 1,024 bytes at once (MAX_MSG_LEN in slurmd/slurmstepd/io.c), and one hanging node delays all others. So each node
writes its own file (``node_files.sh``, package data beside this module), which gets its name when its end is written. A
node that does not see the folder answers through the launcher, as before.

For up to ``FLAT`` nodes the files are in one folder, for more nodes in folders of about ``PER_FOLDER`` files. On a
parallel file system, creating a file takes its folder's lock on the metadata server, and all nodes would wait for one
lock. Sites ask their users to spread files "in the 100s or more" over folders (NASA's and MARCC's Lustre best
practices).

Programs that only the nodes have: a job finds them below the folder of its file, and links them beside its script.

A login host often lacks what the nodes mount, and so does a laptop with a dry run. A file may name a folder of a tool's
programs, whose places below it differ between releases.
"""

import math
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Generic, Literal, TypeVar

from railyard.base.errors import UNFIT_EXIT
from railyard.base.hostlist import expand_names, label
from railyard.base.paths import packaged_text
from railyard.provision.installed_stack import LINKS

T = TypeVar("T")

SCRIPT = "node_files.sh"
#: The file with the tag and the number of nodes: a node that can read it sees the folder.
ASKED = "asked"
FORMAT = "1"
#: The most files in one folder.
FLAT = 512
#: The number of files per folder if there are several folders.
PER_FOLDER = 256
#: How much later a file server may show another host's file (attribute caches of NFS last at most 60 s, nfs(5)). How
#: long to wait for a file if its node said that it wrote it.
SEEN_WITHIN_S = 60.0
#: How long to wait for files after a failed launch: some of its nodes have none.
LATE_S = 1.0
#: The most bytes of a node's answer that are read.
MOST_BYTES = 8 << 20
_LOOK_S = 0.2
#: How long leftover folders stay (their files were cut, or the command was killed).
_KEPT_S = 86_400

_DONE, _BEGUN = ".out", ".part"
_KEEP = "keep"
_HEAD = re.compile(
    r"railyard-file (?P<format>\S+) (?P<tag>\S+) (?P<node>\S+) (?P<rank>\S+) (?P<tasks>\S+) (?P<nodes>\S+)\n"
)
_END = re.compile(rb"\nrailyard-file end (?P<code>[0-9]{1,3}) (?P<bytes>[0-9]{1,12})\n\Z")
_NONE = re.compile(r"^(?:\s*\d+: ?)?railyard-file none (?P<node>\S+) (?P<why>unseen|closed)$", re.MULTILINE)


class Unwritable(OSError):
    """No folder could be made for the answers."""


#: A file is cut; a node began and did not finish; nothing from the node is there.
Kind = Literal["cut", "began", "silent"]


@dataclass(frozen=True, slots=True)
class AnswerFolder:
    """Where so many nodes write their answers: a new folder, and the tag at the start of its files."""

    folder: Path
    tag: str
    count: int

    @property
    def folders(self) -> int:
        """Over how many folders the files are spread; 0: they are in the folder itself."""
        return 0 if self.count <= FLAT else math.ceil(self.count / PER_FOLDER)

    def words(self, command: Sequence[str], script: str | None = None) -> list[str]:
        """Return the words that start one process on each node.

        ``script`` is a path of ``node_files.sh`` that the nodes see. If it is None, its text is among the words, and
        nodes do not have to see anything.
        """
        front = ["sh", script] if script is not None else ["sh", "-c", script_text(), SCRIPT]
        return [*front, str(self.folder), self.tag, str(self.folders), "--", *command]


@dataclass(frozen=True, slots=True)
class NodeFile:
    """The whole answer of one process: its node's name in the scheduler, its exit code, and what it printed.

    ``rank`` is None if no launcher gave it. ``nodes`` are all nodes of the step, if this file lists them.
    """

    node: str
    code: int
    text: str
    rank: int | None = None
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A node without a whole answer: ``what`` was found, in words that follow its name, and what to do."""

    node: str
    kind: Kind
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class GatheredAnswers(Generic[T]):
    """The result from each whole answer, by node in the order of ranks, and the nodes without a whole answer.

    ``count`` is the number of nodes that were asked, 0 if unknown.
    """

    answers: tuple[tuple[str, T], ...]
    faults: tuple[Fault, ...] = ()
    count: int = 0

    @property
    def values(self) -> tuple[T, ...]:
        """Only the results from the answers."""
        return tuple(value for _, value in self.answers)


def script_text() -> str:
    """Return the text of the script."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def prepare_folder(folder: Path, tag: str, count: int) -> AnswerFolder:
    """Make a folder in which so many nodes answer, and return it. Raises OSError if it cannot be written."""
    asking = AnswerFolder(folder, tag, count)
    folder.mkdir(parents=True)
    for number in range(asking.folders):
        (folder / str(number)).mkdir()
    (folder / ASKED).write_text(f"{tag}\n{count}\n", encoding="utf-8")
    return asking


@contextmanager
def ask_nodes(parent: Path, count: int) -> Iterator[AnswerFolder]:
    """Yield a new folder in ``parent`` in which so many nodes answer. It is removed, unless ``keep`` was called.

    Raises Unwritable if it cannot be made.
    """
    _sweep(parent)
    tag = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}-{os.getpid()}"
    try:
        asking = prepare_folder(parent / tag, tag, count)
    except OSError as error:
        raise Unwritable(error.errno, error.strerror) from error
    try:
        yield asking
    finally:
        if not (asking.folder / _KEEP).exists():
            shutil.rmtree(asking.folder, ignore_errors=True)


def keep(asking: AnswerFolder) -> None:
    """Keep these files for a day, since a sentence names one of them."""
    with suppress(OSError):
        (asking.folder / _KEEP).touch()


def _sweep(parent: Path) -> None:
    """Remove leftover folders that are days old."""
    with suppress(OSError):
        for entry in list(os.scandir(parent)):
            if entry.is_dir() and time.time() - entry.stat().st_mtime > _KEPT_S:
                shutil.rmtree(entry.path, ignore_errors=True)


def by_launcher(printed: str) -> dict[str, str]:
    """Return from a launcher's output the nodes that did not write a file, each with ``unseen`` or ``closed``."""
    return {found["node"]: found["why"] for found in _NONE.finditer(printed)}


def parse(content: bytes, tag: str | None) -> NodeFile | str:
    """Return the answer that a file holds, or what is wrong with the file, in words that follow its name.

    If ``tag`` is None, any tag is accepted. Never raises because of a file's content.
    """
    line, _, _ = content.partition(b"\n")
    head = _HEAD.fullmatch(f"{line[:100_000].decode('utf-8', errors='replace')}\n")
    if head is None:
        return f"found {len(content):,} bytes without the first line of an answer" if content else "found an empty file"
    if head["format"] != FORMAT:
        return f"found format {head['format']}, expected {FORMAT}: script and library are of different versions"
    if tag is not None and head["tag"] != tag:
        return f"found the tag {head['tag']}, expected {tag}: it belongs to another question"
    end = _END.search(content[-64:])
    if end is None:
        return f"found {len(content):,} bytes without an end: it was cut"
    above = len(content) - len(end[0]) + 1
    if above != int(end["bytes"]):
        return f"found {above:,} bytes before its end, expected {int(end['bytes']):,}: a part is lost"
    body = content[len(line) + 1 : above - 1]
    if b"\0" in content:
        return "found NUL bytes: a part of it was never written"
    return NodeFile(
        head["node"],
        int(end["code"]),
        body.decode("utf-8", errors="replace"),
        int(head["rank"]) if head["rank"].isdigit() else None,
        _names(head["nodes"]),
    )


def _names(text: str) -> tuple[str, ...]:
    try:
        return () if text == "-" else tuple(expand_names(text))
    except ValueError:
        return ()


def gather(
    asking: AnswerFolder, take: Callable[[NodeFile], T], *, ended_well: bool, elsewhere: Iterable[str] = ()
) -> GatheredAnswers[T]:
    """Return what ``take`` makes from each node's answer, once all are there or the time is over.

    ``ended_well``: the launch ended with 0, so each file was written, and this waits as long as a file server may hide
    one. ``elsewhere`` are nodes that answered through the launcher. A node is silent if it is in the step's own list of
    nodes and left nothing.
    """
    here = set(map(label, elsewhere))
    reader = _Reader(asking.folder, asking.tag, take)
    begun = time.monotonic()
    while True:
        _look_again(asking)
        reader.look()
        waited_s = time.monotonic() - begun
        if len(reader.taken) + len(here) >= asking.count or waited_s >= (SEEN_WITHIN_S if ended_well else LATE_S):
            break
        if not ended_well and not reader.taken and not reader.open:
            break  # nothing was started
        time.sleep(_LOOK_S)
    return reader.gather(here, asking.count)


def read_folder(folder: Path, take: Callable[[NodeFile], T]) -> GatheredAnswers[T]:
    """Return what ``take`` makes from each answer in a folder, with any tag."""
    try:
        tag, count = (folder / ASKED).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        tag, count = None, "0"
    reader = _Reader(folder, tag, take)
    reader.look()
    return reader.gather(set(), int(count) if count.isdigit() else 0)


def has_answers(folder: Path) -> bool:
    """Return whether nodes wrote answers to a folder."""
    return (folder / ASKED).is_file()


def _look_again(asking: AnswerFolder) -> None:
    """Make NFS show files that other hosts made in the folders: it asks its server when a file is made in one."""
    for folder in [asking.folder, *(asking.folder / str(number) for number in range(asking.folders))]:
        with suppress(OSError):
            look = folder / f".look-{os.getpid()}"
            look.touch()
            look.unlink()


@dataclass(slots=True)
class _Reader(Generic[T]):
    """Reads each file of a folder, and of the folders in it, once it is whole.

    ``open`` are files that are not whole, with what is wrong; ``taken`` are the results of the others, by path.
    """

    folder: Path
    tag: str | None
    take: Callable[[NodeFile], T]
    taken: dict[str, tuple[int | None, str, T]] = field(default_factory=dict)
    open: dict[str, Fault] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()

    def look(self) -> None:
        """Read the files that were not whole at the last look."""
        self.open.clear()
        for entry in files(self.folder):
            name = Path(entry.name)
            if name.suffix == _BEGUN:
                self.open[entry.path] = _begin_fault(_node_of(name.stem), entry)
            elif name.suffix == _DONE and entry.path not in self.taken:
                self._read(entry.path, _node_of(name.stem))

    def _read(self, path: str, node: str) -> None:
        try:
            with open(path, "rb") as file:
                content = file.read(MOST_BYTES + 1)
            long = f"found more than {MOST_BYTES >> 20} MiB"
            answer = long if len(content) > MOST_BYTES else parse(content, self.tag)
        except OSError as error:
            answer = f"found nothing that can be read ({error.strerror})"
        if isinstance(answer, str):
            what, fix = (
                f"its answer {path} is incomplete: {answer}",
                "check whether the file system is full, and try again",
            )
            self.open[path] = Fault(node, "cut", what, fix)
            return
        self.nodes = self.nodes or answer.nodes
        self.taken[path] = (answer.rank, answer.node, self.take(answer))

    def gather(self, elsewhere: set[str], count: int) -> GatheredAnswers[T]:
        """Return the answers and the nodes without one."""
        last = len(self.taken)
        found = sorted(self.taken.values(), key=lambda each: last if each[0] is None else each[0])
        known = {label(node) for _, node, _ in found} | {label(fault.node) for fault in self.open.values()} | elsewhere
        faults = list(self.open.values())
        fix = "check whether it is up, and whether a job starts there"
        faults += [Fault(node, "silent", "it did not answer", fix) for node in self.nodes if label(node) not in known]
        return GatheredAnswers(tuple((node, value) for _, node, value in found), tuple(faults), count)


def files(folder: Path, within: Collection[str] | None = None) -> Iterator["os.DirEntry[str]"]:
    """Yield the files of a folder and of the folders in it, as listed now, in the order of their names.

    ``within``: only these folders in it, and the folders inside those; None: all folders in it, but none deeper.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif within is None:
            yield from files(Path(entry.path), ())
        elif entry.name in within:
            yield from files(Path(entry.path))


def _node_of(stem: str) -> str:
    """Return the node of a file's name without its last suffix: ``n1.3`` belongs to n1, ``n1.cluster.p71`` to
    n1.cluster.
    """
    return stem.rpartition(".")[0] or stem


def _begin_fault(node: str, entry: "os.DirEntry[str]") -> Fault:
    try:
        size = f"{entry.stat().st_size:,} bytes"
    except OSError:
        size = "its content cannot be read"
    what = f"it began to answer and did not finish ({entry.path}: {size})"
    return Fault(node, "began", what, "check what hangs there: its step was ended, or its file system is full")


PROGRAMS_SCRIPT = "find_program.sh"


def is_only_on_nodes(tool: str, programs: Sequence[str]) -> bool:
    """Return whether only a job can find a tool's program: this host lacks the tool's folder.

    ``tool`` is the path in the system's file, of a folder or of an executable. An executable needs no search.
    """
    return bool(programs and programs[0]) and Path(tool).name not in programs and not os.path.exists(tool)


def link_to(program: str) -> str:
    """Return the link to a program, which every step of a job can start in the job's folder."""
    return f"./{LINKS}/{program}"


def find_line(tool: str, programs: Sequence[str], needed: bool = True) -> str:
    """Return the line of a job that makes the link, on its first node.

    If the program is not there, the line ends the job (exit 66), unless it is not ``needed``: a later step names it.
    """
    end = f"|| exit {UNFIT_EXIT}" if needed else "2> /dev/null || :"
    return f"{shlex.join(['sh', PROGRAMS_SCRIPT, link_to(programs[0]), tool, *programs])} {end}"


def script() -> str:
    """Return the text of the script that finds a program; it is written beside a job's script."""
    return packaged_text(f"job/scripts/{PROGRAMS_SCRIPT}")
