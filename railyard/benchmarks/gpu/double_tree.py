"""The two trees over nodes along which NCCL's tree algorithm reduces and broadcasts, each with half of the bytes.

In one tree the even nodes are inner nodes, in the other the odd ones, so no node has to send twice as much as another.
Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
Parallel Computing 35 (2009), pages 581-594; NCCL builds the same trees (src/graph/trees.cc). With an odd number of
nodes the second tree is the first one with each node moved by one; with an even number it is its mirror image.
"""

from functools import cache


def _parent(node: int, nodes: int) -> int | None:
    """Return the parent in the first tree; None for its root, node 0, which has one child.

    A node's height is the number of zeros at the end of its binary number. Its parent is the nearest number with the
    next height; of the two on both sides, the one that exists: 5 and 7 are below 6; 6 and 2 are below 4.
    """
    if node == 0:
        return None
    own = node & -node  # the lowest bit that is set
    wide = (node - own) | (own << 1)
    return wide if wide < nodes else node - own


@cache
def neighbours(nodes: int) -> tuple[tuple[int, int], ...]:
    """Return how many neighbours each node has in the first tree and in the second; (0, 0) for one node.

    A message of S bytes is reduced up and broadcast down: S/2 goes over each edge in each direction. So a node sends
    and receives S/2 per neighbour.
    """
    first = [0] * nodes
    for node in range(nodes):
        parent = _parent(node, nodes)
        if parent is not None:
            first[node] += 1
            first[parent] += 1
    second = [first[(node - 1) % nodes] if nodes % 2 else first[nodes - 1 - node] for node in range(nodes)]
    return tuple(zip(first, second, strict=True))
