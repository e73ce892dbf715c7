"""The placing part of every check: on which processors its processes run, and what is made of where they were."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import variable
from reframe.core.exceptions import ReframeError

from railyard.base.wording import listing
from railyard.rfm.checks.probe import Probing
from railyard.stacks.table import STACKS

if TYPE_CHECKING:
    from railyard.job.launch import Launch
    from railyard.job.node_facts import NodeFacts
    from railyard.job.placement import Side
    from railyard.verdict.assess import Assessment

COUNTERS = "counters"
#: The words of ``-S placement``.
_SIDES: "Mapping[str, Side | None]" = {"near": "near", "far": "far", "launcher": None}


class Placing(Probing):
    """Places the processes of InterconnectCheck, which declares what is named here."""

    #: Near the rails or far from them, in place of what the system's file says of the fabric (``-S placement=far``);
    #: ``launcher`` leaves processes where launcher and library put them.
    placement = variable(str, value="", loggable=True)
    within_node: Any
    _tag: str

    @property
    def threads_a_rank(self) -> int:
        """How many threads each rank has, each on a core of its own."""
        return 1

    @property
    def side(self) -> "Side | None":
        """Where processes are put, None for where the launcher puts them. Raises ReframeError for another word."""
        if self.placement not in ("", *_SIDES):
            raise ReframeError(f'-S placement: found "{self.placement}", expected {", ".join(_SIDES)}')
        own = self.site.system.fabrics[self.current_partition.name].placement
        return None if self.within_node else _SIDES.get(self.placement, own)

    def place_words(self, launch: "Launch") -> tuple[str, ...]:
        """Return the words of a shell that stand before the counter reader's, none where nothing is placed."""
        from railyard.job.placement import SCRIPT

        return () if self.side is None else (SCRIPT, self.side, ",".join(launch.meant), "--", "sh")

    def place_variables(self) -> dict[str, str]:
        """Return what keeps the library from binding the processes elsewhere when it starts."""
        return {} if self.side is None else dict(STACKS[self.current_environ.name].own_pinning)

    def write_place_script(self) -> None:
        """Put the script beside the job's own, where something is to be placed."""
        from railyard.job.placement import SCRIPT, place_script

        if self.side is not None:
            (Path(self.stagedir) / SCRIPT).write_text(place_script(), encoding="utf-8")

    def place_remarks(self, launch: "Launch") -> tuple[str, ...]:
        """Return what is said of a run that was placed in another way than the system's file says."""
        if not self.placement or self.side is None:
            return ()
        return (
            f"run {self.side} {listing(launch.meant)} (-S placement={self.placement}), against the same references",
        )

    def unplaced(self, launch: "Launch") -> str | None:
        """Return why the processes were not where they were to be; None where they were, or nothing was asked."""
        from railyard.job.placement import why_elsewhere, why_too_few

        side = self.side
        elsewhere = None if side is None else why_elsewhere(self._facts(), launch.nodes, side, launch.meant)
        # Our testbeds' nodes, and a single host's, share processors.
        if elsewhere is not None or self.threads_a_rank == 1 or self.site.system.provider != "nodes":
            return elsewhere
        return why_too_few(self._facts(), launch.nodes, self.threads_a_rank)

    def _placed(self, found: "Assessment") -> "Assessment":
        """Return the assessment with what the nodes said of processors and clocks, where that may be why it failed."""
        from railyard.job import placement
        from railyard.verdict.findings import with_placement

        remarks = placement.remarks(self._facts(), found.path.clocks_khz, found.case.launch.meant)
        return with_placement(found, remarks)

    def _facts(self) -> "list[NodeFacts]":
        from railyard.job import node_facts

        files = sorted((Path(self.stagedir) / COUNTERS).glob("*.facts"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        return [facts for text in texts if (facts := node_facts.parse(text, self._tag)) is not None]
