#!/bin/sh
# Says what an image has, from inside it and before the run:
#   sh in_image.sh TAG TOOL NAME OTHER [FOLDER]...
# TOOL is a program, or a folder with several. NAME is the one that runs, or OTHER if the image has only that one.
# programs/NAME becomes a link to each program. linked.txt has what ldd says about NAME. inside.txt has the real paths of
# each FOLDER and of its libraries whose names are in image.libraries (railyard/job/image.py reads it).

tag=$1 tool=$2 name=$3 other=$4
shift 4

fail() {
    echo "railyard: error: $1" >&2
    exit 66
}

link() {
    base=${1##*/}
    if [ -h "programs/$base" ]; then twice="$twice $base "; else ln -s "$1" "programs/$base"; fi
}

walk() {
    for entry in "$1"/*; do
        if [ -d "$entry" ] && [ ! -h "$entry" ]; then
            walk "$entry"
        elif [ -f "$entry" ] && [ -x "$entry" ]; then
            link "$entry"
        fi
    done
}

# The real path of a file or folder, as a line of this kind.
say() {
    real=$(readlink -f "$2") || real=$2
    printf '%s %s\t%s\n' "$1" "$2" "$real"
}

# The libraries of a folder, or of a prefix: Intel MPI has libfabric/lib.
libraries() {
    for place in "$1" "$1"/lib* "$1"/lib*/* "$1"/libfabric/lib "$1"/opt/mpi/libfabric/lib; do
        [ -d "$place" ] || continue
        while IFS= read -r pattern; do
            # shellcheck disable=SC2086
            for file in "$place"/$pattern; do
                [ ! -f "$file" ] || say file "$file"
            done
        done <image.libraries
    done
}

twice=''
rm -rf programs && mkdir programs ||
    fail "the job's folder cannot be written inside the image: mount it there with read and write access"
if [ -d "$tool" ]; then
    walk "$tool"
elif [ -f "$tool" ]; then
    link "$tool"
else
    fail "found nothing at $tool inside the image, expected the benchmark there: fix benchmarks of that stack"
fi
[ -h "programs/$name" ] || [ ! -h "programs/$other" ] || ln -s "$(readlink "programs/$other")" "programs/$name"
[ -x "programs/$name" ] ||
    fail "found no $name below $tool inside the image, expected one executable: name it, or a folder that has it"
case $twice in *" $name "*) fail "found several $name below $tool inside the image, expected one executable" ;; esac
LC_ALL=C ldd "programs/$name" >linked.txt 2>&1
{
    echo "railyard-inside 1 $tag"
    for folder in "$@"; do
        say folder "$folder"
        target=$real
        libraries "$folder"
        [ "$target" = "$folder" ] || libraries "$target"
    done
} >inside.new
# A prefix may consist of links: beside the real MPI are its other libraries.
tab=$(printf '\t') told=' '
while IFS=$tab read -r _ target; do
    case ${target##*/} in libmpi*) target=${target%/*} ;; *) continue ;; esac
    case $told in *" $target "*) continue ;; esac
    told="$told$target "
    say folder "$target"
    libraries "$target"
done <inside.new >inside.more
{ cat inside.new inside.more && echo end; } >inside.txt
rm -f inside.new inside.more
