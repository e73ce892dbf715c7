#!/bin/sh
# Says what this machine lacks to run Railyard, or installs it: `make needs`. Prints nothing if nothing is missing.
#
#   ci/needs.sh            all that `make run` and `make test` need
#   ci/needs.sh python     only what `make venv` needs
#   ci/needs.sh verbs      also QEMU and the tools that measure verbs, for the system virtual-verbs
#   ci/needs.sh spack      also what Spack needs to build the virtual cluster's benchmarks (systems/spack/virtual.yaml)
#   ci/needs.sh slurm      also Slurm, for the system virtual-slurm
#   ci/needs.sh sge        also Grid Engine, for the system virtual-sge
#   ci/needs.sh browser    only Chromium, for the tests of the page in a real browser and for `make screenshots`
#   ci/needs.sh tests      also Slurm, and the simulated InfiniBand fabric: without them their tests are skipped
#
# INSTALL=0   never install      PYTHON=…   the interpreter that makes .venv (default: python3)
# APT_LISTS=… where apt keeps its lists (default: Debian's place)
#
# It is written in sh, because it must run even without Python. Exit 2: something is missing and was not installed.
set -eu

# On Debian an ordinary user's PATH has no sbin, but ip, tc and nft are there.
PATH=$PATH:/usr/sbin:/sbin
python=${PYTHON:-python3}

# Each row: program, Debian package, what it is for (python: see lacks_venv). A row that begins with a slash is a file,
# and its path may have patterns.
python_needs='
python3         python3          every command
flock           util-linux       two `make` at once
'
all_needs="$python_needs"'
make            make             the commands of the Makefile
ip              iproute2         the virtual cluster: nodes and rails
tc              iproute2         the virtual cluster: shaped rates
unshare         util-linux       the virtual cluster: namespaces
nsenter         util-linux       the virtual cluster: processes on a node
setpriv         util-linux       the virtual cluster: nothing of it outlives its parent
mount           mount            the virtual cluster: a sysfs for each node
hostname        hostname         the virtual cluster: a name for each node
nft             nftables         a rail that loses packets
mpirun.openmpi  openmpi-bin      the stack openmpi
NPopenmpi       netpipe-openmpi  NetPIPE for openmpi
iperf3          iperf3           the stack tcp: streams
NPtcp           netpipe-tcp      the stack tcp: NetPIPE
fi_pingpong     libfabric-bin    the stack libfabric
gcc             gcc              railyard-pairs, all pairs of nodes (and building with Spack)
/usr/include/stdio.h                            libc6-dev           railyard-pairs
/usr/lib/*/openmpi/include/mpi.h                libopenmpi-dev      the compilers of the stack openmpi
'
verbs_needs="$all_needs"'
qemu-system-x86_64 qemu-system-x86 the Soft-RoCE guests
busybox         busybox-static   the Soft-RoCE guests: what runs before their root is there
depmod          kmod             the Soft-RoCE guests: the order of kernel modules
rdma            iproute2         the Soft-RoCE guests: their devices
ib_write_bw     perftest         the stack verbs
ibv_devinfo     ibverbs-utils    what the devices of guests say of themselves
rping           rdmacm-utils     connections by librdmacm
/etc/libibverbs.d/rxe.driver                    ibverbs-providers   the user part of rdma_rxe
'
spack_needs="$all_needs"'
g++             g++              building with Spack
gfortran        gfortran         building with Spack: HPL, NPB
/usr/include/*/mpich/mpif.h                     libmpich-dev        the stack mpich: NPB, whose wheel has no Fortran
perl            perl             building with Spack
patch           patch            building with Spack
bzip2           bzip2            building with Spack
xz              xz-utils         building with Spack
file            file             building with Spack
git             git              getting Spack (railyard spack bootstrap)
patchelf        patchelf         a build cache that is used at another place
autoconf        autoconf         building with Spack: HPL
automake        automake         building with Spack: HPL
libtoolize      libtool          building with Spack: HPL
m4              m4               building with Spack: HPL
/usr/share/aclocal/ax_check_compile_flag.m4     autoconf-archive    building with Spack: HPL
/usr/lib/*/libopenblas.so                       libopenblas-dev     HPL
'
slurm_needs="$all_needs"'
slurmctld       slurm-wlm        the system virtual-slurm
slurmd          slurm-wlm        the system virtual-slurm
sbatch          slurm-wlm        the system virtual-slurm
salloc          slurm-wlm        the system virtual-slurm
srun            slurm-wlm        the system virtual-slurm
squeue          slurm-wlm        the system virtual-slurm
scancel         slurm-wlm        the system virtual-slurm
scontrol        slurm-wlm        the system virtual-slurm
sinfo           slurm-wlm        the system virtual-slurm
munged          munge            the system virtual-slurm: Slurm signs its messages by it
'
sge_needs="$all_needs"'
sge_qmaster     gridengine-master the system virtual-sge
sge_execd       gridengine-exec  the system virtual-sge
sge_shepherd    gridengine-exec  the system virtual-sge
qconf           gridengine-client the system virtual-sge
qrsh            gridengine-client the system virtual-sge
'
tests_needs="$slurm_needs"'
ibsim           ibsim-utils      the simulated InfiniBand fabric
/usr/lib/*/umad2sim/libumad2sim*.so*            libumad2sim0        the simulated InfiniBand fabric
opensm          opensm           the simulated InfiniBand fabric: its subnet manager
iblinkinfo      infiniband-diags railyard fabric
busybox         busybox-static   the node scripts under another shell
'
browser_needs="$python_needs"'
chromium        chromium         the page in a real browser: make browser, make screenshots
'

main() {
    case ${1:-all} in
        all) table=$all_needs ;;
        verbs) table=$verbs_needs ;;
        spack) table=$spack_needs ;;
        slurm) table=$slurm_needs ;;
        sge) table=$sge_needs ;;
        browser) table=$browser_needs ;;
        tests) table=$tests_needs ;;
        python) table=$python_needs ;;
        *)
            echo "needs: no such part: $1; known: browser, python, sge, slurm, spack, tests, verbs, or nothing for what make run needs" >&2
            exit 2
            ;;
    esac

    missing=$(missing_packages "$table")
    [ -z "$missing" ] || install_packages "$missing"
    check_python
}

# Prints the packages of the table's missing programs, each once, on one line.
missing_packages() {
    {
        echo "$1" | while read -r program package _; do
            case $program in
                '') continue ;;
                # If PYTHON is set, check_python judges it; Debian's package would not help.
                python3) [ "$python" = python3 ] || continue ;;
            esac
            is_there "$program" || echo "$package"
        done
        if lacks_venv; then echo python3-venv; fi
    } | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# Whether a program is on PATH, or a file (a path, patterns allowed) is there.
is_there() {
    case $1 in
        /*)
            # shellcheck disable=SC2086
            set -- $1
            [ -e "$1" ]
            ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# Debian's python3 comes without ensurepip, which python3-venv adds; apt cannot fix any other interpreter.
lacks_venv() {
    case $(command -v "$python" 2>/dev/null) in
        /usr/bin/* | /bin/*) ! can_make_venv ;;
        '') [ "$python" = python3 ] ;;
        *) false ;;
    esac
}

can_make_venv() {
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# Installs the packages of one word list, or ends with a sentence that names them.
install_packages() {
    command="apt-get install -y --no-install-recommends $1"
    if [ "${INSTALL:-1}" = 0 ]; then
        refuse "$1" "INSTALL=0 says not to install" "$command"
    elif ! command -v apt-get >/dev/null 2>&1; then
        echo "needs: missing on this machine: $1 (Debian's package names), and there is no apt-get;" \
            "install what your distribution calls these, then type the same command again" >&2
        exit 2
    elif [ "$(id -u)" != 0 ]; then
        refuse "$1" "only root installs" "sudo $command"
    fi

    updated=no
    if ! has_lists; then
        update_lists
        updated=yes
    fi
    echo "needs: $command"
    # Old lists name files that the mirror no longer has. So try once more after an update.
    if ! apt "$1"; then
        [ $updated = no ] || give_up "$1" "$command"
        update_lists
        apt "$1" || give_up "$1" "$command"
    fi
    still=$(missing_packages "$table")
    [ -z "$still" ] || give_up "$still" "$command"
}

has_lists() {
    set -- "${APT_LISTS:-/var/lib/apt/lists}"/*_Packages*
    [ -e "$1" ]
}

update_lists() {
    echo "needs: apt-get update"
    DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null ||
        echo "needs: apt-get update failed; trying with the lists that are there" >&2
}

# Waits up to 5 minutes for another apt. $1 is a word list from the table above, so it is split on purpose.
apt() {
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
        install -y --no-install-recommends $1 </dev/null
}

refuse() {
    echo "needs: missing on this machine: $1 ($2); type: $3" >&2
    exit 2
}

give_up() {
    echo "needs: still missing after the installation: $1; type, and read what it says: apt-get update && $2" >&2
    exit 2
}

check_python() {
    found=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || {
        echo "needs: PYTHON=$python is no Python that runs; name one of 3.10 or newer: make venv PYTHON=python3.11" >&2
        exit 2
    }
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
        echo "needs: $python is Python $found, and Railyard needs 3.10 or newer; name one:" \
            "make venv PYTHON=python3.11" >&2
        exit 2
    }
    can_make_venv || {
        echo "needs: $python ($found) cannot make a virtual environment: it lacks ensurepip or venv; name another:" \
            "make venv PYTHON=/usr/bin/python3" >&2
        exit 2
    }
}

main "$@"
