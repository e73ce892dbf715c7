"""The command line as users see it: names, help, sentences and exit codes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import railyard.cli.commands
from railyard import __version__
from railyard.base.commit import show_commit
from railyard.base.paths import find_shipped
from railyard.cli.main import GROUPS, main

HEAVY = ("reframe", "pydantic", "rich", "jinja2", "yaml", "matplotlib")


@pytest.fixture
def add_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str, str], None]]:
    """Return a function that makes a command with only this name and this body."""
    monkeypatch.setattr(railyard.cli.commands, "__path__", [str(tmp_path)])
    before = set(sys.modules)

    def add(name: str, body: str) -> None:
        head = "import click\nfrom railyard.base.errors import *\n@click.command()\ndef command():\n"
        text = f'{head}    "Says what it does."\n    {body}\n'
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    yield add
    for name in set(sys.modules) - before:
        if name.startswith(f"{railyard.cli.commands.__name__}."):
            del sys.modules[name]
            vars(railyard.cli.commands).pop(name.rpartition(".")[2], None)


def test_version_and_commit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"railyard {__version__} ({show_commit(find_shipped())})\n", "")


def test_help_lists_a_command_with_its_first_line(
    add_command: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    add_command("weigh", "return 0")
    assert main(["--help"]) == 0
    assert "Commands:\n  weigh  Says what it does.\n" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["railyard", "railyard.cli.main"])
def test_a_module_that_python_can_run_is_the_command(module: str) -> None:
    answer = subprocess.run([sys.executable, "-m", module, "nosuch"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith('railyard: no such command "nosuch"'), answer.stderr


def test_every_module_in_commands_is_a_command() -> None:
    answer = subprocess.run([sys.executable, "-m", "railyard", "--help"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.partition(f"\n{next(iter(GROUPS))}:\n")[2].splitlines()
    listed = sorted(line.split()[0] for line in lines if re.match(r"  \S", line))
    files = [*Path(railyard.cli.commands.__path__[0]).glob("*.py"), *Path(railyard.cli.commands.__path__[0]).glob("*/")]
    assert listed == sorted({file.stem for file in files} - {"__init__", "__pycache__"})


@pytest.mark.parametrize(("returned", "code"), [("0", 0), ("1", 1), ("2", 2), ("None", 0)])
def test_a_commands_number_is_the_exit_code(add_command: Callable[[str, str], None], returned: str, code: int) -> None:
    add_command("weigh", f"return {returned}")
    assert main(["weigh"]) == code


MISTAKES = [
    ("raise RailyardError('the bridge is taken; choose another')", ["weigh"], "the bridge is taken; choose another"),
    (
        "raise InputError('a.yaml', 'fabrik', 'fabric', line=3, field='system', action='rename it')",
        ["weigh"],
        "a.yaml:3: system: found fabrik, expected fabric; rename it",
    ),
    ("return 0", ["wiegh"], 'no such command "wiegh"; did you mean "weigh"? (see: railyard --help)'),
    ("return 0", ["zzz"], 'no such command "zzz"; known: weigh (see: railyard --help)'),
    ("return 0", ["--hlep"], 'no such option "--hlep"; did you mean "--help"? (see: railyard --help)'),
    ("return 0", ["weigh", "more"], "got unexpected extra argument (more) (see: railyard weigh --help)"),
    ("return 0", ["weigh", "--much"], 'no such option "--much" (see: railyard weigh --help)'),
]


@pytest.mark.parametrize(("body", "argv", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_on_stderr_and_2(
    add_command: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
    body: str,
    argv: list[str],
    sentence: str,
) -> None:
    add_command("weigh", body)
    assert main(argv) == 2
    assert capsys.readouterr() == ("", f"railyard: {sentence}\n")


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "click.Abort"])
def test_an_interrupt_is_130(
    add_command: Callable[[str, str], None], capsys: pytest.CaptureFixture[str], raised: str
) -> None:
    add_command("weigh", f"raise {raised}")
    assert main(["weigh"]) == 130
    assert capsys.readouterr() == ("", "railyard: interrupted\n")


def test_an_error_of_ours_is_not_hidden(add_command: Callable[[str, str], None]) -> None:
    add_command("weigh", "return 1 // 0")
    with pytest.raises(ZeroDivisionError):
        main(["weigh"])


def test_a_module_without_a_command_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(railyard.cli.commands, "__path__", [str(tmp_path)])
    (tmp_path / "nothing_here.py").write_text("command = 3\n", encoding="utf-8")
    with pytest.raises(
        TypeError, match=r"^railyard\.cli\.commands\.nothing_here\.command is not a click\.Command, but a int$"
    ):
        main(["nothing_here"])


def test_no_argument_prints_the_help_and_is_2(
    add_command: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    add_command("weigh", "return 0")
    assert main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Usage: railyard [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize("size", [10, 100_000], ids=["at the last flush", "while printing"])
def test_a_reader_that_left_is_no_traceback_and_no_pass(size: int) -> None:
    program = (
        "import sys, click, railyard.cli.main as cli\n"
        f"cli.railyard_group.add_command(click.Command('weigh', callback=lambda: print('x' * {size})))\n"
        "cli.LazyGroup.list_commands = lambda self, ctx: ['weigh']\n"
        "cli.LazyGroup.get_command = lambda self, ctx, name: self.commands[name]\n"
        "sys.stdin.read()\n"
        "sys.exit(cli.main(['weigh']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_the_shell_completes_commands(
    add_command: Callable[[str, str], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_command("weigh", "return 0")
    for name, value in {"_RAILYARD_COMPLETE": "bash_complete", "COMP_WORDS": "railyard we", "COMP_CWORD": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert capsys.readouterr().out == "plain,weigh\n"


@pytest.mark.parametrize("argv", [[], ["--version"]])
def test_starting_imports_nothing_heavy(argv: list[str]) -> None:
    program = (
        "import json, sys\n"
        "from railyard.cli.main import main\n"
        f"main({argv!r}) if {argv!r} else None\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout.splitlines()[-1]) == []


def test_judging_a_small_output_by_a_link_imports_no_records_and_no_models(tmp_path: Path) -> None:
    output = tmp_path / "small.out"
    output.write_text("# OSU MPI Latency Test v7.5\n# Size      Latency (us)\n1         1.20\n", encoding="utf-8")
    needless = (*HEAVY, "railyard.results.record.form", "railyard.parsers.nccl_said", "railyard.site.gpu_shape")
    program = (
        "import json, sys\n"
        "from railyard.cli.main import main\n"
        f"main(['judge', {str(output)!r}, '--link', 'ib-edr'])\n"
        f"print(json.dumps([name for name in {needless!r} if name in sys.modules]))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout.splitlines()[-1]) == []
