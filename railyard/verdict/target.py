"""What an output is held against: a fabric of a system with its references, or a link alone."""

from dataclasses import dataclass

from railyard.base.wording import counted
from railyard.benchmarks.model import BANDWIDTH, LATENCY, Benchmark, Metric
from railyard.hardware import limits
from railyard.job.case import Case
from railyard.job.launch import device_name
from railyard.site.references.load import Band, Bound, References, floor_band, scalar_band
from railyard.site.systems.model import Fabric
from railyard.site.test_id import TestId
from railyard.verdict.blame.search.bisection import STATIC_SHARE


@dataclass(frozen=True, slots=True)
class Target:
    """The hardware and references of one judgement.

    ``references`` None: no system is named, or it is report-only (``report_only`` says why), so that the limit and the
    floors of the link's class decide alone.
    """

    system: str
    fabric_name: str
    fabric: Fabric
    stack: str
    rails: int
    policy: str
    references: References | None
    report_only: str | None = None
    hops: int | None = None

    @property
    def rail_names(self) -> tuple[str, ...]:
        """The rails as a sentence names them."""
        if self.system:
            return tuple(device_name(rail) for rail in self.fabric.rails[: self.rails])
        return (self.fabric_name if self.rails == 1 else f"{self.rails} rails of {self.fabric_name}",)

    @property
    def described(self) -> str:
        """The target in a few words."""
        rails = counted(self.rails, "rail")
        if not self.system:
            slot = f" in {self.fabric.slot}" if self.fabric.slot else ""
            return f"{self.fabric_name}{slot}, {rails}"
        hops = "" if self.hops is None else f", hops {self.hops}"
        return f"{self.system}, fabric {self.fabric_name}, {self.stack}, {rails}, {self.policy}{hops}"

    def blocking(self, benchmark: Benchmark) -> float:
        """Return what half a network against the other half is blocked by: the fabric's figure for it, else 1."""
        return self.fabric.blocking if benchmark.of_halves else 1.0

    def bands(self, benchmark: Benchmark, metric: Metric, limit: limits.Limit | None) -> tuple[Band, ...]:
        """Return what the references hold a metric to. Raises RailyardError where an entry counts other directions."""
        assert self.references is not None
        return self.references.bands(
            TestId(self.fabric_name, self.stack, self.rails, benchmark.key, policy=self.policy),
            metric,
            limit.value_mb_s if limit else None,
            blocking=self.blocking(benchmark),
            hops=self.hops,
        )

    def floors(
        self, benchmark: Benchmark, metric: Metric, limit: limits.Limit | None, from_device: bool
    ) -> tuple[Band, ...] | str:
        """Return the floors of the link's class as bands, or the sentence "not judged: …" where it has none.

        ``limit``: the link's for this metric, in MB/s; None where no link bounds it. ``from_device``: the buffers lie
        in the memory of an accelerator.
        """
        link, streaming = self.fabric.link, metric.shape == "stream"
        if not benchmark.of_link:
            return self._floor_of_halves(benchmark, limit)
        if metric.name == BANDWIDTH:
            bands = [
                floor_band(f"class:{link.name}", floor)
                for floor in limits.class_floors(link, metric.directions, streaming)
            ]
            floor = limits.day_one_floor(link, limit, metric.directions, streaming)
            if isinstance(floor, str):
                return tuple(bands) or floor
            return (*bands, floor_band("day-one", floor))
        if metric.name != LATENCY or not benchmark.pingpong:
            return f"not judged: no floor of a link holds for {metric.name} of {benchmark.key}"
        if from_device:
            return "not judged: no day-one latency has a source for buffers in device memory"
        ceiling = limits.day_one_latency(link)
        if isinstance(ceiling, str):
            return ceiling
        head = ("day-one", "class", LATENCY, "us", ceiling.source)
        return (scalar_band(*head, Bound(None, ceiling.value_us, None), (None, ceiling.up_to_bytes)),)

    def _floor_of_halves(self, benchmark: Benchmark, limit: limits.Limit | None) -> tuple[Band, ...] | str:
        """Return the floor of half a network against the other half, or "not judged: …" for what no link sets alone.

        A healthy network with static routes gives no more over random halves (Hoefler et al. 2008).
        """
        if not benchmark.of_halves:
            return f"not judged: no link sets what {'memory gives' if benchmark.within_node else 'all ranks share'}"
        if limit is None:
            return "not judged: no limit known for the link"
        blocked = self.blocking(benchmark)
        source = f"{STATIC_SHARE:.0%} of {limit.value_mb_s:.1f} MB/s, what static routes leave of random halves"
        floor = limits.LinkFloor(
            STATIC_SHARE * limit.value_mb_s / blocked,
            limits.DAY_ONE_FROM_BYTES,
            source + (f"; blocking {blocked:g}" if blocked > 1 else ""),
        )
        return (floor_band("day-one", floor),)


def of_case(case: Case) -> Target:
    """Return what a run is held against: its system's references, or the link's class where it is report-only."""
    system = case.site.system
    return Target(
        system.system,
        case.fabric,
        system.fabrics[case.fabric],
        case.stack,
        case.rails,
        case.test.policy,
        case.site.references if system.report_only is None else None,
        report_only=system.report_only,
        hops=case.hops,
    )
