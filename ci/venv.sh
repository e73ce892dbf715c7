#!/bin/sh
# Makes .venv with railyard and reframe from the hashed locks: `make venv`. Does nothing where it is up to date.
#
#   PYTHON=…    the interpreter to make it with (default: the one that .venv was made with, else python3)
#
# A virtual environment holds its own path and cannot be renamed into place: so it is made in place, and the stamp
# that says "whole, and of these locks" is written last. One without the stamp is thrown away and made again.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
stamp=$venv/railyard-stamp       # the locks' digest, the folder, the interpreter: whole when it is there
package=$venv/railyard-package   # pyproject.toml's digest: the entry points are those of the present one

main() {
    # One at a time; the lock is the folder's own, so that nothing is left behind.
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
    # the interpreter itself, not a pyenv shim whose answer may be another one tomorrow, nor the venv we may be in
    "$python" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))'
}

make_venv() {
    echo "venv: making $venv with $python ($("$python" -c 'import sys; print(sys.version.split()[0])'))"
    rm -rf $venv
    "$python" -m venv $venv 9<&-
    # The locks are complete: --no-deps makes sure that nothing without a hash comes along, nor with --only-binary
    # a build that fetches tools of its own.
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
