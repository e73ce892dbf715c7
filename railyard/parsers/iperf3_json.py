"""What iperf3 writes with ``--json`` (one object per run) and ``--json-stream`` (one per line, since 3.17), as runs.

``read`` takes an object that begins a line, at any indent. A cut object gives a failure and no figures.
"""

from typing import Any

from railyard.parsers.iperf3_run import SUM, Row, Run
from railyard.parsers.iperf_intervals import Interval
from railyard.parsers.json_objects import figure, objects
from railyard.parsers.parsed import Remark

_BIT = 1e-6 / 8  # MB/s in one bit/s
# Sum under "end" -> who measured it and, with --bidir, in which direction; up to 3.6, UDP has only "sum"
_SUMS = (
    ("sum_sent", "sender", "TX-C"),
    ("sum_received", "receiver", "TX-C"),
    ("sum_sent_bidir_reverse", "sender", "RX-C"),
    ("sum_received_bidir_reverse", "receiver", "RX-C"),
)


def read(text: str) -> tuple[list[Run], list[Remark]]:
    """Return the runs of all objects of iperf3 in this text, and failures: errors that they report, and cut objects."""
    runs: list[Run] = []
    failures: list[Remark] = []
    if '"start"' not in text and '"event"' not in text:
        return runs, failures
    for lines, found in objects(text, _is_own):
        line = lines.start
        if found is None:
            failures.append(Remark(line, "JSON of iperf3 that ends before its closing brace"))
            continue
        event = found.get("event")
        piece = {event: found.get("data")} if isinstance(event, str) else found
        start, end, error = piece.get("start"), piece.get("end"), piece.get("error")
        if isinstance(start, dict):
            runs.append(_start_run(line, start))
        for run in runs[-1:]:
            _take_intervals(run, line, piece)
        if runs and isinstance(end, dict):
            _end_run(runs[-1], end)
        if runs and isinstance(error, str):
            failures.append(Remark(line, f"iperf3: {error[:2000]}"))
            runs[-1].spoiled = True
    return runs, failures


def _is_own(beginning: str) -> bool:
    return "iperf 3" in beginning or beginning.startswith(('{"event":"', '{\n\t"start"'))


def _start_run(line: int, start: dict[str, Any]) -> Run:
    version, said = start.get("version"), start.get("test_start")
    run = Run(line)
    if isinstance(version, str) and version.startswith("iperf 3"):
        run.version = version.split()[1]
    if isinstance(said, dict):
        streams, protocol = figure(said, "num_streams"), said.get("protocol")
        if streams and streams >= 1:
            run.context["streams"] = int(streams)
        if isinstance(protocol, str):
            run.context["protocol"] = protocol
        run.both = said.get("bidir") == 1
        run.reverse = said.get("reverse") == 1
    return run


def _take_intervals(run: Run, line: int, piece: dict[str, Any]) -> None:
    """Keep the sums of the intervals of a run's object ("intervals"), or of one event ("interval").

    Source: iperf_print_intermediate in src/iperf_api.c of esnet/iperf; ``omitted`` is what ``-O`` leaves out.
    """
    several, one = piece.get("intervals"), piece.get("interval")
    for each in several if isinstance(several, list) else [one]:
        for name, way in (("sum", "TX-C" if run.both else None), ("sum_bidir_reverse", "RX-C")):
            values = each.get(name) if isinstance(each, dict) else None
            if not isinstance(values, dict) or values.get("omitted") is True:
                continue
            start, end, rate = (figure(values, key) for key in ("start", "end", "bits_per_second"))
            if start is not None and end is not None and rate is not None:
                run.take(SUM, way, Interval(line, start, end, rate * _BIT))


def _end_run(run: Run, end: dict[str, Any]) -> None:
    run.done = True
    sums = [(end.get(name), role, way if run.both else None) for name, role, way in _SUMS]
    if not any(isinstance(values, dict) for values, _, _ in sums):
        sums = [(end.get("sum"), "sender", None)]
    for values, role, way in sums:
        rate = figure(values, "bits_per_second") if isinstance(values, dict) else None
        if not isinstance(values, dict) or rate is None:
            continue
        counted_bytes = figure(values, "bytes")
        if way is None and counted_bytes is not None and not run.reverse:
            run.context |= {"bytes_sent" if role == "sender" else "bytes_received": int(counted_bytes)}
        again, seconds = figure(values, "retransmits"), figure(values, "seconds")
        counted = None if again is None else int(again)
        run.rows.append(Row(role, SUM, way, rate * _BIT, counted, round(seconds or 0.0, 2)))
        sent, lost = figure(values, "packets"), figure(values, "lost_packets")
        if sent is not None and lost is not None:
            run.context |= {"datagrams": int(sent), "lost": int(lost)}
