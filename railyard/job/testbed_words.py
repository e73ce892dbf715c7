"""The words that start something on nodes of our testbeds: a launcher, a probe, or one process per node."""

import shlex
from pathlib import Path

from railyard.parsers.failure_lines import NO_TURN, STOPPED
from railyard.provision.testbed.boot import front
from railyard.provision.testbed.scripts import CLUSTER, bed_folder, enter_script

#: How long after SIGTERM a hanging run is killed, in seconds: Open MPI needs about 2 to end its daemons.
KILL_AFTER_S = 5
#: The exit code of `timeout` if it ended the job (coreutils).
TIMEOUT_EXIT = 124


#: Runs a launcher and, if it did not end at its time limit, kills whatever it has started: a stopped process ignores
#: the signal to end, and its launcher waits for it. They are found by a variable that all of them inherit. The second
#: before that is for the counter reader, which then says what hangs. A stopped one is named: it may be the launcher.
AND_KILL_THE_REST = (
    'RAILYARD_LAUNCH=$$.$PPID; export RAILYARD_LAUNCH; "$@"; code=$?; case $code in 124 | 137) sleep 1; '
    'for it in /proc/[0-9]*; do grep -qzxF "RAILYARD_LAUNCH=$RAILYARD_LAUNCH" $it/environ 2>/dev/null || continue; '
    'pid=${it#/proc/}; if grep -q "^State:.*T (stopped)" $it/status 2>/dev/null; then '
    f'echo "{STOPPED} $(cat $it/comm) of $(nsenter -t $pid -u hostname) is stopped (state T)" >&2; fi; '
    "kill -9 $pid; done ;; esac; exit $code"
)


#: How much longer than one job takes at most a launcher waits for its turn, in seconds.
TURN_MARGIN_S = 60
#: The exit code of a launcher that waited in vain (EX_TEMPFAIL of sysexits.h).
NO_TURN_EXIT = 75
#: Runs the rest of its words as soon as nobody else holds the lock: `sh -c WAIT_FOR_TURN turn SECONDS LOCK WORD …`.
WAIT_FOR_TURN = (
    f'limit=$1 lock=$2; shift 2; flock -o -w "$limit" -E {NO_TURN_EXIT} "$lock" "$@"; code=$?; '
    f'[ "$code" -ne {NO_TURN_EXIT} ] || echo "{NO_TURN} $lock for $limit s" >&2; exit "$code"'
)


def namespace_words(
    home: Path, node: str, limit_s: int, program: str, bed: str = CLUSTER, *, longest_s: int
) -> list[str]:
    """Return the words that run a launcher on a node of one of our testbeds: one at a time, with a time limit.

    By default ReFrame runs the tests of two partitions at once: with these words the jobs wait for one another. The
    lock is not passed on (``-o``): a process that outlives its launcher would keep it. ``longest_s`` is how long the
    longest job of the system may take, so nobody of ours holds the lock for longer.
    """
    turn_s = longest_s + KILL_AFTER_S + TURN_MARGIN_S
    turn = ["sh", "-c", WAIT_FOR_TURN, "turn", str(turn_s), str(bed_folder(home, bed) / "job.lock")]
    launch = ["sh", "-c", AND_KILL_THE_REST, "launch"]
    return [*turn, *launch, *node_words(home, node, limit_s, program, bed)]


def node_words(home: Path, node: str, limit_s: int, program: str, bed: str = CLUSTER) -> list[str]:
    """Return the words that run a program on a node of one of our testbeds, with a time limit."""
    limited = ["timeout", "-k", str(KILL_AFTER_S), str(limit_s)]
    return [*limited, *front(), str(enter_script(home, bed)), node, "--", program]


def each_node_words(home: Path, nodes: tuple[str, ...], bed: str = CLUSTER) -> list[str]:
    """Return the words that run a program on each of these nodes of a testbed of ours; they fail if any node fails."""
    script = (
        f'for node in {shlex.join(nodes)}; do "$0" "$node" -- "$@" & all="$all $!"; done; '
        "code=0; for one in $all; do wait $one || code=$?; done; exit $code"
    )
    return ["sh", "-c", script, str(enter_script(home, bed))]
