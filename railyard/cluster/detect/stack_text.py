"""Writes the stacks of a new cluster's file: what was found, which benchmarks are missing, and what cannot run."""

from collections.abc import Collection, Iterator

from railyard.cluster.detect.detected_cluster import DetectedCluster
from railyard.cluster.detect.software import FoundStack
from railyard.cluster.detect.yaml_text import GUESSED, comment, scalar
from railyard.stacks.ask import why_not
from railyard.stacks.table import STACKS

#: Built if a stack has no benchmarks of its own: those that the everyday checks need.
SPACK_BENCHMARKS = ("osu", "imb")
#: Also built if a node's cores and memory are known, since its problem depends on them.
NEEDS_HARDWARE = "hpl"


def stacks_text(found: DetectedCluster, environments: Collection[str]) -> Iterator[str]:
    """Yield the lines below ``stacks:``; ``environments`` are the stacks whose benchmarks Spack builds."""
    listed = _usable_stacks(found)
    for stack in found.software.stacks:
        if stack not in listed:
            yield from comment(f"{stack.name} is there ({stack.how}), and nothing of it runs over these fabrics.", "  ")
    for doubt in found.software.doubts:
        yield from comment(f"{GUESSED}: {doubt}", "  ")
    for stack in listed:
        yield from _stack(stack, environments, found)
    if not any(STACKS[stack.name].is_mpi for stack in listed):
        yield from comment(f"{GUESSED}: no MPI was found on the search path or among modules: Spack builds one.", "  ")
        yield "  openmpi:"
        yield from _benchmark_lines(found)


def missing_parts(found: DetectedCluster, environments: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each missing thing without which benchmarks cannot run, whatever else the file says."""
    sentences = []
    if found.scheduler.name == "local":
        sentences.append(
            "no scheduler was found, so this system has one node and no test between nodes runs: run this on a "
            "host with the scheduler's commands, or try stacks only on this host with --system local"
        )
    for stack in _usable_stacks(found):
        if not stack.benchmarks and stack.name not in environments:
            sentences.append(
                f"{stack.name} has no benchmarks: none was found, and Spack builds none for it; build OSU or IMB with "
                f"its compiler wrapper and name them under benchmarks"
            )
    if found.software.spack is None and _is_built(found, environments):
        sentences.append(
            "Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it"
        )
    return tuple(sentences)


def _usable_stacks(found: DetectedCluster) -> tuple[FoundStack, ...]:
    """Return the stacks that can run over at least one of the fabrics."""
    kinds = {fabric.first.kind for fabric in found.fabrics}
    return tuple(
        stack for stack in found.software.stacks if any(why_not(stack.name, kind, 1) is None for kind in kinds)
    )


def _is_built(found: DetectedCluster, environments: Collection[str]) -> bool:
    listed = _usable_stacks(found)
    bare = any(not stack.benchmarks and stack.name in environments for stack in listed)
    return bare or all(not STACKS[stack.name].is_mpi for stack in listed)


def _stack(stack: FoundStack, environments: Collection[str], found: DetectedCluster) -> Iterator[str]:
    yield f"  {stack.name}:  # {stack.how}"
    if stack.module is not None:
        yield f"    modules: [{scalar(stack.module)}]"
    elif stack.prefix is not None:
        yield f"    prefix: {scalar(stack.prefix)}"
    if stack.benchmarks:
        yield "    benchmarks:"
        for tool, path in stack.benchmarks.items():
            yield f"      {tool}: {scalar(path)}"
        lacking = [tool for tool in SPACK_BENCHMARKS if tool not in stack.benchmarks]
        if lacking and STACKS[stack.name].is_mpi and stack.name in environments:
            yield from comment(
                f"Not found: {' and '.join(lacking)}. In place of these, `spack: {{benchmarks: [osu, imb]}}` builds "
                f"both.",
                "    ",
            )
    elif stack.name in environments:
        yield from comment(f"{GUESSED}: none of its benchmarks was found, so Spack builds them.", "    ")
        yield from _benchmark_lines(found)
    else:
        yield "    # No benchmarks of it were found, and no environment of Spack is for it: name them under benchmarks."


def _benchmark_lines(found: DetectedCluster) -> Iterator[str]:
    tools = [*SPACK_BENCHMARKS, *([NEEDS_HARDWARE] if found.node.processors else [])]
    yield "    spack:"
    yield f"      benchmarks: [{', '.join(tools)}]"
