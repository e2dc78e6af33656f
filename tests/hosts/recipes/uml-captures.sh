# Builds real md, device-mapper, loop, bcache and zram stacks on scsi_debug disks in a lab guest, and captures each as
# a tree into $OUT.
#
#   cargo build --package straddle-sources --example host
#   mkdir -p /tmp/captures
#   cargo xtask lab --out /tmp/captures --program target/debug/examples/host tests/hosts/recipes/uml-captures.sh
#   cp /tmp/captures/uml-*.tree tests/hosts/
#
# The bcache tree needs bcache-tools besides, and is left out without. The numbers of mounts in mountinfo depend on what
# the lab itself has mounted.
. "$LAB/helpers.sh"
need mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin dmsetup=dmsetup sfdisk=fdisk mkfs.ext4=e2fsprogs losetup=mount
# By its place: there is a Debian program of the same name.
host=/run/bin/host
[ -x $host ] || { echo "$0: needs --program target/debug/examples/host" >&2; exit 1; }
# In this order: md, device-mapper and zram are each given the next free major number.
modules raid0 raid1 raid10 raid456
modules dm-mod dm-crypt dm-thin-pool dm-raid dm-snapshot dm-multipath dm-service-time
modules loop zram bcache ext4
mkdir -p /tmp/m

# take NAME FILE...: captures the host, and what these files on it rest on.
take() {
    $host --tree / "${@:2}" > "$OUT/uml-$1.tree"
    echo "$1: $(wc -l < "$OUT/uml-$1.tree") lines"
}

# A drive whose physical sectors begin at LBA 7, partitioned the old way and the new way.
disks 1 dev_size_mb=64 physblk_exp=3 lowest_aligned=7 opt_xferlen_exp=7 lbpu=1 unmap_granularity=8
partitions /dev/sda start=63,size=20000 start=20480
take jumper
forget /dev/sda

# RAID 0 over six 512e drives whose optimal_io_size of 512 KiB makes the array report the LCM, 1.5 MiB.
disks 6 dev_size_mb=64 physblk_exp=3 opt_xferlen_exp=10
array md0 --level=0 --raid-devices=6 --chunk=64 "${DISKS[@]}"
quiet mkfs.ext4 -q -F /dev/md0
mount /dev/md0 /tmp/m
take raid0-lcm
umount /tmp/m
forget "${DISKS[@]}"

# RAID 10, near copies.
array md0 --level=10 --raid-devices=6 --chunk=64 --assume-clean --bitmap=none "${DISKS[@]}"
take raid10
forget "${DISKS[@]}"

# RAID 5 whose members' data starts at different offsets: one on a partition at sector 63, the data offset given for
# each.
partitions /dev/sda start=63
array md0 --level=5 --raid-devices=4 --chunk=64 --assume-clean --bitmap=none --data-offset=variable \
    /dev/sda1:1024K /dev/sdb:2048K /dev/sdc:1025K /dev/sdd:1024K
take raid5-offsets
forget "${DISKS[@]}"

# dm-crypt with 4 KiB sectors on LVM on md RAID 1.
array md0 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --bitmap=none /dev/sda /dev/sdb
quiet pvcreate -qff -y /dev/md0 /dev/sdc
quiet vgcreate -q vg /dev/md0 /dev/sdc
quiet lvcreate -q -y -Wn -n data -L 40M vg
echo -n pw > /tmp/key
quiet cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --sector-size 4096 \
    --key-file /tmp/key /dev/mapper/vg-data
quiet cryptsetup open --key-file /tmp/key /dev/mapper/vg-data secret
quiet mkfs.ext4 -q -F /dev/mapper/secret
mount /dev/mapper/secret /tmp/m
dd if=/dev/zero of=/tmp/m/table.ibd bs=64k count=8 status=none
sync
take crypt-lvm-md /tmp/m/table.ibd
umount /tmp/m
quiet cryptsetup close secret
quiet vgremove -qff -y vg
forget "${DISKS[@]}"

# LVM: stripes, RAID 5, a thin pool, a snapshot.
quiet pvcreate -qff -y "${DISKS[@]}"
quiet vgcreate -q vg "${DISKS[@]}"
quiet lvcreate -q -y -Wn -n stripes -i 3 -I 64k -l 6 vg
quiet lvcreate -q -y -Wn -n r5 --type raid5 -i 3 -I 64k -l 6 vg
quiet lvcreate -q -y --type thin-pool -n pool -L 32M -c 64k vg
quiet lvcreate -q -y -V 128M -T vg/pool -n thin
quiet lvcreate -q -y -n origin -L 16M vg
quiet lvcreate -q -y -s -n snap -L 8M vg/origin
take lvm
quiet vgremove -qff -y vg
forget "${DISKS[@]}"

# Multipath over two paths (the two are different disks here, which the kernel does not check).
quiet dmsetup create --uuid mpath-3600508b400105e210000900000490000 mpatha \
    --table "0 131072 multipath 1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1"
take multipath
quiet dmsetup remove mpatha

# A loop device at an offset in a fragmented file on ext4.
disks 1 dev_size_mb=64 physblk_exp=3
quiet mkfs.ext4 -q -F -b 1024 /dev/sda
mount /dev/sda /tmp/m
for i in {1..8}; do
    dd if=/dev/zero of=/tmp/m/disk.img bs=64k count=1 seek=$((i - 1)) conv=notrunc status=none
    sync
    dd if=/dev/zero of=/tmp/m/other bs=3k count=1 seek=$i conv=notrunc status=none
    sync
done
losetup --offset 32256 /dev/loop0 /tmp/m/disk.img
take loop-ext4 /tmp/m/disk.img
losetup -d /dev/loop0
umount /tmp/m
forget /dev/sda

# bcache and zram.
disks 2 dev_size_mb=64 physblk_exp=3
if command -v make-bcache > /dev/null; then
    quiet make-bcache -B /dev/sda -C /dev/sdb --block 4k --bucket 512k
    for disk in "${DISKS[@]}"; do echo "$disk" > /sys/fs/bcache/register; done
    wait_until test -b /dev/bcache0
    take bcache
else
    echo "bcache: left out, there is no make-bcache"
fi
quiet modprobe -d /run -r scsi_debug
echo 64M > /sys/block/zram0/disksize
take zram
