"""Rules 3 and 5 for collectives between GPUs: no row is above what is possible, and the curve is not too low.

Every row of both halves is judged, never the mean below them ("Avg bus bandwidth"): it mixes sizes whose time depends
on the start with sizes whose time depends on the links.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.bounds import (
    GPU_ALL_NICS_SHARE,
    GPU_DIP_FROM,
    GPU_DIP_SHARE,
    GPU_FLOOR_FROM,
    GPU_FLOOR_NODES,
    GPU_FLOOR_SHARE,
    GPU_SHORT_DIP_FROM,
    GPU_SHORT_DIP_SHARE,
    GPU_SHORT_TIMES,
)
from railyard.benchmarks.gpu_collectives import (
    COLLECTIVES,
    BusbwBound,
    JudgedRow,
    PossibleResult,
    busbw_bounds,
    judge_possible,
    own_nics,
)
from railyard.hardware.gpu_nodes import GpuNode, Shape
from railyard.parsers.nccl_said import Log
from railyard.parsers.nccl_words import GB
from railyard.site.references.transport_class import TransportClass
from railyard.verdict.class_standing import Standing, not_known, standing
from railyard.verdict.gpu.log_reading import without_nvls, without_reduction
from railyard.verdict.gpu.log_word import algorithm
from railyard.verdict.gpu.run import HALVES, GpuRun
from railyard.verdict.rule_model import RuleResult, fail_rule, not_judged, pass_rule
from railyard.verdict.wording import gpu_runs

#: The busbw of a table, for each half: size in bytes -> GB/s.
Curves = Mapping[str, Mapping[int, float]]
#: The same with every row: two may have one size, if sizes were rounded to a multiple of the ranks.
Rows = Mapping[str, Sequence[tuple[int, float]]]
#: The last place of a printed busbw, in GB/s.
_LAST_PLACE_GB_S = 0.01
#: Cards for a slot, whose names differ from those on a board with NVLink: H100 PCIe, H200 NVL, A100-PCIE-40GB.
_CARD = re.compile(r"(?<![A-Za-z0-9])(?:PCIe|NVL)(?![A-Za-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _JudgedRow:
    """A row with its judgement, and what says which algorithm it used."""

    size: int
    half: str
    value: float
    judged: PossibleResult
    said: str


def possible(run: GpuRun, printed: Rows, log: Log | None) -> RuleResult:
    """Return rule 3: each row against the bounds of the algorithms that the nodes can use, or of the known one.

    If the output does not name the algorithm, the sentence names those that are possible and those that are ruled out.
    """
    if run.shape is None:
        return not_judged(3, run.unknown)
    shape, no_plugin = without_reduction(log, run.shape)
    shape, no_nvls = without_nvls(log, shape)
    off = no_plugin + no_nvls
    rows = [_row(run, shape, half, *each, log) for half, found in printed.items() for each in found]
    if not rows:
        return not_judged(3, gpu_runs.no_busbw())
    impossible = [row for row in rows if row.judged.state == "impossible"]
    if impossible:
        wrong = max(impossible, key=lambda row: row.value)
        sentence = f"{_format_row(wrong)}{wrong.judged.sentence}{wrong.said}{off}"
        return fail_rule(3, sentence, "set-up", gpu_runs.look_at_nodes())
    unknown = next((row for row in rows if row.judged.state == "not-judged"), None)
    if unknown is not None:
        return not_judged(3, f"{_format_row(unknown)}{unknown.judged.reason}{unknown.said}")
    best = max(rows, key=lambda row: row.value)
    which = _which(best.judged) if not best.said else ""
    return pass_rule(3, f"{_format_row(best)}{best.judged.sentence}{best.said}{which}")


def unlisted_nics(run: GpuRun, printed: Rows, few: tuple[str, int, int] | None) -> RuleResult | None:
    """Return rule 5 not judged, since the NICs that the log lists for a host cannot carry what the output shows.

    ``few`` is that host, with how many it lists, and the line. None if they can carry it. In a log of some processes
    others may have the other NICs; but the output is also like this if it shows another run, or fewer nodes.
    """
    if few is None or run.shape is None or run.shape.node.network is None:
        return None
    host, count, line = few
    node = run.shape.node
    network = replace(run.shape.node.network, value_mb_s=run.shape.node.network.value_mb_s * count / node.nics)
    shape = replace(run.shape, node=replace(node, nics=count, network=network, nics_of_gpu=1))
    above = [
        row
        for half, found in printed.items()
        for each in found
        if (row := _row(run, shape, half, *each, None)).judged.state == "impossible"
    ]
    if not above:
        return None
    row = max(above, key=lambda each: each.value)
    return not_judged(
        5,
        gpu_runs.more_than_listed(row.value, row.size, host, count, node.nics, line),
    )


def reference(run: GpuRun, curves: Curves, of: TransportClass | None, log: Log | None) -> tuple[RuleResult, Standing]:
    """Return rule 5, and how the curve compares with the published numbers of its class.

    It fails for a dip, for a curve that falls, for halves that differ, for a peak below the floor of healthy nodes, and
    for values below the published numbers. What a vendor demands does not count. It is not judged if nothing is known
    of such nodes.
    """
    standing = _standing(run, curves, of, log)
    wrong = unlike_healthy(run, curves)
    if wrong is not None:
        return wrong, standing
    if of is not None:
        return _within_domain(run, _compare_among(run, of, standing)), standing
    if run.shape is not None and (why := _why_no_floor(run, curves)) is not None:
        return not_judged(5, gpu_runs.suggest_class(why)), standing
    return like_healthy(run, curves), standing


def like_healthy(run: GpuRun, curves: Curves) -> RuleResult:
    """Return whether a curve without a dip or a fall is above the floor of healthy nodes; not judged without one."""
    why = _why_no_floor(run, curves)
    if why is not None or run.shape is None:
        return not_judged(5, why or run.unknown)
    size, value = _peak(curves)
    least = _floor_bound(run.collective, run.shape)
    idle = None if COLLECTIVES[run.collective].point_to_point else _idle(run.shape.node, least, value)
    if idle is not None:
        return not_judged(5, idle)
    alone = _lone_peak(curves, least)
    if alone is not None:
        return not_judged(5, gpu_runs.alone_above_floor(value, size, alone))
    return pass_rule(5, gpu_runs.above_floor_of_healthy(value, size, least.text))


def unlike_healthy(run: GpuRun, curves: Curves) -> RuleResult | None:
    """Return why a curve is not one of healthy nodes, whatever is published of them; None if it may be one."""
    found = (_dip(curves), _below_floor(run, curves), _fall(curves), _unlike_halves(curves), _late_message(curves))
    wrong = next((each for each in found if each is not None), None)
    return None if wrong is None else _within_domain(run, wrong)


def _within_domain(run: GpuRun, result: RuleResult) -> RuleResult:
    """Return a result whose next look is not at the network if the run's bytes never left one node or domain."""
    shape = run.shape
    if result.state != "fail" or shape is None or shape.domains > 1 or shape.node.within_over_nics:
        return result
    return replace(result, look_at=gpu_runs.look_within_node(result.fault == "disturbed"))


def shows_dips(curves: Curves) -> bool:
    """Return whether each half has enough long messages to show a dip or a fall: three, one between two others."""
    return all(sum(size >= GPU_DIP_FROM.value for size in curve) > 2 for curve in curves.values())


def _row(run: GpuRun, shape: Shape, half: str, size: int, value: float, log: Log | None) -> _JudgedRow:
    named = algorithm(log, run.collective, size, shape)
    row = JudgedRow(value * GB, size, run.iterations)
    judged = judge_possible(run.collective, shape, row, None if named is None else named[0])
    return _JudgedRow(size, half, value, judged, "" if named is None else gpu_runs.in_brackets(named[1]))


def _format_row(row: _JudgedRow) -> str:
    return gpu_runs.at_row(row.size, row.half != HALVES[0])


def _which(judged: PossibleResult) -> str:
    """Return which algorithms may have been used, if none is ruled out and the output does not name one."""
    if judged.without or len(judged.with_) < 2:
        return ""
    return gpu_runs.possible_algorithms([each.algorithm for each in judged.with_])


def _standing(run: GpuRun, curves: Curves, of: TransportClass | None, log: Log | None) -> Standing:
    curve = next((curves[half] for half in HALVES if curves.get(half)), None)
    if of is None or curve is None or run.collective not in COLLECTIVES:
        return not_known(gpu_runs.nothing_to_compare())
    wrong = _why_not_of_class(run, of)
    if wrong is not None:
        return not_known(wrong)
    shape = run.shape
    named = {None if shape is None else _name(algorithm(log, run.collective, size, shape)) for size in curve}
    known = named.pop() if len(named) == 1 else None
    return standing(of, run.collective, curve, None if shape is None else shape.nodes, known)


def _name(found: tuple[str, str] | None) -> str | None:
    return None if found is None else found[0]


def _why_not_of_class(run: GpuRun, of: TransportClass) -> str | None:
    """Return why a run is not on nodes of this class: another GPU, or only some of the GPUs."""
    if run.gpu and not all(of.names(each) for each in run.gpu.split(", ")):
        return gpu_runs.other_gpu(run.gpu, of.name)
    if _CARD.search(run.gpu) and of.has.gpu_link is not None and not of.has.gpu_link.is_slot:
        return gpu_runs.card_without_switch(run.gpu, of.has.gpu_link.word, of.name)
    shape = run.shape
    if shape is None:
        return run.unknown
    if shape.gpus < of.has.gpus:
        return gpu_runs.some_gpus(shape.gpus, of.has.gpus)
    return None


def _compare_among(run: GpuRun, of: TransportClass, standing: Standing) -> RuleResult:
    look = gpu_runs.look_at_source()
    if standing.state in ("within", "above"):
        return pass_rule(5, standing.sentence)
    if standing.state == "below":
        nodes = [_nodes(of, number_id) for at in standing.sizes if at.state == "below" for number_id in at.of]
        if run.shape is not None and run.shape.nodes > max(nodes, default=0):
            return not_judged(5, gpu_runs.more_nodes(standing.sentence, max(nodes, default=0)))
        return fail_rule(5, standing.sentence, "reference", look)
    if standing.state == "impossible":
        return fail_rule(5, standing.sentence, "set-up", look)
    return not_judged(5, standing.why)


def _nodes(of: TransportClass, number_id: str) -> int:
    return next((each.nodes or 0 for each in of.numbers if each.id == number_id), 0)


def _dip(curves: Curves) -> RuleResult | None:
    """Return the failure if a long message is slower than both a shorter and a longer one, or a short one much slower
    than both its neighbours.
    """
    worst = _worst_dip(_find_dips(curves), GPU_DIP_SHARE.value)
    short = None if worst is not None else _worst_dip(_short_between(curves), GPU_SHORT_DIP_SHARE.value)
    found = worst or short
    if found is None:
        return None
    share, size, half, side = found
    sentence = gpu_runs.dip(curves[half][size], size, half != HALVES[0], share, side, short is not None)
    return fail_rule(5, sentence, "disturbed", gpu_runs.look_at_dip())


def _worst_dip(between: Iterable[tuple[str, int, float, float]], least: float) -> tuple[float, int, str, float] | None:
    """Return the lowest value as a share of what is beside it, with size, half and that; None if none is too low."""
    worst = min(((value / side, size, half, side) for half, size, value, side in between), default=None)
    return None if worst is None or worst[0] >= least else worst


def _short_between(curves: Curves) -> Iterator[tuple[str, int, float, float]]:
    """Yield each shorter message with the lower value of its two neighbours."""
    for half, curve in curves.items():
        sizes = sorted(curve)
        for before, size, behind in zip(sizes, sizes[1:], sizes[2:], strict=False):
            side = min(curve[before], curve[behind])
            if GPU_SHORT_DIP_FROM.value <= size < GPU_DIP_FROM.value and side > 0:
                yield half, size, curve[size], side


def _fall(curves: Curves) -> RuleResult | None:
    """Return the failure if long messages are slower than shorter ones, and no longer one is fast again."""
    worst: tuple[float, int, str, int] | None = None
    for half, curve in curves.items():
        sizes = [size for size in sorted(curve) if size >= GPU_DIP_FROM.value]
        for place, size in enumerate(sizes):
            if place and size >= GPU_FLOOR_FROM.value:
                best = max(sizes[:place], key=lambda each: curve[each])
                rest = max(curve[each] for each in sizes[place:])
                if 0 < curve[best] and rest < GPU_DIP_SHARE.value * curve[best]:
                    found = (curve[size] / curve[best], size, half, best)
                    worst = found if worst is None else min(worst, found)
    if worst is None:
        return None
    share, size, half, best = worst
    sentence = gpu_runs.fall(curves[half][size], size, half != HALVES[0], share, curves[half][best], best)
    return fail_rule(5, sentence, "disturbed", gpu_runs.look_at_fall())


def _unlike_halves(curves: Curves) -> RuleResult | None:
    """Return the failure if a long message is much slower in one half of its row than in the other."""
    one, other = (curves.get(half, {}) for half in HALVES)
    both = [size for size in one if size in other and size >= GPU_FLOOR_FROM.value and max(one[size], other[size]) > 0]
    worst = min(((_lower_share(one[size], other[size]), size) for size in both), default=None)
    if worst is None or worst[0] >= GPU_DIP_SHARE.value:
        return None
    share, size = worst
    halves: tuple[gpu_runs.Half, gpu_runs.Half] = ("out of place", "in place")
    slow, fast = halves if one[size] < other[size] else (halves[1], halves[0])
    low, high = sorted((one[size], other[size]))
    sentence = gpu_runs.different_halves(low, slow, size, share, high, fast)
    return fail_rule(5, sentence, "disturbed", gpu_runs.look_at_halves())


def _late_message(curves: Curves) -> RuleResult | None:
    """Return the failure if a short message takes much longer than a longer one, in each half that has it."""
    times = [_times_of_longer(curve) for curve in curves.values() if curve]
    if not times:
        return None
    found = {size: min(each[size] for each in times) for size in set(times[0]).intersection(*times[1:])}
    size = max(found, key=lambda each: found[each], default=None)
    if size is None or found[size] < GPU_SHORT_TIMES.value:
        return None
    return fail_rule(5, gpu_runs.late_message(size, found[size], len(times) > 1), "disturbed", gpu_runs.look_at_dip())


def _times_of_longer(curve: Mapping[int, float]) -> dict[int, float]:
    """Return for each short size how many times as long it takes as the quickest longer one.

    A time is in proportion to size / busbw. The printed busbw of a short message has two places only: it may have been
    that much higher.
    """
    found, quickest = dict[int, float](), math.inf
    for size in sorted((size for size, value in curve.items() if value > 0), reverse=True):
        if size < GPU_SHORT_DIP_FROM.value and quickest < math.inf:
            found[size] = size / (curve[size] + _LAST_PLACE_GB_S / 2) / quickest
        quickest = min(quickest, size / curve[size])
    return found


def _lower_share(one: float, other: float) -> float:
    return min(one, other) / max(one, other)


def _find_dips(curves: Curves) -> Iterator[tuple[str, int, float, float]]:
    """Yield each long message between shorter and longer ones, with the lower of the values that both sides reach."""
    for half, curve in curves.items():
        sizes = [size for size in sorted(curve) if size >= GPU_DIP_FROM.value]
        for place in range(1, len(sizes) - 1):
            before = max(curve[size] for size in sizes[:place])
            behind = max(curve[size] for size in sizes[place + 1 :])
            if min(before, behind) > 0:
                yield half, sizes[place], curve[sizes[place]], min(before, behind)


def _floor_bound(collective: str, shape: Shape) -> BusbwBound:
    """Return the lowest bound of what NCCL does here: for point-to-point messages, only each GPU's own NICs count."""
    return own_nics(collective, shape) or busbw_bounds(collective, shape)[0]


def _peak(curves: Curves) -> tuple[int, float]:
    """Return the largest busbw of long messages with its size, from the lower half; of all messages if none is long.

    0 if there is none.
    """
    halves = [[(value, size) for size, value in curve.items()] for curve in curves.values()]
    long = [[each for each in half if each[1] >= GPU_FLOOR_FROM.value] for half in halves]
    value, size = min((max(half) for half in (long if any(long) else halves) if half), default=(0.0, 0))
    return size, value


def _why_no_floor(run: GpuRun, curves: Curves) -> str | None:
    """Return why no source gives a floor for such a run, or None."""
    shape = run.shape
    if shape is None:
        return run.unknown
    node = shape.node
    if not run.in_order:
        return gpu_runs.ranks_out_of_order()
    if not _has_published_kin(node):
        return gpu_runs.no_floor_of_nodes()
    if shape.domains > 1 and (why := _why_no_floor_of_network(node)) is not None:
        return why
    if shape.gpus < node.gpus:
        return gpu_runs.no_floor_of_gpus(shape.gpus, node.gpus)
    if shape.nodes > GPU_FLOOR_NODES.value:
        return gpu_runs.no_floor_of_many_nodes()
    least = _floor_bound(run.collective, shape)
    if math.isinf(least.busbw_mb_s):
        return gpu_runs.unknown_parts()
    of = COLLECTIVES[run.collective]
    no_source = of.rooted or of.name == "hypercube"
    if no_source or (of.point_to_point and least.limited_by == "NVLink" and node.may_lack_a_switch):
        return gpu_runs.no_floor_of_collective(of.name, not no_source)
    size, value = _peak(curves)
    # What is above the floor is healthy at any size. Short messages below it are not necessarily at fault.
    if size < GPU_FLOOR_FROM.value and value * GB < least.busbw_mb_s * GPU_FLOOR_SHARE.value:
        return gpu_runs.no_long_message()
    return None


def _idle(node: GpuNode, least: BusbwBound, value: float) -> str | None:
    """Return that some of a node's NICs may be idle: the value is above the floor, and they alone can show it."""
    share = value * GB / least.busbw_mb_s
    used = math.ceil(share * node.nics)
    if least.limited_by not in ("NIC", "slot") or share >= GPU_ALL_NICS_SHARE.value or used >= node.nics:
        return None
    return gpu_runs.nics_may_be_idle(value, share, least.text, used, node.nics)


def _lone_peak(curves: Curves, least: BusbwBound) -> str | None:
    """Return that most long messages are below the floor, although the fastest is above it; None if they are not.

    Healthy busbw levels out before such messages, so one high value among low ones says little about the nodes.
    """
    for curve in curves.values():
        long = {size: value for size, value in curve.items() if size >= GPU_FLOOR_FROM.value}
        low = {size: value for size, value in long.items() if value * GB < GPU_FLOOR_SHARE.value * least.busbw_mb_s}
        if 2 * len(low) > len(long):
            size = max(low)
            return gpu_runs.most_below_floor(len(low), len(long), low[size], size, least.text)
    return None


def _has_published_kin(node: GpuNode) -> bool:
    """Return whether there are published numbers of such nodes; for a bridge between two cards there are none."""
    nvlink = node.gpu_link is not None and node.gpu_link.word == "NVLink"
    return nvlink and node.gpus >= 4 and node.domain is None and not node.within_over_nics


def _why_no_floor_of_network(node: GpuNode) -> str | None:
    if node.network is None:
        return gpu_runs.unknown_nics()
    has_none = node.link is None or node.link.headers == "tcp"
    return gpu_runs.no_floor_of_network() if has_none else None


def _below_floor(run: GpuRun, curves: Curves) -> RuleResult | None:
    if _why_no_floor(run, curves) is not None or run.shape is None:
        return None
    size, value = _peak(curves)
    least = _floor_bound(run.collective, run.shape)
    share = value * GB / least.busbw_mb_s
    if share >= GPU_FLOOR_SHARE.value:
        return None
    sentence, brief = gpu_runs.below_floor(value, size, share, least.text), gpu_runs.brief_below_floor(value, share)
    return fail_rule(5, sentence, "fabric", gpu_runs.look_at_log(), brief=brief)
