"""Judges a sample of the pairs of nodes from its outputs: its options, what to measure next, and the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError
from railyard.parsers.output import Table
from railyard.site.topology import Places

if TYPE_CHECKING:
    from railyard.verdict.blame.screening.model import Network
    from railyard.verdict.blame.search.model import Step

#: The budget if none is given, and how long a round of it lasts, in seconds.
_BUDGET_S, _ROUND_S = 900.0, 0.3


@dataclass(frozen=True, slots=True)
class Sample:
    """The options of a sample; ``budget_s`` and ``round_s`` are seconds."""

    sample: bool
    budget_s: float | None
    round_s: float | None
    rails: str | None
    up_links: int | None
    nightly: int | None
    used: Path | None


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of ``15min``, ``15m``, ``1h30m``, ``900s`` or ``12.5s``."""
    from railyard.base.values import seconds

    if value is None:
        return None
    try:
        found = float(value.removesuffix("s"))
    except ValueError:
        try:
            found = seconds(value.replace("min", "m"))
        except ValueError:
            found = 0.0
    if not 0 < found < float("inf"):
        raise InputError(parameter.opts[0], f'"{value}"', "a time such as 15min, 1h30m or 900s")
    return found


_OPTIONS = (
    click.option("--sample", is_flag=True, help="The first output is a sample of the pairs, or will be one."),
    click.option("--budget", "budget_s", metavar="TIME", callback=duration, help="For a sample: its budget (15min)."),
    click.option("--round", "round_s", type=click.FloatRange(0, min_open=True), metavar="S",
                 help="For a sample: how long a round lasts, in seconds."),
    click.option("--rails", metavar="NAME,NAME", help="For a sample: the rails over which each value was measured."),
    click.option("--up-links", type=click.IntRange(1), help="For a sample: how many up-links a leaf switch has."),
    click.option("--nightly", type=click.IntRange(1), metavar="K",
                 help="For a sample: K partners of other leaves for each node, first those that it met least lately."),
    click.option("--used", type=click.Path(path_type=Path), metavar="FILE",
                 help="For a nightly sample: the pairs of earlier nights."),
)  # fmt: skip


def sample_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a sample."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


def next_of_sample(
    tables: Sequence[Table], first: Path | None, asked: Sample, expected: float | None, places: Places
) -> str:
    """Return what to measure next, as railyard-pairs reads it; empty if the verdict is reached.

    Raises InputError if the outputs are not those of a sample, and RailyardError if the budget is too small.
    """
    from railyard.verdict.blame import node_pair_sample
    from railyard.verdict.blame.search.model import PairsError, Step

    try:
        if first is not None:
            network = _network(_names(first), asked, expected, places)
            found = _nightly(network, asked) if asked.nightly else node_pair_sample.first_step(network, _budget(asked))
        else:
            network = _network(node_pair_sample.hosts_of_sample(tables), asked, expected, places)
            found = node_pair_sample.next_step(tables, network, _budget(asked), planned_here=not asked.nightly)
    except (ValueError, PairsError) as error:
        raise InputError(str(first or "the outputs"), str(error), "a sample, then the steps after it") from None
    return node_pair_sample.step_text(found) if isinstance(found, Step) else ""


def judged_sample(tables: Sequence[Table], asked: Sample, expected: float | None, places: Places) -> tuple[str, bool]:
    """Return what a sample and its later steps say, and whether all nodes are known to be good. Raises InputError."""
    from railyard.verdict.blame.search.model import PairsError
    from railyard.verdict.screened_pairs import SampleOrigin, screen_tables

    rails = tuple(asked.rails.split(",")) if asked.rails else ()
    kind = "nightly" if asked.nightly else "budget"
    try:
        came = screen_tables(
            tables, SampleOrigin(kind, _budget(asked), not asked.nightly), places, expected, rails, asked.up_links
        )  # fmt: skip
    except (ValueError, PairsError) as error:
        raise InputError("the outputs", str(error), "a sample, then the steps after it") from None
    said = came.screened.sentence
    if came.open_step is not None:
        return f"{came.not_measured} (`railyard pairs next --sample` prints it); {said}", False
    return said, not (came.screened.named or came.screened.unclear)


def _nightly(network: "Network", asked: Sample) -> "Step":
    from railyard.verdict.blame.screening.plan import partners
    from railyard.verdict.pair_coverage import used_of

    used = used_of(_read(asked.used), network.layout.nodes) if asked.used is not None else ()
    return partners(network, asked.nightly or 1, used, seed=datetime.now(timezone.utc).toordinal())


def _network(hosts: Sequence[str], asked: Sample, expected: float | None, places: Places) -> "Network":
    from railyard.verdict.blame.node_pair_sample import network_of

    return network_of(hosts, places, expected, asked.rails.split(",") if asked.rails else (), asked.up_links)


def _budget(asked: Sample) -> Any:
    from railyard.verdict.blame.screening.model import Budget

    return Budget(asked.budget_s or _BUDGET_S, asked.round_s or _ROUND_S)


def _names(file: Path) -> list[str]:
    return [line.strip() for line in _read(file).splitlines() if line.strip()]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            str(file), f"no readable file ({error.strerror})", "what a job of SampledPairs wrote"
        ) from None
