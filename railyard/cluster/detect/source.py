"""Where the facts about a node are read: a folder with its sys/ and proc/, or one text that holds what was read.

A recording is a text of this form; ``railyard detect --record FILE`` writes one, ``--root FILE`` reads it::

    railyard-tree 1
    # a remark, such as "made, not recorded"
    /sys/class/net/eth0/mtu = 1500
    /sys/class/net/eth0/device/
    /proc/cpuinfo <<
    | processor : 0
    which sinfo = /usr/bin/sinfo
    $ sinfo --version <<
    | slurm 23.11.4

A path that ends in "/" exists, and nothing more is known about it. A folder has the same files below ``sys/`` and
``proc/``. ``commands/`` has what each command printed, in a file named by the command's words and blanks (with "_" for
"/"). ``commands/NAME.path`` has the path of a program.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from railyard.base.errors import InputError
from railyard.base.values import clean

FORMAT = 1
_HEAD = f"railyard-tree {FORMAT}"
_DIGITS = re.compile(r"([0-9]+)")
#: A recording keeps of these files only what is before the separator: the first processor's block, which says the same
#: as the others, and the total memory, which comes before its use.
_KEPT_BEFORE = {"/proc/cpuinfo": "\n\n", "/proc/meminfo": "\n"}
_MOST_BYTES = 1 << 20  # of one file: sysfs has pages; /proc/cpuinfo has half a megabyte for 512 processors


LSPCI, IBSTATUS, TOPOLOGY = ("lspci", "-vv"), ("ibstatus",), ("nvidia-smi", "topo", "-m")
#: Of these commands only lines with one of these words are recorded: others have serial numbers and addresses.
_KEPT_LINES = {
    LSPCI: (" controller: ", "LnkCap:", "LnkSta:", "DevCtl:", "MaxPayload", "NUMA node"),
    IBSTATUS: ("Infiniband device", "state:", "rate:", "link_layer:"),
}


class Source(Protocol):
    """What detect may read from a node. No method raises: what is missing or cannot be read is None."""

    def read(self, path: str) -> str | None:
        """Return a file's text without white space at its ends; ``path`` begins with /sys or /proc."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what a folder holds, in natural order (mlx5_2 before mlx5_10); () if there is no such folder."""

    def which(self, program: str) -> str | None:
        """Return the path of a program on the search path."""

    def run(self, *words: str) -> str | None:
        """Return what a command printed; None if there is no such program, or if it failed."""


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts mlx5_2 before mlx5_10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in _DIGITS.split(name) if part)


class Folder:
    """A folder that holds sys/, proc/ and, if it is a recording, commands/."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str) -> str | None:
        """Return a file's text, bounded, without escape sequences."""
        try:
            with open(f"{self.root}/{path.lstrip('/')}", "rb") as handle:
                content = handle.read(_MOST_BYTES)
        except OSError:
            return None
        return clean(content.decode(errors="replace")).strip()

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what the folder holds."""
        try:
            found = [entry.name for entry in Path(f"{self.root}/{folder.lstrip('/')}").iterdir()]
        except OSError:
            return ()
        return tuple(sorted(found, key=natural))

    def which(self, program: str) -> str | None:
        """Return the path that the recording gives."""
        return self.read(f"/commands/{program}.path")

    def run(self, *words: str) -> str | None:
        """Return what the recording says that the command printed."""
        return self.read(f"/commands/{' '.join(words).replace('/', '_')}")


@dataclass
class Listing:
    """All that was read, or is synthetic: files by path, programs by name, outputs by the command's words."""

    files: dict[str, str] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    programs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        """Return a file's text."""
        return self.files.get(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the next part of every path below the folder."""
        head = f"{folder.rstrip('/')}/"
        found = {path[len(head) :].split("/")[0] for path in (*self.files, *self.there) if path.startswith(head)}
        return tuple(sorted(found - {""}, key=natural))

    def which(self, program: str) -> str | None:
        """Return the path of the program."""
        return self.programs.get(program)

    def run(self, *words: str) -> str | None:
        """Return what the command printed."""
        return self.outputs.get(" ".join(words))

    def text(self, remark: str = "") -> str:
        """Return the recording as a text; ``remark`` is one line on top."""
        lines = [_HEAD, *([f"# {remark}"] if remark else [])]
        known = {*self.files}
        bare = {path for path in self.there if not any(other.startswith(f"{path}/") for other in known)}
        for path in sorted(known | bare, key=natural):
            lines += [f"{path}/"] if path in bare - known else _entry(path, self.files[path])
        lines += [f"which {name} = {path}" for name, path in sorted(self.programs.items())]
        for words, output in sorted(self.outputs.items()):
            lines += [f"$ {words} <<", *(f"| {line}".rstrip() for line in output.split("\n"))]
        return "\n".join(lines) + "\n"


class Recorder:
    """A source that records what another source is asked and answers, without what nothing here reads."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.listing = Listing()

    def read(self, path: str) -> str | None:
        """Return the file's text."""
        text = self.source.read(path)
        if text is not None:
            self.listing.files[path] = text.split(_KEPT_BEFORE[path])[0] if path in _KEPT_BEFORE else text
        return text

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what the folder holds."""
        names = self.source.names(folder)
        # Of a thousand entries for GIDs, only those that are set are read.
        if not folder.endswith("/gid_attrs/types"):
            self.listing.there |= {f"{folder.rstrip('/')}/{name}" for name in names}
        return names

    def which(self, program: str) -> str | None:
        """Return the path of the program."""
        path = self.source.which(program)
        if path is not None:
            self.listing.programs[program] = path
        return path

    def run(self, *words: str) -> str | None:
        """Return what the command printed."""
        output = self.source.run(*words)
        if output is not None:
            kept = [line for line in output.split("\n") if _is_read(words, line)]
            self.listing.outputs[" ".join(words)] = "\n".join(kept)
        return output


def _is_read(words: Sequence[str], line: str) -> bool:
    """Return whether anything here reads a line. Other lines have addresses, paths and settings of a site."""
    if tuple(words) in _KEPT_LINES:
        return any(word in line for word in _KEPT_LINES[tuple(words)])
    if words[0] == "scontrol":
        return line.startswith(("ClusterName", "SwitchName=", "BlockName=", "AggregatedBlock="))
    # hwloc's remarks contain the host's name and the cards' addresses.
    return not line.lstrip().startswith(("<info ", "<support "))


def parse_listing(text: str, shown: str) -> Listing:
    """Return a recording. Raises InputError, with the line, if the text has another form. ``shown`` names the file."""
    lines = clean(text).split("\n")
    if lines[0].strip() != _HEAD:
        raise InputError(
            shown, f'"{lines[0][:60]}"', f'"{_HEAD}", the first line of a recording', line=1,
            action="railyard detect --record FILE writes one; or name a folder that holds sys/ and proc/",
        )  # fmt: skip
    listing = Listing()
    bodies: list[tuple[dict[str, str], str, list[str]]] = []
    open_body = False
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith("|") and open_body:
            bodies[-1][2].append(line[2:])
            continue
        head = line.rstrip()
        open_body = head.endswith(" <<")
        if open_body:
            key = head.removesuffix(" <<")
            kept = listing.outputs if key.startswith("$ ") else listing.files
            bodies.append((kept, key.removeprefix("$ ").strip(), []))
        elif head and not head.startswith("#") and not _take(listing, head):
            raise InputError(shown, f'"{head[:60]}"', _EXPECTED, line=number)
    for kept, key, body in bodies:
        kept[key] = "\n".join(body).strip()
    return listing


_EXPECTED = 'PATH = TEXT, PATH <<, PATH/, which NAME = PATH, $ COMMAND <<, or after a "<<" a line of text behind "|"'


def _take(listing: Listing, line: str) -> bool:
    """Sort in a line that has no text below it; return False if its form is unknown."""
    name, equals, value = line.partition(" =")
    if equals and name.startswith("which "):
        listing.programs[name.removeprefix("which ").strip()] = value.strip()
    elif equals and name.startswith("/"):
        listing.files[name] = value.strip()
    elif not equals and name.startswith("/") and name.endswith("/"):
        listing.there.add(name.rstrip("/"))
    else:
        return False
    return True


def _entry(path: str, text: str) -> list[str]:
    if "\n" in text:
        return [f"{path} <<", *(f"| {line}".rstrip() for line in text.split("\n"))]
    return [f"{path} = {text}".rstrip()]
