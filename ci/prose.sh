#!/bin/sh
# Finds misspelt words, and words of ci/plain-english.txt, in the files and folders that are named: part of `make lint`.
#
#   ci/prose.sh spelling PATH…    words that are misspelt, by codespell's own dictionary
#   ci/prose.sh plain PATH…       phrases of ci/plain-english.txt, each with what to write in its place
#
# It ignores words that are quoted from a tool, a message or a source: text between backticks or double quotes, and
# blocks between lines of three backticks. So use one of these if you quote a phrase of the list. There is no other
# exception. ci/spelling.txt has words that are spelt right. tests/clone/test_prose.py finds phrases of the list that
# are broken over two lines, which codespell does not see.
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
        quoted="$quoted|\\bstands? (for|out|alone)\\b|\\b(be |is |are )?told (apart|from)\\b" # these have another meaning
        set -- --dictionary ci/plain-english.txt --regex "(?i)(?<![\\w-])(?:$phrases)(?![\\w-])" "$@"
        ;;
    *)
        echo "prose: found \"$pass\", expected spelling or plain" >&2
        exit 2
        ;;
esac
exec .venv/bin/codespell --disable-colors --quiet-level 35 --skip '*.svg,*.json,*.png,*.tsv,*.1,docs/_build' \
    --ignore-regex "$quoted" --ignore-multiline-regex "(?m)$blocks" "$@"
