"""A rail whose frames arrive late: a relay between a node's cable and the switch, since few kernels here have netem.

    python late_rail.py DEVICE BRIDGE DELAY_MS JITTER_MS LARGEST_BYTES

It runs in the network namespace of the switch: it takes ``DEVICE``, the switch's end of a node's cable, off ``BRIDGE``,
puts a veth of its own in its place, and passes on each frame of at most ``LARGEST_BYTES`` (0: of any size), in both
directions, after ``DELAY_MS`` and a random part of ``JITTER_MS``, in the order in which they came; larger ones at once.
It prints ``late`` when the rail works again, and runs until it is ended.
"""

import contextlib
import heapq
import itertools
import random
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from railyard.provision.testbed.boot import SEARCH_PATH, front
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scripts import switch_port

#: Options of packet(7): Linux hands over up to 64 KiB of TCP as one frame, with a header of 10 bytes that says so.
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING = 263, 15, 23
_ALL_PROTOCOLS = 3
_HEADER_BYTES, _LARGEST_FRAME = 10, 1 << 17


@contextlib.contextmanager
def delay_frames(
    bed: Testbed, node: str, device: str, delay_ms: float, jitter_ms: float = 0.0, largest: int = 0
) -> Iterator[None]:
    """Make frames of a rail late, both ways, for the time of a block; ``largest`` in bytes (0: all frames)."""
    state = bed.state()
    port, bridge = switch_port(state.spec, node, device), f"br{state.spec.networks.index(state.spec.network(device))}"
    user = ["-U", "--preserve-credentials"] if state.user_namespace else []
    words = [port, bridge, str(delay_ms), str(jitter_ms), str(largest)]
    relay = subprocess.Popen(
        [*front(), "nsenter", "-t", str(state.first.pid), *user, "-n", sys.executable, str(Path(__file__)), *words],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": SEARCH_PATH, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        assert relay.stdout is not None
        assert relay.stdout.readline() == "late\n"
        yield
    finally:
        relay.terminate()
        relay.communicate()


def _open_socket(device: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    opened.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    opened.bind((device, _ALL_PROTOCOLS))
    return opened


def _relay(ends: tuple[socket.socket, socket.socket], delay_s: float, jitter_s: float, largest: int) -> None:
    """Pass frames from each end to the other for ever."""
    waiting: list[tuple[float, int, socket.socket, bytes]] = []
    number, last = itertools.count(), dict.fromkeys(ends, 0.0)
    while True:
        until = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], until)[0]:
            frame = end.recv(_LARGEST_FRAME)
            is_late = not largest or len(frame) - _HEADER_BYTES <= largest
            due = time.monotonic() + (delay_s + random.uniform(0, jitter_s) if is_late else 0.0)
            last[end] = max(due, last[end])  # no frame overtakes another
            heapq.heappush(waiting, (last[end], next(number), ends[1 - ends.index(end)], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            with contextlib.suppress(OSError):  # the queue is full, or the rail is down: a wire loses the frame too
                end.send(frame)


def main(device: str, bridge: str, delay_ms: str, jitter_ms: str, largest: str) -> None:
    """Put the relay in the cable's place, and run it."""
    inner, outer = f"{device}i", f"{device}o"
    for words in (
        f"link add {inner} type veth peer name {outer}",
        f"link set {inner} up",
        f"link set {outer} up",
        f"link set {device} nomaster",
        f"link set {device} promisc on",
        f"link set {outer} master {bridge}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    ends = (_open_socket(device), _open_socket(inner))
    print("late", flush=True)
    _relay(ends, float(delay_ms) / 1000, float(jitter_ms) / 1000, int(largest))


if __name__ == "__main__":
    main(*sys.argv[1:])
