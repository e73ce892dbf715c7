"""What a parser read, as the JSON object that `railyard parse --json` prints."""

# History of the format: 1 is the first. A reader refuses a number that it does not know.

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from railyard.base.clean_text import clean
from railyard.base.json_codec import encode
from railyard.parsers.nccl_said import Job, Log, NcclOutput
from railyard.parsers.output import ParsedOutput, Remark, Table

FORMAT = 1


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
