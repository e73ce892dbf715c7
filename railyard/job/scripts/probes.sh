#!/bin/sh
# Measures single rails as steps of one job, one after the other, until the list ends or the time is over.
#   COMMAND_THAT_LISTS_NODES | sh probes.sh NAME LIMIT_S ASKED_S NODE_A NODE_B
# Standard input has the job's nodes, one per line. NAME.list has the names of the steps in their order; each is a
# script STEP.sh in this folder. The scripts call the nodes that the scheduler chose beside NODE_A and NODE_B
# railyard-partner-1 and railyard-partner-2. The output of a step is in STEP.out once it has ended, and never before.
# NAME.nodes has the names of the partners as soon as the first step may begin.
# While the job runs, others may write NAME.ask-1, NAME.ask-2 …: each has the name of one more step, which runs next.
# The job waits for them until NAME.done is there, or ASKED_S more seconds are over.

name=$1 limit_s=$2 asked_s=$3 node_a=$4 node_b=$5
edit='' partners='' number=0 question=1
while read -r node; do
    # A scheduler may list names with or without their domain.
    case ${node%%.*} in
        '' | "${node_a%%.*}" | "${node_b%%.*}") continue ;;
    esac
    number=$((number + 1))
    partners="$partners $node"
    edit="${edit}s/railyard-partner-$number/$node/g;"
done
echo "$partners" >"$name.nodes.part" && mv "$name.nodes.part" "$name.nodes"

within() { [ $(($(date +%s) - begun)) -lt "$1" ]; }

# Otherwise a launcher reads the rest of the list.
run() {
    sh "$1.sh" >"$1.part" 2>&1 </dev/null
    mv "$1.part" "$1.out"
}

# Making a file in an NFS folder shows other machines' files there at once, and not seconds later when a cache expires.
look_again() { : >"$name.look" && rm -f "$name.look"; }

answer() {
    look_again
    while [ -s "$name.ask-$question" ] && within $((limit_s + asked_s)); do
        read -r step <"$name.ask-$question"
        question=$((question + 1))
        run "$step"
        look_again
    done
}

begun=$(date +%s)
while read -r planned; do
    within "$limit_s" || break
    answer
    step=$(printf '%s\n' "$planned" | sed "$edit")
    if [ "$step" != "$planned" ]; then
        sed "$edit" "$planned.sh" >"$step.sh"
    fi
    run "$step"
done <"$name.list"
while within $((limit_s + asked_s)); do
    answer
    [ ! -e "$name.done" ] || break
    sleep 0.2
done
