#!/bin/sh
# Runs a program on each node by itself, although one launch started it everywhere:
#   sh each.sh OUTDIR TAG EXECUTABLE ARGUMENT...
# Each copy is a separate run: the launcher's variables about ranks are unset, so an MPI program starts as one process.
# Its output goes to OUTDIR/NODE.out, below a line that names the node (railyard/benchmarks/apps/every_node.py reads
# it). After the output comes what the program used: processor time and elapsed time, both in hundredths of a second, or
# "-" if the kernel does not say, and the number of threads that it was given. This script always exits 0: the program's
# exit code is in that file, so one bad node does not hide the others. If all copies printed into the job's own output,
# the launcher would mix their lines.

set -f
[ $# -ge 3 ] || { echo 'railyard: each.sh OUTDIR TAG EXECUTABLE ARGUMENT...: this call lacks one of these' >&2; exit 64; }
outdir=$1 tag=$2
shift 2

proc=${RAILYARD_PROC:-/proc}
IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
# With these, Open MPI, PMIx, PRRTE, MPICH's Hydra, MVAPICH2, MVAPICH, Intel MPI, PALS, Flux and Slurm describe a rank.
for name in $(env | sed -n -E 's/^((OMPI|PMIX|PRTE|PMI|HYDI?|HYDRA|MPI|MPIR|MV2|MVP|I_MPI_HYDRA|PALS|FLUX|SLURM)_[A-Za-z0-9_]*)=.*/\1/p'); do
    # the site's own choice of a library's transport stays
    case $name in OMPI_MCA_btl* | OMPI_MCA_pml* | MPI_HOME | MPI_ROOT) continue ;; esac
    unset "$name"
done

# Sets $passed to the time since the machine started, and $used to the processor time of all children of this shell that
# have ended. The kernel counts both in hundredths of a second: proc(5), uptime, and cutime and cstime of stat.
clocks() {
    passed='' used='' stat=''
    { IFS=' ' read -r passed _ <"$proc/uptime" && IFS= read -r stat <"$proc/self/stat"; } 2>/dev/null
    [ -n "$stat" ] || return
    passed=$((${passed%.*} * 100 + 1${passed#*.} - 100))
    # The name of the program, in brackets, may contain blanks.
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
