"""The sentences about whether the intended program ran, and as one run."""

from collections.abc import Sequence

from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of


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
