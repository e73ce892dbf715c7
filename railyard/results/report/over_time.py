"""A figure that changed over time, as a page shows it: its values run by run, where its level changed, and words."""

from dataclasses import dataclass

from markupsafe import Markup

from railyard.results.report.spread import timeline_svg


@dataclass(frozen=True, slots=True)
class OverTime:
    """One figure: for each run its value and whether it failed, the oldest first.

    ``marks`` are the first runs of new levels, ``changes`` have a kind (better, worse, different) and a sentence each,
    ``remarks`` say what was left out."""

    heading: str
    figure: str
    unit: str
    values: tuple[tuple[float, bool], ...]
    marks: tuple[int, ...]
    changes: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...] = ()

    @property
    def drawing(self) -> Markup:
        """Return the values as a drawing, with a line where the level changed."""
        return timeline_svg(self.values, self.unit, self.figure, self.marks)
