"""What is known about a benchmark's computation besides its figures. Only runs of that benchmark ask for it.

An entry names it as "module:name" of ``railyard.benchmarks.apps``, so that no other run imports it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from railyard.benchmarks.curve import Figure
from railyard.benchmarks.model import Benchmark
from railyard.parsers.parsed import Table


@dataclass(frozen=True, slots=True)
class Least:
    """Payload bytes of one node. ``split_bytes`` is the part of each way in messages of a threshold or more."""

    sent_bytes: int
    received_bytes: int
    split_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Physics:
    """Functions of a benchmark's key and of a run's tables.

    ``wrong``: line and sentence for each sign that it computed something else. ``remarks``: what a reader should know.
    ``figures``: what it gives besides its metrics. ``least``: the bytes that each node must move, from a table, the
    number of nodes, the ranks on each, and the size from which a message is split; () if there is no bound.
    """

    wrong: Callable[[str, Sequence[Table]], Sequence[tuple[int, str]]] = lambda key, tables: ()
    remarks: Callable[[str, Sequence[Table]], tuple[str, ...]] = lambda key, tables: ()
    figures: Callable[[Sequence[Table]], tuple[Figure, ...]] = lambda tables: ()
    least: Callable[[Table, int, int, int], tuple[Least, ...]] = lambda table, nodes, ranks_per_node, threshold: ()


_NOTHING = Physics()


def physics_of(benchmark: Benchmark) -> Physics:
    """Return the physics that the benchmark's entry names; if it names none, functions that say nothing."""
    if benchmark.physics is None:
        return _NOTHING
    module, _, name = benchmark.physics.partition(":")
    found = getattr(import_module(f"railyard.benchmarks.apps.{module}"), name)
    assert isinstance(found, Physics)
    return found
