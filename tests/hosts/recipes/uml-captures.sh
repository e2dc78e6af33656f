# Guest script: builds real md, device-mapper, loop, bcache and zram stacks on scsi_debug disks under Debian's
# User-Mode Linux kernel, and captures each as a tree into $OUT.
#
#   cargo build -p straddle-sources --example host
#   mkdir -p /tmp/captures && cp target/debug/examples/host /tmp/captures/capture
#   uml-run.sh -m 1G -t 400 -o /tmp/captures tests/hosts/recipes/uml-captures.sh
#   cp /tmp/captures/uml-*.tree tests/hosts/
#
# Needs (Debian): user-mode-linux mdadm lvm2 cryptsetup-bin dmsetup fdisk (bcache-tools, if the bcache tree is wanted) e2fsprogs xfsprogs
take() { local name=$1; shift; "$OUT/capture" --tree / "$@" > "$OUT/uml-$name.tree" 2> "$OUT/$name.err" || { echo "capture $name failed"; cat "$OUT/$name.err"; }; echo "$name: $(grep -c . "$OUT/uml-$name.tree") lines"; }
disks() { modp -r scsi_debug 2>/dev/null; sleep 1; modp scsi_debug per_host_store=1 delay=0 max_queue=64 "$@"; sleep 2; }
forget() { mdadm --stop /dev/md0 2>/dev/null; for d in /dev/sd?; do mdadm --zero-superblock "$d"* 2>/dev/null; wipefs -qa "$d"; done; }
for m in sd_mod raid0 raid1 raid10 raid456 linear dm-mod dm-crypt dm-thin-pool dm-raid dm-snapshot dm-integrity dm-cache dm-cache-smq dm-multipath dm-service-time dm-round-robin dm-writecache loop zram bcache ext4 xfs; do modp $m 2>/dev/null || echo "no module $m"; done
export LVM_SYSTEM_DIR=/tmp/lvm; mkdir -p /tmp/lvm
printf 'devices { scan="/dev" external_device_info_source="none" obtain_device_list_from_udev=0 use_devicesfile=0 }\nactivation { udev_sync=0 udev_rules=0 }\nglobal { locking_dir="/run/lock" use_lvmpolld=0 }\n' > /tmp/lvm/lvm.conf

# A drive whose physical sectors begin at LBA 7, partitioned the old way and the new way.
disks add_host=1 dev_size_mb=64 physblk_exp=3 lowest_aligned=7 opt_xferlen_exp=7 lbpu=1 unmap_granularity=8
printf 'label: dos\nstart=63,size=20000\nstart=20480\n' | sfdisk -q --force /dev/sda
take jumper; wipefs -qa /dev/sda

# RAID 0 over six 512e drives whose optimal_io_size of 512 KiB makes the array report the LCM, 1.5 MiB.
disks add_host=6 dev_size_mb=64 physblk_exp=3 opt_xferlen_exp=10
D="/dev/sda /dev/sdb /dev/sdc /dev/sdd /dev/sde /dev/sdf"
mdadm --create /dev/md0 --run --level=0 --raid-devices=6 --chunk=64 $D >/dev/null 2>&1
mkfs.ext4 -q -F /dev/md0; mkdir -p /tmp/m; mount /dev/md0 /tmp/m; take raid0-lcm; umount /tmp/m; forget

# RAID 10, near copies.
mdadm --create /dev/md0 --run --level=10 --raid-devices=6 --chunk=64 --assume-clean --bitmap=none $D >/dev/null 2>&1
take raid10; forget

# RAID 5 whose members' data starts at different offsets: one on a partition at sector 63, the data offset given for each.
printf 'label: dos\nstart=63\n' | sfdisk -q --force /dev/sda
mdadm --create /dev/md0 --run --level=5 --raid-devices=4 --chunk=64 --assume-clean --bitmap=none --data-offset=variable /dev/sda1:1024K /dev/sdb:2048K /dev/sdc:1025K /dev/sdd:1024K 2>&1 | grep -v -e Defaulting -e started
take raid5-offsets; forget

# dm-crypt with 4 KiB sectors on LVM stripes on md RAID 1.
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --bitmap=none /dev/sda /dev/sdb >/dev/null 2>&1
pvcreate -qff -y /dev/md0 /dev/sdc >/dev/null 2>&1; vgcreate -q vg /dev/md0 /dev/sdc >/dev/null 2>&1
lvcreate -q -y -Wn -n data -L 40M vg >/dev/null 2>&1
echo -n pw > /tmp/k; cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --sector-size 4096 --key-file /tmp/k /dev/mapper/vg-data
cryptsetup open --key-file /tmp/k /dev/mapper/vg-data secret
mkfs.ext4 -q -F /dev/mapper/secret; mount /dev/mapper/secret /tmp/m; dd if=/dev/zero of=/tmp/m/table.ibd bs=64k count=8 2>/dev/null; sync
take crypt-lvm-md /tmp/m/table.ibd; umount /tmp/m; cryptsetup close secret; vgremove -qff -y vg >/dev/null 2>&1; forget

# LVM: stripes, RAID 5, a thin pool, a cache.
D5="/dev/sda /dev/sdb /dev/sdc /dev/sdd /dev/sde /dev/sdf"
pvcreate -qff -y $D5 >/dev/null 2>&1; vgcreate -q vg $D5 >/dev/null 2>&1
lvcreate -q -y -Wn -n stripes -i 3 -I 64k -l 6 vg >/dev/null 2>&1
lvcreate -q -y -Wn -n r5 --type raid5 -i 3 -I 64k -l 6 vg >/dev/null 2>&1
lvcreate -q -y --type thin-pool -n pool -L 32M -c 64k vg >/dev/null 2>&1; lvcreate -q -y -V 128M -T vg/pool -n thin >/dev/null 2>&1
lvcreate -q -y -n origin -L 16M vg >/dev/null 2>&1; lvcreate -q -y -s -n snap -L 8M vg/origin >/dev/null 2>&1
take lvm; vgremove -qff -y vg >/dev/null 2>&1; forget

# Multipath over two paths (the two are different disks here, which the kernel does not check).
echo "0 131072 multipath 1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 8:16 1 1" | dmsetup create --uuid mpath-3600508b400105e210000900000490000 mpatha
take multipath; dmsetup remove mpatha

disks add_host=1 dev_size_mb=64 physblk_exp=3
# A loop device at an offset in a fragmented file on ext4.
mkfs.ext4 -q -F -b 1024 /dev/sda; mount /dev/sda /tmp/m
for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/tmp/m/disk.img bs=64k count=1 seek=$((i-1)) conv=notrunc 2>/dev/null; sync; dd if=/dev/zero of=/tmp/m/other bs=3k count=1 seek=$i conv=notrunc 2>/dev/null; sync; done
losetup --offset 32256 /dev/loop0 /tmp/m/disk.img
take loop-ext4 /tmp/m/disk.img; losetup -d /dev/loop0; umount /tmp/m; forget

# bcache and zram.
disks add_host=2 dev_size_mb=64 physblk_exp=3
if make-bcache -B /dev/sda -C /dev/sdb --block 4k --bucket 512k >/dev/null 2>&1; then
  for d in /dev/sda /dev/sdb; do echo $d > /sys/fs/bcache/register 2>/dev/null; done; sleep 1
  take bcache
else echo "no make-bcache"; fi
modp -r scsi_debug
[ -e /sys/block/zram0 ] && { echo 64M > /sys/block/zram0/disksize; take zram; }
