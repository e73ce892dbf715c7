#!/bin/sh
# Shows each rank of a node only the GPU with the rank's own number on the node, and becomes the command:
#   sh own_gpu.sh VARIABLE GPUS -- EXECUTABLE ARGUMENT...
# VARIABLE hides the other GPUs (CUDA_VISIBLE_DEVICES), GPUS is how many a node has. If no launcher says a rank's
# number, the rank does not start: two ranks might share a GPU, and nothing in the output would show it.

set -f
[ $# -ge 4 ] && [ "$3" = -- ] || {
    echo 'railyard: own_gpu.sh VARIABLE GPUS -- EXECUTABLE ARGUMENT...: this call lacks one of these' >&2
    exit 64
}
variable=$1 gpus=$2
shift 3
for name in OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID MV2_COMM_WORLD_LOCAL_RANK PMI_LOCAL_RANK PALS_LOCAL_RANKID \
    FLUX_TASK_LOCAL_ID SLURM_LOCALID; do
    eval "rank=\${$name-}"
    [ -n "$rank" ] && break
done
case $rank in
'' | *[!0-9]*)
    echo 'railyard: no launcher says which rank of its node this is, so that it has no GPU of its own' >&2
    exit 72
    ;;
esac
[ "$rank" -lt "$gpus" ] || {
    echo "railyard: rank $rank of a node with $gpus GPUs has no GPU of its own" >&2
    exit 72
}
export "$variable=$rank"
exec "$@"
