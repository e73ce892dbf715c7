"""Outputs made from a system's published numbers: its references, as a benchmark would print them.

Between published points, a message's time is a function of its size that goes through them: a model, not a measurement.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from railyard.base.errors import RailyardError
from railyard.base.fields import Model, Name, Positive, Prose, Size
from railyard.base.strict_yaml import Document, load, validate
from railyard.base.values import show
from railyard.benchmarks.metrics import messages_a_time
from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import installed_name, nodes_of_key
from railyard.benchmarks.table.micro import find, metric
from railyard.benchmarks.table.nccl import part_of
from railyard.hardware.limits import Limit
from railyard.provision.replay import texts
from railyard.provision.replay.form import WORDS, Origin, Recording
from railyard.provision.replay.index import FOLDER, folder_of, recording_of
from railyard.provision.replay.texts import WRITERS, OutputPlan, text_of
from railyard.site.gpu_shape import limit_from_gpus
from railyard.site.matrix import Need, matrix, requested_needs
from railyard.site.references.band import BANDWIDTH_FROM_BYTES
from railyard.site.references.model import Names, Policies, Rails, is_for
from railyard.site.site import Site
from railyard.site.systems.fields import ANY, Benchmarks
from railyard.site.test_id import TestId, with_policy

FILE_NAME = "model.yaml"
#: Where stacks usually change from eager to rendezvous (UCX, Open MPI and MPICH: 8 to 64 KiB); no source prints it.
RENDEZVOUS_FROM_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class MessageTime:
    """Hockney's t(n) = t0 + n/B, with another t0 from the rendezvous switch on, corrected to meet every point.

    ``points`` are (size in bytes, time in us), sizes rising. At each point, the missing time is added. Between two
    points the addition is linear in n, below the first it falls to 0 at 0 B, above the last it stays the same. A rate
    is never above ``most_mb_s`` (bytes per us one way; None: no bound).

    Source: R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994) 389-398: N½ = t0 B.
    """

    start_us: float
    bandwidth_mb_s: float
    points: tuple[tuple[int, float], ...]
    most_mb_s: float | None = None

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.points]
        if sizes != sorted(set(sizes)):
            raise ValueError(f"sizes do not rise: {sizes}")
        if not (self.start_us > 0 and self.bandwidth_mb_s > 0 and all(time > 0 for _, time in self.points)):
            raise ValueError("a start, a bandwidth and times above 0 are needed")

    def time_at(self, size_bytes: int) -> float:
        """Return the time of one message in us."""
        for size, time in self.points:
            if size == size_bytes:
                return time
        time = self._plain(size_bytes) + self._correction(size_bytes)
        least = size_bytes / self.most_mb_s if self.most_mb_s else 0.0
        return max(time, least, self.start_us / 2)

    def _plain(self, size: int) -> float:
        switched = self.start_us if size >= RENDEZVOUS_FROM_BYTES else 0.0
        return self.start_us + switched + size / self.bandwidth_mb_s

    def _correction(self, size: int) -> float:
        if not self.points:
            return 0.0
        known = [(0, 0.0), *((at, time - self._plain(at)) for at, time in self.points if at > 0)]
        if self.points[0][0] == 0:
            known[0] = (0, self.points[0][1] - self._plain(0))
        place = bisect_left([at for at, _ in known], size)
        if place == len(known):
            return known[-1][1]
        (left, low), (right, high) = known[place - 1], known[place]
        return low + (high - low) * (size - left) / (right - left)


class ModelCurve(Model):
    """Points of a curve, or the one figure of an application.

    Points are in MB/s (both directions summed, as the benchmark prints them) or us. ``figure`` is in the metric's unit
    (Gflop/s, s) and normalised, so nobody can take it for a published value.
    """

    id: Name
    fabric: Name
    stack: Names = (ANY,)
    rails: Rails = ()
    policy: Policies = (ANY,)
    benchmark: Benchmarks
    metric: Literal["bandwidth", "latency", "performance", "runtime"]
    curve: dict[Size, Positive] | None = Field(None, min_length=1)
    figure: Positive | None = Field(None, description="In place of a curve: what an application prints")
    repeats: tuple[Positive, ...] = Field(
        (), description="Factors of the values in the runs of --repeat, in their order; left out: it cannot be repeated"
    )


class ModelFile(Model):
    """The model of one system; ``says`` is the statement that its curves were drawn to keep."""

    system: Name
    says: Prose
    curves: tuple[ModelCurve, ...] = Field(min_length=1)


MADE_BY = "railyard record --published"
_LATENCY_KEYS = ("osu/osu_latency", "imb/PingPong", "netpipe/pingpong", "perftest/ib_write_lat")
_STREAM_KEYS = ("osu/osu_bw", "imb/Uniband", "netpipe/stream", "perftest/ib_write_bw")
#: A model's start time of a message if the source prints no latency of the fabric: for verbs and for sockets.
_START_US = {"tcp": 20.0}
_START_ELSEWHERE_US = 2.0
#: Several messages in flight share their start; how many is not published.
_IN_FLIGHT = 4
#: Share of the physical limit if the source prints no bandwidth: about what a stream of the class reaches.
_SHARE_OF_LIMIT = 0.95
_BETTER = 1.005


@dataclass(frozen=True, slots=True)
class SkippedTest:
    """A test that can run but has no published number for an output, with the reason."""

    test: TestId
    reason: str


def published_outputs(
    site: Site, needs: tuple[Need, ...]
) -> tuple[tuple[tuple[Recording, str], ...], tuple[SkippedTest, ...]]:
    """Return the recording and text of each test for which the references have numbers, and the tests left out.

    If there is a model for a test (``model.yaml``), its points are added to the published ones, which have priority,
    and the output is called a model's. A test that the site's file switches off is in neither. The same references give
    the same bytes. Raises InputError for a wrong model.
    """
    asked = {need.check: need for need in requested_needs(site.system, needs)}
    made: list[tuple[Recording, str]] = []
    left: list[SkippedTest] = []
    curves = read_model(folder_of(site.home, site.system.system))
    for one in matrix(site.system, needs, site.references.has_number):
        if one.reason is not None:
            continue
        check = with_policy(one.test.check, one.test.policy if one.named else None)
        test = replace(one.test, check=check)
        try:
            made += _outputs(site, test, asked[one.test.check], curves)
        except RailyardError as error:
            left.append(SkippedTest(test, str(error)))
    return tuple(made), tuple(left)


def healthy(site: Site, test: TestId, sizes: tuple[int, ...]) -> MessageTime | None:
    """Return a message's time that meets all references of a system for a test; None if there are none.

    It is half a per cent better than they say, since the output is rounded, and a number may be a floor.
    """
    points, _ = _points(site, test, sizes)
    better = {size: time / _BETTER for size, time in points.items()}
    return _model(site, test, better) if better else None


def hold_bounds(site: Site, test: TestId, sizes: tuple[int, ...], times_us: tuple[float, ...]) -> tuple[float, ...]:
    """Return times that keep all bounds of a system's references for a test, including floors of the link's class."""
    found = list(times_us)
    for each in micro.find(test.benchmark).metrics:
        if each.name not in (BANDWIDTH, LATENCY):
            continue
        limit = _limit(site, replace(test, policy=""), each.directions)
        for band in site.references.bands(test, each, limit.value_mb_s if limit else None):
            for place, size in enumerate(sizes):
                bound = band.bound_at(size)
                if bound is None:
                    continue
                slowest, fastest = (bound.low, bound.high) if each.name == BANDWIDTH else (bound.high, bound.low)
                if slowest is not None:
                    found[place] = min(found[place], _time(test.benchmark, each.name, size, slowest) / _BETTER)
                if fastest is not None:
                    found[place] = max(found[place], _time(test.benchmark, each.name, size, fastest) * _BETTER)
    return tuple(found)


def figure(site: Site, test: TestId) -> float | None:
    """Return the references' figure for an application, made a little better; None if they have none."""
    metric = micro.find(test.benchmark).metrics[0]
    found = [values for _, values in _targets(site, test, test.benchmark, metric.name, (0,)) if values]
    if not found:
        return None
    value = next(iter(found[0].values()))
    return value / _BETTER if metric.better == "lower" else value * _BETTER


def _outputs(site: Site, test: TestId, need: Need, curves: tuple[ModelCurve, ...]) -> list[tuple[Recording, str]]:
    """Return a test's output, and one for each repeat in its model: ReFrame names these by number."""
    drawn = _curves_of_test(test, curves)
    factors = next((one.repeats for one in drawn if one.repeats), ())
    found = [_output(site, test, test, need, drawn, 1.0)]
    for number, factor in enumerate(factors):
        again = replace(test, check=f"{test.check} %.repeat_no={number}")
        found.append(_output(site, again, test, need, drawn, factor))
    return found


def _curves_of_test(test: TestId, curves: tuple[ModelCurve, ...]) -> list[ModelCurve]:
    return [one for one in curves if is_for(one, test)]


def _output(
    site: Site, recorded: TestId, test: TestId, need: Need, drawn: list[ModelCurve], factor: float
) -> tuple[Recording, str]:
    if micro.find(test.benchmark).is_application:
        return _figure_output(site, recorded, test, drawn, factor)
    if need.tool not in WRITERS:
        raise RailyardError(f"Railyard cannot write an output of {need.tool}, only of {', '.join(WRITERS)}")
    sizes = _sizes(need)
    points, entries = _points(site, test, sizes)
    source = f"references/{site.system.system}.yaml: {', '.join(entries)}" if entries else ""
    for one in drawn:
        for size, value in (one.curve or {}).items():
            points.setdefault(size, _time(test.benchmark, one.metric, size, value))
    if drawn:
        names = ", ".join(one.id for one in drawn)
        source = "; ".join(filter(None, (f"{FOLDER}/{site.system.system}/{FILE_NAME}: {names}", source)))
    if not points:
        raise RailyardError(f"references/{site.system.system}.yaml has no number for {test.benchmark} here")
    printed = tuple(sorted(size for size in points if size))
    metric = micro.find(test.benchmark).metrics[0]
    # The small messages of a ping-pong are its latency: if the source prints none, they are not published figures.
    has_start = metric.shape != "pingpong" or drawn or _published_start(site, test) is not None
    # Nor are those of a collective between GPUs: their start depends on the number of nodes.
    all_sizes = tuple(sorted({*sizes, *printed})) if has_start and not need.gpus else printed
    model = _model(site, test, points)
    origin: Origin = "model" if drawn else "computed"
    sentence = f"{WORDS[origin].removeprefix('replayed: ')}: {source}; t = t0 + n/B between the points"
    is_rate = any(one.metric == BANDWIDTH for one in drawn)
    times = tuple(model.time_at(size) / factor if is_rate else model.time_at(size) * factor for size in all_sizes)
    nodes, a_node = _crowd(site, test, need)
    made = OutputPlan(test.benchmark, all_sizes, times, sentence, ranks=nodes * a_node, passes=need.passes)
    text = text_of(replace(made, ranks_per_node=a_node if need.gpus else 1))
    return recording_of(recorded, text, origin, MADE_BY, source), text


def _crowd(site: Site, test: TestId, need: Need) -> tuple[int, int]:
    """Return an output's number of nodes and ranks per node: all GPUs, of all nodes if it spans all."""
    gpus = site.system.gpus if need.gpus else None
    if gpus is None:
        return 1, need.ranks
    nodes = site.system.nodes.number if need.all_nodes else need.nodes
    return nodes, 1 if part_of(test.benchmark).one_gpu else gpus.per_node


def _figure_output(
    site: Site, recorded: TestId, test: TestId, drawn: list[ModelCurve], factor: float
) -> tuple[Recording, str]:
    """Return the output of an application: its published or drawn figure, and the rest of the text to fit.

    Rates and times are multiplied by ``factor``.
    """
    value, source, origin, remark = _figure_of(site, test, drawn)
    sentence = f"{WORDS[origin].removeprefix('replayed: ')}: {source}; {remark}"
    nodes = nodes_of_key(test.benchmark)[1] or site.system.nodes.number
    name = installed_name(test.benchmark)
    if name is None:
        text = texts.application_text_of(test.benchmark, value * factor, nodes, sentence)
    else:
        text = texts.pattern_text(name, site.system.applications[name], value * factor, sentence)
    return recording_of(recorded, text, origin, MADE_BY, source), text


def _figure_of(site: Site, test: TestId, drawn: list[ModelCurve]) -> tuple[float, str, Origin, str]:
    """Return an application's figure, its source, its origin, and a remark on it."""
    metric = micro.find(test.benchmark).metrics[0].name
    file = f"references/{site.system.system}.yaml"
    found = [(entry, values) for entry, values in _targets(site, test, test.benchmark, metric, (0,)) if values]
    if found:
        entry, values = found[0]
        return next(iter(values.values())), f"{file}: {entry}", "computed", "the figure alone is published"
    one = next((one for one in drawn if one.figure is not None), None)
    if one is None or one.figure is None:
        raise RailyardError(f"{file} has no number for {test.benchmark} here")
    source = f"{FOLDER}/{site.system.system}/{FILE_NAME}: {one.id}"
    return one.figure, source, "model", "the figure is made, no source prints one"


def _time(key: str, metric: str, size: int, value: float) -> float:
    return messages_a_time(key) * size / value if metric == BANDWIDTH else value


def _sizes(need: Need) -> tuple[int, ...]:
    """Return the message sizes in bytes that a tool prints, from the check's smallest to its largest."""
    doublings = [1 << power for power in range(31)]
    if micro.tool(need.tool).sizes_a_doubling == 2:  # 1, 2, 3, 4, 6, 8, 12 …
        doublings += [3 << power for power in range(29)]
    return tuple(sorted(size for size in doublings if need.smallest <= size <= need.largest))


def _points(site: Site, test: TestId, sizes: tuple[int, ...]) -> tuple[dict[int, float], tuple[str, ...]]:
    """Return the references as times in us by message size, and their entries."""
    points: dict[int, float] = {}
    entries: list[str] = []
    for each in micro.find(test.benchmark).metrics:
        if each.name not in (BANDWIDTH, LATENCY):
            continue
        for entry, found in _targets(site, test, test.benchmark, each.name, sizes):
            entries.append(entry)
            for size, value in found.items():
                points.setdefault(size, _time(test.benchmark, each.name, size, value))
    return points, tuple(dict.fromkeys(entries))


def _targets(
    site: Site, test: TestId, key: str, metric: str, sizes: tuple[int, ...]
) -> list[tuple[str, dict[int, float]]]:
    """Return each entry's own numbers by size: its curve, or its value or floor at its smallest and largest size.

    The floors of the link's class are not published numbers, and a nominal upper limit is not a measured one.
    """
    each, test = micro.metric(key, metric), replace(test, benchmark=key)
    limit = _limit(site, test, each.directions) if metric == BANDWIDTH else None
    bands = site.references.bands(test, each, limit.value_mb_s if limit else None)
    found = []
    for band in bands:
        if band.kind == "class":
            continue
        ends = band.required_sizes or _ends(band.size_from, band.size_to, sizes)
        bounds = {size: band.bound_at(size) for size in ends}
        values = {size: bound.target or bound.low for size, bound in bounds.items() if bound is not None}
        known = {size: value for size, value in values.items() if value is not None}
        if known:
            found.append((band.entry_id, known))
    return found


def _limit(site: Site, test: TestId, directions: int) -> Limit | None:
    """Return the bound in MB/s that a verdict uses for a test; for messages from GPUs, their slots limit it too."""
    fabric, gpus = site.system.fabrics[test.fabric], site.system.gpus
    if gpus is not None and micro.find(test.benchmark).in_gpu:
        every = micro.find(test.benchmark).every_gpu
        return limit_from_gpus(gpus, fabric, test.rails, directions, policy=test.policy, every_gpu=every)
    return fabric.limit(test.rails, directions, policy=test.policy)


def _ends(first: int | None, last: int | None, sizes: tuple[int, ...]) -> tuple[int, ...]:
    inside = [size for size in sizes if size >= (first or 0) and (last is None or size <= last)]
    return (inside[0], inside[-1]) if inside else ()


def _model(site: Site, test: TestId, points: dict[int, float]) -> MessageTime:
    """Return the curve through the points; what the test's own entries lack comes from other entries of the fabric."""
    metric = micro.find(test.benchmark).metrics[0]
    rising = tuple(sorted(points.items()))
    bandwidth = _bandwidth(site, test)
    if metric.shape == "stream":
        start = _start(site, test) / _IN_FLIGHT
        size, time = rising[-1]
        if rising[0][0] > BANDWIDTH_FROM_BYTES:  # a single peak: a stream is level from there on
            rising = ((BANDWIDTH_FROM_BYTES, rising[0][1] * BANDWIDTH_FROM_BYTES / rising[0][0]), *rising)
        # t0 and the switch are two starts: B is chosen to meet the last point without a correction.
        rest = time - 2 * start
        most = max(at / took for at, took in rising)
        return MessageTime(start, size / rest if rest > time / 2 else most, rising, most)
    return MessageTime(min(_start(site, test), rising[0][1]), bandwidth, rising)


def _start(site: Site, test: TestId) -> float:
    """Return the latency of the smallest published message of this fabric, else that of its kind."""
    start = _published_start(site, test)
    return start or _START_US.get(site.system.fabrics[test.fabric].kind, _START_ELSEWHERE_US)


def _published_start(site: Site, test: TestId) -> float | None:
    """Return the latency of the smallest published message of this fabric and stack, in us; None without one."""
    for key in _LATENCY_KEYS:
        found = [points for _, points in _targets(site, test, key, LATENCY, (1, 2, 4))]
        if found:
            return min(value for points in found for value in points.values())
    return None


def _bandwidth(site: Site, test: TestId) -> float:
    """Return the largest published bandwidth of this fabric one way, else a share of its limit, in MB/s."""
    for key in _STREAM_KEYS:
        found = [points for _, points in _targets(site, test, key, BANDWIDTH, (1 << 20, 4 << 20))]
        if found:
            return max(value for points in found for value in points.values())
    limit = site.system.fabrics[test.fabric].limit(test.rails, 1, policy=test.policy)
    return _SHARE_OF_LIMIT * limit.value_mb_s if limit is not None else 1000.0


def read_model(folder: Path) -> tuple[ModelCurve, ...]:
    """Return the curves of a folder of recordings, none if it has no model.

    Raises InputError for any error in the file.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return ()
    document = load(path, f"{folder.parent.name}/{folder.name}/{FILE_NAME}")
    model = validate(ModelFile, document)
    if model.system != folder.name:
        raise document.error(("system",), show(model.system), f'"{folder.name}", the name of the folder')
    for index, curve in enumerate(model.curves):
        _check_kind(curve, index, document)
        sizes = list(curve.curve or ())
        if sizes != sorted(sizes):
            raise document.error(("curves", index, "curve"), "sizes that do not rise", "rising sizes")
        for benchmark in curve.benchmark:
            metric(benchmark, curve.metric)
    return model.curves


def _check_kind(curve: ModelCurve, index: int, document: Document) -> None:
    """Refuse a model without a figure for an application, without a curve for message sizes, or with both."""
    is_figure = all(find(benchmark).is_application for benchmark in curve.benchmark)
    if not is_figure and any(find(benchmark).is_application for benchmark in curve.benchmark):
        found, expected = "applications beside benchmarks of message sizes", "one kind, which figure or curve is for"
        raise document.error(("curves", index, "benchmark"), found, expected)
    wanted, other = ("figure", "curve") if is_figure else ("curve", "figure")
    if getattr(curve, wanted) is None or getattr(curve, other) is not None:
        found = f"a {other}" if getattr(curve, other) is not None else f"no {wanted}"
        raise document.error(("curves", index), found, f"a {wanted} alone, of {', '.join(curve.benchmark)}")
