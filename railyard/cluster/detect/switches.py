"""The leaf switches that the scheduler states: the text that a system's file can name, or why it is of no use."""

from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.detect.source import Source
from railyard.parsers import slurm_topology
from railyard.parsers.slurm_topology import Place

SLURM_TOPOLOGY = ("scontrol", "show", "topology")
#: What a line with switches begins with; others are an answer without switches.
HEADS = ("SwitchName=", "BlockName=", "AggregatedBlock=")


@dataclass(frozen=True, slots=True)
class StatedSwitches:
    """What Slurm prints of its topology: ``words`` say how much; ``doubt`` is why no system's file can name it."""

    text: str
    words: str
    doubt: str | None = None


def slurm_switches(source: Source, nodes: int | None) -> StatedSwitches | None:
    """Return the leaf switches by ``scontrol show topology``; None if it has none, or only one.

    ``nodes`` is how many nodes jobs use; None if that is not known.
    """
    said = source.run(*SLURM_TOPOLOGY) or ""
    text = "".join(f"{line.strip()}\n" for line in said.split("\n") if line.startswith(HEADS))
    try:
        leaves = slurm_topology.parse(text, " ".join(SLURM_TOPOLOGY), _includes_nothing).leaves if text else ()
    except InputError as error:
        return StatedSwitches(text, "", str(error))
    if len(leaves) < 2:
        return None
    at: dict[str, str] = {}
    doubt = None
    for leaf in leaves:
        twice = next((node for node in leaf.nodes if at.setdefault(label(node), leaf.name) != leaf.name), None)
        if twice is not None:
            doubt = f"{twice} is at {at[label(twice)]} and at {leaf.name}: if each rail has its own, say whose they are"
            break
    if doubt is None and nodes is not None and len(at) < nodes:
        doubt = f"{count_of(len(at), 'node')} at leaf switches, and jobs have {nodes}"
    return StatedSwitches(text, f"{count_of(len(at), 'node')} at {len(leaves)} leaf switches or blocks", doubt)


def _includes_nothing(name: str, place: Place) -> tuple[str, str]:
    raise place.error(f"an Include of {name}", "the lines themselves")
