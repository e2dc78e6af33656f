# `straddle fix` for md arrays on misaligned partitions and on disks with large sectors: partitions are moved by sfdisk's script, the
# array is re-created by mdadm's where it is still off, and contents and identity stay.
# For every commit: a partition moved, one moved and its array recreated, and an array recreated for its disks.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need mdadm=mdadm sfdisk=fdisk
modules raid0 raid1 raid10 raid456

identity() {
    mdadm --detail --export /dev/md0 | grep -E '^MD_(LEVEL|DEVICES|METADATA|UUID|NAME|DEVICE_.*_ROLE)='
    cat /sys/block/md0/md/layout
}
# recreated WHAT TOOLS MDADM-OPTION...: an array, its repair by the scripts of these tools in turn, and what stayed.
recreated() {
    local size before was tool disk status
    echo "== $1"
    quiet mdadm --create /dev/md0 --run --name=tank "${@:3}"
    size=$(blockdev --getsize64 /dev/md0)
    fill /dev/md0 "$size"
    before=$(sum /dev/md0 "$size")
    was=$(identity)
    planned /dev/md0
    for tool in $2; do straddle fix --script "$tool" /dev/md0 > "/tmp/$tool.script"; done
    for tool in $2; do
        if [ "$tool" = sfdisk ]; then
            # It refuses what is part of a running array.
            status=0
            sh /tmp/sfdisk.script > /tmp/why 2>&1 || status=$?
            same "while the array runs" 2 $status
            cat /tmp/why
            quiet mdadm --stop /dev/md0
        fi
        quiet sh "/tmp/$tool.script"
        quiet sh "/tmp/$tool.script" --yes
        if [ "$tool" = sfdisk ]; then
            for disk in "${DISKS[@]}"; do blockdev --rereadpt "$disk"; done
            quiet mdadm --assemble /dev/md0 "${members[@]}"
        fi
    done
    rm -rf straddle-fix.*
    alike "contents" "$before" "$(sum /dev/md0 "$size")"
    alike "identity" "$was" "$(identity)"
    kept /dev/md0
    # With whole stripe units of another length, RAID 0 may use more of its members.
    echo "$size bytes, now $(blockdev --getsize64 /dev/md0)"
    echo "data offsets $(cat /sys/block/md0/md/rd*/offset | xargs), chunk $(cat /sys/block/md0/md/chunk_size)"
    forget "${DISKS[@]}"
}
quick=(--assume-clean --bitmap=none)
disks 3 physblk_exp=3
members=(/dev/sda1 /dev/sdb1 /dev/sdc1)
divided() { local disk; for disk in "${DISKS[@]}"; do partitions "$disk" "start=63,size=14336"; done; }

divided
in_soak recreated "sector 63, metadata 1.0 at the end" sfdisk --level=5 --raid-devices=3 --chunk=64 "${quick[@]}" --metadata=1.0 "${members[@]}"
divided
recreated "sector 63, metadata 0.90" sfdisk --level=1 --raid-devices=3 "${quick[@]}" --metadata=0.90 "${members[@]}"
divided
in_soak recreated "sector 63, data at 1 MiB of the partition" sfdisk --level=0 --raid-devices=3 --chunk=64 --data-offset=1024K "${members[@]}"
divided
recreated "sector 63, data on a boundary now, off it when the partitions are moved" "sfdisk mdadm" \
    --level=5 --raid-devices=3 --chunk=64 "${quick[@]}" --data-offset=2049s "${members[@]}"

echo "== physical sectors of 8 KiB"
disks 3 physblk_exp=4
members=("${DISKS[@]}")
in_soak recreated "data at 1,028 KiB" mdadm --level=5 --raid-devices=3 --chunk=64 "${quick[@]}" --data-offset=1028K "${members[@]}"
in_soak recreated "chunks of 4 KiB, RAID 10" mdadm --level=10 --raid-devices=3 --chunk=4 "${quick[@]}" --data-offset=1024K --size=5120K "${members[@]}"
recreated "chunks of 4 KiB and data at 1,028 KiB, RAID 0" mdadm --level=0 --raid-devices=3 --chunk=4 --data-offset=1028K "${members[@]}"
echo "$ways ways"
