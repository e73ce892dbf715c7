"""How a job starts its programs in an image, and what it says about the image: what is inside, and which one it was.

``image.sh`` (package data beside this file) starts a program on each node. ``in_image.sh`` runs inside once, before the
benchmark: it makes links to the programs, asks ``ldd``, and writes the real paths of the stack's libraries.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import UNFIT_EXIT
from railyard.base.paths import packaged_text
from railyard.base.values import utc_time
from railyard.job import environment
from railyard.job.launch import IMAGE_SCRIPT, Launch
from railyard.stacks.containers import Image
from railyard.stacks.libraries import FAMILIES, ImageFiles

LOOK_SCRIPT = "in_image.sh"
LIBRARIES_FILE = "image.libraries"
#: What ``in_image.sh`` saw, and the ending of each node's file about the image itself.
SEEN = "inside.txt"
SUFFIX = ".image"
FORMAT = 1
_MARK = "railyard-inside"


@dataclass(frozen=True, slots=True)
class NodeImage:
    """The image's file on one node: size in bytes, and when it was changed, in seconds since 1970.

    ``begin`` is the sum of its first 64 KiB. There the formats for images have the image's own number, or the time at
    which it was built (SIF, squashfs), so two builds of one size differ there.
    """

    node: str
    size: int
    changed_s: int
    begin: int

    def __str__(self) -> str:
        return f"{self.size} bytes, changed {utc_time(self.changed_s)}"


@dataclass(frozen=True, slots=True)
class SeenImage:
    """What a run says about its image: ``files`` inside, None if nobody looked; and the image on each node."""

    inside: Image
    files: ImageFiles | None
    nodes: tuple[NodeImage, ...] = ()

    def find_unlike(self) -> tuple[NodeImage, NodeImage] | None:
        """Return the images of two nodes that differ in size, or within their first 64 KiB; None if none do.

        A copy may have another time.
        """
        first = next(iter(self.nodes), None)
        unlike = (each for each in self.nodes if first and (each.size, each.begin) != (first.size, first.begin))
        other = next(unlike, None)
        return None if first is None or other is None else (first, other)

    def words(self) -> str:
        """Return what a record says about it."""
        return f"{self.inside} ({self.nodes[0]})" if self.nodes else str(self.inside)


def scripts(inside: Image, stage: str, names: Iterable[str]) -> dict[str, str]:
    """Return the files for a job's folder: name and text; ``stage`` is that folder, ``names`` are the program's."""
    patterns = "".join(f"{name}\n" for family in FAMILIES for name in family.main)
    files = {
        LOOK_SCRIPT: packaged_text(f"job/scripts/{LOOK_SCRIPT}"),
        LIBRARIES_FILE: patterns,
        environment.PROGRAMS_FILE: "".join(f"{name}\n" for name in names),
    }
    words = inside.before_program(stage)
    if not words:
        return files
    known = {"image": str(inside.image), "file": inside.file or "", "runtime": words[0]}
    begin = "".join(f"{name}={shlex.quote(value)}\n" for name, value in known.items())
    body = packaged_text(f"job/scripts/{IMAGE_SCRIPT}")
    return {**files, IMAGE_SCRIPT: f'#!/bin/sh\n{begin}{body}exec {shlex.join(words)} "$@"\n'}


def look_lines(
    launch: Launch, stage: str, tag: str, tool: str, names: Sequence[str], folders: Iterable[str]
) -> list[str]:
    """Return the lines of a job that look into its image on the first node, and end the job if that is not possible.

    ``stage`` is the job's folder, ``tool`` a program or a folder inside, ``names`` are the names of the program that
    runs, the first one that is there.
    """
    inside = launch.image
    assert inside is not None
    by_srun = IMAGE_SCRIPT not in launch.inside
    srun_options = inside.options_of_srun(stage, [*launch.settings.env]) if by_srun else []
    first, *others = names
    look = ["sh", LOOK_SCRIPT, tag, tool, first, next(iter(others), ""), *folders]
    start = ["srun", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1", *srun_options] if by_srun else []
    start += launch.inside
    lines = [f"rm -f counters/*{SUFFIX}"]
    if by_srun and inside.file is not None:
        path = shlex.quote(inside.file)
        absent = f"railyard: error: found no image {inside.file} on"
        lines.append(
            f'[ -r {path} ] || {{ echo {shlex.quote(absent)} "$(hostname), expected it on every node of the run: copy '
            f'it there" >&2; exit {UNFIT_EXIT}; }}'
        )
    failed = f"railyard: error: no look into {inside} on"
    lines.append(
        f"{shlex.join([*start, *look])} || {{ echo {shlex.quote(failed)} "
        f'"$(hostname): what was said above is why" >&2; exit {UNFIT_EXIT}; }}'
    )
    return lines


def read(text: str, tag: str) -> ImageFiles | None:
    """Return what ``in_image.sh`` wrote; None if it is from another run, was cut, or is not the script's."""
    lines = text.split("\n")
    if lines[0] != f"{_MARK} {FORMAT} {tag}" or lines[-2:] != ["end", ""]:
        return None
    pairs: Mapping[str, list[tuple[str, str]]] = {"folder": [], "file": []}
    for line in lines[1:-2]:
        kind, _, rest = line.partition(" ")
        path, found, real = rest.partition("\t")
        if kind not in pairs or not found:
            return None
        pairs[kind].append((path, real))
    return ImageFiles.of(pairs["folder"], pairs["file"])


def read_node(file: Path, text: str) -> NodeImage | None:
    """Return what ``image.sh`` wrote on a node about the image's file; None if it was cut or is not the script's."""
    words = text.split()
    # size and time by stat; sum and number of bytes by cksum
    if len(words) != 4 or not text.endswith("\n") or not all(word.isascii() and word.isdigit() for word in words):
        return None
    size, changed_s, begin, _ = map(int, words)
    return NodeImage(file.name.removesuffix(SUFFIX), size, changed_s, begin)
