"""Compares the MPI library that an output names with the one that the run was intended to use.

``ldd`` says what the job's shell would load. The launcher may set other variables for the ranks, and a library with the
same soname may be loaded before it. What the library prints about itself when it runs is the last word.

This module reads the answer of MPI_Get_library_version and the lines that a library prints at its start if asked to
(I_MPI_DEBUG, MV2_SHOW_ENV_INFO), with the patterns of the stacks' table. It also reads IMB's line with the MPI standard
(MPI_Get_version), and NPB's compile options, which name the compiler wrapper. OSU, NetPIPE, HPL, HPCC, GPCNeT, WRF and
MILC print none of these.

If another library's launcher starts a library, its processes do not find each other: each becomes a run of one process,
or ends with an error of its start-up protocol that names no cause.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from railyard.base.values import one_line
from railyard.parsers.lines import each_line
from railyard.stacks import model
from railyard.stacks.model import STACKS

#: Seconds for ``mpirun --version``, which starts nothing.
LIMIT_S = 10
_LONGEST = 200
LONGEST = 300


"""How many characters of a line are searched: each of these patterns is at the beginning of a short line."""


@dataclass(frozen=True, slots=True)
class IntendedMpi:
    """The MPI that a run was intended to use. Unknown parts are None and are not compared.

    ``version`` is the library's, ``standard`` the version of the MPI standard in its header, ``compiled_with`` the
    prefix of the compiler wrappers with which Spack built the benchmark.
    """

    stack: str
    version: str | None = None
    standard: str | None = None
    compiled_with: str | None = None


@dataclass(frozen=True, slots=True)
class _Name:
    """The beginning of a line that names an MPI library, and the stacks whose it is. The group has the first one's
    version.
    """

    pattern: re.Pattern[str]
    stacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherMpi:
    """A line of an output that names another MPI than intended, with its number; ``by``: what differs.

    ``ran``: the library that ran, or its version; ``expected``: the library, with the version if that differs, the
    standard of its header, or the prefix whose wrappers were expected.
    """

    line: int
    said: str
    by: Literal["library", "version", "standard", "wrapper"]
    ran: str
    expected: str


@dataclass(frozen=True, slots=True)
class OtherLauncher:
    """A launcher that is not the stack's, by its path and what it says; ``by``: what differs.

    ``belongs_to``: its library, or its version; ``expected``: the stack's library, with the version if that differs.
    """

    path: str
    said: str
    by: Literal["library", "version"]
    belongs_to: str
    expected: str


# Open MPI v|4.1.4, package: …     MPICH Version:|      5.0.2     Intel(R) MPI Library|, Version 2021.4  Build 20210831
_VERSION = r"[ \t:,]{0,30}(?:Version )?(?P<version>[0-9]{1,4}(?:\.[0-9a-z]{1,12}){0,4})"


def _names() -> tuple[_Name, ...]:
    """Return how each stack's lines begin. Two stacks may begin with the same words (HPC-X is an Open MPI)."""
    return _names_of(tuple(model.STACKS))


@lru_cache(maxsize=4)  # compiled when an output is read, not when a listing imports this; a file may declare stacks
def _names_of(stacks: tuple[str, ...]) -> tuple[_Name, ...]:
    table = {name: model.STACKS[name] for name in stacks}
    starts = {name: stack.startup_pattern.removeprefix("^") for name, stack in table.items() if stack.startup_pattern}
    before = "|".join(starts.values())
    found = []
    for pattern in dict.fromkeys(stack.version_pattern for stack in table.values() if stack.version_pattern):
        whose = tuple(name for name, stack in table.items() if stack.version_pattern == pattern)
        found.append(_Name(re.compile(f"(?:{before})?{pattern.removeprefix('^')}{_VERSION}"), whose))
    return (*found, *(_Name(re.compile(pattern), (name,)) for name, pattern in starts.items()))


# MPI Version           : 3.1
_STANDARD = re.compile(r"#\s{0,20}MPI Version\s{0,30}: {0,9}(?P<standard>[0-9]\.[0-9])$")
#    MPIFC        = /opt/openmpi/bin/mpif90      (at most 46 characters; a longer one ends with three dots)
_WRAPPER = re.compile(r"MPI(?:F77|FC|CC)\s{1,20}= (?P<path>/\S{1,100})$")


def why_other(text: str, meant: IntendedMpi) -> OtherMpi | None:
    """Return the first line that names another MPI than intended; None if none does.

    A text that names no MPI proves nothing and contradicts nothing.
    """
    if "PI" not in text:  # MPI, MVAPICH
        return None
    for line in each_line(text):
        if "PI" in line.text:
            said = line.text[:LONGEST].strip()
            for by, compare in _COMPARED.items():
                differ = compare(said, meant)
                if differ is not None:
                    return OtherMpi(line.number, said, by, *differ)
    return None


def _another_library(said: str, meant: IntendedMpi) -> tuple[str, str] | None:
    """Return the library that a line names and the intended one, if it is another one."""
    for name in _names():
        found = name.pattern.match(said)
        if found is None:
            continue
        derived = set(name.stacks) & set(model.STACKS[meant.stack].also_prints)
        if meant.stack not in name.stacks and derived:
            continue
        if meant.stack not in name.stacks:
            return _title(name.stacks[0]), _title(meant.stack)
    return None


def _another_version(said: str, meant: IntendedMpi) -> tuple[str, str] | None:
    """Return the version that a line names and the intended one, if it is another one of the same library."""
    for name in _names():
        found = name.pattern.match(said)
        if found is None or meant.stack not in name.stacks:
            continue
        version = found.groupdict().get("version")
        # HPC-X 2.25 says "Open MPI v4.1.9a1": if the words are another stack's, the numbers are different too.
        is_owner = meant.stack == name.stacks[0]
        if is_owner and version and meant.version and not same_version(version, meant.version):
            return version, f"{_title(meant.stack)} {meant.version}"
    return None


def _another_standard(said: str, meant: IntendedMpi) -> tuple[str, str] | None:
    found = _STANDARD.match(said)
    if found is None or meant.standard is None or found["standard"] == meant.standard:
        return None
    return found["standard"], meant.standard


def _another_wrapper(said: str, meant: IntendedMpi) -> tuple[str, str] | None:
    found, prefix = _WRAPPER.match(said), meant.compiled_with
    if found is None or prefix is None:
        return None
    if found["path"].endswith("..."):
        shown = found["path"][:-3]
        same = prefix.startswith(shown) or shown.startswith(prefix)
    else:
        path = Path(found["path"])
        same = path.is_relative_to(prefix) or path.resolve().is_relative_to(Path(prefix).resolve())
    return None if same else (found["path"], prefix)


_Compare = Callable[[str, IntendedMpi], tuple[str, str] | None]
_COMPARED: Mapping[Literal["library", "version", "standard", "wrapper"], _Compare] = {
    "library": _another_library,
    "version": _another_version,
    "standard": _another_standard,
    "wrapper": _another_wrapper,
}


def _title(stack: str) -> str:
    return model.STACKS[stack].title


def line(program: str, file: str) -> str:
    """Return the line of a job that writes the launcher's path, and what it prints about itself, to a file."""
    word = shlex.quote(program)
    return f"{{ command -v {word} && LC_ALL=C timeout {LIMIT_S} {word} --version; }} > {file} 2>&1 < /dev/null || :"


def why_other_launcher(said: str, stack: str, version: str | None) -> OtherLauncher | None:
    """Return why a launcher is not the stack's: another library's, or another version; None if it is.

    ``version`` is the library's, None if unknown. If a launcher prints no name from the stacks' table, it proves
    nothing and contradicts nothing: srun belongs to no stack, and a site may have its own launcher.
    """
    path, _, answer = said.partition("\n")
    found = {name: match for name in STACKS if (match := _answer(name, answer)) is not None}
    if not found or not any(launch.answer for launch in STACKS[stack].launches):
        return None
    first = next(iter(found))
    quoted = one_line(found[first][0])[:_LONGEST]
    if stack not in found:
        return OtherLauncher(one_line(path), quoted, "library", STACKS[first].title, STACKS[stack].title)
    has = found[stack].groupdict().get("version")
    if stack == first and has and version and not same_version(has, version):
        return OtherLauncher(one_line(path), quoted, "version", has, f"{STACKS[stack].title} {version}")
    return None


def version_said(said: str, stack: str) -> str | None:
    """Return the version that a stack's own launcher prints; None if it prints none, or is another's."""
    found = _answer(stack, said.partition("\n")[2])
    return None if found is None else found.groupdict().get("version")


def same_version(one: str, other: str) -> bool:
    """Return whether two versions agree as far as both go: 2021.18 and 2021.18.0, 2.3.7 and 2.3.7-1."""
    pairs = zip(re.split(r"[.-]", one), re.split(r"[.-]", other), strict=False)
    return all(mine == theirs for mine, theirs in pairs)


def _answer(stack: str, text: str) -> re.Match[str] | None:
    answers = (launch.answer for launch in STACKS[stack].launches if launch.answer)
    return next((match for answer in answers if (match := re.search(answer, text, re.MULTILINE))), None)
