# `straddle fix` for XFS that does not know the array it lies on, or knows another: the kernel writes stripe unit and width to its
# superblock, files stay, and the plan's promises are kept.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need mkfs.xfs=xfsprogs xfs_repair=xfsprogs mdadm=mdadm sfdisk=fdisk
modules raid0 raid10 raid456
only=hints
mkdir /tmp/xfs
# What mkfs.xfs asks for before it makes one below 300 MiB.
export TEST_DIR=/tmp TEST_DEV=/tmp QA_CHECK_FS=1

# made DEVICE MKFS-OPTION...: a filesystem with a file on it.
made() {
    quiet mkfs.xfs -q -f "${@:2}" "$1"
    mount -t xfs "$1" /tmp/xfs
    head -c 1M /tmp/noise > /tmp/xfs/file
    umount /tmp/xfs
}
# is_whole DEVICE: nothing is wrong with it, and the file is what it was.
is_whole() {
    blockdev --flushbufs "$1"
    quiet xfs_repair -n "$1"
    mount -t xfs "$1" /tmp/xfs
    alike "its file" "$(head -c 1M /tmp/noise | cksum)" "$(cksum < /tmp/xfs/file)"
    grep -o 'sunit=[0-9]*,swidth=[0-9]*' /proc/mounts || echo "no stripe unit"
    umount /tmp/xfs
}
# refused: the script, with its reason.
refused() {
    local status=0
    sh /tmp/fix.script --yes 2> /tmp/why > /tmp/said || status=$?
    same "exit status" 2 $status
    grep '^refused' /tmp/why
}
# told TARGET DEVICE
told() {
    planned "$1"
    carried_out mount "$1"
    kept "$1"
    is_whole "$2"
}

disks 4 dev_size_mb=24
echo "== RAID 0 of 3, 64 KiB: it knows another array"
array md0 --level=0 --raid-devices=3 --chunk=64 "${DISKS[@]:0:3}"
made /dev/md0 -d su=16k,sw=4,agsize=17m
told /dev/md0 /dev/md0

echo "== it is mounted"
made /dev/md0 -d su=16k,sw=4,agsize=17m
straddle fix --only hints --script mount /dev/md0 > /tmp/fix.script
mount -t xfs /dev/md0 /tmp/xfs
refused
umount /tmp/xfs

# by_hand: what the plan says, and what the kernel does.
by_hand() {
    straddle fix --only hints --json /dev/md0 | jq -r '.steps[] | .how, .hindrances[]'
    ! mount -t xfs -o sunit=128,swidth=384 /dev/md0 /tmp/xfs 2> /dev/null
    dmesg | tail -n 1 | sed 's/.*XFS/XFS/'
    is_whole /dev/md0
}
echo "== groups that are not a whole number of stripe units"
made /dev/md0 -d su=16k,sw=4,agsize=17424k
by_hand
echo "== one that was made without"
made /dev/md0 -d noalign
by_hand
forget "${DISKS[@]}"

echo "== RAID 5 of 4, 32 KiB: it knows another array"
array md0 --level=5 --raid-devices=4 --chunk=32 --assume-clean --bitmap=none "${DISKS[@]}"
made /dev/md0 -d su=64k,sw=2,agsize=17m
told /dev/md0 /dev/md0

echo "== a partition of it"
partitions /dev/md0 start=2304
made /dev/md0p1 -d su=8k,sw=6,agsize=17m
told /dev/md0 /dev/md0p1
forget "${DISKS[@]}"

echo "$ways ways"
