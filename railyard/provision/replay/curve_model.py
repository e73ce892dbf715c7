"""A message's time as a function of its size that goes through published points: a model, not a measurement."""

from bisect import bisect_left
from dataclasses import dataclass

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
