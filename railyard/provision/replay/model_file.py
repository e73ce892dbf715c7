"""recordings/SYSTEM/model.yaml: curves that nobody measured, where a source says how curves relate and prints none."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from railyard.base.fields import Model, Name, Positive, Prose, Size, show
from railyard.base.strict_yaml import load, validate
from railyard.benchmarks.table.micro import metric
from railyard.site.references.model import ANY, Benchmarks, Names, Policies, Rails

FILE_NAME = "model.yaml"


class ModelCurve(Model):
    """Points of a curve, in MB/s (both directions summed, as the benchmark prints them) or us."""

    id: Name
    fabric: Name
    stack: Names = (ANY,)
    rails: Rails = ()
    policy: Policies = (ANY,)
    benchmark: Benchmarks
    metric: Literal["bandwidth", "latency"]
    curve: dict[Size, Positive] = Field(min_length=1)
    repeats: tuple[Positive, ...] = Field(
        (), description="Factors of the values in the runs of --repeat, in their order; left out: it cannot be repeated"
    )


class ModelFile(Model):
    """The model of one system; ``says`` is what its curves were drawn to keep."""

    system: Name
    says: Prose
    curves: tuple[ModelCurve, ...] = Field(min_length=1)


def read_model(folder: Path) -> tuple[ModelCurve, ...]:
    """Return the curves of a folder of recordings, none where it has no model.

    Raises InputError for whatever is wrong in the file.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return ()
    document = load(path, f"{folder.parent.name}/{folder.name}/{FILE_NAME}")
    model = validate(ModelFile, document)
    if model.system != folder.name:
        raise document.error(("system",), show(model.system), f'"{folder.name}", the name of the folder')
    for index, curve in enumerate(model.curves):
        sizes = list(curve.curve)
        if sizes != sorted(sizes):
            raise document.error(("curves", index, "curve"), "sizes that do not rise", "rising sizes")
        for benchmark in curve.benchmark:
            metric(benchmark, curve.metric)
    return model.curves
