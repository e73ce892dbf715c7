"""Reads the output of an installed application with the patterns that the site states for it."""

import re
from pathlib import Path

from railyard.benchmarks.apps.installed_applications import SECONDS, Application
from railyard.parsers.lines import first_line, is_failure, number
from railyard.parsers.parsed import Parsed, ParseError, Remark, Table

TOOL = "installed"


def parse(text: str, name: str, stated: Application) -> Parsed:
    """Return one table with one row, the time in seconds. It is whole if the run ended well.

    The failures say what went wrong. A refused licence is a failure with its own words, since no network is to blame
    for it. Raises ParseError for an empty text.
    """
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        first = first_line(text)
        raise ParseError(first.number, first.text, f"output of {name}")
    seconds, at = _last(lines, stated.figure)
    ended = any(re.search(stated.success, line) for line in lines)
    # A run that ended well had its licence, even if only at the second try. And "error" may be in any table of results.
    failures = [] if ended else _refusals(lines, name, stated) or _failures(lines, name, stated)
    if seconds is None:
        if ended:
            failures.append(Remark(len(lines), f"{name} printed no line like figure: {stated.figure}"))
        return Parsed((), tuple(failures))
    table = Table(TOOL, None, name, ("time",), ("s",), ((seconds,),), at, ended)
    return Parsed((table,), tuple(failures))


def _failures(lines: list[str], name: str, stated: Application) -> list[Remark]:
    found = [Remark(at, line.strip()[:2000]) for at, line in enumerate(lines, 1) if is_failure(line)]
    return [*found, Remark(len(lines), f"{name} printed no line like success: {stated.success}")]


def _refusals(lines: list[str], name: str, stated: Application) -> list[Remark]:
    if stated.licence is None:
        return []
    said = next(((n, line) for n, line in enumerate(lines, 1) if re.search(stated.licence, line)), None)
    if said is None:
        return []
    return [Remark(said[0], f"{name} got no licence, which is not a fault of the network: {said[1].strip()[:500]}")]


def _last(lines: list[str], pattern: str) -> tuple[float | None, int]:
    """Return the time in the last line that has one, and that line's number."""
    found: tuple[float | None, int] = (None, 0)
    for at, line in enumerate(lines, 1):
        match = re.search(pattern, line)
        value = number(match[SECONDS] or "") if match else None
        if value is not None:
            found = (float(value), at)
    return found


def words(stated: Application, nodes: int, ranks_per_node: int, without_mpi: bool = False) -> list[str]:
    """Return an application's words with the numbers of ranks and nodes filled in.

    If an application starts its own processes (``without_mpi``), its words may keep blanks for its nodes.
    """
    filled = {"{ranks}": str(nodes * ranks_per_node), "{nodes}": str(nodes)}
    found = []
    for word in stated.arguments if stated.without_mpi is None or not without_mpi else stated.without_mpi:
        for blank, value in filled.items():
            word = word.replace(blank, value)
        found.append(word)
    return found


def folder(text: str, home: Path) -> str:
    """Return the folder of an application's inputs. A relative one is below the site's folder."""
    return str(home / text.replace("{home}", str(home)))
