"""The model of a relation in references/*.yaml: what must hold between two curves of one run, or over repeats."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from railyard.base.fields import BenchmarkName, Count, Model, Name, Number, Prose, refuse
from railyard.site.references.fields import Fraction, Metric, Policy, Range, Source

Form = Literal["ratio", "ahead", "crossover", "difference", "same", "spread"]

LEAST_LAG = -0.5


def _lead(value: float) -> float:
    if not LEAST_LAG <= value <= 10:
        raise refuse(
            f"{value:g}", f"a fraction from {LEAST_LAG:g} to 10", "0.05 is 5 per cent, -0.05 lets it lag by as much"
        )
    return value


def _side_form(value: Any) -> str:
    return "(entry)" if isinstance(value, str) else "(side)"


class Side(Model):
    """Which tests of a run give a curve; a stack that is left out is any one, the same on both sides."""

    fabric: Name
    stack: Name | None = None
    rails: Count = 1
    policy: Policy = "any"
    benchmark: BenchmarkName
    metric: Metric | None = Field(None, description="Left out: the benchmark's first")

    @property
    def words(self) -> str:
        """The side in words: ``osu/osu_bw over 2 rails of qdr with mvapich2, striping``."""
        rails = "" if self.rails == 1 else f"{self.rails} rails of "
        stack = f" with {self.stack}" if self.stack else ""
        policy = "" if self.policy == "any" else f", {self.policy}"
        return f"{self.benchmark} over {rails}{self.fabric}{stack}{policy}"


AnySide = Annotated[Annotated[Name, Tag("(entry)")] | Annotated[Side, Tag("(side)")], Discriminator(_side_form)]


class Relation(Model):
    """What must hold between the curve ``of`` one side and that of another (``to``), at every size that both have.

    ratio: of / to lies within low … high. ahead: of is better than to, by at least ``by``, everywhere or somewhere.
    crossover: of is better up to between.from, to is better from between.to on. difference: of - to lies within
    low … high, in the metric's unit. same: they differ by at most ``within``. spread: (largest - smallest) / median of
    repeats is at most ``high``, or larger than that of ``to``.
    """

    id: Name
    says: Prose = Field(description="The relation in the words of a reader")
    form: Form
    of: AnySide = Field(description="An entry's id, or a side written out")
    to: AnySide | None = None
    sizes: Range = Range.model_validate({})
    low: Number | None = None
    high: Number | None = None
    by: Annotated[Number, AfterValidator(_lead)] | None = None
    where: Literal["everywhere", "somewhere"] | None = None
    between: Range | None = None
    within: Fraction | None = None
    source: Source
