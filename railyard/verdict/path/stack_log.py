"""Which devices an MPI stack's own log says that it used, held against what the devices' counters saw.

Stacks say it only where they are told to (UCX_LOG_LEVEL, btl_base_verbose, I_MPI_DEBUG, PSM3_IDENTIFY: the table of
``railyard.stacks`` has variable and pattern). A log is what the stack believes; the counters decide. Where the two
disagree the verdict says who contradicts whom.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.wording import listing
from railyard.verdict.path.proof import PathProof

LONGEST = 2000
"""Characters of a line that is looked at: a stack's own lines are short."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a log names: ``devices`` in the order of the question, and the ``line`` that names the first of them."""

    devices: tuple[str, ...]
    line: str


def read(log: str, patterns: Mapping[str, str]) -> Said | None:
    """Return which devices a log names; None where it names none of them: then it says nothing.

    ``patterns``: a regular expression a device, such as ``stacks.device_patterns`` gives.
    """
    found: dict[str, str] = {}
    for line in log.splitlines():
        if len(found) == len(patterns):
            break
        if len(line) <= LONGEST:
            # Some patterns end with a blank, which at the end of a line is its newline.
            named = [name for name, pattern in patterns.items() if re.search(pattern, f"{line}\n")]
            found |= {name: line.strip() for name in named if name not in found}
    if not found:
        return None
    return Said(tuple(name for name in patterns if name in found), next(iter(found.values())))


def compared(proof: PathProof, log: str, patterns: Mapping[str, str], meant: Sequence[str]) -> PathProof:
    """Return a proof whose sentence says, too, where the log contradicts it or confirms what it found wrong."""
    said = read(log, patterns)
    told = [device for device in meant if device in patterns]
    remark = contradiction(said, told, proof) or agreement(said, told, proof)
    return proof if remark is None else replace(proof, sentence=f"{proof.sentence}; {remark}")


def contradiction(said: Said | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence where log and counters disagree; None where they agree, or where one of them is silent.

    ``meant`` are the devices that the run should have used.
    """
    if said is None or proof.state not in ("proven", "failed"):
        return None
    strangers = [device for device in said.devices if device not in meant]
    unnamed = [device for device in meant if device not in said.devices]
    if proof.state == "proven":
        if unnamed:
            only = listing(said.devices)
            return f"the stack's own log contradicts the counters: it names {only} alone ({_quoted(said)})"
        if strangers:
            return f"the stack's own log names {listing(strangers)} too, over which the counters saw no messages"
        return None
    if proof.fault != "set-up":
        return None
    if not strangers and not unnamed:
        return f"the counters contradict the stack's own log, which names {listing(said.devices)} ({_quoted(said)})"
    return None


def agreement(said: Said | None, meant: Collection[str], proof: PathProof) -> str | None:
    """Return the sentence of a log that says itself what the counters found wrong; None for any other."""
    if said is None or proof.state != "failed" or proof.fault != "set-up":
        return None
    if all(device in said.devices for device in meant) and all(device in meant for device in said.devices):
        return None
    return f"the stack's own log says so too: it names {listing(said.devices)} ({_quoted(said)})"


def _quoted(said: Said) -> str:
    return f'"{said.line[:120]}"'
