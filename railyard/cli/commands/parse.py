"""`railyard parse`: shows what a benchmark's output holds, as tables, key figures and plots, or as JSON."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import click

from railyard.base.errors import RailyardError
from railyard.base.files import read_output, shown_name
from railyard.base.json_codec import encode
from railyard.base.terminal import width
from railyard.base.values import clean
from railyard.cli.options import say
from railyard.parsers.detect import parse
from railyard.parsers.nccl_said import Job, Log, NcclOutput
from railyard.parsers.output import ParsedOutput, ParseError, Remark, Table
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.provision.replay.form import said_of_itself

#: History of the format: 1 is the first. A reader refuses a number that it does not know.
FORMAT = 1


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


def to_json(parsed: ParsedOutput, file: str | None = None) -> dict[str, Any]:
    """Return the object: format, tables, failures, remarks; and ``file`` and what else there is in the text.

    That is ``fabric`` (ports), ``hardware`` (slots, GIDs, nearness) and ``nccl``. Numbers are not rounded; texts have
    no control codes. JSON can hold every value.
    """
    return {
        "format": FORMAT,
        **({} if file is None else {"file": clean(file)}),
        "tables": [_table(table) for table in parsed.tables],
        **({"fabric": [encode(port.as_json(), "fabric") for port in parsed.fabric]} if parsed.fabric else {}),
        **({"hardware": encode(parsed.hardware.as_json(), "hardware")} if parsed.hardware else {}),
        **({} if parsed.nccl is None else {"nccl": _nccl_json(parsed.nccl)}),
        "failures": _remarks(parsed.failures),
        "remarks": _remarks(parsed.remarks),
    }


def _table(table: Table) -> dict[str, Any]:
    # rows are not encoded cell by cell: a table has only finite numbers, and a log of WRF has 10^5 of them
    return {
        "tool": table.tool,
        "version": None if table.version is None else clean(table.version),
        "benchmark": None if table.benchmark is None else clean(table.benchmark),
        "context": encode(table.context, "context"),
        "columns": [clean(column) for column in table.columns],
        "units": list(table.units),
        "rows": [list(row) for row in table.rows],
        "line": table.line,
        "complete": table.complete,
    }


def _remarks(remarks: Sequence[Remark]) -> list[dict[str, Any]]:
    return [{"line": remark.line, "text": clean(remark.text)} for remark in remarks]


def _nccl_json(nccl: NcclOutput) -> dict[str, Any]:
    """Return the jobs of nccl-tests, and the log: for each kind of sentence a list of its values by name."""
    log = nccl.log
    return {
        "jobs": [_job(job) for job in nccl.jobs],
        "log": None if log is None else {field.name: _values_json(getattr(log, field.name)) for field in fields(Log)},
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "line": job.line,
        "benchmark": None if job.benchmark is None else clean(job.benchmark),
        "version": None if job.version is None else clean(job.version),
        "tables": list(job.tables),
        "settings": dict(job.settings),
        "avg_busbw_gb_s": job.avg_busbw_gb_s,
        "out_of_bounds": job.out_of_bounds,
        "separate_from": job.separate_from,
        "ranks": _values_json(job.ranks),
    }


def _values_json(values: Sequence[Any]) -> list[Any]:
    return [{name: _value(value) for name, value in each._asdict().items()} for each in values]


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if hasattr(value, "_asdict"):
        return _values_json([value])[0]
    return list(value) if isinstance(value, tuple) else value
