"""Which rail of a run in groups is slow, if each rail was measured with its GPU first: the rail, but not its node.

The GPUs with the same number on all nodes are a group with its own rail. The slowest node decides the group's figure.
So the rail is known, but not the node: pairs of nodes show that.
"""

import re
from collections.abc import Mapping, Sequence

from railyard.job.case import Case
from railyard.parsers import nccl
from railyard.parsers.nccl_words import GB
from railyard.parsers.output import ParseError, Table
from railyard.results.record.form import Suspect
from railyard.verdict.blame.search.robust import healthy
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.gpu.run import HALVES, curve
from railyard.verdict.wording import gpu_runs as words

#: A rail is slow if it is this far below: as for pairs of nodes without known leaf switches (``blame.search.model``).
SLOW = 0.10
#: Rails are compared with one another if there are at least this many.
LEAST_RAILS = 3
_GPU = re.compile(r"^# railyard: rail of GPU ([0-9]{1,4})$", re.MULTILINE)


def of_each(texts: Sequence[str]) -> Mapping[int, float]:
    """Return the busbw at the largest size in GB/s for each GPU that was first; without those that gave none."""
    found: dict[int, float] = {}
    for text in texts:
        said = _GPU.search(text)
        try:
            tables = nccl.parse(text).tables
        except ParseError:
            continue
        whole = [table for table in tables if table.complete]
        halves = [own for table in whole for half in HALVES if (own := curve(table, half))]
        if said is not None and len(whole) == 1 and halves:
            found[int(said[1])] = min(own[max(own)] for own in halves)
    return found


def groups_to_measure(tables: Sequence[Table], expected_mb_s: float) -> tuple[int, ...]:
    """Return the groups of a run that is slower than expected at its largest size, or has no value there."""
    found: list[int] = []
    for table in tables:
        groups = table.context.get("groups")
        halves = [own for half in HALVES if (own := curve(table, half))]
        rate = min((own[max(own)] for own in halves), default=0.0)
        if isinstance(groups, int) and rate * GB < expected_mb_s:
            found += range(groups)
    return tuple(dict.fromkeys(found))


def findings(case: Case, rates: Mapping[int, float]) -> Findings | None:
    """Return the rails that are slower than the others: None if too few were measured, nobody if all are alike."""
    if len(rates) < LEAST_RAILS:
        return None
    level, _ = healthy(list(rates.values()))
    slow = {gpu: rate for gpu, rate in rates.items() if rate < (1 - SLOW) * level}
    measured = sorted(rates.items())
    if not slow:
        return Findings((), words.alike_rails(measured), is_clear=True)
    suspects = tuple(
        Suspect("rail", words.slow_rail(rate, level, case.launch.nodes), None, _rail_of(gpu, case))
        for gpu, rate in sorted(slow.items())
    )
    rails = [(_rail_of(gpu, case), gpu) for gpu in sorted(slow)]
    return Findings(suspects, words.slow_rails(rails, measured), is_clear=True, look_at=words.look_at_pairs())


def _rail_of(gpu: int, case: Case) -> str:
    gpus = case.site.system.gpus
    near = {} if gpus is None else gpus.nearest
    own = [rail for rail in case.launch.meant if gpu in near.get(rail.partition(":")[0], ())]
    return words.one_of_rails(own, gpu)
