#!/bin/sh
# Says with which variables a benchmark really runs, by its own process:
#   sh environment.sh OUTDIR TAG NODE PID
# PID is the process that the counter reader started (reader.sh). A wrapper in the benchmark's place sets variables on the
# way, so the last of the processes that begin at PID is asked, in /proc/PID/environ, and asked again until it is no
# shell any more. Only the variables of environment.names (beside this script, a name a line) are written: an environment
# holds secrets. OUTDIR/NODE.environment says what was found (railyard/job/environment.py reads it).

set -f

proc=${RAILYARD_PROC:-/proc}
outdir=$1 tag=$2 node=$3 pid=$4
case $0 in */*) beside=${0%/*} ;; *) beside=. ;; esac
names=' '
while IFS= read -r name; do names="$names$name "; done <"$beside/environment.names" || exit 0

# The last process that begins at $pid goes to $last: a wrapper that does not become its command has it as a child.
last_of() {
    last=$pid
    while :; do
        children=''
        { read -r children <"$proc/$last/task/$last/children"; } 2>/dev/null
        children=${children%% *}
        [ -n "$children" ] || return 0
        last=$children
    done
}

# The program of process $last, without its folder, goes to $program; fails where there is none.
program_of() {
    program=$(readlink "$proc/$last/exe" 2>/dev/null) || return
    program=${program##*/}
}

# A variable whose value has several lines is one line here.
wanted() {
    tr '\n\0' ' \n' <"$proc/$last/environ" 2>/dev/null | while IFS= read -r line; do
        case $names in *" ${line%%=*} "*) printf 'set %s %s\n' "${line%%=*}" "${line#*=}" ;; esac
    done
}

# A process that execve(2) has given its program, and not yet its variables, shows none at all.
has_some() {
    [ -n "$(tr -d '\0' <"$proc/$last/environ" 2>/dev/null | head -c 1)" ]
}

for wait_s in 0.1 0.4 1 2; do
    sleep "$wait_s" || exit 0
    last_of
    program_of || exit 0
    has_some || [ "$wait_s" = 2 ] || continue
    found=$(wanted)
    # It may have ended, or become another, meanwhile.
    before=$program
    program_of && [ "$program" = "$before" ] || continue
    {
        printf 'railyard-environment 1 %s\nnode %s\nprogram %s\n' "$tag" "$node" "$program"
        [ -z "$found" ] || printf '%s\n' "$found"
        echo end
    } >"$outdir/$node.environment.new" && mv "$outdir/$node.environment.new" "$outdir/$node.environment"
    case $program in
    sh | dash | bash | ksh* | zsh | busybox | env | timeout | numactl | taskset | nice | perl* | python*) ;;
    *) exit 0 ;;
    esac
done
