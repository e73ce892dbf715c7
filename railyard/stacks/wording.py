"""The sentences about what an executable is linked to: for builds, doctors and verdicts alike."""

from collections.abc import Sequence


def not_found(executable: str, libraries: Sequence[str]) -> str:
    """Return which libraries of an executable the loader does not find."""
    return f"{executable} needs {', '.join(libraries)}, which the loader does not find"


def no_mpi(executable: str, expected: Sequence[str]) -> str:
    """Return that an executable has no MPI; ``expected``: the names of its stack's library."""
    return f"{executable} is linked to no MPI library at all, expected {' or '.join(expected)}"


def other_mpi(executable: str, name: str, path: str, expected: Sequence[str]) -> str:
    """Return that an executable has another MPI than its stack's."""
    return f"{executable} is linked to {name} ({path}), expected {' or '.join(expected)}"


def other_folder(executable: str, path: str, names: Sequence[str], prefix: str) -> str:
    """Return that a library of an executable is not in the folder where it must be."""
    return f"{executable} is linked to {path}, expected {' or '.join(names)} of {prefix}"


def not_linked(executable: str, expected: Sequence[str]) -> str:
    """Return that an executable lacks the library that it should measure."""
    return f"{executable} is not linked to {' or '.join(expected)}, expected it"


def any_mpi(executable: str, name: str, path: str) -> str:
    """Return that an executable has an MPI, and its stack has none."""
    return f"{executable} is linked to {name} ({path}), expected no MPI library"


def not_locked(executable: str, path: str, name: str, package: str, prefix: str) -> str:
    """Return that a library is not of the package that the lock names."""
    return f"{executable} is linked to {path}, expected {name} of {package} in {prefix}, which the lock names"


def in_no_package(executable: str, path: str, family: str) -> str:
    """Return that a library is of no package of the lock; ``family``: what it belongs to (``UCX``)."""
    return f"{executable} is linked to {path}, expected no {family}: no package of the lock has it"
