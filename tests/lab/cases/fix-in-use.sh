# Scripts of `straddle fix` for a disk whose partitions other drivers hold: device-mapper of several kinds, md, LVM, swap and journals on
# them. Each refuses, and not one byte is written.
. "$LAB/helpers.sh"
need dmsetup=dmsetup mdadm=mdadm sfdisk=fdisk pvcreate=lvm2 cryptsetup=cryptsetup-bin parted=parted sgdisk=gdisk
modules dm-mod dm-crypt dm-snapshot raid0 raid1 loop
disks 2 dev_size_mb=48
disk=${DISKS[0]}
other=${DISKS[1]}
printf '%s\n' 'label: gpt' 'first-lba: 34' 'start=34,size=30000' 'start=30034,size=20000' 'start=50034,size=30000' |
    quiet sfdisk -q --no-reread --no-tell-kernel "$disk"
blockdev --rereadpt "$disk"
for tool in sfdisk parted sgdisk; do straddle fix --only partitions --script $tool "$disk" > /tmp/$tool.sh; done
ways=0

# refused WAY COMMAND...: while the way is on, which the command ends, no script writes.
refused() {
    local tool before status
    blockdev --flushbufs "$disk"
    before=$(cksum < "$disk")
    for tool in sfdisk parted sgdisk; do
        status=0
        sh /tmp/$tool.sh --yes > /tmp/said 2>&1 || status=$?
        same "$1, $tool" 2 $status
        grep -q '^refused, nothing was written: .*\(mounted\|part of\|used for\|cannot be opened exclusively\|attached\|open for writing\)' /tmp/said || { cat /tmp/said; exit 1; } >&2
    done
    # Neither does `bench`, whatever is given up.
    status=0
    straddle bench --destroy-data "$disk" --yes-destroy "${disk##*/}" --overwrite-signatures --rw write --size 1M > /tmp/said 2>&1 || status=$?
    same "$1, bench" 2 $status
    grep -q ' is in use: .*nothing was written' /tmp/said || { cat /tmp/said; exit 1; } >&2
    blockdev --flushbufs "$disk"
    alike "$1, contents" "$before" "$(cksum < "$disk")"
    ways=$((ways + 1))
    quiet "${@:2}"
}

for part in 1 2 3; do
    quiet dmsetup create held --table "0 16000 linear $disk$part 0"
    refused "linear over partition $part" dmsetup remove held
done
quiet dmsetup create held --table "0 90000 linear $disk 0"
refused "linear over the disk" dmsetup remove held
quiet dmsetup create held --table "0 16000 linear $disk 34"
refused "linear over the place of a partition" dmsetup remove held
quiet dmsetup create held --readonly --table "0 16000 linear ${disk}1 0"
refused "linear, read-only" dmsetup remove held
quiet dmsetup create held --table "0 16384 striped 2 16 ${disk}1 0 ${other} 0"
refused "striped with another disk" dmsetup remove held
quiet dmsetup create held --table "0 16000 crypt aes-xts-plain64 $(printf '%064d' 0) 0 ${disk}2 0"
refused "crypt" dmsetup remove held
quiet dmsetup create held --table "0 16000 snapshot $other ${disk}3 N 8"
refused "the store of a snapshot" dmsetup remove held
quiet dmsetup create lower --table "0 16000 linear ${disk}1 0"
quiet dmsetup create held --table "0 16000 linear /dev/mapper/lower 0"
refused "linear over linear" dmsetup remove held lower
quiet dmsetup create held --table "0 16000 linear ${disk}1 0"
quiet mke2fs -q /dev/mapper/held 4000k
mkdir /tmp/m
mount /dev/mapper/held /tmp/m
refused "mounted through device-mapper" umount /tmp/m
quiet dmsetup remove held
quiet mdadm --build /dev/md0 --level=0 --raid-devices=2 --chunk=64 --force "${disk}1" "$other"
refused "a member of RAID 0 without metadata" mdadm --stop /dev/md0
quiet mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.0 --bitmap=none --assume-clean "${disk}2" "$other"
refused "a member of RAID 1" mdadm --stop /dev/md0
quiet mdadm --zero-superblock "${disk}2" "$other"
quiet pvcreate -q "${disk}3"
quiet vgcreate -q group "${disk}3"
quiet lvcreate -q -l 1 -n volume group
refused "a physical volume" vgremove -q -f group
quiet pvremove -q "${disk}3"
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /dev/zero "${disk}1" vault
refused "a mapping of cryptsetup" cryptsetup close vault
quiet mke2fs -q -O journal_dev -b 1024 "${disk}2"
quiet mke2fs -q -t ext4 -b 1024 -J "device=${disk}2" "$other"
mount -t ext4 "$other" /tmp/m
refused "the journal of another filesystem" umount /tmp/m
quiet mkswap "${disk}2"
swapon "${disk}2"
refused "swap" swapoff "${disk}2"
echo "$ways ways"
