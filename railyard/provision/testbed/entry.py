"""The two scripts that lead into a node, ``enter`` and ``agent``, and the list of nodes that they read. Pure.

They lie in the state folder and stay there when the testbed is down, to say so in a sentence.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from railyard.base.paths import state_folder
from railyard.provision.testbed.spec import TestbedSpec

#: Beside the scripts: line 1 ``bed USER_NAMESPACE START`` (0 or 1; start time of the first process), then one line a
#: node, ``NODE PID PID_INSIDE START ALIAS…``. Removed by ``down``.
NODES_FILE = "nodes"
NOT_UP = "the virtual cluster is not up: run 'railyard testbed up'"
#: The folders of the kinds of testbeds below the state folder: namespaces, guests, and the nodes of a rehearsal.
CLUSTER, GUESTS, REHEARSAL = "testbed", "guests", "rehearsal-bed"
#: What is said where a testbed of namespaces is not up, by its kind.
_NOT_UP = {CLUSTER: NOT_UP, REHEARSAL: "no rehearsal is up: run 'railyard rehearse --system NAME'"}


def bed_folder(home: Path, kind: str = CLUSTER) -> Path:
    """Return the folder of a site's testbed: its state, and the two scripts."""
    return state_folder(home) / kind


def not_up(kind: str) -> str:
    """Return the sentence that a testbed of namespaces, of this kind, is not up."""
    return _NOT_UP[kind]


def enter_script(home: Path, kind: str = CLUSTER) -> Path:
    """Return the script that runs a command in a node, from the host."""
    return bed_folder(home, kind) / "enter"


def agent_script(home: Path, kind: str = CLUSTER) -> Path:
    """Return the script that MPI's launchers call in place of ssh."""
    return bed_folder(home, kind) / "agent"


def nodes_file(
    spec: TestbedSpec, user_namespace: bool, first_start: int, holders: Iterable[tuple[int, int, int]]
) -> str:
    """Return the text of the list of nodes; ``holders`` gives (pid, pid inside, start time) in the order of nodes."""
    lines = [f"bed {int(user_namespace)} {first_start}"]
    for node, (pid, inside, start) in zip(spec.nodes, holders, strict=True):
        aliases = [f"{node}-{network.device}" for network in spec.networks]
        aliases += [spec.address(node, network.device) for network in spec.networks]
        lines.append(" ".join([node, str(pid), str(inside), str(start), *aliases]))
    return "\n".join(lines) + "\n"


# TMPDIR is the node's own, whatever it was: /tmp is shared, every testbed has a vn1 whose user is 0, and Open MPI 4.1.4
# keeps its session in $TMPDIR/ompi.vn1.0: two users' testbeds ("mkdir: Permission denied"), or two clones, would meet.
# Start times tell a living testbed from a process id that something else has been given since: /proc/PID/stat is read
# behind the last ")" because a process may have blanks and brackets in its name; the start is field 22 of the whole.
# Of a zombie (Z: it was killed, and its parent has not asked how it ended) it is 0, as where there is no process.
_HEAD = """\
#!/bin/sh
# enter NODE -- COMMAND [ARGUMENT]...: run a command in a @NOUN@ of this testbed, from outside or from another @NOUN@
# Folder and environment are kept, but for TMPDIR, which is the @NOUN@'s own.
die() { echo "@PROGRAM@: $1" >&2; exit 2; }
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
[ $# -ge 2 ] || die "usage: enter NODE -- COMMAND [ARGUMENT]..."
wanted=$1
shift
[ "$1" != -- ] || shift
[ $# -ge 1 ] || die "usage: enter NODE -- COMMAND [ARGUMENT]..."
down="@DOWN@"
start_of() { # sets $start to the start time of process $1, 0 when there is none that lives
    start=0
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    line=${line##*) }
    start=$(set -- $line; [ "$1" = Z ] && echo 0 || echo "${20}")
}
[ -r "$here/nodes" ] || die "$down"
found= known=
{
    read -r _ user @FIRST@
    while read -r node @FIELDS@ aliases; do
        known="$known $node"
        for name in "$node" $aliases; do
            [ "$name" != "$wanted" ] || { found=$node @KEPT@; }
        done
    done
} <"$here/nodes"
[ -n "$found" ] || die "no @NOUN@ is called \\"$wanted\\"; known:$known"
as=
[ "$user" = 0 ] || as='-U --preserve-credentials'
"""


def enter_head(program: str, noun: str, down: str, first: str, fields: tuple[str, ...]) -> str:
    """Return what ``enter`` of every kind of testbed begins with, up to where a node of the list has been found.

    ``program`` and ``down`` are what it says of itself, and where nothing is up. ``first`` names the variables that the
    first line of the list gives behind ``user`` (0 or 1), ``fields`` those of each node's line between its name and
    its aliases; of the node that is meant they are kept, and its name as ``found``. Behind it the script has ``here``,
    ``as`` (what nsenter needs for another user's namespaces) and the function ``start_of PID``.
    """
    values = {
        "PROGRAM": program,
        "NOUN": noun,
        "DOWN": down,
        "FIRST": first,
        "FIELDS": " ".join(f"its_{name}" for name in fields),
        "KEPT": " ".join(f"{name}=$its_{name}" for name in fields),
    }
    return filled(_HEAD, values)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a script's text, each ``@NAME@`` of it replaced by its value."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


# From the host, nsenter forks for the pid namespace and then forwards no signal, so the command is told to end when
# nsenter does (setpriv --pdeathsig). Within the testbed nothing forks: agent's own process becomes the command.
# A new mount namespace means a new view of the working folder, hence the cd inside.
_ENTER = """\
inside='cd "$1" 2>/dev/null || {
    echo "railyard testbed: $0 has no folder $1: each node has its own /run, /sys and /dev/shm" >&2
    exit 2
}
export TMPDIR=/run/tmp
shift; exec "$@"'
folder=$(pwd -P) || exit 2
start_of 1
if [ "$start" = "$first" ]; then # this is a process of the testbed
    exec nsenter -t "$inner" -n -u -m -i sh -c "$inside" "$found" "$folder" "$@"
fi
start_of "$outer"
[ "$start" = "$born" ] || die "$down"
exec nsenter -t "$outer" $as -n -u -m -i -p setpriv --pdeathsig TERM sh -c "$inside" "$found" "$folder" "$@"
"""


def enter_text(kind: str = CLUSTER) -> str:
    """Return the script ``enter NODE -- COMMAND…`` of nodes that are namespaces; it works on the host and in a node."""
    return enter_head("railyard testbed", "node", not_up(kind), "first", ("outer", "inner", "born")) + _ENTER


# As ssh does, the words are joined with blanks and given to a shell. Hydra calls `agent -x HOST …`, Open MPI
# `agent HOST …`.
AGENT = """\
#!/bin/sh
# agent [SSH OPTIONS] [USER@]HOST COMMAND...: what MPI launchers call in place of ssh
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
while :; do
    case ${1-} in
    -[BbcDEeFIiJLlmOopQRSWw]) shift; [ $# = 0 ] || shift ;;
    -*) shift ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "railyard testbed: usage: agent HOST COMMAND..." >&2; exit 2; }
host=${1#*@}
shift
exec "$here/enter" "$host" -- /bin/sh -c "$*"
"""
