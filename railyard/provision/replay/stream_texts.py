"""A bandwidth as iperf3 prints it with ``-J``, with a line that says that it is synthetic; no intervals and no host."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railyard.provision.replay.texts import OutputPlan

_SECONDS = 10  # iperf3's own default; a synthetic run took no time


def iperf3(made: "OutputPlan", name: str) -> str:
    """Return a run of TCP one way; ``name`` says how many streams (``iperf3/4-streams``), or there is one."""
    streams = int(name.partition("/")[2].removesuffix("-streams") or 1)
    _, _, bandwidth_mb_s = made.rows[-1]
    seconds: float = made.amount_bytes / bandwidth_mb_s / 1e6 if made.amount_bytes else _SECONDS
    summed = {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": made.amount_bytes or round(bandwidth_mb_s * 1e6 * seconds),
        "bits_per_second": bandwidth_mb_s * 8e6,
    }
    whole = {
        "start": {
            "version": "iperf 3.12",
            "test_start": {"protocol": "TCP", "num_streams": streams, "duration": _SECONDS, "reverse": 0},
        },
        "intervals": [],
        "end": {"sum_sent": {**summed, "sender": True}, "sum_received": {**summed, "sender": False}},
    }
    return f"# {made.sentence}\n{json.dumps(whole, indent=1)}\n"
