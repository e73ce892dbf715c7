"""`railyard parse`: shows what a benchmark's output holds, as tables, key figures and plots, or as JSON."""

import io
import json
import sys
from dataclasses import replace

import click

from railyard.base.errors import RailyardError
from railyard.base.output_file import read_output, shown_name
from railyard.base.terminal import width
from railyard.cli.options import say
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, ParseError, Remark
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.provision.replay.form import said_of_itself


@click.command(name="parse")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, not rounded, instead of text.")
@click.option(
    "--tool", metavar="NAME", help="The tool that printed each FILE, if several tools print the same heading."
)
def command(files: tuple[str, ...], as_json: bool, tool: str | None) -> int:
    """Show what is in the output of a benchmark or fabric tool.

    \b
    Examples:
      railyard parse osu_bw.out
      railyard parse osu_bw.out ibstat.txt --json
      mpirun -np 2 osu_bw | railyard parse -

    Each FILE is one output; - is standard input, and gzip is unpacked. You see its tables, key figures, a plot,
    failures and remarks. The tool is recognised by what it printed.

    Exit code: 0 every FILE was read, or says itself why it has no table; 2 one is not the output of a known tool. The
    others are printed anyway.
    """
    from railyard.parsers.as_json import to_json
    from railyard.results.report.output_text import parsed_text

    several = len(files) > 1
    code = 0
    for place, file in enumerate(files):
        try:
            parsed = read(file, tool)
        except RailyardError as error:
            say(f"railyard: {error}", err=True)
            code = 2
            continue
        named = file if several else None
        if as_json:
            click.echo(json.dumps(to_json(parsed, named), allow_nan=False, separators=(",", ":")))
        else:
            click.echo(parsed_text(parsed, named, width=width()), nl=place < len(files) - 1)
    return code


def read(file: str, tool: str | None = None) -> ParsedOutput:
    """Return what one output holds, printed by ``tool``, or by any tool if None; `-` is standard input.

    Raises RailyardError, with the file, if it cannot be read or is not the output of one known tool.
    """
    # sys.stdin is None if it was closed
    text = read_output(file, getattr(sys.stdin, "buffer", io.BytesIO()))
    made = said_of_itself(text)
    try:
        parsed = with_wrong_lines(parse(text, tool), text)
        return parsed if made is None else replace(parsed, remarks=(Remark(*made), *parsed.remarks))
    except ParseError as error:
        raise RailyardError(f"{shown_name(file)}: {error}") from error
