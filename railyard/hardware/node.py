"""The model of a node's processors and memory: ``nodes.hardware`` in systems/*.yaml."""

from pydantic import Field, ValidationInfo, field_validator

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Name, Positive, Size
from railyard.base.values import refuse, show
from railyard.hardware import processors


class NodeHardware(Model):
    """Cores and memory of every node, and the clocks that define its peak. What is left out is not judged."""

    cores: Count = Field(description="Physical cores of a node that a job may use, with one rank on each")
    memory: Size = Field(description="How much of a node's memory a job may use, bytes (192G is 192 GiB)")
    threads_per_core: Count | None = Field(
        default=None,
        description="Hardware threads per core (2 with SMT, 1 without). With more than one, every job asks Slurm for "
        "one process or thread per core. If it is left out, only jobs with several of them per node do",
    )
    sockets: Count | None = Field(
        default=None,
        description="Sockets of a node, each with as many of its cores. A rehearsal uses them; if left out: two, or "
        "one with few or an odd number of cores",
    )
    numa_domains: Count | None = Field(
        default=None,
        description="NUMA domains of a node, each with as many of its cores (`lscpu`). The trial of HPL's ranks and "
        "threads then also has one rank per domain",
    )
    microarchitecture: Name | None = Field(
        default=None,
        description="The processor as Spack and archspec name it: `spack arch -t` prints it on a node (neoverse_v2). "
        "Spack builds for it unless the overlay names a target. If left out, Spack builds for x86_64_v3, or on another "
        "machine for its family (aarch64)",
    )
    base_ghz: Positive | None = Field(default=None, description="Clock that defines the peak: the base clock")
    turbo_ghz: Positive | None = Field(default=None, description="Highest clock of any core: nothing computes faster")
    flop_per_cycle: Count | None = Field(
        default=None, description="Double precision, per core: 16 for AVX2, 32 for AVX-512"
    )
    accelerator_gflop_s: Positive | None = Field(
        default=None, description="Peak of all accelerators of a node together, if any"
    )

    @field_validator("sockets", "numa_domains")
    @classmethod
    def _check_parts(cls, parts: int | None, info: ValidationInfo) -> int | None:
        cores = info.data.get("cores")
        if parts is not None and cores is not None and cores % parts:
            what = (info.field_name or "").replace("numa_domains", "domains")
            raise refuse(show(parts), f"a number of {what} that have as many each of the {cores} cores")
        return parts

    @field_validator("microarchitecture")
    @classmethod
    def _check_microarchitecture(cls, name: str | None) -> str | None:
        if name is not None and not processors.is_known(name):
            near = did_you_mean(name, processors.names())
            raise refuse(
                show(name),
                "a processor as archspec names it",
                near if near.startswith("did") else "type: spack arch -t",
            )
        return name

    def peak_gflop_s(self, ghz: float | None) -> float | None:
        """Return the peak of one node at a clock in GHz, Gflop/s in double precision; None if it is unknown."""
        if ghz is None or self.flop_per_cycle is None:
            return None
        return self.cores * self.flop_per_cycle * ghz + (self.accelerator_gflop_s or 0.0)
