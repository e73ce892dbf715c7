"""A screening of a few nodes whose pairs give what a function says: no noise, so that each figure is known by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from railyard.verdict.blame.screening.model import Budget, Network, Results, ScreeningVerdict, Settings
from railyard.verdict.blame.screening.screen import screen
from railyard.verdict.blame.search.model import Layout, Part, Step

GOOD = 48.0
#: What a pair gives, over all rails or over one part alone.
Speed = Callable[[int, int, Part | None], float | None]


@dataclass
class PlayedScreening:
    """A verdict with the steps that led to it and what each gave."""

    verdict: ScreeningVerdict
    steps: list[Step] = field(default_factory=list)
    results: list[Results] = field(default_factory=list)

    def blamed_parts(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return who is named, by kind and nodes."""
        return [(one.kind, one.members) for one in self.verdict.named]


def network(leaves: str, *, rails: int = 1, gpus: int = 0, expected: float | None = None, **more: object) -> Network:
    """Return a node a letter, whose leaf is that letter; "." is a node at no known leaf, and "" no leaves at all."""
    names = tuple(f"vn{node + 1}" for node in range(len(leaves)))
    sides = tuple("" if letter == "." else letter for letter in leaves) if leaves.strip("?") else ()
    return Network(
        Layout(names, sides, expected=expected),
        tuple(f"rail{number}" for number in range(rails)),
        tuple(f"gpu{number}" for number in range(gpus)),
        **more,  # type: ignore[arg-type]
    )


def all_good(_a: int, _b: int, _over: Part | None) -> float | None:
    """Return what a healthy pair gives."""
    return GOOD


def slow_node(node: int, value: float | None = 24.0) -> Speed:
    """Return a network in which one node is slow with everybody."""
    return lambda a, b, over: value if node in (a, b) else GOOD


def play_screening(
    known: Network,
    speed: Speed = all_good,
    rounds: int = 60,
    *,
    settings: Settings | None = None,
    first: Step | None = None,
    absent: Mapping[int, str] | None = None,
    gone: Mapping[int, Mapping[int, str]] | None = None,
) -> PlayedScreening:
    """Return a screening within so many rounds; ``gone`` has the nodes that go away in a step, by the step's number."""
    asking = screen(known, Budget(rounds, 1.0), settings or Settings(), first, absent or {})
    found = PlayedScreening(None)  # type: ignore[arg-type]
    given: Results | None = None
    while True:
        try:
            step = next(asking) if given is None else asking.send(given)
        except StopIteration as end:
            found.verdict = end.value
            return found
        away = (gone or {}).get(len(found.steps), {})
        values = [
            (a, b, None if a in away or b in away else speed(a, b, step.over))
            for _ in range(step.repeats)
            for each in step.rounds
            for a, b in each
        ]
        given = Results(values, away)
        found.steps.append(step)
        found.results.append(given)
