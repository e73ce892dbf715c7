#!/bin/sh
# Finds a benchmark's program on the node, below a folder that the host of the run does not have, and links it:
#   sh find_program.sh LINK FOLDER NAME [OTHER]
# LINK becomes a link to the one file NAME below FOLDER, or OTHER, its name in another release. Exit 66, with a sentence,
# if there is none, or more than one: nobody would know which of them was measured.

set -fu
[ $# -ge 3 ] || {
    echo 'railyard: find_program.sh LINK FOLDER NAME [OTHER]: this call lacks one of these' >&2
    exit 64
}
link=$1 folder=$2
shift 2
if [ ! -d "$folder" ]; then
    echo "railyard: error: $folder is no folder on this node, expected one with $1: correct the system's file, or mount it on the nodes" >&2
    exit 66
fi
for name; do
    found=$(find "$folder/" -name "$name" ! -type d -print)
    [ -n "$found" ] || continue
    if [ "$(printf '%s\n' "$found" | wc -l)" -ne 1 ]; then
        echo "railyard: error: $folder has more than one $name below it on this node, expected one: name its folder in the system's file" >&2
        exit 66
    fi
    mkdir -p "${link%/*}" && ln -sfn "$found" "$link" && exit 0
    exit 66
done
echo "railyard: error: $folder has no $1 below it on this node, expected it: correct the system's file" >&2
exit 66
