"""Which runs of a side left a rail idle on every node: what they show is not what so many rails do."""

from collections.abc import Sequence

from railyard.bounds import COLLECTIVE_SHARE
from railyard.recordform import Record
from railyard.wording import listing


def idle(record: Record) -> tuple[str, ...]:
    """Return the meant rails that carried under 5 % of every node's bytes; () of one rail, or where it is not known."""
    proof = record.path_proof
    nodes = () if proof is None else proof.nodes
    shares = [{rail.device: rail.share for rail in node.rails if rail.meant} for node in nodes]
    if not shares or len(shares[0]) < 2:
        return ()
    return tuple(rail for rail in shares[0] if all(_is_idle(each.get(rail)) for each in shares))


def remark(name: str, records: Sequence[Record]) -> str | None:
    """Return the sentence of a side, such as "A", whose runs left rails idle; None where all were used."""
    found = [rails for record in records if (rails := idle(record))]
    if not found:
        return None
    named = listing(sorted({one for each in found for one in each}))
    return (
        f"on {name} {named} idled in {len(found)} of {len(records)} runs, on every node: their figures are of the rest"
    )


def _is_idle(share: float | None) -> bool:
    return share is not None and share < COLLECTIVE_SHARE.value
