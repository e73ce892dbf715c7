#!/usr/bin/env bash
# Runs the tests in two phases, for `make test` and `make test-all`. Tests that measure nothing run first, in one
# process more than there are cores. Then those that measure on the virtual cluster run, one at a time and with nothing
# beside them. It ends with one closing line in pytest's form, which counts both phases. The exit code is not 0 if a
# test failed or none ran.
#
#   ci/test.sh MARKS [WORD…]    MARKS: for pytest's -m, such as 'not full', or ''; in both phases the words go to pytest
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

marks=$1
shift
closings=$(mktemp)
output=$(mktemp)
trap 'rm -f "$closings" "$output"' EXIT
colour=no
[ -t 1 ] && colour=yes
worst=5 # pytest's code for "no test was run", which is not an error in a single phase

# Runs one phase: its mark, then words for pytest. If something stops pytest itself, such as Ctrl-C or a broken file,
# all ends.
phase() {
    local code=0
    .venv/bin/python -u -m pytest --color="$colour" -m "$1${marks:+ and $marks}" "${@:2}" | tee "$output" || code=$?
    case $code in
        0) [ "$worst" -ne 5 ] || worst=0 ;;
        1) worst=1 ;;
        5) ;;
        *) exit "$code" ;;
    esac
    sed 's/\x1b\[[0-9;]*m//g' "$output" | grep -E '^(=+ )?[0-9]+ [a-z]+.* in [0-9.]+s' | tail -n 1 >>"$closings"
}

# Prints the sum of the closing lines, without "deselected", which counts what one phase leaves to the other.
closing() {
    awk -v seconds="$SECONDS" '
        {
            sub(/^=+ /, "")
            sub(/ in [0-9.]+s.*$/, "")
            count = split($0, parts, ", ")
            for (i = 1; i <= count; i++) {
                split(parts[i], words, " ")
                sub(/s$/, "", words[2])
                sum[words[2]] += words[1]
            }
        }
        END {
            known = split("failed passed skipped disturbed xfailed xpassed warning error", order, " ")
            for (i = 1; i <= known; i++) {
                name = order[i]
                if (!sum[name]) continue
                plural = sum[name] > 1 && (name == "warning" || name == "error") ? "s" : ""
                text = text (text ? ", " : "") sum[name] " " name plural
            }
            clock = sprintf("%d:%02d:%02d", seconds / 3600, seconds % 3600 / 60, seconds % 60)
            printf "=============== %s in %d.00s (%s) ===============\n", text ? text : "no tests ran", seconds, clock
        }' "$closings"
}

# One process more than there are cores, since many tests wait for other processes; more than eight would spend their
# time collecting. Files start in the order of tests/e2e/conftest.py, longest first. xdist would start with the files
# that have most tests, and in the end one core would wait for another's few long ones.
processes=$(($(nproc) + 1))
phase 'not measures' --numprocesses "$processes" --maxprocesses 8 --dist loadfile --no-loadscope-reorder "$@"
# Only tests there measure; to collect all others again costs half a minute.
[ "$#" -gt 0 ] || set -- tests/e2e
phase measures "$@"
closing
exit "$worst"
