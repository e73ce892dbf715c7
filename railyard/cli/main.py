"""The command line: finds a command by its name, and turns what it raises into one sentence and an exit code."""

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from functools import partial

import click
from click.shell_completion import shell_complete

import railyard.cli.commands
from railyard import __version__
from railyard.base.errors import RailyardError
from railyard.base.terminal import error_width, fold_words
from railyard.cli.command_list import write_commands
from railyard.cli.mistakes import sentence

PROGRAM = "railyard"
COMPLETION_VARIABLE = "_RAILYARD_COMPLETE"  # click's own: eval "$(_RAILYARD_COMPLETE=bash_source railyard)"

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
EXIT_READER_LEFT = 141  # 128 + SIGPIPE


class LazyGroup(click.Group):
    """A group whose command NAME is ``command`` in ``railyard/cli/commands/NAME.py``, imported only when it is needed.

    So only a command that needs ReFrame, pydantic or rich waits for their import, and `--help` waits for none.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all modules in railyard/cli/commands, sorted."""
        return sorted(module.name for module in pkgutil.iter_modules(railyard.cli.commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, None if no module has it."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{railyard.cli.commands.__name__}.{cmd_name}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.command is not a click.Command, but a {type(command).__name__}")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all commands, grouped by what people do, without cutting any description."""
        write_commands(formatter, self.list_commands(ctx), partial(self.get_command, ctx))


@click.command(cls=LazyGroup, name=PROGRAM, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def railyard_group() -> None:
    """Test the interconnects of a cluster: does each deliver what it should, with each MPI stack, on one rail and on
    several? If not, which node, rail or setting is to blame?

    \b
    Examples:
      railyard run                               test a virtual cluster here
      railyard judge osu_bw.out --link ib-edr    judge an output that you have

    Exit code: 0 all pass, 1 a test failed or was disturbed, 2 wrong input or a set-up that cannot work, 130 Ctrl-C.
    Only gate has another one: 3 undecided.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line (default: the process's own, without the program's name).

    A command returns its code (None is 0). If the user did something wrong, one line on stderr says it, and the code is
    2.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _answer(arguments)
        sys.stdout.flush()
        return code
    except RailyardError as error:
        _say(str(error))
        return EXIT_MISTAKE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_MISTAKE
    except click.ClickException as error:
        _say(sentence(error))
        return EXIT_MISTAKE
    except (KeyboardInterrupt, click.Abort):
        click.echo("railyard: interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _reader_left()


def _answer(arguments: list[str]) -> int:
    """Return the command's own code.

    It does not call `Group.main`: that ends the process with 1 when a pipe breaks, but here 1 says that a verdict
    failed.
    """
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        return shell_complete(railyard_group, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
    try:
        with railyard_group.make_context(PROGRAM, arguments) as context:
            result = railyard_group.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return result if isinstance(result, int) else 0


def _say(text: str) -> None:
    """Print an error; on a terminal, break its lines between words."""
    click.echo(fold_words(f"railyard: {text}", error_width(), "  "), err=True)


def _reader_left() -> int:
    """Return 141 after the reader of our output (`head`, a pager) went away: never 0, since no verdict was reached.

    Point stdout at nothing, or the interpreter's last flush would print the same error again.
    """
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    return EXIT_READER_LEFT


if __name__ == "__main__":  # `python -m railyard.cli.main`, which would otherwise do nothing, with exit code 0
    sys.exit(main())
