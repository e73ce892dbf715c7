"""Which benchmarks belong to which stack: MPI's programs to the MPI libraries, a client and a server to the others."""

from collections.abc import Iterable

from railyard.stacks.table import STACKS


def why_not_tool(stack: str, tool: str, pair: bool) -> str | None:
    """Return None where a check of this tool can be this stack's, else the reason.

    ``pair``: the check's benchmark is a client and a server, no MPI program.
    """
    own = STACKS[stack].tools
    if tool in own and pair:
        return None
    if own:
        return f"{stack} has no MPI: its benchmarks are a client and a server ({', '.join(own)})"
    if not pair:
        return None
    others = [name for name, other in STACKS.items() if tool in other.tools]
    return f"a client and a server of {tool} need no MPI: their stack is {' or '.join(others) or 'not known here'}"


def tool_features(stack: str, tools: Iterable[str]) -> list[str]:
    """Return how ReFrame's environment of a stack shows these tools, those that it cannot have left out.

    One that is a client and a server is another program than MPI's of the same name (NetPIPE), so another feature.
    """
    own = STACKS[stack].tools
    return [pair_feature(tool) for tool in sorted(tools) if tool in own] if own else sorted(tools)


def pair_feature(tool: str) -> str:
    """Return the feature of a tool that is a client and a server."""
    return f"pair_{tool}"
