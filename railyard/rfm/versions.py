"""What differs between the releases of ReFrame that Railyard works with: every other module takes these names here."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import reframe
from reframe.core import builtins, pipeline
from reframe.utility import import_module_from_file

from railyard.site.reframe_versions import ABSOLUTE_BOUNDS, CHOSEN_PARAMETERS, POLLING, has

VERSION: str = reframe.VERSION

#: The base of a class that adds variables and hooks to tests: up to 4.8 it had another name.
Plugin: Any = getattr(pipeline, "RegressionTestPlugin", None) or pipeline.RegressionMixin


class _TypedParameter(builtins.parameter):
    """A parameter that takes ``type`` as from 4.9 on; only `-P` asks for it, which older releases lack."""

    def __init__(self, values: Any = None, *, type: Any = None, **options: Any) -> None:
        super().__init__(values, **options)
        self.type = type


typed_parameter: Any = builtins.parameter if has(VERSION, CHOSEN_PARAMETERS) else _TypedParameter

#: The setting of how often a job is polled at least, per second: other releases refuse the key.
POLL_SETTINGS: Mapping[str, float] = {"poll_rate_min": 4} if has(VERSION, POLLING) else {}

#: Whether the bounds around a reference of 0 are distances; older releases take them for none.
BOUNDS_AROUND_ZERO = has(VERSION, ABSOLUTE_BOUNDS)


def import_settings(path: str | Path) -> Any:
    """Import a settings file as ReFrame does: from 4.9 on after the packages that its folder is in."""
    with_parents = "load_parents" in inspect.signature(import_module_from_file).parameters
    return import_module_from_file(str(path), **({"load_parents": True} if with_parents else {}))


def resolved_references(test: Any) -> Any:
    """Return a test's references by system and partition; from 4.10 on an index may choose them."""
    resolve = getattr(test, "_resolve_reference", None)
    return test.reference if resolve is None else resolve()


def misses(values: Any) -> bool:
    """Return whether a figure of ``perfvalues`` misses its reference; its own result is there from 4.8 on."""
    if len(values) > 5:
        return bool(values[5] == "fail")
    value, reference, lower, upper = values[:4]
    least = None if lower is None else reference + abs(reference) * lower
    most = None if upper is None else reference + abs(reference) * upper
    return bool((least is not None and value < least) or (most is not None and value > most))
