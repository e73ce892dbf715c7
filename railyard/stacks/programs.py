"""Which programs belong to which stack: MPI programs to MPI libraries, clients and servers to stacks without MPI.

Programs that MPI starts but that measure another library (nccl-tests) belong only to that library.

An application that starts its own processes if there is no MPI can belong to both.
"""

from collections.abc import Collection, Iterable

from railyard.stacks.table import STACKS

#: Why an application that starts its own processes runs over one rail.
ONE_RAIL = "an application that starts its own processes is given one address per node"


def why_not_tool(stack: str, tool: str, pair: bool, starts_itself: bool = False) -> str | None:
    """Return None if a check of this tool can run with this stack, else the reason.

    ``pair``: the check's benchmark is a client and a server, not an MPI program. ``starts_itself``: it is an
    application that starts its own processes if there is no MPI.
    """
    entry = STACKS[stack]
    if (tool in entry.tools and pair == entry.pair) or (starts_itself and entry.addressed):
        return None
    if entry.by_mpi:
        return f"{stack} is not an MPI library: only its own benchmarks can use it ({', '.join(entry.tools)})"
    if starts_itself and entry.pair:
        others = [name for name, other in STACKS.items() if other.addressed]
        return f"{stack} has no MPI and no address to give to an application: use {' or '.join(others)}"
    if entry.tools:
        return f"{stack} has no MPI: its benchmarks are a client and a server ({', '.join(entry.tools)})"
    if not pair:
        libraries = [name for name, other in STACKS.items() if other.by_mpi and tool in other.tools]
        return (
            f"{tool} does not measure {stack} but another library: its stack is {' or '.join(libraries)}"
            if libraries
            else None
        )
    others = [name for name, other in STACKS.items() if tool in other.tools]
    return f"a client and a server of {tool} need no MPI: their stack is {' or '.join(others) or 'unknown'}"


def why_not_own(stack: str, rails: int, starts_itself: bool) -> str | None:
    """Return why an application cannot start its own processes over so many rails of this stack, or None."""
    return f"{ONE_RAIL}: one rail" if starts_itself and STACKS[stack].pair and rails > 1 else None


def tool_features(stack: str, tools: Iterable[str], applications: Collection[str] = ()) -> list[str]:
    """Return the features by which ReFrame's environment of a stack shows these tools, without those it cannot have.

    A client and server is not the same program as MPI's of the same name (NetPIPE), so it is another feature. So is an
    application (named in ``applications``) that starts its own processes.
    """
    entry = STACKS[stack]
    if not entry.pair:
        return sorted(tool for tool in tools if why_not_tool(stack, tool, pair=False) is None)
    there = sorted(tools)
    own = [own_feature(tool) for tool in there if entry.addressed and tool in applications]
    return [*(pair_feature(tool) for tool in there if tool in entry.tools), *own]


def pair_feature(tool: str) -> str:
    """Return the feature of a tool that is a client and a server."""
    return f"pair_{tool}"


def own_feature(tool: str) -> str:
    """Return the feature of an application that starts its own processes."""
    return f"own_{tool}"
