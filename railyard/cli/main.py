"""The command line: finds a command by its name, and turns what it raises into one sentence and an exit code."""

import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click
from click.shell_completion import shell_complete

import railyard.cli.commands
from railyard import __version__
from railyard.base.errors import RailyardError, did_you_mean, take_remarks
from railyard.base.terminal import error_width, fold_words
from railyard.base.wording import either

PROGRAM = "railyard"
COMPLETION_VARIABLE = "_RAILYARD_COMPLETE"  # click's own: eval "$(_RAILYARD_COMPLETE=bash_source railyard)"

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
EXIT_READER_LEFT = 141  # 128 + SIGPIPE


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
        "apps": "Check what applications need before they run.",
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
        "preflight": "Check the nodes of this job before its application.",
        "lint": "Check systems and references for mistakes and gaps.",
        "schema": "Print the JSON Schema of a kind of file, for editors.",
        "ci": "Write pipelines for GitLab.",
    },
}

#: The heading for commands that are in no group.
_OTHER = "Commands"

_WHOLE = 1000  # characters: so no description is cut


#: How click 8 says that an option's type does not take a value: the value comes first.
_VALUE = re.compile(r"^'?(?P<value>.*?)'? is not (?:one of |in the range |a valid |'|valid )")

#: "File 'x' is a directory." and "Directory 'x' is a file."
_PATH = re.compile(r"^(?P<expected>File|Directory) '(?P<value>.*)' is a (?:directory|file)\.$")

_PATHS = {"File": ("a folder", "a file"), "Directory": ("a file", "a folder")}


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
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _show_version(context) if wanted else None,
    help="Show version and commit, and exit.",
)
def railyard_group() -> None:
    """Test the interconnects of a cluster: does each deliver what it should, with each MPI stack, on one rail and on
    several? If not, which node, rail or setting is to blame?

    \b
    Examples:
      railyard run                               test a virtual cluster here
      railyard judge osu_bw.out --link ib-edr    judge an output that you have

    Exit code: 0 all pass, 1 a test failed or was disturbed, 2 wrong input or a set-up that cannot work, 130 Ctrl-C.
    Only gate and preflight have another one: 3 undecided.
    """


def _show_version(context: click.Context) -> None:
    from railyard.base.commit import show_commit
    from railyard.base.paths import find_shipped

    click.echo(f"{PROGRAM} {__version__} ({show_commit(find_shipped())})")
    context.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command line (default: the process's own, without the program's name).

    A command returns its code (None is 0). If the user did something wrong, one line on stderr says it, and the code is
    2. Remarks follow on stderr.
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
    finally:
        for remark in take_remarks():
            _say(f"remark: {remark}")


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


def sentence(error: click.ClickException) -> str:
    """Return what is wrong, worded like the other errors, and where the command's help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f" (see: {context.command_path} --help)" if context is not None else ""
    return f"{_words(error, context)}{hint}"


def _words(error: click.ClickException, context: click.Context | None) -> str:
    if isinstance(error, click.NoSuchOption):
        near = f"; {did_you_mean(error.option_name, error.possibilities)}" if error.possibilities else ""
        return f'no such option "{error.option_name}"{near}'
    if isinstance(error, click.exceptions.NoSuchCommand) and context is not None:
        known = context.command.list_commands(context) if isinstance(context.command, click.Group) else ()
        return f'no such command "{error.command_name}"; {did_you_mean(error.command_name, known)}'
    if isinstance(error, click.BadParameter) and error.param is not None:
        if isinstance(error, click.MissingParameter):
            return f"{_name(error.param)}: found none, expected {_describe_type(error.param.type) or 'one'}"
        return f"{_name(error.param)}: {_wrong_value(error.message, error.param.type)}"
    text = error.format_message().strip()
    return text[:1].lower() + text[1:].rstrip(".")


def _name(parameter: click.Parameter) -> str:
    """Return an option's long form as it is typed, or an argument as the usage line names it."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name.split("...")[0].strip("[]- ")


def _wrong_value(message: str, kind: "click.ParamType[Any]") -> str:
    found, expected = _VALUE.match(message), _describe_type(kind)
    if found is not None and expected is not None:
        near = ""
        if isinstance(kind, click.Choice):
            hint = did_you_mean(found["value"], map(str, kind.choices))
            near = f"; {hint}" if hint.startswith("did you") else ""
        return f'found "{found["value"]}", expected {expected}{near}'
    of_path = _PATH.match(message)
    if of_path is not None:
        is_a, wanted = _PATHS[of_path["expected"]]
        return f'found "{of_path["value"]}", {is_a}, expected {wanted}'
    return message.rstrip(".")


def _describe_type(kind: "click.ParamType[Any]") -> str | None:
    """Return in words what a type takes; None for a type that takes any text."""
    if isinstance(kind, click.Choice):
        return either([str(choice) for choice in kind.choices])
    if isinstance(kind, click.IntRange | click.FloatRange):
        return f"{_number(kind)}{_bounds(kind)}"
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return _number(kind)
    return None


def _number(kind: "click.ParamType[Any]") -> str:
    return "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"


def _bounds(kind: click.IntRange | click.FloatRange) -> str:
    low = None if kind.min is None else f"{'above' if kind.min_open else 'of at least'} {kind.min:g}"
    high = None if kind.max is None else f"{'below' if kind.max_open else 'at most'} {kind.max:g}"
    if low is None or high is None:
        return f" {low or f'of {high}'}"
    return f" {low} and {high}"


if __name__ == "__main__":  # `python -m railyard.cli.main`, which would otherwise do nothing, with exit code 0
    sys.exit(main())
