"""Ctrl-C while a command is still being imported ends it without Python's traceback, and later with one line."""

import signal
import subprocess
import sys

import pytest

#: Sends the process Ctrl-C when it begins to import a module, then runs `python -m railyard`.
PROGRAM = """
import os, runpy, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
runpy.run_module("railyard", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("module", "code", "said"),
    [("click", -signal.SIGINT, ""), ("railyard.cli.commands.lint", 130, "railyard: interrupted\n")],
)
def test_an_interrupt_at_the_start_has_no_traceback(module: str, code: int, said: str) -> None:
    words = [sys.executable, "-c", PROGRAM, "lint", module]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", said)
