# Where a write arrives: a page is written, whole disks are compared with what they were before, and exactly those bytes
# have changed that `straddle check --where` says: data, copies and parities, encrypted sectors as a whole. From plain
# arrays up to a database on a filesystem, a volume, encryption, RAID 5, a partition and disks with 4 KiB sectors.
#
# What changes for other reasons is switched off (bitmaps, the first superblock of a dirty array, times of access and
# change), or left out by its name (`besides`).
. "$LAB/helpers.sh"
need mdadm=mdadm sfdisk=fdisk lvcreate=lvm2 cryptsetup=cryptsetup-bin integritysetup=cryptsetup-bin dmsetup=dmsetup \
  
modules linear raid0 raid1 raid10 raid456 dm-mod dm-crypt dm-raid dm-thin-pool dm-integrity loop

STACKS=0

# put FILE OFFSET+LENGTH: writes random bytes in place, past the page cache, and waits until the disks have them.
put() {
    quiet dd if=/dev/urandom of="$1" bs="${2#*+}" count=1 seek="${2%+*}" oflag=direct,dsync,seek_bytes \
        iflag=fullblock conv=notrunc
}

# prove STACK TARGET LAYER [OFFSET+LENGTH]...: writes to the layer /dev/LAYER, /dev/mapper/LAYER or the file LAYER.
prove() {
    local stack=$1 target=$2 layer=$3 file=$3 page predicted found
    shift 3
    [ $# -gt 0 ] || set -- 4096+4096 61440+8192 212992+16384
    [ -e "$file" ] || file=/dev/$layer
    [ -e "$file" ] || file=/dev/mapper/$layer
    STACKS=$((STACKS + 1))
    # Makes what they lie on dirty, which is written down once.
    for page; do put "$file" "$page"; done
    written_each "$target" "$layer" "$@" > /tmp/predicted
    while read -r page predicted; do
        remember "${DISKS[@]}"
        put "$file" "${page%:}"
        found=$(changed "${DISKS[@]}")
        found=${found//$'\n'/, }
        if [ "${PLACES:-shown}" = shown ]; then
            same "$stack: $page" "$predicted" "$found"
        else
            alike "$stack: $page" "$predicted" "$found"
        fi
    done < /tmp/predicted
    same "$stack: pages" $# "$(wc -l < /tmp/predicted)" > /dev/null
}

# md NAME OPTION...: an array of whole disks, one after the other.
md() {
    local name=$1
    shift
    array md0 "$@"
    prove "$name" /dev/md0 md0
    forget "${DISKS[@]}"
}

echo "== arrays of whole disks"
disks 6
plain=(--assume-clean --bitmap=none --chunk=64)
md "raid0" --level=0 --chunk=64 --raid-devices=4 "${DISKS[@]:0:4}"
md "raid0, 5 disks, 4 KiB" --level=0 --chunk=4 --raid-devices=5 "${DISKS[@]:0:5}"
md "linear" --level=linear --raid-devices=2 "${DISKS[@]:0:2}"
md "raid1" --level=1 --assume-clean --bitmap=none --raid-devices=2 "${DISKS[@]:0:2}"
md "raid1, 3 copies, metadata 1.0" --level=1 --assume-clean --bitmap=none --metadata=1.0 --raid-devices=3 "${DISKS[@]:0:3}"
for layout in n2 n3 f2 f3 o2 o3; do
    md "raid10 $layout, 4 disks" --level=10 --layout=$layout "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
done
md "raid10 n2, 5 disks" --level=10 --layout=n2 "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
md "raid10 f2, 5 disks" --level=10 --layout=f2 "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
md "raid4" --level=4 "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
for layout in left-symmetric left-asymmetric right-symmetric right-asymmetric parity-first parity-last; do
    md "raid5 $layout" --level=5 --layout=$layout "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
done
for layout in left-symmetric left-asymmetric right-symmetric right-asymmetric \
    ddf-zero-restart ddf-N-restart ddf-N-continue left-symmetric-6 parity-first-6; do
    md "raid6 $layout" --level=6 --layout=$layout "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
done
echo "stacks: $STACKS"
