#!/bin/sh
# Makes .venv with railyard and reframe from the hashed locks: `make venv`. Does nothing if it is up to date.
#
#   PYTHON=…    the interpreter to make it with (default: the one that .venv was made with, else python3)
#
# A virtual environment contains its own path and cannot be renamed. So it is made in place, and the stamp that says
# "whole, and from these locks" is written last. One without the stamp is deleted and made again.
set -eu
cd "$(dirname "$0")/.."

# A virtual environment has its own path in each of its programs, where a shell reads it. Railyard refuses more signs
# than these, and says which (railyard/base/paths.py).
here=$(pwd -P)
case $here in
    *[\$\`\'\"\\\;\&\|\<\>\*\?\(\)\[\]\{\}\!\#\%\~\^:,[:space:][:cntrl:]]* | */-*)
        echo "venv: found a blank or a sign that shells read in the path $(printf %s "$here" | tr '[:cntrl:]' '?'), expected a clone in a folder whose path has only letters, digits and _ . - + = @; move it" >&2
        exit 2
        ;;
esac

venv=.venv
stamp=$venv/railyard-stamp       # the locks' digest, the folder, the interpreter; .venv is whole if it exists
package=$venv/railyard-package   # pyproject.toml's digest: the entry points are those of this version

main() {
    # One at a time. The lock is on a folder of the clone, so that nothing is left behind.
    exec 9<requirements
    if ! flock --nonblock 9; then
        echo "venv: another make in this folder is making .venv; waiting for it"
        flock 9
    fi

    python=${PYTHON:-$(sed -n 3p $stamp 2>/dev/null || true)}
    [ -n "$python" ] && "$python" -c '' 2>/dev/null || python=python3
    wanted=$(key)
    described=$(sha256sum <pyproject.toml)
    if ! is_whole; then
        trap 'rm -rf $venv' EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM HUP
        make_venv
        echo "$wanted" >$stamp.new
        mv $stamp.new $stamp
        trap - EXIT
        echo "venv: $venv is ready ($($venv/bin/railyard --version), ReFrame $($venv/bin/reframe --version | cut -d+ -f1))"
    elif [ "$(cat $package 2>/dev/null)" != "$described" ]; then
        install_railyard
    fi
}

is_whole() {
    [ -f $stamp ] && [ "$(cat $stamp)" = "$wanted" ] && $venv/bin/python -c '' 2>/dev/null
}

# Prints what .venv depends on: the locks and this script, the folder, and the interpreter.
key() {
    cat requirements/build.txt requirements/runtime.txt requirements/dev.txt ci/venv.sh | sha256sum
    pwd -P
    # the interpreter itself: not a pyenv shim, which may choose another one tomorrow, and not the venv that we may be
    # in
    "$python" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))'
}

make_venv() {
    echo "venv: making $venv with $python ($("$python" -c 'import sys; print(sys.version.split()[0])'))"
    rm -rf $venv
    "$python" -m venv $venv 9<&-
    # The locks are complete. With --no-deps nothing without a hash is installed; with --only-binary no build fetches
    # its own tools.
    for lock in build runtime dev; do
        pip --require-hashes --no-deps --only-binary :all: --requirement requirements/$lock.txt
    done
    install_railyard
    $venv/bin/python -m pip --disable-pip-version-check check >/dev/null || {
        echo "venv: the locks do not fit together; type: make lock" >&2
        exit 2
    }
}

install_railyard() {
    pip --no-deps --no-build-isolation --no-index --editable .
    echo "$described" >$package
}

pip() {
    $venv/bin/python -m pip --disable-pip-version-check install --quiet --no-input "$@" 9<&-
}

main
