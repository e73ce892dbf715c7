#!/bin/sh
# Measures single rails as steps of one job, one after the other, until the list ends or the time is over.
#   COMMAND_THAT_LISTS_NODES | sh probes.sh NAME LIMIT_S NODE_A NODE_B
# Standard input has the job's nodes, one a line. NAME.list has the names of the steps in their order, each of which is a
# script STEP.sh in this folder. The nodes that the scheduler chose beside NODE_A and NODE_B stand there as
# railyard-partner-1, railyard-partner-2. What a step prints is in STEP.out once it has ended, and never before.
# NAME.nodes has the names of the partners as soon as the first step may begin.

name=$1 limit_s=$2 node_a=$3 node_b=$4
edit='' partners='' number=0
while read -r node; do
    # A scheduler may list names with their domain, or without.
    case ${node%%.*} in
        '' | "${node_a%%.*}" | "${node_b%%.*}") continue ;;
    esac
    number=$((number + 1))
    partners="$partners $node"
    edit="${edit}s/railyard-partner-$number/$node/g;"
done
echo "$partners" >"$name.nodes.part" && mv "$name.nodes.part" "$name.nodes"

begun=$(date +%s)
while read -r planned; do
    [ $(($(date +%s) - begun)) -lt "$limit_s" ] || break
    step=$(printf '%s\n' "$planned" | sed "$edit")
    if [ "$step" != "$planned" ]; then
        sed "$edit" "$planned.sh" >"$step.sh" && rm -f "$planned.sh"
    fi
    # Else a launcher reads the rest of the list.
    sh "$step.sh" >"$step.part" 2>&1 </dev/null
    mv "$step.part" "$step.out"
done <"$name.list"
