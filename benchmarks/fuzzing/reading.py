"""What must hold for any input of a parser: only ParseError is raised, the form is proper, and no value is invented."""

import json
import random

from fuzzing.mutations import MUTATIONS
from fuzzing.samples import EVERY, Sample, Samples, properties, read
from railyard.cli.commands.parse import to_json
from railyard.parsers import detect
from railyard.results.report.output_text import parsed_text

LONG_ONE_IN = 50


def sample_of(dice: random.Random, samples: Samples) -> Sample:
    """Return a small output; one in fifty of the shortened ones comes in its full length."""
    return dice.choice(samples.long if samples.long and dice.randrange(LONG_ONE_IN) == 0 else samples.small)


def mutate(dice: random.Random, samples: Samples) -> tuple[Sample, str, tuple[str, ...]]:
    """Return a sample, the text made from it, and the names of the mutations."""
    sample = sample_of(dice, samples)
    text = sample.text
    chosen = dice.choices(MUTATIONS, k=dice.choice((1, 1, 2, 3)))
    for mutation in chosen:
        text = mutation(text, dice, samples.small)
    return sample, text, tuple(mutation.__name__ for mutation in chosen)


def wrong(sample: Sample, text: str, how: tuple[str, ...]) -> str | None:
    """Return the rule that an input breaks; ``refused`` if the parser does not take it for an output of its tool."""
    part = read(EVERY[sample.tool], text)
    if part is None:
        return "refused"
    ill: str | None = properties.ill_formed(part, text)
    if ill:
        return ill
    if how == ("cut",):
        told: str | None = properties.invented_value(part, sample.values)
        return told or properties.wrongly_complete(part, sample.whole, text)
    if how == ("noise",) and sample.takes_noise and properties.judged_values(part) != sample.verdict_facts:
        return "a noise line changes what is read"
    return None


def whole_way(text: str) -> None:
    """Read a text of any tool as `railyard parse` does, and print it both ways."""
    parsed = read(detect.parse, text)
    if parsed is not None:
        json.dumps(to_json(parsed), allow_nan=False)
        parsed_text(parsed)
