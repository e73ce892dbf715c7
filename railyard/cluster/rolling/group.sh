#!/bin/sh
# Runs the pairs of one group of nodes as a job, in the group's own folder:
#   COMMAND_THAT_LISTS_NODES | sh group.sh TAG SYSTEM RAILYARD LAUNCH...
# Standard input has the job's nodes, one per line, in the order of the ranks. pairs.txt has the pairs by names, one
# round per line ("n1/n17 n2/n18"). A pair with a node that is not in the job is left out. LAUNCH starts railyard-pairs,
# which reads rounds.txt. The job leaves hosts.txt, begun, pairs.out, pairs.err and, last of all, end: the tag, the exit
# code, how many bytes pairs.out has, and the time. Without it, or with fewer bytes than it says, the job was cut.

tag=$1 system=$2 railyard=$3
shift 3
cat >hosts.txt
# The start of the job by the scheduler's clock, if the scheduler gives it to the job.
echo "$tag $system $railyard $(date +%s) ${SLURM_JOB_START_TIME:-}" >begun
rm -f end pairs.out pairs.err

# A name with its domain and the same name without it are one node.
awk 'NR == FNR { sub(/\..*/, "", $1); rank[tolower($1)] = NR - 1; next }
{
    line = ""
    for (n = 1; n <= NF; n++) {
        split($n, pair, "/")
        if (!(pair[1] in rank) || !(pair[2] in rank)) continue
        a = rank[pair[1]]; b = rank[pair[2]]
        line = line (line == "" ? "" : " ") (a < b ? a "-" b : b "-" a)
    }
    if (line != "") print line
}' hosts.txt pairs.txt >rounds.txt
if [ -s hosts.txt ] && [ -s rounds.txt ]; then
    "$@" >pairs.out 2>pairs.err </dev/null
    code=$?
else
    : >pairs.out
    echo "railyard: no pair of the group is among the job's nodes: $(tr '\n' ' ' <hosts.txt)" >pairs.err
    code=65
fi
# Written under another name first: whoever reads the folder meanwhile sees the whole mark or none.
echo "$tag $code $(($(wc -c <pairs.out))) $(date +%s)" >end.part && mv end.part end
exit "$code"
