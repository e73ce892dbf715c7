"""Writes the list of all commands: grouped by what people do, one line each."""

from collections.abc import Callable, Mapping, Sequence

import click

#: Heading -> its commands with their descriptions, in the order in which people need them.
#: The descriptions are copies of the commands' own, since `railyard --help` would take ten times as long if it imported
#: all commands.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Set up": {
        "init": "Write the files of a new site into FOLDER.",
        "detect": "Write a system's file from what this machine shows.",
        "doctor": "Find what is wrong with a set-up before any job runs.",
        "matrix": "Show which check runs with which stack over how many rails.",
        "stacks": "Make the MPI stacks in .stacks, or show what is there.",
        "spack": "Build the benchmarks of a system's stacks with Spack.",
    },
    "Run": {
        "run": "Run a system's checks and judge each interconnect.",
        "rehearse": "Run a system's checks without the cluster, with stand-ins.",
        "testbed": "Bring up and change the virtual cluster on this machine.",
        "pairs": "Find slow nodes in measurements of all pairs of nodes.",
        "soak": "Load every rail for hours and name the links that failed.",
    },
    "Read": {
        "judge": "Judge a stored output as a run would have judged it.",
        "parse": "Show what is in the output of a benchmark or fabric tool.",
        "report": "Show the verdicts of runs, as text or as a page.",
        "compare": "Compare two runs, fabrics, stacks or numbers of rails.",
        "history": "Show where and when figures of stored runs changed.",
        "scaling": "Show how applications scale over nodes.",
    },
    "Keep": {
        "results": "List, show, export, merge and verify stored runs.",
        "capture": "Make references from stored runs, as a diff to review.",
        "references": "List a system's reference numbers, each with its source.",
        "record": "Make recordings of a run, to replay it anywhere.",
        "export": "Write stored results in the form of another program.",
    },
    "Maintain": {
        "fabric": "Find links, ports, cards and slots that are not as stated.",
        "gate": "Say whether this node is fit for jobs, on one line.",
        "lint": "Check systems and references for mistakes and gaps.",
        "schema": "Print the JSON Schema of a kind of file, for editors.",
        "ci": "Write pipelines for GitLab.",
    },
}
#: The heading for commands that are in no group.
_OTHER = "Commands"
_WHOLE = 1000  # characters: so no description is cut


def write_commands(
    formatter: click.HelpFormatter, names: Sequence[str], command_of: Callable[[str], click.Command | None]
) -> None:
    """Write the commands under the headings of their groups; the descriptions of all groups begin in one column.

    ``names``: the commands that exist. Only those in no group are asked for their description, by ``command_of``.
    """
    grouped = {name for rows in GROUPS.values() for name in rows}
    others = {name: command_of(name) for name in names if name not in grouped}
    described = {name: each.get_short_help_str(_WHOLE) for name, each in others.items() if each and not each.hidden}
    shown = {**GROUPS, _OTHER: described}
    widest = max((len(name) for rows in shown.values() for name in rows if name in names), default=0)
    for heading, all_rows in shown.items():
        rows = [(name.ljust(widest), says) for name, says in all_rows.items() if name in names]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
