"""What the curves of a failed run look like: the sentences of ``causes`` for a run on real hardware."""

from railyard.benchmarks import metrics
from railyard.parsers.parsed import Table
from railyard.site.site import Site
from railyard.verdict.hints.causes import likely
from railyard.verdict.inputs import seen_in
from railyard.verdict.rules.model import MetricInput
from railyard.verdict.stored.target import Target


def likenesses(
    site: Site,
    fabric: str,
    stack: str,
    rails: int,
    policy: str,
    key: str,
    table: Table,
    judged: tuple[MetricInput, ...],
) -> tuple[str, ...]:
    """Return a sentence for each cause that a metric of this table looks like, each once; () where nothing matches.

    The rails of the virtual cluster are shaped at rates of no hardware, and one host has none: nothing is said there.
    """
    if site.system.provider not in ("nodes", "replay"):
        return ()
    system = site.system
    target = Target(system.system, fabric, system.fabrics[fabric], stack, rails, policy, site.references)
    seen = (seen_in(table, metrics.find(key), metric, target) for metric in judged if metric.measured is not None)
    return tuple(dict.fromkeys(cause.sentence for one in seen for cause in likely(one)))
