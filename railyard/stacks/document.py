"""The table of stacks as a page for people: ``docs/reference/stacks.md``. ``make docs`` writes it again.

A test compares each stack's section of that page with this text. A stack may be missing on the page, since nobody
writes the page by hand.
"""

import sys
from collections.abc import Iterable, Mapping

from railyard.base.wording import either
from railyard.stacks.model import (
    KINDS,
    KNOBS,
    POLICIES,
    STACKS,
    Knob,
    Launch,
    Proof,
    Setting,
    Spread,
    Stack,
    Way,
    Words,
)

_HEAD = """\
# Stacks: the settings of each for fabric, rails and policy

`make docs` writes this page from `railyard/stacks/entries/`; change an entry, not this page. Each run fills the blanks
of a value: `{devices}` hsn0,hsn1; `{ports}` mlx5_0:1,mlx5_1:1; `{sets}` mlx5_0:1;mlx5_1:1; `{hcas}` mlx5_0:mlx5_1;
`{port}` the port of all cards; `{units}` 0,1; `{unit_ports}` 0:1,1:1; `{rails}` their number; `{knob}` the number
that was asked for.

Policies: *single* uses one rail; *striping* splits a large message over all; *round-robin* sends whole messages over
the rails in turn; *nic-per-rank* gives each rank one rail, which one pair of ranks cannot show. *striping-8K* is
striping with a threshold of its own, if the stack has a setting for it. A test that names no policy has the first
policy below with that number of rails; `railyard run -P policy=round-robin` asks for another.

A benchmark's rank with one rail is bound to the processors of that rail's NUMA node, under every launcher
([where processes run](../howto/placement.md)). If *each rank's own* names a variable, that variable gives the rank its
rail; otherwise the library itself gives local rank i the NIC i, or the nearest one. The launcher binds an application's
ranks.

*cuda* and *rocm* are additional settings for messages in the memory of NVIDIA's or AMD's GPUs. If such a variable is
also set for all messages, it has this value then. A stack that needs no setting has none listed. No stack has run with
messages in GPUs yet.
"""


_ROCE_HEAD = """\
## RoCE

A site chooses which GID (RoCE v1 or v2, and the VLAN), which DSCP byte and which priority a stack's packets have,
because its switches are set up for them. `gid_index`, `traffic_class` and `service_level` of the fabric in the system's
file set them once for all stacks ([clusters](../howto/clusters.md#several-rails-and-roce)). This is where each number
goes:
"""


def document() -> str:
    """Return the whole table as Markdown, ending in one newline."""
    parts = [_HEAD, _overview(), _ROCE_HEAD, _roce()]
    parts += [_stack(name, stack) for name, stack in STACKS.items()]
    return "\n".join(parts)


def _overview() -> str:
    """Return which rail policies each stack has on each kind of fabric."""
    rows = [["stack", *KINDS]]
    for name, stack in STACKS.items():
        rows.append([f"[{name}](#{name})", *(_cell(stack.ways[kind]) for kind in KINDS)])
    return _table(rows)


def _roce() -> str:
    """Return the variable or the words of each setting of RoCE by stack; "no" if a stack has none for it."""
    rows = [["stack", *(_knob_name(name) for name in KNOBS)]]
    for name, stack in STACKS.items():
        way = stack.ways["roce"]
        if isinstance(way, Way):
            rows.append([name, *(_describe_knob(way.knobs[knob]) for knob in KNOBS)])
    return _table(rows)


def _describe_knob(knob: Knob) -> str:
    if isinstance(knob, str):
        return "no"
    return f"`{knob.name}`" if isinstance(knob, Setting) else _words(knob.words)


def _cell(way: Way | str) -> str:
    return "no" if isinstance(way, str) else ", ".join(spread.policy for spread in way.spreads)


def _stack(name: str, stack: Stack) -> str:
    about = _by_mpi if stack.by_mpi else _without_mpi if stack.pair else _mpi
    lines = [f"## {name}", "", about(stack)]
    if stack.root_env:
        lines += ["", f"As root: {_code(f'{key}={value}' for key, value in stack.root_env.items())}."]
    if stack.own_pinning:
        variables = _code(f"{key}={value}" for key, value in stack.own_pinning.items())
        lines += ["", f"If a fabric has a `placement`, it leaves its processes where they were put: {variables}."]
    if stack.launches:
        lines += ["", _launches(stack.launches)]
    else:
        lines += [""]
    lines += [_way(kinds, way) for way, kinds in _group_ways(stack.ways)]
    if stack.families:
        lines += [f"It exists only for {either(stack.families)}: not on a system with other processors.", ""]
    if stack.not_built:
        lines += [f"Spack builds nothing for it: {stack.not_built}.", ""]
    if stack.not_rehearsed:
        lines += [f"A rehearsal leaves it out: {stack.not_rehearsed}.", ""]
    return "\n".join(lines)


def _mpi(stack: Stack) -> str:
    also = (
        f"It may also print the words of {_code(stack.also_prints)}, from which it derives. "
        if stack.also_prints
        else ""
    )
    return (
        f"{stack.title}. Its `MPI_Get_library_version` matches `{stack.version_pattern}` ({stack.told_apart}). "
        f"{also}Under Slurm: `srun --mpi={stack.srun_mpi}`. Rank within the node: {_code(stack.local_rank_variables)}."
    )


def _without_mpi(stack: Stack) -> str:
    applications = (
        "Also: an installed application that starts its own processes from the first node, over one rail "
        "([how](../howto/installed-applications.md)). "
    )
    return (
        f"{stack.title}; {stack.told_apart}. Benchmarks: {_code(stack.tools)}, each a client on the first node and a "
        f"server on the second, one pair of them per rail. "
        f"{applications if stack.addressed else ''}Under Slurm: `srun --mpi={stack.srun_mpi}`."
    )


def _by_mpi(stack: Stack) -> str:
    return (
        f"{stack.title}; {stack.told_apart} (`mpi: openmpi`), and is given the first rail. Benchmarks: "
        f"{_code(stack.tools)}, one process per GPU, linked to {_code(stack.sonames)} and to that MPI."
    )


def _group_ways(ways: Mapping[str, Way | str]) -> list[tuple[Way | str, list[str]]]:
    """Return each different way once, with the kinds that it serves, in the order of KINDS."""
    groups: list[tuple[Way | str, list[str]]] = []
    for kind in KINDS:
        for way, kinds in groups:
            if way == ways[kind]:
                kinds.append(kind)
                break
        else:
            groups.append((ways[kind], [kind]))
    return groups


def _launches(launches: Iterable[Launch]) -> str:
    rows = [
        [
            "from version",
            "program",
            "hosts, ranks",
            "agent",
            "start-up network",
            "shared cores",
            "cores for a rank's threads",
            "ranks on each node of a job",
            "one variable",
            "source",
        ]
    ]
    for launch in launches:
        rows.append(
            [
                str(launch.since),
                f"`{launch.program}`",
                _words((*launch.hosts, *launch.ranks, *launch.ranks_per_node)),
                _words(launch.agent),
                _words(launch.network),
                _words((*launch.share_cores, *launch.give_cores)),
                _words(launch.cores_a_rank),
                _each_node(launch),
                _words(launch.forward),
                f"{launch.version}; {launch.source}",
            ]
        )
    return _table(rows)


def _each_node(launch: Launch) -> str:
    variables = (f"{name}={value}" for name, value in launch.each_node_env.items())
    return ", ".join([_words(launch.each_node), *(f"`{each}`" for each in variables)])


def _words(words: tuple[str, ...] | str) -> str:
    return f"no: {words}" if isinstance(words, str) else f"`{' '.join(words)}`"


def _way(kinds: list[str], way: Way | str) -> str:
    title = f"### {', '.join(kinds)}\n"
    if isinstance(way, str):
        return f"{title}\nNo: {way}\n"
    rows = [["policy", "words" if any(isinstance(knob, Words) for knob in way.knobs.values()) else "variable"]]
    rows[0] += ["why", "version", "source"]
    rows += [["all", *_setting(line)] for line in way.settings]
    for spread in way.spreads:
        rows += [[spread.policy, *_setting(line)] for line in spread.settings]
    rows += [[name.replace("_", " "), *_setting(line)] for name, line in _knob_settings(way.knobs)]
    for memory, told in way.memories.items():
        rows += [] if isinstance(told, str) else [[f"*{memory}*", *_setting(line)] for line in told]
    table = [_table(rows)] if len(rows) > 1 else []
    parts = [f"{title}\nOver {way.transport}.\n", *table, *_policies(way), *_refusals(way), _proofs(way)]
    return "\n".join(parts)


def _setting(line: Setting | Words) -> list[str]:
    told = _words(line.words) if isinstance(line, Words) else f"`{line.name}={line.value}`"
    return [told, line.why, line.version, line.source]


def _knob_settings(knobs: Mapping[str, Knob]) -> list[tuple[str, Setting | Words]]:
    return [(name, entry) for name, entry in knobs.items() if not isinstance(entry, str)]


def _policies(way: Way) -> list[str]:
    lines = [_policy(spread) for policy in POLICIES for spread in way.spreads if spread.policy == policy]
    return [*lines, *(f"- *{policy}*: no. {sentence}" for policy, sentence in way.cannot.items())]


def _policy(spread: Spread) -> str:
    most = f"; at most {spread.max_rails} rails" if spread.max_rails else ""
    words = f"; launcher: {_words(spread.options)}" if spread.options else ""
    own = f"; each rank's own: `{spread.rank_variable}`" if spread.rank_variable else ""
    split = f" [{spread.threshold_bytes} B]" if spread.threshold_bytes else ""
    return f"- *{spread.policy}*: {spread.threshold}{split}{most}{own}{words}{_tunable(spread)}."


def _tunable(spread: Spread) -> str:
    """Return how to ask for another threshold; an empty text if that is impossible."""
    if spread.tunable is None:
        return ""
    least = f", {spread.least_bytes} B or more" if spread.least_bytes > 1 else ""
    return f"; *striping-N* sets `{spread.tunable.name}` to N{least}"


def _refusals(way: Way) -> list[str]:
    lines = [f"- {_knob_name(name)}: {entry}." for name, entry in way.knobs.items() if isinstance(entry, str)]
    for spread in way.spreads:
        for name, entry in (spread.knobs or {}).items():
            if isinstance(entry, str):
                lines.append(f"- {_knob_name(name)} under *{spread.policy}*: {entry}.")
    reasons = {told: [name for name, each in way.memories.items() if each == told] for told in way.memories.values()}
    lines += [f"- *{', '.join(names)}*: {told}." for told, names in reasons.items() if isinstance(told, str)]
    return lines


def _knob_name(name: str) -> str:
    return name.replace("_", " ").replace("gid", "GID")


def _proofs(way: Way) -> str:
    lines = [_proof("log", way.proof)]
    lines += [_proof(f"log under *{spread.policy}*", spread.proof) for spread in way.spreads if spread.proof]
    return "\n".join(lines) + "\n"


def _proof(title: str, proof: Proof) -> str:
    variables = f"with {_code(f'{line.name}={line.value}' for line in proof.settings)} " if proof.settings else ""
    return f"- {title}: {variables}{proof.says} (`{proof.pattern}`)."


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _table(rows: list[list[str]]) -> str:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
