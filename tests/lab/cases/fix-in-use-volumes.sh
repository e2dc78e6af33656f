# Scripts of `straddle fix` for arrays and volume groups that are in use, they themselves or what they stand on, by whatever name and in
# whatever namespace. Each refuses, and not one byte is written.
# Only in a soak.
. "$LAB/helpers.sh"
need dmsetup=dmsetup mdadm=mdadm sfdisk=fdisk pvcreate=lvm2 mke2fs=e2fsprogs mkfs.btrfs=btrfs-progs losetup=mount unshare=util-linux perl=perl-base
modules dm-mod dm-log dm-region-hash dm-mirror dm-crypt raid0 raid1 loop btrfs
ways=0
mkdir /tmp/m /tmp/m2

# refused WAY COMMAND...: while the way is on, which the command ends, the script of `script` for `target` does not write to `disks_below`.
refused() {
    local before status=0
    sync
    blockdev --flushbufs "$target" $disks_below
    before=$(cat $disks_below | cksum)
    sh "$script" --yes > /tmp/said 2>&1 || status=$?
    same "$1" 2 $status
    grep -q '^refused, nothing was written: .*\(mounted\|part of\|used for\|cannot be opened exclusively\|attached\|open for writing\|in use\|a device of\|stands on\)' /tmp/said ||
        { cat /tmp/said; exit 1; } >&2
    sync
    blockdev --flushbufs "$target" $disks_below
    alike "$1, contents" "$before" "$(cat $disks_below | cksum)"
    ways=$((ways + 1))
    "${@:2}" > /dev/null 2>&1
}
# holding WORDS-OF-PERL: a process that has it open in that way; `let_go` ends it.
holding() {
    perl -MFcntl -e '$| = 1; sysopen(F, $ARGV[0], eval $ARGV[1]) or die $!; print "x\n"; sleep 600' "$1" "$2" > /tmp/holds &
    holder=$!
    wait_until grep -q x /tmp/holds
}
let_go() { kill $holder; wait $holder || true; rm -f /tmp/holds; }
# elsewhere LINES: in a mount namespace of its own; `come_back` ends it.
elsewhere() {
    rm -f /tmp/there
    unshare --mount --propagation private sh -c "$1; : > /tmp/there; exec sleep 600" &
    holder=$!
    wait_until test -e /tmp/there
}
come_back() { kill $holder; wait $holder || true; }
node() { mknod -m 600 "$2" b $(stat -L -c '0x%t 0x%T' "$1"); }
unlooped() { losetup -D; }

# whole DEVICE: ways for a device with an ext4 filesystem on it.
whole() {
    local device=$1
    mount -o ro,noload "$device" /tmp/m
    refused "$2, mounted" umount /tmp/m
    mount -o ro,noload "$device" /tmp/m; mount --bind /tmp/m /tmp/m2; umount /tmp/m
    refused "$2, bound elsewhere" umount /tmp/m2
    elsewhere "mount -o ro,noload $device /tmp/m"
    refused "$2, mounted in another namespace" come_back
    node "$device" /tmp/node; mount -o ro,noload /tmp/node /tmp/m; rm /tmp/node
    refused "$2, mounted by a node that is gone" umount /tmp/m
    node "$device" /tmp/node
    elsewhere "mount -o ro,noload /tmp/node /tmp/m; rm /tmp/node"
    refused "$2, the same in another namespace" come_back
    mount -o ro,noload "$device" /tmp/m; sleep 600 < /tmp/m/lost+found & holder=$!; umount -l /tmp/m
    refused "$2, unmounted while a folder is open" come_back
    losetup /dev/loop0 "$device"
    refused "$2, below a loop device" unlooped
    losetup --read-only --offset 1048576 /dev/loop0 "$device"
    refused "$2, below a loop device at an offset" unlooped
    losetup /dev/loop0 "$device"; losetup /dev/loop1 /dev/loop0; mount -o ro,noload /dev/loop1 /tmp/m
    refused "$2, mounted two loop devices higher" sh -c 'umount /tmp/m; losetup -d /dev/loop1; losetup -d /dev/loop0'
    quiet dmsetup create held --table "0 4096 linear $device 0"
    refused "$2, below device-mapper" dmsetup remove held
    quiet dmsetup create held --readonly --table "0 4096 linear $device 8"
    refused "$2, below device-mapper, read-only" dmsetup remove held
    quiet dmsetup create held --table "0 4096 crypt aes-xts-plain64 $(printf '%064d' 0) 0 $device 0"
    refused "$2, below crypt" dmsetup remove held
    holding "$device" 'O_RDWR'
    refused "$2, open for writing" let_go
    holding "$device" 'O_RDONLY | O_EXCL'
    refused "$2, open exclusively" let_go
    node "$device" /tmp/node; holding /tmp/node 'O_WRONLY'; rm /tmp/node
    refused "$2, open for writing by a node that is gone" let_go
}
# other_contents DEVICE WHAT: ways that need something else on it.
other_contents() {
    local device=$1
    quiet mkswap "$device"
    swapon "$device"
    refused "$2, swap" swapoff "$device"
    node "$device" /tmp/node; swapon /tmp/node; rm /tmp/node
    refused "$2, swap by a node that is gone" swapoff "$device"
    quiet mke2fs -q -F -O journal_dev -b 1024 "$device"
    quiet mke2fs -q -F -t ext4 -b 1024 -J "device=$device" "$other"
    mount -t ext4 -o ro "$other" /tmp/m
    refused "$2, the journal of another filesystem" umount /tmp/m
    quiet mkfs.btrfs -q -f --mixed -d single -m single "$other" "$device"
    mount -o "ro,device=$other,device=$device" "$other" /tmp/m
    refused "$2, the second device of btrfs" umount /tmp/m
    quiet wipefs -qa "$device" "$other"
    quiet mdadm --build /dev/md9 --level=0 --raid-devices=2 --chunk=64 --force "$device" "$other"
    refused "$2, a member of an array" mdadm --stop /dev/md9
    quiet pvcreate -q -ff -y --config 'devices/scan_lvs=1' "$device"
    quiet vgcreate -q --config 'devices/scan_lvs=1' above "$device"
    quiet lvcreate -q -y -Wn -Zn -l 1 -n volume --config 'devices/scan_lvs=1' above
    refused "$2, a physical volume" vgremove -q -ff -y --config 'devices/scan_lvs=1' above
    quiet pvremove -q -ff -y --config 'devices/scan_lvs=1' "$device"
    quiet wipefs -qa "$device" "$other"
}
# below DEVICE WHAT: ways for what the target stands on.
below() {
    losetup --read-only /dev/loop0 "$1"
    refused "$2, below a loop device, too" unlooped
    holding "$1" 'O_RDWR'
    refused "$2, open for writing" let_go
    node "$1" /tmp/node; holding /tmp/node 'O_RDWR'; rm /tmp/node
    refused "$2, open for writing by a node that is gone" let_go
}

disks 3 dev_size_mb=48 physblk_exp=3
other=/dev/sdc

echo "== an array"
disks_below='/dev/sda /dev/sdb'
target=/dev/md0
array md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none --data-offset=2050s /dev/sda /dev/sdb
straddle fix --only array --script mdadm /dev/md0 > /tmp/mdadm.script
script=/tmp/mdadm.script
quiet mke2fs -q -F -t ext4 /dev/md0
whole /dev/md0 array
below /dev/sda member
other_contents /dev/md0 array
partitions /dev/md0 start=2048,size=80000
quiet mke2fs -q -F -t ext4 /dev/md0p1
whole /dev/md0p1 "partition of the array"
other_contents /dev/md0p1 "partition of the array"
forget /dev/sda /dev/sdb

echo "== a volume group"
disks_below=/dev/sda
target=/dev/sda
quiet pvcreate -q --dataalignment 1m --dataalignmentoffset 1k /dev/sda
quiet vgcreate -q -s 1m vg /dev/sda
quiet lvcreate -q -y -Wn -Zn -l 40 -n volume vg
straddle fix --only volume-group --script lvm /dev/sda > /tmp/lvm.script
script=/tmp/lvm.script
quiet mke2fs -q -F -t ext4 /dev/mapper/vg-volume
whole /dev/mapper/vg-volume volume
below /dev/sda "physical volume"
other_contents /dev/mapper/vg-volume volume
quiet vgremove -q -ff -y vg
echo "$ways ways"
