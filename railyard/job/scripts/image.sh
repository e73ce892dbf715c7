# Starts a program in the image of a stack, as each process of a launch: sh image.sh PROGRAM [ARGUMENT]...
# railyard/job/image.py writes the lines around these: before them $image (as the system's file names it), $file (its
# path on a node; empty if it is only a name), $runtime (the program that starts it), and after them what starts it.
# counters/NODE.image has the size in bytes of the image on this node, when it was changed, and what cksum says of its
# first 64 KiB (nothing of a folder).

node=unknown
{ IFS= read -r node </proc/sys/kernel/hostname; } 2>/dev/null

refuse() {
    echo "railyard: error: $1" >&2
    # As in reader.sh: some launchers ignore the exit of a process before MPI_Init, and would wait for it.
    if [ -n "${PMI_FD-}" ]; then
        (printf 'cmd=abort exitcode=66\n' >&"$PMI_FD") 2>/dev/null ||
            bash -c 'printf "cmd=abort exitcode=66\n" >&"$PMI_FD"' 2>/dev/null
    fi
    exit 66
}

command -v "$runtime" >/dev/null 2>&1 ||
    refuse "found no $runtime on $node, expected the program that starts $image: install it there, or load its module"
if [ -n "$file" ]; then
    [ -r "$file" ] || refuse "found no image $file on $node, expected it on every node of the run: copy it there"
    said=counters/$node.image
    if [ ! -e "$said" ]; then
        {
            stat -L -c '%s %Y' "$file" && dd if="$file" bs=65536 count=1 | cksum
        } >"$said.$$" 2>/dev/null && mv "$said.$$" "$said" || rm -f "$said.$$"
    fi
fi
