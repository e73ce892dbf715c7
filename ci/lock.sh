#!/bin/sh
# Writes all requirements/*.txt and requirements/stacks/*.txt again, with the hash of each file: `make lock`.
#
# One lock is for every Python that Railyard supports. A version that the OLDEST one takes is preferred; where a newer
# Python needs another one (requirements/limits.in says where), both are in the lock, each with its Pythons behind it.
# With UPGRADE=1 all versions are looked up again. Without it, a version changes only if the inputs no longer allow it.
#
#   LOCK_PYTHON=…    any Python, which only starts uv (default: python3)
set -eu
cd "$(dirname "$0")/.."

oldest=3.10
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
"${LOCK_PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --require-hashes --no-deps --requirement requirements/lock.txt

# A lock must not name an index, find-links or host of the machine that runs this, and have no option line with one.
more=
compile() {
    output=$1
    shift
    echo "lock: $output"
    # shellcheck disable=SC2086
    "$scratch/venv/bin/uv" pip compile --quiet --no-config --universal --python-version $oldest --generate-hashes \
        --fork-strategy fewest --no-emit-package colorama --no-emit-index-url --no-emit-find-links \
        --custom-compile-command 'make lock' $more ${UPGRADE:+--upgrade} --output-file "$output" "$@"
}

compile requirements/lock.txt requirements/lock.in
# What the package is built with, and what an editable installation of it needs.
{ sed -n 's/^requires = \["\(.*\)"\]$/\1/p' pyproject.toml && echo editables; } | compile requirements/build.txt -
compile requirements/runtime.txt --constraint requirements/limits.in pyproject.toml
compile requirements/dev.txt --constraint requirements/limits.in --constraint requirements/runtime.txt requirements/dev.in
compile requirements/spack.txt requirements/spack.in
# One for each release of ReFrame that `make test-reframe` tries; the versions of other packages as above, where they fit.
for input in requirements/reframe/4.*.in; do
    compile "${input%.in}.txt" --constraint requirements/dev.txt --constraint requirements/limits.in \
        pyproject.toml requirements/reframe/tests.in "$input"
done
for input in requirements/stacks/*.in; do
    compile "${input%.in}.txt" "$input"
done
# The Python packages that drive a browser stay out, 40 MB: we use only the script in that wheel.
for package in playwright greenlet pyee typing-extensions; do
    more="$more --no-emit-package $package"
done
compile requirements/browser.txt requirements/browser.in
# Passwords of a desktop stay out: what uploads a release takes its token from a variable.
more=
for package in keyring secretstorage jeepney cryptography cffi pycparser jaraco-classes jaraco-context jaraco-functools \
    more-itertools backports-tarfile importlib-metadata zipp lazy-importer pywin32-ctypes typing-extensions; do
    more="$more --no-emit-package $package"
done
compile requirements/release.txt --constraint requirements/dev.txt requirements/release.in
