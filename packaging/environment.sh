#!/bin/sh
# Makes the environment of an image: railyard's wheel and the packages of its lock, by their hashes, without pip itself.
#
#   environment.sh FILES FOLDER    FILES has runtime.txt, and dist/ with one wheel of railyard (and wheels of the lock)
set -eu

files=$1
folder=$2
set -- "$files"/dist/railyard_hpc-*.whl
if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    echo "environment: found $# wheels railyard_hpc-*.whl in dist/, expected one; type: make dist" >&2
    exit 2
fi

python3 -m venv "$folder"
pip="$folder/bin/python -m pip --disable-pip-version-check --no-cache-dir install --quiet --no-input --no-deps"
$pip --require-hashes --only-binary :all: --find-links "$files/dist" --requirement "$files/runtime.txt"
$pip --no-index "$1"
"$folder/bin/python" -m pip --disable-pip-version-check check
"$folder/bin/python" -m pip --disable-pip-version-check uninstall --quiet --yes pip setuptools
"$folder/bin/railyard" --version
