#!/bin/sh
# Finds misspelt words, and words of ci/plain-english.txt, in the files and folders that are named: part of `make lint`.
#
#   ci/prose.sh spelling PATH…    words that are misspelt, by codespell's own dictionary
#   ci/prose.sh plain PATH…       phrases of ci/plain-english.txt, each with what to write in its place
#
# Not looked at, since it is quoted from a tool, a message or a source: what is between backticks or double quotes, and
# blocks between lines of three backticks. To quote a phrase of the list elsewhere, put one of these around it. The
# phrases of one line each are a regular expression, since codespell knows single words alone.
set -eu
cd "$(dirname "$0")/.."

pass=$1
shift
quoted='`[^`]*`|"[^"]*"'
blocks='^ *```.*?\n *```'
case $pass in
    spelling)
        set -- --ignore-words ci/spelling.txt "$@"
        ;;
    plain)
        phrases=$(sed 's/->.*//' ci/plain-english.txt | paste -s -d '|' -)
        quoted="$quoted|\\b(stands? (for|out|alone)|told (apart|from))\\b|\\bbe told (apart|from)\\b"  # other meanings
        set -- --dictionary ci/plain-english.txt --regex "(?<![\\w-])(?:$phrases)(?![\\w-])" "$@"
        ;;
    *)
        echo "prose: found \"$pass\", expected spelling or plain" >&2
        exit 2
        ;;
esac
exec .venv/bin/codespell --disable-colors --quiet-level 35 --skip '*.svg,*.json,*.png,*.tsv,docs/_build' \
    --ignore-regex "$quoted" --ignore-multiline-regex "(?m)$blocks" "$@"
