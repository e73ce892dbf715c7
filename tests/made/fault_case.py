"""A row of a table of planted faults."""

import pytest
from _pytest.mark import ParameterSet


def fault(name: str, layer: str, planted: str, said: str, *values: object) -> ParameterSet:
    """Return pytest's parameters of one fault, with the marker from which docs/reference/faults.md has its row.

    ``name`` is the test's id; a test finds ``said`` in what it judges (fixture `promise`).
    """
    return pytest.param(*values, marks=pytest.mark.fault(layer, planted, said), id=name)
