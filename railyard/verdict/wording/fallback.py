"""The sentences about lines that say that a run left RDMA for TCP."""


def against_fallback(line: int, quoted: str) -> str:
    """Return that the figures speak against a line."""
    return f'line {line}, "{quoted}": small messages are faster than TCP can be, so it was RDMA'


def faster_than_tcp(line: int, quoted: str, means: str) -> str:
    """Return that a setting leaves a run only TCP, and that its figures are faster than TCP between two nodes."""
    return (
        f'line {line} says "{quoted}" ({means}), but small messages are faster than TCP between two nodes can be: the '
        "line is of another run or library, or both ranks shared a node; leave the line out if it is not this run's, "
        "and show where the ranks ran"
    )


def fallback_of_unknown(line: int, quoted: str, means: str) -> str:
    """Return a line by which a run over a network that nobody named left RDMA."""
    return f'line {line} says "{quoted}": {means} (if its network has RDMA, the run did not use it)'
