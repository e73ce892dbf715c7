"""The sentences about what physics allows of a collective between GPUs: for transport classes and verdicts alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.wording import count_of, listing, number, percent


def rate(value_mb_s: float) -> str:
    """Return a rate in GB/s (10^9 B/s)."""
    return f"{number(value_mb_s / 1000)} GB/s"


def upper_bound(algorithm: str, busbw_mb_s: float, limited_by: str) -> str:
    """Return the most that one algorithm can show: ``ring (at most 397.5 GB/s, set by NIC)``."""
    if math.isinf(busbw_mb_s):
        return f"{algorithm} (nothing known bounds it)"
    return f"{algorithm} (at most {rate(busbw_mb_s)}, set by {limited_by})"


def nodes(count: int, gpus: int) -> str:
    """Return the nodes of a run."""
    return f"{count_of(count, 'node')} of {count_of(gpus, 'GPU')}"


def on_nodes(algorithm: str, nodes: str, terms: str) -> str:
    """Return the terms of the most that any algorithm can show."""
    return f"{algorithm} on {nodes}: {terms}"


def all_nics(count: int, of_node: bool) -> str:
    """Return the NICs that carry what leaves a node, or an NVLink domain."""
    return f"the {count_of(count, 'NIC')} of {'a node' if of_node else 'an NVLink domain'}"


def nics_of_gpu() -> str:
    """Return the NICs that carry what GPUs exchange where nothing else connects them."""
    return "the NICs for each GPU"


def near_nics(count: int) -> str:
    """Return the NICs nearest to a GPU."""
    return f"{count_of(count, 'NIC')} of a GPU"


def links_of_gpu(word: str) -> str:
    """Return the links of a GPU to the others (``word``: NVLink)."""
    return f"the {word} links of a GPU"


def at_rate(part: str, value_mb_s: float) -> str:
    """Return a part with its rate."""
    return f"{part} ({rate(value_mb_s)})"


def slots_of_gpus(value_mb_s: float) -> str:
    """Return the slots of GPUs with the rate of each."""
    return f"the slots of GPUs ({rate(value_mb_s)} each)"


def carries(part: str, share: float, collective: str) -> str:
    """Return which share of a vector of S bytes a part carries."""
    return f"{part} carry {number(share)} S one way of {collective}"


def busbw_of(carries: str, factor: float, value_mb_s: float) -> str:
    """Return the sum of a bound: what a part carries, and what busbw is then."""
    return f"{carries}, and busbw is {number(factor)} S/t: {rate(value_mb_s)}"


def carried_at(carries: str, value_mb_s: float) -> str:
    """Return what a part carries, and the busbw that this allows."""
    return f"{carries}: {rate(value_mb_s)}"


def nothing_known() -> str:
    """Return why nothing bounds an algorithm."""
    return "no rate is known of any part that carries it"


@dataclass(frozen=True, slots=True)
class PrintedRate:
    """A printed busbw of a collective on these nodes, MB/s."""

    busbw_mb_s: float
    collective: str
    nodes: str

    @property
    def words(self) -> str:
        """``busbw 380.0 GB/s of all_reduce on 2 nodes of 8 GPUs``."""
        return f"busbw {rate(self.busbw_mb_s)} of {self.collective} on {self.nodes}"


def no_algorithm(shown: PrintedRate) -> str:
    """Return that no algorithm of a collective is possible on such nodes."""
    return f"{shown.words}: no algorithm of {shown.collective} is possible there"


@dataclass(frozen=True, slots=True)
class Excess:
    """A busbw above a bound: the share, of which algorithm (empty: of any), the terms of the bound and its source."""

    share: float
    algorithm: str
    terms: str
    source: str

    @property
    def words(self) -> str:
        """``110.0 % of what any algorithm can show: its terms; source a table``."""
        which = f"a {self.algorithm}" if self.algorithm else "any algorithm"
        source = f"; source {self.source}" if self.source else ""
        return f"{percent(self.share)} of what {which} can show: {self.terms}{source}"


def say_impossible(shown: PrintedRate, excess: Excess, ahead: float) -> str:
    """Return that no run can show a value; ``ahead``: how many times more the mean over ranks may show."""
    return f"{shown.words} is {excess.words}; at most {percent(IMPOSSIBLE_FACTOR.value * ahead)} is believed"


def may_be_ahead(shown: PrintedRate, excess: Excess) -> str:
    """Return that a value is too high, but some ranks may have run ahead."""
    return f"{shown.words} is {excess.words}; but the time is a mean over ranks that may run ahead"


def is_unbounded(shown: PrintedRate, terms: str) -> str:
    """Return why a value cannot be compared."""
    return f"{shown.words}: {terms}"


def unknown_nics(shown: PrintedRate, allowed: str) -> str:
    """Return that nobody knows what the NICs carry; ``allowed``: the bound of what is known."""
    return f"{shown.words}: it is unknown what the NICs carry, and what is known allows {allowed}"


def needs(shown: PrintedRate, possible: Sequence[str], excluded: Sequence[str]) -> str:
    """Return which algorithms a value needs, and which ones it rules out, each with its bound."""
    return f"{shown.words} is possible with {listing(possible)}; it rules out {listing(excluded)}"


def share_of_bound(shown: PrintedRate, share: float, is_lowest: bool, bound: str, terms: str) -> str:
    """Return which share of the lowest bound, or of the only one, a value is."""
    return f"{shown.words} is {percent(share)} of {'the lowest' if is_lowest else 'its'} bound, {bound}: {terms}"


def beyond_near_nics(shown: PrintedRate, share: float, terms: str) -> str:
    """Return that a value is more than the NICs nearest to each GPU allow."""
    return (
        f"{shown.words}: it is {percent(share)} of what the NICs nearest to each GPU allow ({terms}), and NCCL does "
        "not spread a message over more of them: a node has more NICs, or faster ones, or the messages did not cross "
        "the network"
    )


def within_near_nics(sentence: str, share: float, terms: str) -> str:
    """Return which share of what the NICs nearest to each GPU allow a value is."""
    return f"{sentence}; it is {percent(share)} of what the NICs nearest to each GPU allow, as NCCL sends: {terms}"
