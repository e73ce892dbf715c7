"""Compiles Railyard's own MPI programs with a stack's compiler wrapper, into a folder such as its ``bin``.

A program is compiled beside its place and then renamed, so it is there completely or not at all. It is compiled again
only if its source or the wrapper's path has changed.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.paths import packaged_text

#: Executable: its source in ``programs/``.
PROGRAMS = {"railyard-pairs": "pairs.c", "railyard-sharing": "sharing.c"}
FLAGS = ("-O2",)


def build(compiler: Path, folder: Path, say: Callable[[str], None]) -> bool:
    """Compile every program into a folder; return False if all of them are already from this source and wrapper.

    ``say`` gets one line before anything that takes time. Raises SetupError, with the compiler's own last line, if the
    wrapper is missing or fails.
    """
    made = False
    for program, source in PROGRAMS.items():
        text = packaged_text(f"provision/programs/{source}")
        key = hashlib.sha256((text + repr((str(compiler), FLAGS))).encode()).hexdigest()
        stamp = folder / f"{program}.sha256"
        if (folder / program).is_file() and stamp.is_file() and stamp.read_text(encoding="ascii").strip() == key:
            continue
        say(f"programs: compiling {program} with {compiler}")
        _compile(compiler, text, folder / program)
        stamp.write_text(key + "\n", encoding="ascii")
        made = True
    return made


def _compile(compiler: Path, source: str, program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{program.name}-", dir=program.parent) as scratch:
        file, partial = Path(scratch, "program.c"), Path(scratch, program.name)
        file.write_text(source, encoding="utf-8")
        words = [str(compiler), *FLAGS, "-o", str(partial), str(file)]
        try:
            answer = subprocess.run(
                words, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            raise SetupError(
                f"{compiler}: found no compiler that runs ({error.strerror}), expected the mpicc of an MPI stack; "
                "type: sh ci/needs.sh"
            ) from None
        if answer.returncode != 0 or not partial.is_file():
            said = [line.strip() for line in (answer.stderr or answer.stdout).splitlines() if line.strip()]
            raise SetupError(
                f"{compiler}: could not compile {program.name}: {said[-1] if said else 'it said nothing'}; "
                "it needs a C compiler and the headers of its MPI: type sh ci/needs.sh"
            )
        partial.replace(program)
