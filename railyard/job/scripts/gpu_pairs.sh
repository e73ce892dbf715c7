#!/bin/sh
# Measures pairs of nodes between their GPUs, each pair as a step of this job, and then what is asked for next:
#   sh gpu_pairs.sh TAG NAME LIMIT_S STEP_S LIST ASK
# LIST is the shell command that prints the nodes of the job, one per line. The file gpu_pairs.rounds has one round per
# line: for each pair the places of two nodes and "all", with commas between them. All pairs of a round run at once. ASK
# is the shell command that reads the logs so far and says what to measure next: two nodes and a GPU per line, each by
# itself. It is asked until it says nothing new. Steps are made of gpu_pairs.all (all GPUs of both nodes) and
# gpu_pairs.one (one GPU). In the folder gpu-pairs each step has its log and the counters of its nodes. A step begins
# only if it can end within LIMIT_S; a step is ended after STEP_S. One row per step is printed, with the places of its
# nodes (railyard/parsers/gpu_pairs.py).

set -f
tag=$1 name=$2 limit_s=$3 step_s=$4 list=$5 ask=$6
folder="gpu-pairs"
rm -rf "$folder" && mkdir "$folder" || exit 73

now() { date +%s; }
begun=$(now)
# A round takes as long as its slowest step, which is ended STEP_S seconds after its start and killed a little later.
fits() { [ $(($(now) - begun + step_s)) -le "$limit_s" ]; }

printf '# railyard-gpu-pairs 1 %s %s\n' "$name" "$tag"
nodes=$(eval "$list")
count=0
for node in $nodes; do
    printf '# node %s %s\n' "$count" "$node"
    count=$((count + 1))
done

# Sets $node to the node at a place, or of that name, and $place to its place: a scheduler may list names with their
# domain.
node_of() {
    place=0
    for node in $nodes; do
        [ "$1" != "$place" ] && [ "${node%%.*}" != "${1%%.*}" ] || return 0
        place=$((place + 1))
    done
    return 1
}

# One step: STAGE FIRST SECOND GPU PLACES
step() {
    own=$folder/$1-$2_$3 template=gpu_pairs.all
    [ "$4" = all ] || template=gpu_pairs.one
    [ "$4" = all ] || own=$own-gpu$4
    mkdir "$own"
    sed "s|railyard-first|$2|g;s|railyard-second|$3|g;s|railyard-gpu|$4|g;s|railyard-tag|$tag|g;s|railyard-out|$own|g" \
        "$template" >"$own.sh"
    started=$(now)
    # Otherwise a launcher reads the list of rounds.
    sh "$own.sh" >"$own.log" 2>&1 </dev/null
    code=$?
    echo "$1 $5 $4 $code $(($(now) - started))" >"$own.row"
}

# All steps of a line at once: STAGE LINE. A step that has run before does not run again.
at_once() {
    names=''
    for words in $2; do
        first=${words%%,*} gpu=${words##*,}
        second=${words#*,}
        node_of "$first" || continue
        first=$node places=$place
        node_of "${second%,*}" || continue
        second=$node places="$places $place"
        own=$1-${first}_$second
        [ "$gpu" = all ] || own=$own-gpu$gpu
        [ ! -e "$folder/$own.sh" ] || continue
        names="$names $own"
        step "$1" "$first" "$second" "$gpu" "$places" &
    done
    wait
    for own in $names; do cat "$folder/$own.row"; done
    made=$((made + $(echo "$names" | wc -w)))
}

printf '# stage first second gpu exit seconds\n'
made=0 left=0
while read -r line; do
    if fits; then at_once rounds "$line"; else left=$((left + 1)); fi
done <gpu_pairs.rounds
[ "$left" = 0 ] || printf '# stopped: %s rounds left\n' "$left"

while [ "$left" = 0 ]; do
    before=$made
    eval "$ask" >"$folder/next" 2>"$folder/next.err" || break
    while read -r line; do
        if fits; then at_once alone "$line"; else left=$((left + 1)); fi
    done <"$folder/next"
    [ "$made" -gt "$before" ] || break
done
printf '# end: %s steps\n' "$made"
