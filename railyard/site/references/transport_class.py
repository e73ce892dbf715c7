"""references/classes/*.yaml: published and demanded numbers for one kind of node with GPUs and its network.

A class is a transport, not a number of GPUs: eight H100 with eight NDR400 cards are one class in every cluster.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from railyard.base.errors import InputError, RailyardError, did_you_mean
from railyard.base.fields import Count, Model, Name, Positive, Prose, Size
from railyard.base.strict_yaml import Document, load, validate
from railyard.base.values import refuse, show
from railyard.benchmarks.gpu_collectives import ALGORITHMS, COLLECTIVES, JudgedRow, judge_possible
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table import micro
from railyard.hardware.gpu_nodes import GpuNode, Shape, node_of_words
from railyard.site.references.load import resolve_sources
from railyard.site.references.model import Source

#: ``published``: measured. ``threshold``: somebody demands it; it is neither physics nor a measurement. ``bad-case``:
#: measured on a sick system, or not what its source says; kept as a warning, and nothing is compared with it.
NumberKind = Literal["published", "threshold", "bad-case"]


def _words(text: str) -> str:
    try:
        node_of_words(text)
    except RailyardError as error:
        raise refuse(show(text), "words of --nodes-have", str(error).partition('": ')[2]) from None
    return text


def _accept_one_of(known: Mapping[str, object], what: str) -> AfterValidator:
    def check(name: str) -> str:
        if name in known:
            return name
        raise refuse(show(name), what, did_you_mean(name, known))

    return AfterValidator(check)


def _curve(value: Any) -> Any:
    if isinstance(value, dict) and not value:
        raise refuse("no size", "at least one size with its busbw, such as {16G: 487.87}")
    return value


#: What perftest measures between two NICs, MB/s (10^6 B/s) one way; "/device": from and to the memory of GPUs.
_OF_NICS = tuple(
    key
    for key, benchmark in micro.BENCHMARKS.items()
    if micro.tool(benchmark.tool).between_nics and any(each.name == BANDWIDTH for each in benchmark.metrics)
)

NodeWords = Annotated[str, AfterValidator(_words)]
CollectiveName = Annotated[
    str, _accept_one_of(COLLECTIVES, "a collective of nccl-tests"), WithJsonSchema({"enum": list(COLLECTIVES)})
]
AlgorithmName = Annotated[
    str, _accept_one_of(ALGORITHMS, "an algorithm that Railyard knows"), WithJsonSchema({"enum": list(ALGORITHMS)})
]
Curve = Annotated[
    dict[Size, Positive],
    BeforeValidator(_curve),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}),
]


class Number(Model):
    """One published curve or figure: busbw in GB/s (10^9 B/s), as nccl-tests prints it."""

    id: Name
    collective: CollectiveName
    kind: NumberKind
    whose: Name | None = Field(None, description="Only of a threshold: who demands it")
    nodes: Count | None = Field(None, description="Number of nodes; left out if the source does not say")
    busbw: Curve | None = Field(None, description="Size in bytes (16G): busbw in GB/s")
    peak: Positive | None = Field(None, description="The largest busbw, if the source gives no sizes")
    mean: Positive | None = Field(
        None, description="The mean over all sizes (Avg bus bandwidth): it depends on the sizes, and is not compared"
    )
    algorithm: AlgorithmName | None = Field(
        None, description="The algorithm, if it was forced; left out if the library chose"
    )
    reason: Prose | None = Field(None, description="Only of a bad-case: why it is one")
    source: Source


NicBenchmark = Annotated[
    str,
    _accept_one_of(dict.fromkeys(_OF_NICS), "a bandwidth of perftest, such as perftest/ib_write_bw/device"),
    WithJsonSchema({"enum": list(_OF_NICS)}),
]


class NicThreshold(Model):
    """What somebody demands of one NIC, in Gbit/s (10^9 bit/s): a demand alone, neither physics nor a measurement."""

    id: Name
    benchmark: NicBenchmark = Field(description="What is measured; a key with /device is from the memory of GPUs")
    whose: Name = Field(description="Who demands it")
    gbit_s: Curve = Field(description="Size in bytes (8M): bandwidth in Gbit/s")
    source: Source


class TransportClass(Model):
    """What was published for one kind of node."""

    transport_class: Name = Field(alias="class", description="The name of the file, such as h100-8xndr400")
    description: Prose
    node: NodeWords = Field(
        description="What each node has, in the words of --nodes-have: gpus=8,nvlink=4,nics=8,link=ib-ndr"
    )
    sources: dict[Name, Source] = Field({}, description="Sources that several numbers name with source: {of: NAME}")
    numbers: tuple[Number, ...] = Field(min_length=1)
    nic_thresholds: tuple[NicThreshold, ...] = Field((), description="What is demanded of one NIC, with perftest")

    @property
    def name(self) -> str:
        return self.transport_class

    @property
    def has(self) -> GpuNode:
        """What each node has."""
        return node_of_words(self.node)

    def names(self, gpu: str) -> bool:
        """Return whether a GPU's name, as an output prints it (NVIDIA H100 80GB HBM3), is of this class."""
        mine = self.name.partition("-")[0]
        return re.search(rf"(?<![a-z0-9]){re.escape(mine)}(?![a-z0-9])", gpu.casefold()) is not None

    def of(self, collective: str) -> tuple[Number, ...]:
        """Return all numbers of a collective, including bad cases."""
        return tuple(number for number in self.numbers if number.collective == collective)


#: The fields of the file whose entries have sources.
_LISTS = ("numbers", "nic_thresholds")


def load_class(path: Path) -> TransportClass:
    """Return the class of one file. Raises InputError for any mistake in it, and for an impossible number."""
    document = resolve_sources(load(path, f"{path.parent.parent.name}/{path.parent.name}/{path.name}"), _LISTS)
    found = validate(TransportClass, document)
    if found.name != path.stem:
        expected = f'"{path.stem}", the name of the file'
        raise document.error(("class",), show(found.name), expected, f"rename the file to {found.name}.yaml")
    _check_ids(found, document)
    if found.nic_thresholds and found.has.link is None:
        what = "a demand of a NIC, where nodes have none"
        raise document.error(("nic_thresholds", 0), what, "nics and link in node", "or leave it out")
    for index, number in enumerate(found.numbers):
        _check(number, index, found, document)
    return found


def classes(folder: Path) -> tuple[str, ...]:
    """Return the names of all classes, sorted; ``folder`` is references/classes, a site's own or Railyard's."""
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def find_class(folder: Path, name: str) -> TransportClass:
    """Return one class by name. Raises InputError for an unknown name, offering the nearest known one."""
    known = classes(folder)
    if name not in known:
        action = did_you_mean(name, known)
        raise InputError(
            f"{folder.parent.name}/{folder.name}/", f"no class {show(name)}", "a class of that name", action=action
        )
    return load_class(folder / f"{name}.yaml")


def _check(number: Number, index: int, of: TransportClass, document: Document) -> None:
    path = ("numbers", index)
    given = [name for name in ("busbw", "peak", "mean") if getattr(number, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "neither busbw nor peak nor mean"
        raise document.error(path, found, "one of busbw (sizes and values), peak and mean")
    if (number.kind == "threshold") != (number.whose is not None):
        found = "a threshold without whose" if number.whose is None else f"whose in a {number.kind} number"
        raise document.error(path, found, "whose in each threshold, and nowhere else")
    if (number.kind == "bad-case") != (number.reason is not None):
        found = "a bad-case without reason" if number.reason is None else f"a reason in a {number.kind} number"
        raise document.error(path, found, "a reason in each bad-case, and nowhere else")
    if number.kind == "published" and number.nodes is not None:
        for key, size, value in figures(number):
            judged = judge_possible(
                number.collective, Shape(of.has, number.nodes), JudgedRow(value * 1000, size), number.algorithm
            )
            if judged.state == "impossible":
                raise document.error(
                    (*path, key), f"{value:g} GB/s, which is {judged.sentence}", "a possible value", "or kind: bad-case"
                )


def _check_ids(of: TransportClass, document: Document) -> None:
    seen: set[str] = set()
    for part in _LISTS:
        for index, each in enumerate(getattr(of, part)):
            if each.id in seen:
                raise document.error((part, index, "id"), f"{show(each.id)} for the second time", "each id once")
            seen.add(each.id)


def figures(number: Number) -> Iterator[tuple[str, int | None, float]]:
    """Yield each value of a number: its field, its size in bytes if it has one, and the value in GB/s."""
    if number.busbw is not None:
        yield from (("busbw", size, value) for size, value in number.busbw.items())
    for field in ("peak", "mean"):
        value = getattr(number, field)
        if value is not None:
            yield field, None, value
