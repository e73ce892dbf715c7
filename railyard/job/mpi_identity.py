"""Which MPI library an output itself names, held against the one that the run was meant to use.

``ldd`` says what the job's shell would load; the launcher may set other variables for the ranks, and a library of the
same soname may be loaded before it. What the library that ran prints of itself is the last word.

Read are: what MPI_Get_library_version answers and what a library prints at its start where it is told to (I_MPI_DEBUG,
MV2_SHOW_ENV_INFO), by the patterns of the stacks' table; IMB's line of the MPI standard (MPI_Get_version); and NPB's
compile options, which name the compiler wrapper. OSU, NetPIPE, HPL, HPCC, GPCNeT, WRF and MILC print none of these.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from railyard.job.launcher_identity import same_version
from railyard.parsers.lines import each_line
from railyard.stacks import table as stacks_table

LONGEST = 300
"""Characters of a line that are looked at: each of these stands at the beginning of a short one."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The MPI that a run was meant to use; what is not known of it is None and held against nothing.

    ``version`` is the library's, ``standard`` the version of the MPI standard that its header states, ``compiled_with``
    the prefix whose compiler wrappers Spack built the benchmark with.
    """

    stack: str
    version: str | None = None
    standard: str | None = None
    compiled_with: str | None = None


@dataclass(frozen=True, slots=True)
class _Name:
    """How a line begins that names an MPI library, and whose it is: the first one's version stands in its group."""

    pattern: re.Pattern[str]
    stacks: tuple[str, ...]


# Open MPI v|4.1.4, package: …     MPICH Version:|      5.0.2     Intel(R) MPI Library|, Version 2021.4  Build 20210831
_VERSION = r"[ \t:,]{0,30}(?:Version )?(?P<version>[0-9]{1,4}(?:\.[0-9a-z]{1,12}){0,4})"


@lru_cache(maxsize=1)  # compiled when an output is read, not when a listing imports this
def _names() -> tuple[_Name, ...]:
    """Return how each stack's lines begin; two stacks may begin in the same words (HPC-X is an Open MPI)."""
    table = stacks_table.STACKS
    starts = {name: stack.startup_pattern.removeprefix("^") for name, stack in table.items() if stack.startup_pattern}
    before = "|".join(starts.values())
    found = []
    for pattern in dict.fromkeys(stack.version_pattern for stack in table.values() if stack.version_pattern):
        whose = tuple(name for name, stack in table.items() if stack.version_pattern == pattern)
        found.append(_Name(re.compile(f"(?:{before})?{pattern.removeprefix('^')}{_VERSION}"), whose))
    return (*found, *(_Name(re.compile(pattern), (name,)) for name, pattern in starts.items()))


# MPI Version           : 3.1
_STANDARD = re.compile(r"#\s{0,20}MPI Version\s{0,30}: {0,9}(?P<standard>[0-9]\.[0-9])$")
#    MPIFC        = /opt/openmpi/bin/mpif90      (46 characters at most, the last three dots where it is longer)
_WRAPPER = re.compile(r"MPI(?:F77|FC|CC)\s{1,20}= (?P<path>/\S{1,100})$")


def why_other(text: str, meant: Meant) -> str | None:
    """Return the sentence of the first line that names another MPI than the one that was meant; None where none does.

    A text that names no MPI at all proves nothing, and contradicts nothing.
    """
    if "PI" not in text:  # MPI, MVAPICH
        return None
    for line in each_line(text):
        if "PI" in line.text:
            said = line.text[:LONGEST].strip()
            why = _another_library(said, meant) or _another_standard(said, meant) or _another_wrapper(said, meant)
            if why is not None:
                return f'line {line.number} of the output is "{said}": {why}'
    return None


def _another_library(said: str, meant: Meant) -> str | None:
    for name in _names():
        found = name.pattern.match(said)
        if found is None:
            continue
        if meant.stack not in name.stacks:
            return f"{_title(name.stacks[0])} ran, expected {_title(meant.stack)}"
        version = found.groupdict().get("version")
        # HPC-X 2.25 says "Open MPI v4.1.9a1": whose words they are not, has other numbers.
        is_owner = meant.stack == name.stacks[0]
        if is_owner and version and meant.version and not same_version(version, meant.version):
            return f"version {version} ran, expected {_title(meant.stack)} {meant.version}"
    return None


def _another_standard(said: str, meant: Meant) -> str | None:
    found = _STANDARD.match(said)
    if found is None or meant.standard is None or found["standard"] == meant.standard:
        return None
    return f"another library ran than the stack's own, whose header states MPI {meant.standard}"


def _another_wrapper(said: str, meant: Meant) -> str | None:
    found, prefix = _WRAPPER.match(said), meant.compiled_with
    if found is None or prefix is None:
        return None
    if found["path"].endswith("..."):
        shown = found["path"][:-3]
        same = prefix.startswith(shown) or shown.startswith(prefix)
    else:
        path = Path(found["path"])
        same = path.is_relative_to(prefix) or path.resolve().is_relative_to(Path(prefix).resolve())
    return None if same else f"it was compiled with another MPI than that of {prefix}"


def _title(stack: str) -> str:
    return stacks_table.STACKS[stack].title
