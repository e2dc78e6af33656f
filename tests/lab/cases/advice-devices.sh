# Loop devices, mounts and places that are recorded: the commands of the rules' pages that need a kernel, and that a boot sector's
# start counts from the disk that holds its table, whatever that lies on. tests/advice/commands.toml says which page has which.
. "$LAB/helpers.sh"
need mkfs.xfs=xfsprogs xfsdump=xfsdump sfdisk=fdisk mkfs.fat=dosfstools mdadm=mdadm pvcreate=lvm2 mkfs.btrfs=btrfs-progs chattr=e2fsprogs
modules dm-mod loop raid0 vfat btrfs
export TEST_DIR=/tmp TEST_DEV=/tmp QA_CHECK_FS=1
mkdir /tmp/there

echo "== loop devices"
truncate -s 32M /tmp/image
printf 'label: gpt\nstart=256, size=4096\n' | quiet sfdisk -q --sector-size 4096 /tmp/image 2> /dev/null || {
    loop=$(losetup --sector-size 4096 --find --show /tmp/image)
    printf 'label: gpt\nstart=256, size=4096\n' | quiet sfdisk -q "$loop"
    losetup --detach "$loop"
}
loop=$(losetup --sector-size 4096 --partscan --find --show /tmp/image)
same "partition of a table for 4,096, in sectors of 512" "2048 32768" "$(cat "/sys/class/block/${loop#/dev/}p1/start" "/sys/class/block/${loop#/dev/}p1/size" | xargs)"
losetup --detach "$loop"
disks 4 dev_size_mb=96 physblk_exp=3 lbpu=1
disk=${DISKS[0]}
quiet mkfs.ext4 -q -F "${DISKS[1]}"
mount "${DISKS[1]}" /tmp/there
truncate -s 32M /tmp/there/other
loop=$(losetup --sector-size 4096 --direct-io=on --find --show /tmp/there/other)
same "sector, and direct" "4096 1" "$(blockdev --getss "$loop") $(cat "/sys/class/block/${loop#/dev/}/loop/dio")"
losetup --detach "$loop"
umount /tmp/there

echo "== mounts"
truncate -s 32M /tmp/other
quiet mkfs.xfs -q -f -d su=64k,sw=4,agsize=17m "$disk"
quiet mkfs.xfs -q -f -d noalign,agsize=16m "$disk"
mount -t xfs "$disk" /tmp/there
head -c 1M /dev/urandom > /tmp/there/file
sum=$(cksum < /tmp/there/file)
quiet xfsdump -l 0 -F -J -f /tmp/dump /tmp/there
rm /tmp/there/file
quiet xfsrestore -J -f /tmp/dump /tmp/there
alike "what xfsrestore brings back" "$sum" "$(cksum < /tmp/there/file)"
xfs_info /tmp/there | grep -o 'sectsz=4096' | head -n 1
quiet xfs_growfs /tmp/there
quiet fstrim -av
umount /tmp/there
quiet mkfs.xfs -q -f -d su=64k,sw=4,agsize=17m "$disk"
mount -o sunit=256,swidth=1024 "$disk" /tmp/there
grep -o 'sunit=[0-9]*,swidth=[0-9]*' /proc/mounts
umount /tmp/there
quiet mkfs.ext4 -q -F "$disk"
mount -o stripe=64 "$disk" /tmp/there
grep -o 'stripe=64' /proc/mounts
umount /tmp/there

echo "== copy-on-write"
truncate -s 128M /tmp/btrfs
quiet mkfs.btrfs -q -f -d single -m single /tmp/btrfs
loop=$(losetup --find --show /tmp/btrfs)
mount -t btrfs "$loop" /tmp/there
mkdir /tmp/there/database
chattr +C /tmp/there/database
: > /tmp/there/database/file
attribute() { lsattr "$1" | cut -d ' ' -f 1 | grep -o C || echo -; }
: > /tmp/there/other
same "a file made there, and one beside it" "C -" "$(attribute /tmp/there/database/file) $(attribute /tmp/there/other)"
rm /tmp/there/database/file
# Each write of a page that is in place, and one that is not.
for name in database/file other; do
    head -c 64K /dev/urandom > /tmp/there/$name
    sync
    first=$(filefrag -v /tmp/there/$name | awk '$1 == "0:" { print $4 }')
    head -c 8K /dev/urandom | dd of=/tmp/there/$name bs=8K seek=2 conv=notrunc status=none
    sync
    if [ "$(filefrag -v /tmp/there/$name | grep -c '^ *[0-9][0-9]*: ')" = 1 ] && [ "$first" = "$(filefrag -v /tmp/there/$name | awk '$1 == "0:" { print $4 }')" ]; then
        echo "$name: the page was written where it was"
    else
        echo "$name: the page was written elsewhere"
    fi
done
umount /tmp/there
losetup --detach "$loop"
rm /tmp/btrfs

echo "== a device sector larger than the filesystem's is refused, not the reverse"
quiet mkfs.xfs -q -f -s size=4096 /tmp/other
loop=$(losetup --find --show /tmp/other)
mount -t xfs "$loop" /tmp/there && umount /tmp/there && echo "XFS for 4,096 on 512: mounted"
losetup --detach "$loop"
quiet mkfs.xfs -q -f -s size=512 /tmp/other
loop=$(losetup --sector-size 4096 --find --show /tmp/other)
! mount -t xfs "$loop" /tmp/there 2> /dev/null && dmesg | tail -n 1 | sed 's/.*): //'
losetup --detach "$loop"
for sector in 4096 512; do
    quiet mkfs.fat -S $sector /tmp/other
    loop=$(losetup --sector-size $((4608 - sector)) --find --show /tmp/other)
    if mount -t vfat "$loop" /tmp/there 2> /dev/null; then umount /tmp/there; echo "FAT for $sector on $((4608 - sector)): mounted"
    else echo "FAT for $sector on $((4608 - sector)): refused"; fi
    losetup --detach "$loop"
done

echo "== recorded starts count from the disk that holds the table"
# nested WHAT DEVICE: a partition at sector 2,048 there, with FAT that says so, and then with what would be its place further below.
nested() {
    local codes=() start
    printf 'label: dos\nstart=2048, type=c\n' | quiet sfdisk -q --force --no-reread --no-tell-kernel "$2"
    for start in 2048 63 1050624; do
        quiet mkfs.fat -F 16 -s 1 -h $start --offset=2048 "$2" 8192
        blockdev --flushbufs "$2"
        codes+=("$(straddle check --json --fail-on never "$2" | jq -r '[.targets[0].findings[] | select(.code == "STR106") | .arithmetic[]] | join(", ")')")
    done
    printf '%s: [%s] [%s] [%s]\n' "$1" "${codes[@]}"
}
nested "disk" "$disk"
quiet mkfs.ext4 -q -F "${DISKS[1]}"
mount "${DISKS[1]}" /tmp/there
truncate -s 16M /tmp/there/image
loop=$(losetup --partscan --find --show /tmp/there/image)
nested "loop device over a file" "$loop"
losetup --detach "$loop"
umount /tmp/there
quiet wipefs -qa "${DISKS[@]}"
quiet pvcreate -q "${DISKS[2]}"
quiet vgcreate -q vg "${DISKS[2]}"
quiet lvcreate -q -y -Wn -Zn -l 8 -n inner vg
nested "logical volume" /dev/mapper/vg-inner
array md0 --level=0 --raid-devices=2 --chunk=64 "${DISKS[0]}" "${DISKS[3]}"
nested "md array" /dev/md0
