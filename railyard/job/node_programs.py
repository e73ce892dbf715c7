"""Programs that only the nodes have: a job finds them below the folder of its file, and links them beside its script.

A login host often lacks what the nodes mount, and so does a laptop with a dry run. A file may name a folder of a tool's
programs, whose places below it differ between releases.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from railyard.base.errors import UNFIT_EXIT
from railyard.base.paths import packaged_text
from railyard.provision.installed_stack import LINKS

SCRIPT = "find_program.sh"


def is_only_on_nodes(tool: str, programs: Sequence[str]) -> bool:
    """Return whether only a job can find a tool's program: this host lacks the tool's folder.

    ``tool`` is the path in the system's file, of a folder or of an executable. An executable needs no search.
    """
    return bool(programs and programs[0]) and Path(tool).name not in programs and not os.path.exists(tool)


def link_to(program: str) -> str:
    """Return the link to a program, which every step of a job can start in the job's folder."""
    return f"./{LINKS}/{program}"


def find_line(tool: str, programs: Sequence[str], needed: bool = True) -> str:
    """Return the line of a job that makes the link, on its first node.

    If the program is not there, the line ends the job (exit 66), unless it is not ``needed``: a later step names it.
    """
    end = f"|| exit {UNFIT_EXIT}" if needed else "2> /dev/null || :"
    return f"{shlex.join(['sh', SCRIPT, link_to(programs[0]), tool, *programs])} {end}"


def script() -> str:
    """Return the text of the script that finds a program; it is written beside a job's script."""
    return packaged_text(f"job/scripts/{SCRIPT}")
