#!/bin/sh
# What a build machine runs at night, without any site's cluster: the rehearsals of all systems of
# tests/sites/rehearsed, healthy and with each fault, every property with as many cases as Hypothesis would try, the
# releases of ReFrame with each Python that is there (`make test-reframe`), and known weaknesses of the locked packages.
#
#   sh ci/nightly.sh [WORD…]    the words go to pytest, for the rehearsals, such as -k ndr
#
# It needs Slurm and munge (`sh ci/needs.sh slurm` names or installs them) and namespaces. The exit code is not 0 if a
# step failed, or if no rehearsal ran.
#
#   RAILYARD_ADVISORIES=…    a clone of github.com/pypa/advisory-database, for a machine without network
set -eu
cd "$(dirname "$0")/.."

sh ci/needs.sh slurm
make --no-print-directory venv
worst=0

echo "== properties, with all cases"
.venv/bin/python -m pytest -m "not e2e and not measures" --hypothesis-profile=thorough --numprocesses auto --maxprocesses 8 --dist loadfile || worst=1

echo "== releases of ReFrame"
.venv/bin/python -m tests.reframe_releases || worst=1

echo "== advisories"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "${RAILYARD_ADVISORIES:-}" ]; then
    git clone --quiet --depth 1 https://github.com/pypa/advisory-database "$scratch/advisories" || worst=1
fi
.venv/bin/python ci/advisories.py "${RAILYARD_ADVISORIES:-$scratch/advisories}" || worst=1

echo "== rehearsals"
said=$scratch/rehearsals
RAILYARD_NIGHTLY=1 .venv/bin/python -m pytest -m e2e tests/e2e/test_rehearsals.py --durations=0 "$@" >"$said" 2>&1 || worst=1
cat "$said"
# pytest ends with 0 if all tests were skipped, but that is not a pass.
if ! tail -n 1 "$said" | grep -q '[1-9][0-9]* passed'; then
    echo "no rehearsal passed, so this is not a pass"
    worst=1
fi
exit "$worst"
