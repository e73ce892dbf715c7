"""After a failure between two nodes single rails are measured again: a slow one is named, and not its partner."""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from railyard import suspects
from railyard.suspects import Findings, Probe, RailProbe, plan_probes

#: Seconds a probe may take: it moves some megabytes; a dead rail does not answer at all.
PROBE_LIMIT_S = 20
#: Message size of a probe in bytes: large enough for the bandwidth-bound regime, small enough for a rail at a tenth.
PROBE_SIZE_BYTES = 1 << 20


def probe_rails(
    pair: tuple[str, str],
    others: Sequence[str],
    rails: Sequence[str],
    expected_mb_s: float,
    command: Callable[[Probe], tuple[dict[str, str], list[str]]],
    value: Callable[[str], float | None],
    folder: Path,
) -> Findings:
    """Return who is to blame, from measuring each rail alone between the pair's nodes and good partners.

    What was slow and explains nobody's fault is measured once more, and the better value counts: a busy moment or a
    stall after a lost packet is no reason to name a pair.
    ``command`` gives the variables and words of one probe, which end it after PROBE_LIMIT_S; ``value`` reads MB/s
    (10^6 B/s, one way) from its output.
    Each probe's output stays in ``folder`` (``probe-N.out``).
    """
    probes = plan_probes(pair, tuple(others), tuple(rails))
    made = [_made(str(n), probe, expected_mb_s, command, value, folder) for n, probe in enumerate(probes, start=1)]
    explained = {suspect.rail for suspect in suspects.suspects(made).suspects if suspect.kind != "pair"}
    for index, probe in enumerate(probes):
        if made[index].slow and probe.rail not in explained:
            again = _made(f"{index + 1}-again", probe, expected_mb_s, command, value, folder)
            made[index] = max(made[index], again, key=lambda one: one.value_mb_s or 0.0)
    return suspects.suspects(made)


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
