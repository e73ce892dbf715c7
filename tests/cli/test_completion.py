"""Shells complete commands and options, by the lines that docs/howto/install.md shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made.pages import CLONE

#: Shell -> its line of the page, and what asks for the words that follow "railyard jud" and "railyard judge --li".
SHELLS = {
    "bash": (
        "_RAILYARD_COMPLETE=bash_source railyard > {folder}/railyard",
        "source {folder}/railyard; complete -p railyard; for asked in 'jud 1' 'judge --li 2'; do"
        " set -- $asked; COMP_WORDS=(railyard ${{@:1:$#-1}}); COMP_CWORD=${{@: -1}}; _railyard_completion railyard;"
        ' echo "${{COMPREPLY[@]}}"; done',
    ),
    "zsh": (
        "_RAILYARD_COMPLETE=zsh_source railyard > {folder}/_railyard",
        "fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u; print -r -- $_comps[railyard];"
        " for asked in 'jud' 'judge --li'; do"
        ' COMP_WORDS="railyard $asked" COMP_CWORD=${{#${{=asked}}}} _RAILYARD_COMPLETE=zsh_complete railyard; done',
    ),
    "fish": (
        "_RAILYARD_COMPLETE=fish_source railyard > {folder}/railyard.fish",
        "source {folder}/railyard.fish; complete -C 'railyard jud'; complete -C 'railyard judge --li'",
    ),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on PATH")
    written, asked = (text.format(folder=tmp_path) for text in SHELLS[shell])
    programs = Path(sys.executable).parent
    clean = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    subprocess.run(["sh", "-c", written], env=clean, check=True)
    options = ["--norc"] if shell == "bash" else ["-f"] if shell == "zsh" else ["--no-config"]
    done = subprocess.run([shell, *options, "-c", asked], env=clean, capture_output=True, text=True, check=True)
    assert (done.stderr, "judge" in done.stdout.split(), "--link" in done.stdout.split()) == ("", True, True)
    if shell != "fish":  # the function is bound to the command's name
        assert "railyard" in done.stdout.splitlines()[0]


def test_the_page_shows_these_lines() -> None:
    page = (CLONE / "docs/howto/install.md").read_text(encoding="utf-8")
    for shell, (written, _) in SHELLS.items():
        assert f"$ {written.partition('>')[0]}> " in page, shell
