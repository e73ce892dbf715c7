"""What iperf3 writes with ``--json`` (one object a run) and ``--json-stream`` (one a line, since 3.17), as runs.

``read`` takes an object that begins a line, of any indent; what is cut inside one gives no figure but a failure.
"""

import json
from collections.abc import Iterator
from typing import Any

from railyard.parsers.iperf3_run import SUM, Row, Run
from railyard.parsers.parsed import Remark

_BIT = 1e-6 / 8  # MB/s in one bit/s
# Sum under "end" -> who measured it and, with --bidir, on whose way; "sum" is all that UDP had up to 3.6
_SUMS = (
    ("sum_sent", "sender", "TX-C"),
    ("sum_received", "receiver", "TX-C"),
    ("sum_sent_bidir_reverse", "sender", "RX-C"),
    ("sum_received_bidir_reverse", "receiver", "RX-C"),
)
_ATTEMPTS = 8  # texts that only look like an object: each costs its length at most


def read(text: str) -> tuple[list[Run], list[Remark]]:
    """Return the runs of every object of iperf3 in this text, and the errors that they and their cuts report."""
    runs: list[Run] = []
    failures: list[Remark] = []
    if '"start"' not in text and '"event"' not in text:
        return runs, failures
    for line, found in _objects(text):
        event = found.get("event")
        if found.keys() == {""}:
            failures.append(Remark(line, "JSON of iperf3 that ends before its closing brace"))
            continue
        piece = {event: found.get("data")} if isinstance(event, str) else found
        start, end, error = piece.get("start"), piece.get("end"), piece.get("error")
        if isinstance(start, dict):
            runs.append(_started(line, start))
        if runs and isinstance(end, dict):
            _ended(runs[-1], end)
        if runs and isinstance(error, str):
            failures.append(Remark(line, f"iperf3: {error[:2000]}"))
            runs[-1].spoiled = True
    return runs, failures


def _objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return every object that begins a line, with that line; an object with the key "" stands for one that is cut."""
    decoder, line, counted, start, failed = json.JSONDecoder(), 1, 0, 0, 0
    while failed < _ATTEMPTS:
        if text[start : start + 1] != "{":
            start = text.find("\n{", start) + 1
            if start == 0:
                return
        line, counted = line + text.count("\n", counted, start), start
        try:
            found, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            failed += 1
            beginning = text[start : start + 4000]
            if "iperf 3" in beginning or beginning.startswith(('{"event":"', '{\n\t"start"')):
                yield line, {"": None}
            start += 1
            continue
        if isinstance(found, dict):
            yield line, found


def _started(line: int, start: dict[str, Any]) -> Run:
    version, said = start.get("version"), start.get("test_start")
    run = Run(line)
    if isinstance(version, str) and version.startswith("iperf 3"):
        run.version = version.split()[1]
    if isinstance(said, dict):
        streams, protocol = _figure(said, "num_streams"), said.get("protocol")
        if streams and streams >= 1:
            run.context["streams"] = int(streams)
        if isinstance(protocol, str):
            run.context["protocol"] = protocol
        run.both = said.get("bidir") == 1
        run.reverse = said.get("reverse") == 1
    return run


def _ended(run: Run, end: dict[str, Any]) -> None:
    run.done = True
    sums = [(end.get(name), role, way if run.both else None) for name, role, way in _SUMS]
    if not any(isinstance(values, dict) for values, _, _ in sums):
        sums = [(end.get("sum"), "sender", None)]
    for values, role, way in sums:
        rate = _figure(values, "bits_per_second") if isinstance(values, dict) else None
        if not isinstance(values, dict) or rate is None:
            continue
        counted_bytes = _figure(values, "bytes")
        if way is None and counted_bytes is not None and not run.reverse:
            run.context |= {"bytes_sent" if role == "sender" else "bytes_received": int(counted_bytes)}
        again, seconds = _figure(values, "retransmits"), _figure(values, "seconds")
        counted = None if again is None else int(again)
        run.rows.append(Row(role, SUM, way, rate * _BIT, counted, round(seconds or 0.0, 2)))
        sent, lost = _figure(values, "packets"), _figure(values, "lost_packets")
        if sent is not None and lost is not None:
            run.context |= {"datagrams": int(sent), "lost": int(lost)}


def _figure(values: dict[str, Any], key: str) -> float | None:
    """Return a number that a float can hold; None for what is none (true is none)."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e30 < value < 1e30 else None
