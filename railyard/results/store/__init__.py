"""The results of all runs of a site: files of records are the truth, an index that may be thrown away answers fast."""

from railyard.results.store.finals import final
from railyard.results.store.index import COLUMNS
from railyard.results.store.query import Found, Run, RunSummary, Wanted, load, records, runs, runs_folder
from railyard.results.store.units import in_unit, unit_factor

__all__ = [
    "COLUMNS",
    "Found",
    "Run",
    "RunSummary",
    "Wanted",
    "final",
    "in_unit",
    "load",
    "records",
    "runs",
    "runs_folder",
    "unit_factor",
]
