"""Compares the launcher that starts a run, by what it prints about itself, with the stack's own.

If another library's launcher starts a library, its processes do not find each other: each becomes a run of one process,
or ends with an error of its start-up protocol that names no cause.
"""

import re
import shlex

from railyard.base.clean_text import one_line
from railyard.stacks.table import STACKS

#: Seconds for ``mpirun --version``, which starts nothing.
LIMIT_S = 10
_LONGEST = 200


def line(program: str, file: str) -> str:
    """Return the line of a job that writes the launcher's path, and what it prints about itself, to a file."""
    word = shlex.quote(program)
    return f"{{ command -v {word} && LC_ALL=C timeout {LIMIT_S} {word} --version; }} > {file} 2>&1 < /dev/null || :"


def why_other(said: str, stack: str, version: str | None) -> str | None:
    """Return why a launcher is not the stack's: another library's, or another version; None if it is.

    ``version`` is the library's, None if unknown. If a launcher prints no name from the stacks' table, it proves
    nothing and contradicts nothing: srun belongs to no stack, and a site may have its own launcher.
    """
    path, _, answer = said.partition("\n")
    found = {name: match for name in STACKS if (match := _answer(name, answer)) is not None}
    if not found or not any(launch.answer for launch in STACKS[stack].launches):
        return None
    first = next(iter(found))
    quoted = one_line(found[first][0])[:_LONGEST]
    where = f'the launcher {one_line(path)} says "{quoted}"'
    if stack not in found:
        return f"{where}: it belongs to {STACKS[first].title}, expected the launcher of {STACKS[stack].title}"
    has = found[stack].groupdict().get("version")
    if stack == first and has and version and not same_version(has, version):
        return f"{where}: version {has}, expected {STACKS[stack].title} {version}"
    return None


def version_said(said: str, stack: str) -> str | None:
    """Return the version that a stack's own launcher prints; None if it prints none, or is another's."""
    found = _answer(stack, said.partition("\n")[2])
    return None if found is None else found.groupdict().get("version")


def same_version(one: str, other: str) -> bool:
    """Return whether two versions agree as far as both go: 2021.18 and 2021.18.0, 2.3.7 and 2.3.7-1."""
    pairs = zip(re.split(r"[.-]", one), re.split(r"[.-]", other), strict=False)
    return all(mine == theirs for mine, theirs in pairs)


def _answer(stack: str, text: str) -> re.Match[str] | None:
    answers = (launch.answer for launch in STACKS[stack].launches if launch.answer)
    return next((match for answer in answers if (match := re.search(answer, text, re.MULTILINE))), None)
