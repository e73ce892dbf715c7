"""The sentences about the program of a run: was it the intended one, run as one, on its ranks, threads and GPUs."""

from collections.abc import Sequence

from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, either, few, listing, number, percent, places
from railyard.job.environment import OtherLibrary, SetVariable
from railyard.job.mpi_identity import OtherLauncher, OtherMpi


def other_ranks(benchmark: str, ran: int, given: int) -> str:
    """Return that a program ran on another number of processes than it was given."""
    return f"{benchmark} ran on {ran} processes, but the launch gave it {given}"


def other_threads(
    benchmark: str, processes: str | float | None, threads: str | float | None, given: int, threads_each: int
) -> str:
    """Return that a program ran on other processes or threads than it was given; None: it does not print how many."""
    ran, in_all = ("an unknown number of" if each is None else str(each) for each in (processes, threads))
    return (
        f"{benchmark} ran on {ran} processes and {in_all} threads in all, but the launch gave {given} and "
        f"{given * threads_each}, {threads_each} each"
    )


def silent_nodes(tool: str, nodes: Sequence[str]) -> str:
    """Return which nodes gave no result of their own."""
    return f"{tool} gave no result on {listing(nodes)}"


def other_copies(tool: str, node: str, made: int | float, due: int, gpus: int) -> str:
    """Return that the GPUs of a node made another number of copies than those of the system's file would."""
    copies = f"{tool} on {node} made {made} copies, expected {due} with {gpus} GPUs"
    return f"{copies}: see nvidia-smi -L for a GPU that is gone"


def slow_copy(node: str, gpu: float | str | None, value_mb_s: float, fastest_mb_s: float, lanes: str) -> str:
    """Return that a copy is slower than on other nodes; ``gpu`` None: which one is not known.

    ``lanes``: which fewer lanes of its slot have that rate; empty if none.
    """
    which = "its slowest copy" if gpu is None else f"GPU {gpu} of {node}"
    alike = f"; looks like {lanes}, or like an older generation: see LnkSta in lspci -vv" if lanes else ""
    return f"{which}: {value_mb_s:.0f} MB/s, where the fastest copy of all nodes has {fastest_mb_s:.0f}{alike}"


def node_and_more(node: str, nodes: int) -> str:
    """Return the first of so many nodes, with how many more there are."""
    return node if nodes == 1 else f"{node} and {nodes - 1} more"


def unknown_threads(program: str, where: str) -> str:
    """Return that it is not known how many threads of a program worked."""
    return f"it is not known how many threads of {program} worked on {where}"


def unknown_threads_on(program: str, nodes: Sequence[str]) -> str:
    """Return on which nodes it is not known how many threads of a program worked."""
    return unknown_threads(program, listing(nodes))


def idle_threads(tool: str, where: str, busy: float, threads: int, least: float) -> str:
    """Return that most threads of a program were idle."""
    return (
        f"{busy:.1f} of {threads} threads of {tool} worked on {where}, expected at least {least:g}: OpenBLAS without "
        "threads (Spack: openblas threads=openmp)?"
    )


def idle_in_rank(benchmark: str, node: str, busy: float, threads: int, least: float) -> str:
    """Return that most threads of the first rank of a node were idle."""
    return (
        f"at most {busy:.1f} of {threads} threads of the first rank of {benchmark} on {node} worked, expected at least "
        f"{least:g}: a library without threads, or a rank bound to one core?"
    )


def stated_hardware(system: str) -> str:
    """Return where a site states what its nodes can compute."""
    return f"nodes.hardware of systems/{system}.yaml"


def peak_of(nodes: int, cores: int, flop_per_cycle: int, clock_ghz: float, accelerator_gflop_s: float) -> str:
    """Return the terms of what nodes compute at most; ``accelerator_gflop_s``: of each node's cards, 0 without."""
    cards = f" + {accelerator_gflop_s:g} Gflop/s" if accelerator_gflop_s else ""
    return f"{count_of(nodes, 'node')} of {cores} cores x {flop_per_cycle} flop x {clock_ghz:g} GHz (turbo){cards}"


def only_a_limit() -> str:
    """Return why a metric has no reference."""
    return "only a limit applies to it"


def slowest_node(node: str) -> str:
    """Return which of the nodes is the slowest."""
    return f"slowest: {node}"


def slow_alone(nodes: Sequence[tuple[str, float]], median: float, unit: str) -> str:
    """Return the nodes that are slower than the others, each with its value."""
    shown = places([f"{node} {number(value)}" for node, value in nodes])
    return f"slow alone: {shown} of {number(median)} {unit} (median)"


def small_problem(percent_of_peak: float, order: int, memory_share: float) -> str:
    """Return what HPL gave of the peak at the base clock, with the size that it had; ``memory_share``: 0 to 1."""
    return (
        f"{percent_of_peak:.1f} % of the peak at N {order}, {percent(memory_share)} of the memory: a larger problem "
        "gives more (-S Hpl.size=acceptance)"
    )


def short_run(benchmark: str, seconds: float, least_s: float, instead: str) -> str:
    """Return that a run measured mostly its start; ``instead`` says what runs longer."""
    return f"{benchmark} computed for {number(seconds)} s, expected at least {least_s:g} s: {instead}"


def quiet_networks(nodes: Sequence[str]) -> str:
    """Return that no network carried anything of a run within nodes."""
    return f"no network of {list_nodes(nodes)} carried more than the start of a job does"


def unknown_traffic(benchmark: str) -> str:
    """Return that no least of the bytes is known that a program moves."""
    return f"it is not known how much {benchmark} must move"


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
