"""The two scripts that lead into a node, ``enter`` and ``agent``, and the list of nodes that they read. Pure.

They are in the state folder. When the testbed is down they stay, and say so in a sentence.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from railyard.base.paths import state_folder
from railyard.provision.testbed.spec import TestbedSpec

#: Beside the scripts: line 1 ``bed USER_NAMESPACE START`` (0 or 1; start time of the first process), then one line per
#: node, ``NODE PID PID_INSIDE START ALIAS…``. ``down`` removes it.
NODES_FILE = "nodes"
NOT_UP = "the virtual cluster is not up: run 'railyard testbed up'"
#: The folder of each kind of testbed, below the state folder: namespaces, guests, and the nodes of a rehearsal.
CLUSTER, GUESTS, REHEARSAL = "testbed", "guests", "rehearsal-bed"
#: The sentence that a testbed of namespaces is not up, by its kind.
_NOT_UP = {CLUSTER: NOT_UP, REHEARSAL: "no rehearsal is up: run 'railyard rehearse --system NAME'"}


def bed_folder(home: Path, kind: str = CLUSTER) -> Path:
    """Return the folder of a site's testbed: its state, and the two scripts."""
    return state_folder(home) / kind


def not_up(kind: str) -> str:
    """Return the sentence that a testbed of namespaces of this kind is not up."""
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


# TMPDIR is always the node's own: /tmp is shared, every testbed has a vn1 whose user is 0, and Open MPI 4.1.4 keeps its
# session in $TMPDIR/ompi.vn1.0. So the testbeds of two users ("mkdir: Permission denied") or two clones would collide.
# The start time shows whether a process id still belongs to the testbed or was given to another process. /proc/PID/stat
# is read after the last ")", because a process may have blanks and brackets in its name; the start time is field 22 of
# the whole. For a zombie (Z: it was killed, and its parent has not asked how it ended) it is 0, as if there were no
# process.
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
start_of() { # sets $start to the start time of process $1, 0 if it does not live
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
    """Return the beginning of ``enter`` for every kind of testbed, up to where a node of the list was found.

    ``program`` is its name in messages, ``down`` the message if nothing is up. ``first`` names the variables in the
    first line of the list after ``user`` (0 or 1). ``fields`` names those in each node's line between its name and its
    aliases; the wanted node's are kept, and its name as ``found``. After this part the script has ``here``, ``as``
    (what nsenter needs for another user's namespaces) and the function ``start_of PID``.
    """
    values = {
        "PROGRAM": program,
        "NOUN": noun,
        "DOWN": down,
        "FIRST": first,
        "FIELDS": " ".join(f"its_{name}" for name in fields),
        "KEPT": " ".join(f"{name}=$its_{name}" for name in fields),
    }
    return fill_script(_HEAD, values)


def fill_script(text: str, values: Mapping[str, str]) -> str:
    """Return a script's text with each ``@NAME@`` replaced by its value."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


# From the host, nsenter forks for the pid namespace and then forwards no signal, so setpriv --pdeathsig makes the
# command end when nsenter ends. Within the testbed nothing forks: agent's own process becomes the command. A new mount
# namespace means a new view of the working folder, hence the cd inside.
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
    """Return the script ``enter NODE -- COMMAND…`` for nodes that are namespaces; works on the host and in a node."""
    return enter_head("railyard testbed", "node", not_up(kind), "first", ("outer", "inner", "born")) + _ENTER


# Like ssh, it joins the words with blanks and gives them to a shell. Hydra calls `agent -x HOST …`, Open MPI `agent
# HOST …`.
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
