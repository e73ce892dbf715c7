"""The model of what a node computes with: ``nodes.hardware`` in systems/*.yaml."""

from pydantic import Field

from railyard.base.fields import Count, Model, Positive, Size


class NodeHardware(Model):
    """Cores and memory of every node, and the clocks that a peak is meant at; what is left out is not judged."""

    cores: Count = Field(description="Physical cores of a node that a job may use, one rank each")
    memory: Size = Field(description="What a job may use of a node's memory, bytes (192G is 192 GiB)")
    threads_per_core: Count | None = Field(
        default=None,
        description="Hardware threads of a core (2 with SMT, 1 without): with more than one, every job asks Slurm for "
        "one process or thread per core; left out, jobs with several of them on a node do",
    )
    base_ghz: Positive | None = Field(default=None, description="Clock at which the peak is meant: the base clock")
    turbo_ghz: Positive | None = Field(
        default=None, description="The highest clock of any core: nothing computes faster"
    )
    flop_per_cycle: Count | None = Field(
        default=None, description="Double precision, of one core: 16 for AVX2, 32 for AVX-512"
    )
    accelerator_gflop_s: Positive | None = Field(
        default=None, description="Peak of a node's accelerators together, if any"
    )

    def peak_gflop_s(self, ghz: float | None) -> float | None:
        """Return the peak of one node at a clock in GHz, Gflop/s in double precision; None where it is not known."""
        if ghz is None or self.flop_per_cycle is None:
            return None
        return self.cores * self.flop_per_cycle * ghz + (self.accelerator_gflop_s or 0.0)
