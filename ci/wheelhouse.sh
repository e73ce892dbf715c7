#!/bin/sh
# Downloads all Python packages that the locks name, including the stacks', into wheelhouse/: `make wheelhouse`.
#
# Carry the clone with wheelhouse/ to a machine without network, and type there
#   PIP_NO_INDEX=1 PIP_FIND_LINKS="$PWD/wheelhouse" make venv stacks
# The hashes of the locks are checked there too. The other machine must have the same processor family, and Python in
# the same version as this .venv, since some packages are compiled.
set -eu
cd "$(dirname "$0")/.."

rm -rf wheelhouse
mkdir wheelhouse
for lock in requirements/build.txt requirements/runtime.txt requirements/dev.txt requirements/spack.txt requirements/stacks/*.txt; do
    .venv/bin/python -m pip --disable-pip-version-check download --quiet --no-input --require-hashes --no-deps \
        --only-binary :all: --dest wheelhouse --requirement "$lock"
done
cp dist/*.whl wheelhouse/
echo "wheelhouse: $(ls wheelhouse | wc -l) packages, $(du -sh wheelhouse | cut -f1)"
