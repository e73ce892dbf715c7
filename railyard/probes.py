"""After a failure between two nodes single rails are measured again: a slow one is named, and not its partner."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from railyard import suspects
from railyard.suspects import Findings, Probe, RailProbe, plan_probes
from railyard.wording import listing, number

#: Seconds a probe may take: it moves some megabytes; a dead rail does not answer at all.
PROBE_LIMIT_S = 20
#: Message size of a probe in bytes: large enough for the bandwidth-bound regime, small enough for a rail at a tenth.
PROBE_SIZE_BYTES = 1 << 20
#: How often a probe that was slow and explains nothing is made again, at most.
AGAIN = 2


def probe_rails(
    pair: tuple[str, str],
    others: Sequence[str],
    rails: Sequence[str],
    expected_mb_s: float,
    command: Callable[[Probe], tuple[dict[str, str], list[str]]],
    value: Callable[[str], float | None],
    folder: Path,
    nodes: Sequence[str] = (),
) -> Findings:
    """Return who is to blame, from measuring each rail alone between the pair's nodes and good partners.

    What was slow and explains nobody's fault is measured again, and the best value counts: a busy moment or a stall
    after a lost packet is no reason to name a pair, but the sentence says that the rail is unsteady. A pair is blamed
    only where both its nodes were in the run (``nodes``, the pair itself by default).
    ``command`` gives the variables and words of one probe, which end it after PROBE_LIMIT_S; ``value`` reads MB/s
    (10^6 B/s, one way) from its output.
    Each probe's output stays in ``folder`` (``probe-N.out``).
    """
    probes = plan_probes(pair, tuple(others), tuple(rails))
    made = [_made(str(n), probe, expected_mb_s, command, value, folder) for n, probe in enumerate(probes, start=1)]
    explained = {suspect.rail for suspect in suspects.suspects(made).suspects if suspect.kind != "pair"}
    unsteady = []
    for index, probe in enumerate(probes):
        first = made[index]
        if probe.rail in explained:
            continue
        for again in range(AGAIN):
            if made[index].slow:
                name = f"{index + 1}-again-{again + 1}"
                made[index] = max(made[index], _made(name, probe, expected_mb_s, command, value, folder), key=_speed)
        if first.slow and not made[index].slow:
            unsteady.append((first, made[index]))
    found = _of_the_run(suspects.suspects(made), made, nodes or pair)
    return replace(found, sentence=f"{found.sentence}; {_unsteady(unsteady)}") if unsteady else found


def _speed(probe: RailProbe) -> float:
    return probe.value_mb_s or 0.0


def _of_the_run(found: Findings, made: Sequence[RailProbe], nodes: Sequence[str]) -> Findings:
    """Return the findings without a slow pair that the run did not use, which explains nothing of its failure."""
    elsewhere = {probe.rail for probe in made if probe.slow and not {probe.node_a, probe.node_b} <= set(nodes)}
    kept = tuple(one for one in found.suspects if one.kind != "pair" or one.rail not in elsewhere)
    if kept == found.suspects:
        return found
    return Findings(kept, f"{found.sentence}, which this run did not take: nobody is blamed for that")


def _unsteady(pairs: Sequence[tuple[RailProbe, RailProbe]]) -> str:
    """Return the sentence about probes that were slow first and good when they were made again."""
    measured = [
        f"{first.rail} between {first.node_a} and {first.node_b} gave {_mb_s(first)} and then {_mb_s(best)}"
        for first, best in pairs
    ]
    expected = number(pairs[0][1].expected_mb_s)
    return f"unsteady, as with lost packets or other traffic: {listing(measured)} of {expected} MB/s"


def _mb_s(probe: RailProbe) -> str:
    return "no result" if probe.value_mb_s is None else number(probe.value_mb_s)


def _made(
    number: str,
    probe: Probe,
    expected_mb_s: float,
    command: Callable[[Probe], tuple[dict[str, str], list[str]]],
    value: Callable[[str], float | None],
    folder: Path,
) -> RailProbe:
    env, words = command(probe)
    script = folder / f"probe-{number}.sh"
    exports = "".join(f"export {name}={_exported(text)}\n" for name, text in env.items())
    script.write_text(f"#!/bin/sh\n{exports}exec {' '.join(words)}\n", encoding="utf-8")
    output = folder / f"probe-{number}.out"
    with output.open("w", encoding="utf-8") as out:
        subprocess.run(
            ["sh", str(script)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    text = output.read_text(encoding="utf-8", errors="replace")
    return RailProbe(probe.node_a, probe.node_b, probe.rail, value(text), expected_mb_s)


def _exported(text: str) -> str:
    """Quote a value for the shell; a leading ``…:$PATH`` keeps its reference."""
    if text.endswith(":$PATH"):
        return shlex.quote(text.removesuffix("$PATH")) + '"$PATH"'
    return shlex.quote(text)
