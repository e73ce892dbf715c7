"""The sentences about whether the intended program ran, and as one run."""

from collections.abc import Sequence

from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, either, few
from railyard.job.environment import OtherLibrary, SetVariable
from railyard.job.mpi_identity import OtherLauncher, OtherMpi


def environment_unread(nodes: Sequence[str]) -> str:
    """Return that the environment of a benchmark is not known on some nodes."""
    return f"the environment of the benchmark was not read on {list_nodes(nodes)}"


def unknown_linkage(benchmark: str, answer: str) -> str:
    """Return that the libraries of a benchmark are not known; ``answer``: what ldd printed, in one line."""
    return f"it is not known what {benchmark} is linked to: ldd said {answer or 'nothing'}"


def separate_runs(processes: int, refusal: str, times: int) -> str:
    """Return that each process was a run of its own; ``refusal``: the line that says so, empty if tables do."""
    shown = f'"{refusal}"' if refusal else "a table of 1 process"
    return (
        f"each of the {processes} processes ran alone, as rank 0 of 1: the output has {shown} "
        f"{count_of(times, 'time')}; the launcher did not connect them"
    )


def other_mpi(found: OtherMpi) -> str:
    """Return that a line of the output names another MPI."""
    why = {
        "library": f"{found.ran} ran, expected {found.expected}",
        "version": f"version {found.ran} ran, expected {found.expected}",
        "standard": f"the stack's own library did not run: its header states MPI {found.expected}",
        "wrapper": f"it was compiled with another MPI than that of {found.expected}",
    }[found.by]
    return f'line {found.line} of the output is "{found.said}": {why}'


def other_launcher(found: OtherLauncher) -> str:
    """Return that the launcher is not the stack's."""
    why = {
        "library": f"it belongs to {found.belongs_to}, expected the launcher of {found.expected}",
        "version": f"version {found.belongs_to}, expected {found.expected}",
    }[found.by]
    return f'the launcher {found.path} says "{found.said}": {why}'


def other_variable(found: SetVariable) -> str:
    """Return that a variable differs from the plan in a benchmark's process."""
    shown = "is not set" if found.value is None else f'is "{found.value}"'
    return f'{found.name} {shown} in the environment of {found.program} on {found.node}, expected "{found.expected}"'


def unplanned_variable(found: SetVariable) -> str:
    """Return that a variable is set which nobody planned."""
    return (
        f'{found.name} is "{found.value}" in the environment of {found.program} on {found.node}, and the run did not '
        "plan it"
    )


def whole_messages(found: SetVariable, what: str) -> str:
    """Return that a variable keeps messages whole; ``what`` it does."""
    return f'{found.name} is "{found.value}" in the environment of {found.program} on {found.node}: {what}'


def look_at_variable() -> str:
    """Return what to look at if a variable keeps messages whole."""
    return "that variable in env of the system's file, in modules, profiles and wrappers"


def other_library(found: OtherLibrary) -> str:
    """Return that a process loaded a library from elsewhere."""
    where = [*found.places, *(["the operating system"] if found.of_system else [])]
    return (
        f"{found.program} on {found.node} loaded {few(found.paths, 2)}, expected {found.title} of {either(where)}; if "
        "it is intended, name its folder under libraries of that stack in the system's file"
    )


def libraries_unread(nodes: Sequence[str]) -> str:
    """Return on which nodes the libraries of the benchmark are not known."""
    return f"not proven: which libraries the benchmark loaded on {list_nodes(nodes)} (they were not read)"


def library_unproven(title: str, paths: Sequence[str]) -> str:
    """Return that nothing says whether libraries are the intended ones."""
    return (
        f"not proven: that {few(paths, 2)} is the intended {title}; name its folder under libraries of that stack in "
        "the system's file"
    )


def other_image(file: str, first: tuple[str, int], other: tuple[str, int]) -> str:
    """Return that the image differs between two nodes, each with the size there in bytes."""
    how = f"has {first[1]} bytes on {first[0]} and {other[1]} on {other[0]}"
    if first[1] == other[1]:
        how = f"of {first[0]} differs from that of {other[0]}, of the same size, in its first 64 KiB"
    return f"the image {file} {how}, expected the same image on all nodes"
