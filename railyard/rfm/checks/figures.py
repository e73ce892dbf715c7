"""The key figures of an assessment in ReFrame's form: performance variables, and what references assert about them."""

from railyard.benchmarks.curve import Figure
from railyard.verdict.assess import Assessment


def shown_figures(found: Assessment) -> list[tuple[str, float, str]]:
    """Return name, value and unit of each key figure, and of each curve's worst ratio and the size that has it."""
    figures = [(_name(figure), figure.value, figure.unit) for figure in found.figures]
    for curve in found.verdict.curves:
        if curve.percent_of_reference is not None and curve.percent_of_reference_size is not None:
            figures.append((f"{curve.metric}_percent_of_reference", round(curve.percent_of_reference, 2), "%"))
            figures.append((f"{curve.metric}_worst_at", curve.percent_of_reference_size, "B"))
    return figures


def asserted_bounds(found: Assessment) -> dict[str, tuple[float, float | None, float | None, str]]:
    """Return what the references assert about a figure at its own size, in ReFrame's form: the value is the bound."""
    asserted: dict[str, tuple[float, float | None, float | None, str]] = {}
    for figure in found.figures:
        metric = next(
            (m for m in found.inputs.metrics if figure.name == "peak" and m.declared.unit == figure.unit), None
        )
        if metric is None or figure.size is None:
            continue
        # Another size may hold a floor for the best of several sizes: ReFrame compares this one figure alone.
        bounds = [band.bound_at(figure.size) for band in metric.bands if band.covers(figure.size)]
        lows = [bound.low for bound in bounds if bound is not None and bound.low is not None]
        if lows:
            asserted[_name(figure)] = (max(lows), 0, None, figure.unit)
    return asserted


def _name(figure: Figure) -> str:
    """Return ReFrame's name of a key figure. ReFrame has no place for a mark, so the name says what was computed."""
    return f"{figure.name}_computed" if figure.computed else figure.name
