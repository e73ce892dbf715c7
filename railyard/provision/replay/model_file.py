"""recordings/SYSTEM/model.yaml: curves that nobody measured; the source says how curves relate but prints none."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from railyard.base.fields import Model, Name, Positive, Prose, Size, show
from railyard.base.strict_yaml import Document, load, validate
from railyard.benchmarks.table.micro import find, metric
from railyard.site.references.model import ANY, Benchmarks, Names, Policies, Rails

FILE_NAME = "model.yaml"


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
