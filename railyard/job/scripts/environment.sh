#!/bin/sh
# Writes the variables with which a benchmark really runs, and the libraries that it loaded, from its own process:
#   sh environment.sh OUTDIR TAG NODE PID
# PID is the process that the counter reader started (reader.sh). It may be a wrapper that sets variables for the
# benchmark. So the last of the processes that begin at PID is read, in /proc/PID/environ, again and again until it is
# not a shell any more. Only the variables of environment.names (beside this script, one name per line) are written: an
# environment holds secrets. A library loads others while it starts (UCX and libfabric their transports, Open MPI its
# components), so /proc/PID/maps is read some times more, for the names that environment.libraries describes. After
# 15 s nothing is read any more: what MPI needs is loaded then, and reading stops the process for a moment.
# OUTDIR/NODE.environment has what was found (railyard/job/environment.py reads it).

set -f

proc=${RAILYARD_PROC:-/proc}
outdir=$1 tag=$2 node=$3 pid=$4
case $0 in */*) beside=${0%/*} ;; *) beside=. ;; esac
names=' '
while IFS= read -r name; do names="$names$name "; done <"$beside/environment.names" || exit 0

programs=' '
if [ -r "$beside/environment.programs" ]; then
    while IFS= read -r name; do programs="$programs$name "; done <"$beside/environment.programs"
fi

# Sets $children to the children of a process, with blanks between them.
children_of() {
    children=''
    { read -r children <"$proc/$1/task/$1/children"; } 2>/dev/null
}

# Sets $last to the process below $1 that runs one of the $programs; fails if none does.
find_program() {
    last=$1
    if program_of; then
        case $programs in *" $program "*) return 0 ;; esac
    fi
    children_of "$1"
    for below in $children; do
        find_program "$below" && return 0
    done
    return 1
}

# Sets $last to the last process that begins at $pid: a wrapper that does not become its command has it as a child. What
# starts a program in an image may have other children, such as one that mounts the image: then the program's name
# decides, and this fails until the program runs.
last_of() {
    if [ "$programs" != ' ' ]; then
        find_program "$pid"
        return
    fi
    last=$pid
    while :; do
        children_of "$last"
        children=${children%% *}
        [ -n "$children" ] || return 0
        last=$children
    done
}

# Sets $program to the program of process $last, without its folder; fails if there is none.
program_of() {
    program=$(readlink "$proc/$last/exe" 2>/dev/null) || return
    program=${program##*/}
}

# A value of several lines becomes one line here.
wanted() {
    tr '\n\0' ' \n' <"$proc/$last/environ" 2>/dev/null | while IFS= read -r line; do
        case $names in *" ${line%%=*} "*) printf 'set %s %s\n' "${line%%=*}" "${line#*=}" ;; esac
    done
}

# During execve(2) a process may have its program already but not its variables; then it shows none at all.
has_some() {
    [ -n "$(tr -d '\0' <"$proc/$last/environ" 2>/dev/null | head -c 1)" ]
}

# If the root of a process is another folder (chroot), the kernel shows its paths with that folder before them.
without_root() {
    while IFS= read -r line; do
        case $line in *" $root/"*) line="${line%%"$root"/*}/${line#*"$root"/}" ;; esac
        printf '%s\n' "$line"
    done
}

# Adds to $libraries a line for each library of process $last that carries messages; a library may have several lines.
# Sets $unread if the process does not show them.
read_libraries() {
    maps=$(cat "$proc/$last/maps" 2>/dev/null) || return 0
    root=$(readlink "$proc/$last/root" 2>/dev/null) || root=/
    [ "$root" = / ] || maps=$(printf '%s\n' "$maps" | without_root)
    mapped=$(printf '%s\n' "$maps" | grep -oE -f "$beside/environment.libraries")
    case $? in
    0) libraries=$(printf '%s\n%s\n' "$libraries" "$mapped" | sort -u) unread='' ;;
    1) unread='' ;; # none of them yet
    esac
}

# A signal ends this shell at once only while it waits for a child; the sleep must not live on, with the job's files.
trap 'kill "$sleeper" 2>/dev/null; exit 0' TERM
libraries='' unread=yes
for wait_s in 0.1 0.4 1 2 4 8; do
    sleep "$wait_s" &
    sleeper=$!
    wait "$sleeper" || exit 0
    last_of || continue
    program_of || exit 0
    has_some || [ "$wait_s" = 2 ] || continue
    found=$(wanted)
    read_libraries
    # It may have ended, or become another program, in the meantime.
    before=$program
    program_of && [ "$program" = "$before" ] || continue
    {
        printf 'railyard-environment 1 %s\nnode %s\nprogram %s\n' "$tag" "$node" "$program"
        [ -z "$found" ] || printf '%s\n' "$found"
        [ -n "$unread" ] || echo maps
        printf '%s\n' "$libraries" | sed '/./!d; s/^/library /'
        echo end
    } >"$outdir/$node.environment.new" && mv "$outdir/$node.environment.new" "$outdir/$node.environment"
done
