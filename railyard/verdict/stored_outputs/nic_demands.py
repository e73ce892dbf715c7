"""What vendors and clouds demand of one NIC of a transport class, held beside a stored output of perftest.

A demand is never a verdict: whether a NIC is healthy is judged by its link, as with ``--link``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table import micro
from railyard.hardware import limits
from railyard.parsers.output import ParsedOutput
from railyard.parsers.perftest_formats import GBIT
from railyard.site.references.transport_class import NicThreshold, TransportClass
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import Judgement
from railyard.verdict.stored_outputs.target import of_link
from railyard.verdict.wording import weak_figures as words

_DEVICE = "/device"


def of_nic(of: TransportClass, parsed: ParsedOutput) -> Target | None:
    """Return one NIC of a class, by which an output of perftest is judged; None for any other output.

    Raises RailyardError if the class has no NICs, or if the output names a GPU of another class.
    """
    if not parsed.tables or not all(micro.tool(table.tool).between_nics for table in parsed.tables):
        return None
    if of.has.link is None:
        raise RailyardError(
            f"--class {of.name}: found an output of perftest, expected a class whose nodes have NICs; judge it with "
            "--link or --system"
        )
    for gpu in (table.context.get("gpu_name") for table in parsed.tables):
        if isinstance(gpu, str) and not of.names(gpu):
            expected = of.name.partition("-")[0].upper()
            raise RailyardError(f"--class {of.name}: found an output from {gpu}, expected {expected}")
    return of_link(of.has.link.name)


def with_demands(judgements: Sequence[Judgement], of: TransportClass) -> tuple[Judgement, ...]:
    """Return the judgements, each with a remark for every demand that a class has of one NIC."""
    return tuple(replace(each, remarks=(*each.remarks, *_demands(each, of))) for each in judgements)


def _demands(judgement: Judgement, of: TransportClass) -> Iterator[str]:
    key = judgement.benchmark or ""
    same = [each for each in of.nic_thresholds if _host(each.benchmark) == _host(key)]
    curve = next((each.curve for each in judgement.curves if each.curve.metric == BANDWIDTH), None)
    measured = {} if curve is None else dict(zip(curve.sizes, curve.values, strict=True))
    if not same:
        yield words.no_demand(of.name, key)
    for each in same:
        conditions = {name: str(value) for name, value in sorted((each.source.conditions or {}).items())}
        demand = words.NicDemand(str(each.whose), each.id, each.gbit_s, conditions, each.source.cite())
        yield words.say_demanded_of_nic(demand, of.name, _whether(each, key, measured), _most_if_less(each, of))


def _host(key: str) -> str:
    return key.removesuffix(_DEVICE)


def _whether(demanded: NicThreshold, key: str, measured: Mapping[int, float]) -> str:
    if demanded.benchmark != key:
        return words.demand_of_memory("device" if demanded.benchmark.endswith(_DEVICE) else "host")
    both = {size: value for size, value in demanded.gbit_s.items() if size in measured}
    if not both:
        return words.demand_of_other_sizes()
    return words.demand_reached(
        {size: measured[size] / GBIT for size, value in both.items() if measured[size] < value * GBIT}
    )


def _most_if_less(demanded: NicThreshold, of: TransportClass) -> float | None:
    """Return what a NIC of the class can reach at most, Gbit/s, if that is less than the demand; else None."""
    assert of.has.link is not None
    most = limits.limit(of.has.link, None, 1)
    if most is None or max(demanded.gbit_s.values()) * GBIT <= most.value_mb_s:
        return None
    return most.value_mb_s / GBIT
