#!/bin/sh
# Writes every requirements/*.txt and requirements/stacks/*.txt anew, with the hash of each file: `make lock`.
#
# It runs on the OLDEST Python that is supported: whatever resolves there also installs on the newer ones (a package
# that is needed by an old Python alone is installed on all of them, which does no harm). With UPGRADE=1 every
# version is sought anew; without it only what the inputs no longer allow changes.
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

# No index, find-links or host of the machine that runs this may get into a lock, nor an option line that names one.
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
for input in requirements/stacks/*.in; do
    compile "${input%.in}.txt" "$input"
done
# What drives a browser in Python stays out, 40 MB: only the script in that wheel is used.
unsafe='--unsafe-package playwright --unsafe-package greenlet --unsafe-package pyee --unsafe-package typing-extensions'
compile requirements/browser.txt requirements/browser.in
