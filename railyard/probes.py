"""Single rails are measured alone after a failure between two nodes, or where TCP sent much again: one is named.

A slow rail, or one that loses packets, is named by what it does with several partners, and these are not.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from railyard import suspects
from railyard.launch import exported
from railyard.suspects import Findings, LossProbe, Made, Probe, RailProbe, plan_probes, sends_again
from railyard.wording import listing, number

#: Seconds a probe may take: it moves some megabytes; a dead rail does not answer at all.
PROBE_LIMIT_S = 20
#: Message size of a probe in bytes: large enough for the bandwidth-bound regime, small enough for a rail at a tenth.
PROBE_SIZE_BYTES = 1 << 20
#: Segments of TCP that both nodes send, acknowledgements among them, before a rail counts as clean. A rail that loses
#: one packet in a hundred drops what the kernel hands it in one piece, up to 64 KiB (45 segments of 1448 B). Two fifths
#: of 70,000 are data: 620 such pieces at least, of which 6.2 are lost, one or none once in 70 times; the bound is 1.6.
LEAST_SEGMENTS = 70_000
#: What a rail sends again so many times as often as the bound allows is no chance: it need not be run on.
CLEAR_FACTOR = 5
#: Runs that it may take until so many were sent, at most.
MOST_RUNS = 12
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
            if made[index].is_bad:
                name = f"{index + 1}-again-{again + 1}"
                made[index] = max(made[index], _made(name, probe, expected_mb_s, command, value, folder), key=_speed)
        if first.is_bad and not made[index].is_bad:
            unsteady.append((first, made[index]))
    found = _of_the_run(suspects.suspects(made), made, nodes or pair)
    return replace(found, sentence=f"{found.sentence}; {_unsteady(unsteady)}") if unsteady else found


def probe_losses(
    pair: tuple[str, str],
    others: Sequence[str],
    rails: Sequence[str],
    command: Callable[[Probe, str], tuple[dict[str, str], list[str]]],
    segments: Callable[[str], tuple[int, int] | None],
    folder: Path,
    nodes: Sequence[str] = (),
) -> Findings:
    """Return who loses packets, from what TCP sends again over each rail alone between the pair and good partners.

    A probe is run until LEAST_SEGMENTS were sent, or it is clear that it loses; one that sends fewer tells nothing and
    counts for nobody. A rail that is clean between the pair itself did not lose what the pair lost, and is done with.
    ``command`` is given a name for what its counters are written to, ``segments`` gives what was sent again and sent
    there, None where that was not counted. The rest is as in ``probe_rails``.
    """
    made: list[LossProbe] = []
    for rail in rails:
        for probe in plan_probes(pair, tuple(others), (rail,)):
            found = _lost(f"loss-{rail}-{probe.node_a}-{probe.node_b}", probe, command, segments, folder)
            made += [] if found is None else [found]
            if (probe.node_a, probe.node_b) == pair and (found is None or not found.is_bad):
                break
    return _of_the_run(suspects.suspects(made), made, nodes or pair)


def _lost(
    name: str,
    probe: Probe,
    command: Callable[[Probe, str], tuple[dict[str, str], list[str]]],
    segments: Callable[[str], tuple[int, int] | None],
    folder: Path,
) -> LossProbe | None:
    resent = sent = 0
    for run in range(1, MOST_RUNS + 1):
        each = f"{name}-{run}"
        _output(each, command(probe, each), folder)
        counted = segments(each)
        if counted is None:
            return None
        resent, sent = resent + counted[0], sent + counted[1]
        if not sent:
            return None
        found = LossProbe(probe.node_a, probe.node_b, probe.rail, resent, sent)
        if sends_again(resent, CLEAR_FACTOR * sent) or sent >= LEAST_SEGMENTS:
            return found
    return None


def _speed(probe: RailProbe) -> float:
    return probe.value_mb_s or 0.0


def _of_the_run(found: Findings, made: Sequence[Made], nodes: Sequence[str]) -> Findings:
    """Return the findings without a bad pair that the run did not use, which explains nothing of its failure."""
    elsewhere = {probe.rail for probe in made if probe.is_bad and not {probe.node_a, probe.node_b} <= set(nodes)}
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
    text = _output(f"probe-{number}", command(probe), folder)
    return RailProbe(probe.node_a, probe.node_b, probe.rail, value(text), expected_mb_s)


def _output(name: str, asked: tuple[dict[str, str], list[str]], folder: Path) -> str:
    """Return what a probe printed; its script and output stay in the folder."""
    env, words = asked
    script = folder / f"{name}.sh"
    exports = "".join(f"export {variable}={value}\n" for variable, value in exported(env).items())
    script.write_text(f"#!/bin/sh\n{exports}exec {' '.join(words)}\n", encoding="utf-8")
    output = folder / f"{name}.out"
    with output.open("w", encoding="utf-8") as out:
        subprocess.run(
            ["sh", str(script)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return output.read_text(encoding="utf-8", errors="replace")
