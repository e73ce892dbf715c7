"""Single rails are measured alone after a failure between two nodes, or where TCP sent much again: one is named.

A slow rail, or one that loses packets, is named by what it does with several partners, and these are not.
"""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from railyard.job.launch import exported
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.suspects import Findings, LossProbe, Probe, RailProbe, losers, plan_probes, sends_again

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
#: What was measured stands in this file of the probes' folder.
PROBES_FILE = "probes.json"


class Watch(Protocol):
    """Watches the processes of one probe, from when it was made."""

    def stop(self) -> float | None:
        """Return the share of the time since then in which they waited for a processor; None where unknown."""


@dataclass(frozen=True, slots=True)
class Prober:
    """How one rail alone is measured: ``command`` gives the variables and words, which end it after PROBE_LIMIT_S.

    ``value`` reads MB/s (10^6 B/s, one way) from the output, which stays in ``folder``. ``watch`` starts a watcher.
    """

    command: Callable[[Probe], tuple[dict[str, str], list[str]]]
    value: Callable[[str], float | None]
    folder: Path
    watch: Callable[[], Watch] | None = None

    def measured(self, probe: Probe, turn: int, expected_mb_s: float) -> RailProbe:
        """Return what a probe gave in this round."""
        watcher = self.watch() if self.watch is not None else None
        name = f"probe-{turn}-{probe.rail}-{probe.node_a}-{probe.node_b}"
        text = _output(name, self.command(probe), self.folder)
        starved = watcher.stop() if watcher is not None else None
        return RailProbe(probe.node_a, probe.node_b, probe.rail, self.value(text), expected_mb_s, turn, starved)


def probe_rails(
    prober: Prober,
    pair: tuple[str, str],
    others: Sequence[str],
    rails: Sequence[str],
    expected_mb_s: float,
    nodes: Sequence[str] = (),
) -> Findings:
    """Return who is to blame, from measuring each rail alone between the pair's nodes and good partners, in rounds.

    A pair is blamed only where both its nodes were in the run (``nodes``, the pair itself by default).
    Each probe's output stays in the prober's folder (``probe-ROUND-RAIL-NODE-NODE.out``), and what all gave in its
    ``probes.json``, behind what an earlier call left there.
    """

    def measured(probe: Probe, turn: int) -> RailProbe:
        return prober.measured(probe, turn, expected_mb_s)

    planned = plan_probes(pair, tuple(others), tuple(rails))
    found = slow_rails.find(planned, measured, nodes or pair, time.monotonic)
    _keep(found.probes, prober.folder / PROBES_FILE)
    return found


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
    return losers(made, nodes or pair)


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


def _keep(probes: Sequence[RailProbe], file: Path) -> None:
    """Write what the probes gave, in the order of time, behind what the file has."""
    kept = json.loads(file.read_text(encoding="utf-8"))["probes"] if file.exists() else []
    kept += [
        {
            "round": probe.turn, "pair": [probe.node_a, probe.node_b], "rail": probe.rail,
            "value_mb_s": probe.value_mb_s, "expected_mb_s": probe.expected_mb_s, "starved": probe.starved,
        }
        for probe in probes
    ]  # fmt: skip
    rows = ",\n".join(json.dumps(row) for row in kept)
    file.write_text(f'{{"format": 1, "probes": [\n{rows}\n]}}\n', encoding="utf-8")


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
