"""Loads every rail of the virtual cluster both ways at once, around all nodes, and reads every counter repeatedly."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from railyard.cluster.doctor import payload
from railyard.cluster.soak.judge import Reading, Stream
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.spec import TestbedSpec

_FIRST_PORT = 19900
_EXEC_LIMIT_S = 30
# So no stream ends by itself: 10^18 B take more than 200,000 hours on a rail of 10 Gbit/s.
_ENDLESS = str(10**18)
# Prints every counter of every device except lo, as DEVICE NAME VALUE.
_READ = """\
for path in /sys/class/net/*/statistics/* /sys/class/net/*/carrier_changes; do
    device=${path#/sys/class/net/}
    device=${device%%/*}
    [ "$device" != lo ] && { IFS= read -r value <"$path"; } 2>/dev/null && echo "$device ${path##*/} $value"
done
"""


@dataclass
class _End:
    """One end of a stream: a node and the process there. It ends when this process ends, whatever the reason."""

    enter: str
    node: str
    words: list[str]
    running: "subprocess.Popen[bytes] | None" = field(default=None)

    def hold(self) -> None:
        """Start it, or start it again if it has ended: it ends if its link is down for long."""
        if self.running is None or self.running.poll() is not None:
            silent = subprocess.DEVNULL
            # `enter` ends its command when it is ended itself, and the kernel ends `enter` when this process ends.
            self.running = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self.enter, self.node, "--", *self.words],
                stdin=silent, stdout=silent, stderr=silent, start_new_session=True,
            )  # fmt: skip

    def end(self) -> None:
        """End it and everything that it started."""
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()


def soak(bed: Testbed, seconds: float, every_s: float, keep: Callable[[Reading], None]) -> None:
    """Load all rails for so long; give each reading to ``keep`` as it is made, from the beginning to the end."""
    with _keep_streams(bed) as ends:
        time.sleep(min(1.0, every_s))  # give the streams time to begin
        begun = time.monotonic()
        while True:
            keep(Reading(time.monotonic() - begun, _counters(bed)))
            left = begun + seconds - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(every_s, left))
            for end in ends:
                end.hold()


@contextlib.contextmanager
def _keep_streams(bed: Testbed) -> Iterator[list[_End]]:
    """Keep both ends of every stream running."""
    ends = list(_ends(bed))
    try:
        for end in ends:
            end.hold()
        yield ends
    finally:
        for end in ends:
            end.end()


def streams(spec: TestbedSpec) -> tuple[Stream, ...]:
    """Return a stream from each node to the next on each network, so that every rail sends and receives at once."""
    ring = tuple(zip(spec.nodes, (*spec.nodes[1:], spec.nodes[0]), strict=True))
    return tuple((node, peer, network.device) for network in spec.networks for node, peer in ring)


def _ends(bed: Testbed) -> Iterator[_End]:
    enter, program = str(bed.enter), [sys.executable, payload.__file__]
    for number, (node, peer, device) in enumerate(streams(bed.spec)):
        own, to = bed.spec.address(node, device), bed.spec.address(peer, device)
        tail = [str(_FIRST_PORT + number), _ENDLESS]
        yield _End(enter, peer, [*program, "receive", to, *tail])
        yield _End(enter, node, [*program, "send", own, to, *tail])


def _counters(bed: Testbed) -> dict[tuple[str, str], dict[str, int]]:
    """Return all counters by node and device."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for node in bed.spec.nodes:
        done = bed.exec(node, ["sh", "-c", _READ], timeout_s=_EXEC_LIMIT_S)
        for line in done.stdout.splitlines():
            device, name, value = line.split()
            if value.isdigit():
                found.setdefault((node, device), {})[name] = int(value)
    return found
