"""Writes the list of all commands: grouped by what people do, one line each."""

from collections.abc import Mapping

import click

#: Heading -> its commands, in the order in which people need them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Set up": ("init", "detect", "doctor", "matrix", "stacks", "spack"),
    "Run": ("run", "rehearse", "testbed", "pairs", "soak"),
    "Read": ("judge", "parse", "report", "compare", "history", "scaling"),
    "Keep": ("results", "capture", "references", "record", "export"),
    "Maintain": ("fabric", "gate", "lint", "schema", "ci"),
}
#: The heading for commands that are in no group.
_OTHER = "Commands"
_WHOLE = 1000  # characters: so no description is cut


def write_commands(formatter: click.HelpFormatter, commands: Mapping[str, click.Command]) -> None:
    """Write the commands under the headings of their groups; the descriptions of all groups begin in one column."""
    shown = {name: command for name, command in commands.items() if not command.hidden}
    widest = max(map(len, shown), default=0)
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in shown if name not in grouped)
    for heading, names in {**GROUPS, _OTHER: others}.items():
        rows = [(name.ljust(widest), shown[name].get_short_help_str(_WHOLE)) for name in names if name in shown]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
