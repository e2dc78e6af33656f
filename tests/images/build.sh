#!/bin/sh
# Makes the fixture images from their recipes: `build.sh` all of them, `build.sh NAME…` some.
#
# A recipe NAME.sh gets the path of the image to make, NAME.img; the image is kept as NAME.tgz, a sparse tar. What else it
# leaves beside it as NAME.* is kept too: parents of a virtual disk. The tools come from the Debian packages fdisk, gdisk,
# e2fsprogs, xfsprogs, dosfstools, ntfs-3g, perl-base, qemu-utils and util-linux.
set -eu
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
# Same input, same bytes: no clock, no locale. (mkfs.xfs numbers its first inodes at random, and VHD and
# VHDX have random identifiers: those bytes differ.)
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1262304000 E2FSPROGS_FAKE_TIME=1262304000
[ $# -gt 0 ] || set -- $(ls ./*.sh | sed 's,^\./,,; s,\.sh$,,' | grep -v '^build$')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name; do
    rm -f "$work/$name".*
    sh -eu "./$name.sh" "$work/$name.img" >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "$name: failed" >&2; exit 1; }
    # Zeros that a tool wrote become holes again.
    for file in "$work/$name".*; do fallocate --dig-holes "$file"; done
    tar -C "$work" --sparse --format=gnu --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@1262304000 \
        -cf - $(cd "$work" && ls "$name".*) | gzip -n9 >"$name.tgz"
    rm -f "$work/$name".*
done
