#!/bin/sh
# Runs a program on every node by itself, though one launch started it everywhere:
#   sh each.sh OUTDIR TAG EXECUTABLE ARGUMENT...
# Each copy is a run of its own: what the launcher says of its ranks is taken away, so that an MPI program starts as one
# process. What it prints goes to OUTDIR/NODE.out, under a line that names the node (read by
# railyard/benchmarks/apps/every_node.py). Below it stands what the program used: time of processors and time that
# passed, both in hundredths of a second, "-" where the kernel does not say, and the threads that it was told. It exits 0
# whatever the program did: its code stands in that file, so that one bad node does not hide the others. What all of them
# printed into the job's own output, the launcher would mix.

set -f
[ $# -ge 3 ] || { echo 'railyard: each.sh OUTDIR TAG EXECUTABLE ARGUMENT...: this call lacks one of these' >&2; exit 64; }
outdir=$1 tag=$2
shift 2

proc=${RAILYARD_PROC:-/proc}
IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
# Open MPI, PMIx, PRRTE, MPICH's Hydra, MVAPICH2, MVAPICH, Intel MPI, PALS, Flux and Slurm tell a rank by these.
for name in $(env | sed -n -E 's/^((OMPI|PMIX|PRTE|PMI|HYDI?|HYDRA|MPI|MPIR|MV2|MVP|I_MPI_HYDRA|PALS|FLUX|SLURM)_[A-Za-z0-9_]*)=.*/\1/p'); do
    # what chooses a library's transport is the site's own, and stays
    case $name in OMPI_MCA_btl* | OMPI_MCA_pml* | MPI_HOME | MPI_ROOT) continue ;; esac
    unset "$name"
done

# The time since the machine started goes to $passed, and that of processors of all children of this shell that have
# ended to $used. The kernel counts both in hundredths of a second: proc(5), uptime, and cutime and cstime of stat.
clocks() {
    passed='' used='' stat=''
    { IFS=' ' read -r passed _ <"$proc/uptime" && IFS= read -r stat <"$proc/self/stat"; } 2>/dev/null
    [ -n "$stat" ] || return
    passed=$((${passed%.*} * 100 + 1${passed#*.} - 100))
    # The name of the program, in brackets, may hold blanks.
    set -- ${stat##*) }
    used=$((${14} + ${15}))
}

file=$outdir/$node.out
printf '# railyard: node %s %s\n' "$node" "$tag" >"$file" || exit 73
clocks
before=$passed used_before=$used
"$@" >>"$file" 2>&1
code=$?
clocks
if [ -n "$used_before" ] && [ -n "$used" ]; then
    used=$((used - used_before)) passed=$((passed - before))
else
    used=- passed=-
fi
printf '# railyard: used %s %s %s\n' "$used" "$passed" "${OMP_NUM_THREADS:-1}" >>"$file"
printf '# railyard: end %s\n' "$code" >>"$file"
exit 0
