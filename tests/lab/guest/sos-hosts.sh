# Hosts for scripts about support archives, one after the other in one guest: `planted NAME` builds one on fresh disks and mounts what is on it,
# `razed` takes it down.

SOS_PLUGINS=block,filesys
# Codes of findings that the archive of this host cannot have; each host says why.
LOST=

# grown DEVICE...: mounts them.
grown() {
    local device
    for device; do
        mkdir -p "/mnt/host/${device##*/}"
        mount "$device" "/mnt/host/${device##*/}"
    done
}

ext4() { quiet mkfs.ext4 -q -F "$@"; }

# gpt DEVICE LINE...: a GPT that begins as early as it can, in sfdisk's language.
gpt() {
    printf '%s\n' 'label: gpt' "first-lba: $2" "${@:3}" | quiet sfdisk -q --force --no-reread --no-tell-kernel "$1"
    blockdev --rereadpt "$1"
}

# encrypted NAME DEVICE OPTION...
encrypted() {
    quiet cryptsetup -q luksFormat --key-file /tmp/key --pbkdf-force-iterations 1000 "${@:3}" "$2"
    quiet cryptsetup open --key-file /tmp/key "$2" "$1"
}

plant_mbr_63() {
    disks 1 dev_size_mb=24 physblk_exp=3
    partitions /dev/sda start=63,size=20000 start=20480
    ext4 -b 4096 /dev/sda1
    ext4 -b 4096 /dev/sda2
    grown /dev/sda1 /dev/sda2
}

plant_mbr_2048() {
    disks 1 dev_size_mb=24
    partitions /dev/sda start=2048
    ext4 -b 4096 -E stride=16,stripe_width=48 /dev/sda1
    grown /dev/sda1
}

plant_gpt() {
    disks 1 dev_size_mb=24 physblk_exp=3
    gpt /dev/sda 34 start=34,size=16000 start=18432
    ext4 -b 1024 /dev/sda1
    ext4 -b 4096 /dev/sda2
    grown /dev/sda1 /dev/sda2
}

plant_4kn() {
    disks 1 dev_size_mb=32 sector_size=4096
    gpt /dev/sda 6 start=6,size=3000 start=3328
    ext4 -b 4096 /dev/sda1
    ext4 -b 4096 /dev/sda2
    grown /dev/sda1 /dev/sda2
}

plant_bare() {
    disks 2 dev_size_mb=24 physblk_exp=3
    ext4 -b 4096 /dev/sda
    grown /dev/sda
}

plant_linear() {
    SOS_PLUGINS=block,filesys,lvm2,devicemapper
    disks 2 dev_size_mb=24 physblk_exp=3
    partitions /dev/sda start=63
    quiet pvcreate -qff -y /dev/sda1 /dev/sdb
    quiet vgcreate -q -s 1m vg_lin /dev/sda1 /dev/sdb
    quiet lvcreate -q -y -Wn -Zn -n one -l 8 vg_lin /dev/sda1
    quiet lvcreate -q -y -Wn -Zn -n two -l 8 vg_lin /dev/sdb
    quiet lvextend -q -l +4 vg_lin/two /dev/sda1
    ext4 -b 4096 /dev/mapper/vg_lin-one
    ext4 -b 4096 /dev/mapper/vg_lin-two
    grown /dev/mapper/vg_lin-one /dev/mapper/vg_lin-two
}

plant_striped() {
    SOS_PLUGINS=block,filesys,lvm2,devicemapper
    disks 3 dev_size_mb=16 physblk_exp=3
    quiet pvcreate -qff -y "${DISKS[@]}"
    quiet vgcreate -q -s 1m vg_stripes "${DISKS[@]}"
    quiet lvcreate -q -y -Wn -Zn -n db -i 3 -I 64k -l 24 vg_stripes
    ext4 -b 4096 -E stride=16,stripe_width=48 /dev/mapper/vg_stripes-db
    grown /dev/mapper/vg_stripes-db
}

plant_md_0() {
    SOS_PLUGINS=block,filesys,md
    disks 2 dev_size_mb=24 physblk_exp=3
    array md0 --level=0 --raid-devices=2 --chunk=128 "${DISKS[@]}"
    ext4 -b 4096 -E stride=32,stripe_width=64 /dev/md0
    grown /dev/md0
}

plant_md_1() {
    SOS_PLUGINS=block,filesys,md
    disks 2 dev_size_mb=24 physblk_exp=3
    partitions /dev/sda start=63
    partitions /dev/sdb start=63
    # Where the data begins on the members of a mirror: only `mdadm -E` prints that, which sos runs from version 4.2 on.
    LOST=STR206
    array md0 --level=1 --raid-devices=2 --assume-clean --bitmap=none /dev/sda1 /dev/sdb1
    ext4 -b 4096 /dev/md0
    grown /dev/md0
}

plant_md_5() {
    SOS_PLUGINS=block,filesys,md
    disks 3 dev_size_mb=16 physblk_exp=3
    array md0 --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none "${DISKS[@]}"
    partitions /dev/md0 start=63
    ext4 -b 4096 /dev/md0p1
    grown /dev/md0p1
}

plant_md_10() {
    SOS_PLUGINS=block,filesys,md
    disks 4 dev_size_mb=16 physblk_exp=3
    array md0 --level=10 --raid-devices=4 --chunk=64 --assume-clean --bitmap=none "${DISKS[@]}"
    partitions /dev/md0 start=2048
    ext4 -b 4096 -E stride=16,stripe_width=32 /dev/md0p1
    grown /dev/md0p1
}

plant_luks() {
    SOS_PLUGINS=block,filesys,devicemapper
    disks 2 dev_size_mb=40 physblk_exp=3
    echo -n pw > /tmp/key
    partitions /dev/sda start=2048
    encrypted luks1 /dev/sda1 --type luks1
    partitions /dev/sdb start=63
    encrypted luks2 /dev/sdb1 --type luks2 --pbkdf pbkdf2 --sector-size 512
    ext4 -b 4096 /dev/mapper/luks1
    ext4 -b 4096 /dev/mapper/luks2
    grown /dev/mapper/luks1 /dev/mapper/luks2
}

# By the names that multipath and kpartx give, which are not installed here.
plant_multipath() {
    SOS_PLUGINS=block,filesys,devicemapper
    disks 1 dev_size_mb=24 physblk_exp=3
    local wwid=3600508b400105e210000900000490000 sectors
    sectors=$(blockdev --getsz /dev/sda)
    quiet dmsetup create mpatha -u "mpath-$wwid" --table "0 $sectors multipath 0 0 1 1 round-robin 0 1 1 8:0 1000"
    printf '%s\n' 'label: dos' 'start=63' | quiet sfdisk -q --force --no-reread --no-tell-kernel /dev/mapper/mpatha
    quiet dmsetup create mpatha1 -u "part1-mpath-$wwid" --table "0 $((sectors - 63)) linear /dev/mapper/mpatha 63"
    ext4 -b 4096 /dev/mapper/mpatha1
    grown /dev/mapper/mpatha1
}

plant_xfs() {
    SOS_PLUGINS=block,filesys,xfs
    disks 1 dev_size_mb=120 physblk_exp=3
    partitions /dev/sda start=2048
    # Below 300 MB, mkfs.xfs makes what its own tests need.
    TEST_DIR=/mnt TEST_DEV=/dev/null QA_CHECK_FS=1 quiet mkfs.xfs -q -f -d su=64k,sw=4,agsize=17m /dev/sda1
    grown /dev/sda1
}

plant_loop() {
    # Where the file of a loop device lies on the disk below it: in no output of any command.
    LOST="STR101 STR203"
    disks 1 dev_size_mb=64 physblk_exp=3
    partitions /dev/sda start=2048
    ext4 -b 4096 /dev/sda1
    grown /dev/sda1
    truncate -s 8M /mnt/host/sda1/whole.img
    truncate -s 24M /mnt/host/sda1/parts.img
    printf '%s\n' 'label: dos' 'start=63' | quiet sfdisk -q /mnt/host/sda1/parts.img
    losetup /dev/loop0 /mnt/host/sda1/whole.img
    losetup -P /dev/loop1 /mnt/host/sda1/parts.img
    ext4 -b 4096 /dev/loop0
    ext4 -b 4096 /dev/loop1p1
    grown /dev/loop0 /dev/loop1p1
}

plant_btrfs() {
    SOS_PLUGINS=block,filesys,btrfs
    disks 1 dev_size_mb=120 physblk_exp=3
    partitions /dev/sda start=63
    quiet mkfs.btrfs -q -f -d single -m single /dev/sda1
    grown /dev/sda1
}

# LVM on an array, and encryption on a volume: three layers that different plugins tell of.
plant_deep() {
    SOS_PLUGINS=block,filesys,md,lvm2,devicemapper
    disks 3 dev_size_mb=24 physblk_exp=3
    echo -n pw > /tmp/key
    array md0 --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none "${DISKS[@]}"
    quiet pvcreate -qff -y /dev/md0
    quiet vgcreate -q -s 1m vg_deep /dev/md0
    quiet lvcreate -q -y -Wn -Zn -n safe -l 40 vg_deep
    encrypted luks_deep /dev/mapper/vg_deep-safe --type luks2 --pbkdf pbkdf2 --sector-size 512
    ext4 -b 4096 /dev/mapper/luks_deep
    grown /dev/mapper/luks_deep
}

# All at once: partitions of DOS at sectors 63 and 2048 and of GPT at 34, filesystems with and without hints, volumes of LVM on a misaligned
# partition and striped over two disks, an array with a partition and two encrypted devices.
plant_whole() {
    SOS_PLUGINS=block,filesys,lvm2,md,devicemapper,scsi
    disks 12 physblk_exp=3 dev_size_mb=24
    partitions "${DISKS[0]}" start=63
    ext4 -b 4096 "${DISKS[0]}1"
    partitions "${DISKS[1]}" start=2048
    ext4 -b 4096 -E stride=16,stripe_width=48 "${DISKS[1]}1"
    gpt "${DISKS[2]}" 34 start=34
    ext4 -b 1024 "${DISKS[2]}1"
    array md0 --level=5 --raid-devices=3 --chunk=64 --assume-clean "${DISKS[@]:3:3}"
    partitions /dev/md0 start=63
    ext4 -b 4096 /dev/md0p1
    partitions "${DISKS[6]}" start=63
    quiet pvcreate -qff -y "${DISKS[6]}1" "${DISKS[@]:7:2}"
    quiet vgcreate -q -s 1m vg_a.b "${DISKS[6]}1" "${DISKS[@]:7:2}"
    quiet lvcreate -q -y -Wn -Zn -n off -l 8 vg_a.b "${DISKS[6]}1"
    quiet lvcreate -q -y -Wn -Zn -n stri-ped.1 -i 2 -I 64k -l 16 vg_a.b "${DISKS[@]:7:2}"
    ext4 -b 4096 /dev/mapper/vg_a.b-off
    ext4 -b 4096 -E stride=16,stripe_width=32 /dev/mapper/vg_a.b-stri--ped.1
    echo -n pw > /tmp/key
    partitions "${DISKS[9]}" start=2048
    encrypted luks1 "${DISKS[9]}1" --type luks1
    partitions "${DISKS[10]}" start=63
    encrypted luks2 "${DISKS[10]}1" --type luks2 --pbkdf pbkdf2 --sector-size 512
    grown "${DISKS[0]}1" "${DISKS[1]}1" "${DISKS[2]}1" /dev/md0p1 /dev/mapper/vg_a.b-off /dev/mapper/vg_a.b-stri--ped.1
}

planted() {
    SOS_PLUGINS=block,filesys
    LOST=
    "plant_$1"
}

razed() {
    local device
    # Loop devices lie in filesystems that are mounted.
    for device in /mnt/host/loop*; do [ ! -d "$device" ] || umount "$device"; done
    losetup -D
    for device in /mnt/host/*; do ! mountpoint -q "$device" || umount "$device"; done
    rm -rf /mnt/host
    for device in /dev/mapper/luks*; do [ ! -e "$device" ] || quiet cryptsetup close "${device##*/}"; done
    for device in /dev/mapper/vg_*; do
        [ ! -e "$device" ] || { quiet vgchange -q -an; break; }
    done
    for device in mpatha1 mpatha; do [ ! -e "/dev/mapper/$device" ] || quiet dmsetup remove "$device"; done
    for device in /dev/md[0-9]; do [ ! -b "$device" ] || [ ! -e "/sys/block/${device##*/}/md" ] || quiet mdadm --stop "$device"; done
}

# hosts NAME...: each planted, compared by `host`, and taken down.
hosts() {
    local name
    for name; do
        planted "$name"
        host "$name" "$SOS_PLUGINS" "$LOST"
        razed
    done
}
