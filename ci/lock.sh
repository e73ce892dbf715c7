#!/bin/sh
# Writes all requirements/*.txt and requirements/stacks/*.txt again, with the hash of each file: `make lock`.
#
# It runs on the OLDEST supported Python. What resolves there also installs on newer ones. (A package that only an old
# Python needs is installed on all of them, which does no harm.) With UPGRADE=1 all versions are looked up again.
# Without it, a version changes only if the inputs no longer allow it.
set -eu
cd "$(dirname "$0")/.."

python=${LOCK_PYTHON:-python3.10}
if ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 10))' 2>/dev/null; then
    echo "lock: $python is not Python 3.10, the oldest that Railyard supports; type: make lock LOCK_PYTHON=/path/to/python3.10" >&2
    exit 2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --require-hashes --no-deps --requirement requirements/lock.txt

# A lock must not name an index, find-links or host of the machine that runs this, and have no option line with one.
export CUSTOM_COMPILE_COMMAND='make lock'
unsafe=--allow-unsafe
compile() {
    output=$1
    shift
    echo "lock: $output"
    # shellcheck disable=SC2086
    "$scratch/venv/bin/pip-compile" --quiet --no-config --generate-hashes --strip-extras $unsafe --newline=lf \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
        ${UPGRADE:+--upgrade} --output-file "$output" "$@"
}

compile requirements/lock.txt requirements/lock.in
compile requirements/build.txt --all-build-deps --only-build-deps pyproject.toml
compile requirements/runtime.txt --constraint requirements/limits.in pyproject.toml
compile requirements/dev.txt --constraint requirements/runtime.txt requirements/dev.in
compile requirements/spack.txt requirements/spack.in
# One for each release of ReFrame that `make test-reframe` tries; the versions of other packages as above, where they fit.
for input in requirements/reframe/4.*.in; do
    compile "${input%.in}.txt" --constraint requirements/dev.txt pyproject.toml requirements/reframe/tests.in "$input"
done
for input in requirements/stacks/*.in; do
    compile "${input%.in}.txt" "$input"
done
# The Python packages that drive a browser stay out, 40 MB: we use only the script in that wheel.
unsafe='--unsafe-package playwright --unsafe-package greenlet --unsafe-package pyee --unsafe-package typing-extensions'
compile requirements/browser.txt requirements/browser.in
