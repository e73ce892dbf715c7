#!/bin/sh
# Runs a command on each node of a launch, and keeps its output in one file per node, whole or not at all:
#   sh node_files.sh FOLDER TAG FOLDERS -- COMMAND [WORD]...
# FOLDER is on a file system that the nodes share with the host that asks. FOLDER/asked begins with TAG, which shows
# that it is the right folder. FOLDERS: the files are spread over so many folders, by the rank of each process; with 0,
# they are in FOLDER itself. A file is NODE.RANK.part while the command runs, and NODE.RANK.out once its end is written
# (read by railyard/job/node_files.py):
#   railyard-file 1 TAG NODE RANK TASKS NODES     TASKS and NODES from Slurm, "-" if nothing says them
#   ... what the command printed, an end of a line behind it
#   railyard-file end CODE BYTES                  the command's exit code, and the bytes above this line
# If FOLDER is missing or cannot be written, the script prints one line "railyard-file none NODE WHY" and then the
# command's output, through the launcher. It exits with 0 once the file is whole: the node's answer is in the file.

set -f
[ $# -ge 5 ] && [ "$4" = -- ] || {
    echo 'railyard: node_files.sh FOLDER TAG FOLDERS -- COMMAND...: this call lacks one of these' >&2
    exit 64
}
folder=$1 tag=$2 folders=$3
shift 4

proc=${RAILYARD_PROC:-/proc}
# The scheduler's name of the node: the host may know itself by another name.
node=${SLURMD_NODENAME-}
[ -n "$node" ] || IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown

# Slurm's rank comes last: below an mpirun in a Slurm job it is the number of mpirun's own process on the node.
rank=''
for name in OMPI_COMM_WORLD_RANK PMI_RANK MV2_COMM_WORLD_RANK PALS_RANKID FLUX_TASK_RANK SLURM_PROCID; do
    eval "rank=\${$name-}"
    case $rank in '' | *[!0-9]*) rank='' ;; *) break ;; esac
done

by_launcher() {
    echo "railyard-file none $node $1"
    shift
    exec "$@"
}

said=''
{ IFS= read -r said <"$folder/asked"; } 2>/dev/null
[ "$said" = "$tag" ] || by_launcher unseen "$@"
[ "$folders" = 0 ] || {
    folder=$folder/$((${rank:-$$} % folders))
    mkdir -p "$folder" 2>/dev/null
}
# Two nodes with the same name have two files: no two processes of a launch have the same rank.
file=$folder/$node.${rank:-p$$}
# The list of all nodes is long. The first few nodes write it, so that it is known even if one of them is silent.
nodes=-
case $rank in 0 | 1 | 2) nodes=${SLURM_STEP_NODELIST:--} ;; esac
{ printf 'railyard-file 1 %s %s %s %s %s\n' "$tag" "$node" "${rank:--}" "${SLURM_STEP_NUM_TASKS:--}" "$nodes" >"$file.part"; } \
    2>/dev/null || by_launcher closed "$@"

"$@" >>"$file.part"
code=$?
printf '\n' >>"$file.part" && size=$(wc -c <"$file.part") &&
    printf 'railyard-file end %s %s\n' "$code" $((size)) >>"$file.part" &&
    mv "$file.part" "$file.out" && exit 0
echo "railyard: $node cannot finish $file.part: see whether the file system is full" >&2
exit 73
