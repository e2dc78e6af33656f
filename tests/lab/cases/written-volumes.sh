# Where a write arrives below volumes, encryption and filesystems: as in written.sh, up to a database page in a file on
# ext4 and on XFS, a volume, encryption, RAID 5, a partition and disks with 4 KiB sectors.
#
# What changes for other reasons is switched off (times of access and change, tables that ext4 clears later), or left out
# by its name: the records of a RAID's regions that LVM keeps in volumes of their own.
. "$LAB/helpers.sh"
. "$LAB/prove.sh"
need mdadm=mdadm sfdisk=fdisk lvcreate=lvm2 cryptsetup=cryptsetup-bin integritysetup=cryptsetup-bin dmsetup=dmsetup \
    mkfs.ext4=e2fsprogs mkfs.xfs=xfsprogs losetup=mount jq=jq
modules raid0 raid1 raid456 raid10 dm-mod dm-crypt dm-raid dm-thin-pool dm-integrity loop

# besides VOLUME...: the sectors of these linear volumes may change too.
besides() {
    local volume length device at
    BESIDES=
    for volume; do
        while read -r _ length _ device at; do
            device=$(readlink "/sys/dev/block/$device")
            BESIDES+="${device##*/} $((at * 512)) $((at * 512 + length * 512))"$'\n'
        done < <(dmsetup table "$volume")
    done
}

# volume NAME OPTION...: a volume of group vg, while it is looked at; a RAID's without what LVM writes down of it.
volume() {
    local name=$1 raid
    shift
    quiet lvcreate -q -y -Wn -Zn -n v "$@" vg
    mapfile -t raid < <(dmsetup info -c --noheadings -o name | grep '^vg-v_rmeta' || true)
    besides "${raid[@]}"
    prove "$name" /dev/mapper/vg-v vg-v
    BESIDES=
    quiet lvremove -q -f vg/v
}

# crypt NAME DEVICE OPTION...: the payload of a LUKS header.
crypt() {
    local name=$1 device=$2
    shift 2
    quiet cryptsetup -q luksFormat --pbkdf-force-iterations 1000 --key-file /tmp/key "$@" "$device"
    quiet cryptsetup open --key-file /tmp/key "$device" secret
    prove "$name" /dev/mapper/secret secret
    quiet cryptsetup close secret
    quiet wipefs -qa "$device"
}
echo -n pw > /tmp/key
head -c 32 /dev/urandom > /tmp/raw-key

# unknown STACK TARGET LAYER: what is said where it is not known.
unknown() { echo "$1: $(written_each "$2" "$3" 4096+4096)"; }

echo "== volumes"
disks 5 dev_size_mb=16 physblk_exp=3
quiet pvcreate -qff -y "${DISKS[@]}"
quiet vgcreate -q -s 1m vg "${DISKS[@]}"
volume "linear" -l 4
volume "striped" -i 3 -I 64k -l 6
volume "raid1" --type raid1 -m 1 --nosync -l 4
volume "raid5" --type raid5 -i 3 -I 64k --nosync -l 6
volume "raid6" --type raid6 -i 3 -I 64k -l 6
volume "raid10" --type raid10 -m 1 -i 2 -I 64k --nosync -l 4
quiet lvcreate -q -y -Zn --type thin-pool -n pool -l 12 -c 64k --poolmetadatasize 2m vg
quiet lvcreate -q -y -V 8m -n thin --thinpool pool vg
unknown "thin" /dev/mapper/vg-thin vg-thin
quiet vgremove -q -f vg
quiet pvremove -q "${DISKS[@]}"

echo "== encryption"
crypt "LUKS 1" /dev/sda --type luks1
crypt "LUKS 2, 512-byte sectors" /dev/sda --type luks2 --pbkdf pbkdf2 --offset 4104 --sector-size 512
crypt "LUKS 2, 4 KiB sectors" /dev/sda --type luks2 --pbkdf pbkdf2 --offset 4104 --sector-size 4096
quiet cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file /tmp/raw-key --offset 7 /dev/sda secret
prove "plain, 7 sectors in" /dev/mapper/secret secret
quiet cryptsetup close secret
quiet integritysetup -q format --no-wipe --tag-size 4 /dev/sda
quiet integritysetup open /dev/sda sums
unknown "integrity" /dev/mapper/sums sums
quiet integritysetup close sums
quiet wipefs -qa /dev/sda

echo "== one on the other"
redundant=(--assume-clean --bitmap=none)
array md0 --level=5 --chunk=64 "${redundant[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
partitions /dev/md0 start=63,size=8000 start=9216
prove "partition at sector 63, RAID 5" /dev/md0 md0p1
prove "partition on a full stripe, RAID 5" /dev/md0 md0p2
forget "${DISKS[@]}"

array md1 --level=1 "${redundant[@]}" --raid-devices=2 "${DISKS[@]:0:2}"
array md2 --level=1 "${redundant[@]}" --raid-devices=2 "${DISKS[@]:2:2}"
array md0 --level=0 --chunk=64 --raid-devices=2 /dev/md1 /dev/md2
prove "RAID 0 of RAID 1" /dev/md0 md0
quiet mdadm --stop /dev/md0
quiet wipefs -qa /dev/md1 /dev/md2
quiet pvcreate -qff -y /dev/md1 /dev/md2
quiet vgcreate -q -s 1m vg /dev/md1 /dev/md2
volume "striped on RAID 1" -i 2 -I 16k -l 6
quiet vgremove -q -f vg
quiet mdadm --stop /dev/md1 /dev/md2
quiet wipefs -qa "${DISKS[@]}"

array md0 --level=6 --chunk=16 "${redundant[@]}" --raid-devices=5 "${DISKS[@]}"
crypt "LUKS 2, RAID 6" /dev/md0 --type luks2 --pbkdf pbkdf2 --offset 4104 --sector-size 4096
quiet pvcreate -qff -y /dev/md0
quiet vgcreate -q -s 1m vg /dev/md0
volume "linear on RAID 6" -l 8
quiet vgremove -q -f vg
forget "${DISKS[@]}"

# pages NAME FILE: pages of a file that has been written before.
pages() {
    quiet dd if=/dev/urandom of="$2" bs=1M count=3 oflag=direct conv=fsync
    sync
    PLACES=hidden prove "$1" "$2" "$2" 0+4096 40960+8192 1048576+16384
}

echo "== from a database page to disks with 4 KiB sectors"
disks 4 dev_size_mb=28 sector_size=4096
parts=()
for disk in "${DISKS[@]}"; do
    partitions "$disk" start=63
    parts+=("${disk}1")
done
array md0 --level=5 --chunk=64 "${redundant[@]}" --raid-devices=4 "${parts[@]}"
quiet cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --sector-size 4096 --offset 4104 --key-file /tmp/key /dev/md0
quiet cryptsetup open --key-file /tmp/key /dev/md0 secret
quiet pvcreate -qff -y /dev/mapper/secret
quiet vgcreate -q -s 1m vg /dev/mapper/secret
quiet lvcreate -q -y -Wn -Zn -n ext4 -L 20m vg
quiet lvcreate -q -y -Wn -Zn -n xfs -L 36m vg
mkdir -p /mnt/ext4 /mnt/xfs
quiet mkfs.ext4 -q -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/vg-ext4
mount -o noatime,lazytime,commit=900 /dev/mapper/vg-ext4 /mnt/ext4
pages "file, ext4, volume, LUKS 2, RAID 5, partitions" /mnt/ext4/db.mdf
judge /tmp/report.json /mnt/ext4/db.mdf
echo "layers: $(jq -r '[.targets[0].stack[].kind] | join(" ")' /tmp/report.json)"

# A guest's disk in a file. A flush of it would make ext4 write down when the file has changed.
quiet dd if=/dev/urandom of=/mnt/ext4/disk.raw bs=1M count=4 oflag=direct conv=fsync
sync
losetup --direct-io=on /dev/loop0 /mnt/ext4/disk.raw
FLUSH=no PLACES=hidden prove "loop device, file, ext4, volume, LUKS 2, RAID 5, partitions" /dev/loop0 loop0
losetup -d /dev/loop0
umount /mnt/ext4

# Below 300 MB, mkfs.xfs makes what its own tests need. XFS looks after its log every 30 s, unless told otherwise.
TEST_DIR=/mnt TEST_DEV=/dev/null QA_CHECK_FS=1 quiet mkfs.xfs -q /dev/mapper/vg-xfs
echo 720000 > /proc/sys/fs/xfs/xfssyncd_centisecs
mount -o noatime,lazytime /dev/mapper/vg-xfs /mnt/xfs
pages "file, XFS, volume, LUKS 2, RAID 5, partitions" /mnt/xfs/db.mdf
umount /mnt/xfs
echo "stacks: $STACKS"
