"""Says in one sentence what is wrong in a command line: which option or argument, what was found, what was expected."""

import re
from typing import Any

import click

from railyard.base.errors import did_you_mean
from railyard.base.wording import either

#: How click 8 says that an option's type does not take a value: the value comes first.
_VALUE = re.compile(r"^'?(?P<value>.*?)'? is not (?:one of |in the range |a valid |'|valid )")
#: "File 'x' is a directory." and "Directory 'x' is a file."
_PATH = re.compile(r"^(?P<expected>File|Directory) '(?P<value>.*)' is a (?:directory|file)\.$")
_PATHS = {"File": ("a folder", "a file"), "Directory": ("a file", "a folder")}


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
