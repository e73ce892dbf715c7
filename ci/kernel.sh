#!/bin/sh
# Unpacks what the Soft-RoCE guests need from Debian's kernel package into .stacks/guest-kernel: `make needs VERBS=1`.
#
# It is unpacked, not installed, because this machine would boot an installed kernel next time. It prints nothing if
# there is a kernel already. It needs apt-get and dpkg-deb, but not root.  INSTALL=0 never fetches.
set -eu

into=.stacks/guest-kernel
parts='drivers/infiniband drivers/virtio drivers/net crypto arch lib net fs/9p fs/netfs fs/fscache fs/overlayfs fs/configfs'

main() {
    if [ -e "$into/done" ] || is_installed; then exit 0; fi
    if [ "${INSTALL:-1}" = 0 ]; then refuse "INSTALL=0 says not to fetch it"; fi
    for program in apt-get apt-cache dpkg-deb depmod; do
        PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || refuse "there is no $program on this machine"
    done
    # linux-image-amd64 is empty and depends on the newest kernel package.
    package=$(apt-cache depends --important linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$package" ] || refuse "apt-cache knows no linux-image-amd64 (apt-get update?)"
    here=$(pwd)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    echo "needs: apt-get download $package, unpacked into $into"
    # apt's own user cannot write there, and apt-get warns about it.
    (cd "$work" && apt-get -q download "$package" >"$work/said" 2>&1) || { cat "$work/said" >&2; refuse "it was not fetched"; }
    unpack
}

is_installed() {
    for image in /boot/vmlinuz-*; do
        set -- /lib/modules/"${image#/boot/vmlinuz-}"/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*
        if [ -r "$image" ] && [ -e "$1" ]; then return 0; fi
    done
    return 1
}

unpack() {
    rm -rf "${here:?}/$into" && mkdir -p "$here/$into" && cd "$here/$into"
    version=${package#linux-image-}
    set --
    for part in $parts; do set -- "$@" "./lib/modules/$version/kernel/$part"; done
    dpkg-deb --fsys-tarfile "$work"/*.deb |
        tar -x "./boot/vmlinuz-$version" "./lib/modules/$version/modules.order" "./lib/modules/$version/modules.builtin" "$@"
    PATH=$PATH:/usr/sbin:/sbin depmod -b . "$version" 2>"$work/said" || { cat "$work/said" >&2; refuse "depmod failed"; }
    : >"done"
}

refuse() {
    echo "needs: no kernel for the Soft-RoCE guests in $into: $1" >&2
    exit 2
}

main
