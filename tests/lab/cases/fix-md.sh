# `straddle fix` for md arrays whose data lie off their members' sectors, differently on each, or in stripe units that cut sectors:
# the array is re-created by the script, keeps its contents, identifier, name and length, and the plan's promises are kept.
# For every commit: stripes with parity, copies, copies with a bitmap, and a member that differs.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need mdadm=mdadm sfdisk=fdisk
modules raid0 raid1 raid10 raid456

# identity: what must stay.
identity() {
    mdadm --detail --export /dev/md0 | grep -E '^MD_(LEVEL|DEVICES|METADATA|UUID|NAME|DEVICE_.*_ROLE)='
    cat /sys/block/md0/size
    cat /sys/block/md0/md/layout
    [ ! -e /sys/block/md0/md/bitmap ] || [ "$(cat /sys/block/md0/md/bitmap/location)" = none ] || echo "a bitmap"
}

# recreated WHAT MDADM-OPTION...: an array, its repair, and what stayed.
recreated() {
    local size before was
    echo "== $1"
    quiet mdadm --create /dev/md0 --run --name=tank "${@:2}"
    size=$(blockdev --getsize64 /dev/md0)
    fill /dev/md0 "$size"
    before=$(sum /dev/md0 "$size")
    was=$(identity)
    planned /dev/md0
    carried_out mdadm /dev/md0
    alike "contents" "$before" "$(sum /dev/md0 "$size")"
    alike "identity" "$was" "$(identity)"
    kept /dev/md0
    echo "data offsets $(cat /sys/block/md0/md/rd*/offset | xargs), chunk $(cat /sys/block/md0/md/chunk_size)"
    forget "${DISKS[@]}"
}

quick=(--assume-clean --bitmap=none)
disks 4 physblk_exp=3
a=/dev/sda b=/dev/sdb c=/dev/sdc d=/dev/sdd
recreated "RAID 5, data at 1,025 KiB" --level=5 --raid-devices=4 --chunk=64 "${quick[@]}" --data-offset=1025K $a $b $c $d
in_soak recreated "RAID 0, data at 1,025 KiB" --level=0 --raid-devices=3 --chunk=64 --data-offset=1025K $a $b $c
recreated "RAID 1, data at 1,049,600 B" --level=1 --raid-devices=2 "${quick[@]}" --data-offset=2050s $a $b
in_soak recreated "RAID 6, metadata 1.1" --level=6 --raid-devices=4 --chunk=32 "${quick[@]}" --metadata=1.1 --data-offset=515K $a $b $c $d
recreated "RAID 10 near, a bitmap" --level=10 --raid-devices=4 --chunk=64 --assume-clean --bitmap=internal --data-offset=1025K $a $b $c $d
in_soak recreated "RAID 10 far, three members" --level=10 --layout=f2 --raid-devices=3 --chunk=64 "${quick[@]}" --data-offset=1025K $a $b $c
recreated "RAID 5, another layout, one member differs" --level=5 --layout=ra --raid-devices=3 --chunk=16 "${quick[@]}" \
    --data-offset=variable $a:1024K $c:1025K $b:1024K

echo "== refusals"
quiet mdadm --create /dev/md0 --run --level=5 --raid-devices=4 --chunk=64 "${quick[@]}" --data-offset=1025K $a $b $c $d
straddle fix --script mdadm /dev/md0 > /tmp/fix.script
# refused WHAT: by the script, with its reason.
refused() {
    local status=0
    sh /tmp/fix.script --yes 2> /tmp/why > /tmp/said || status=$?
    same "$1" 2 $status
    cat /tmp/why
}
partitions /dev/md0 start=2048
echo "0 64 linear /dev/md0p1 0" | quiet dmsetup create over
refused "in use by device-mapper"
quiet dmsetup remove over
quiet wipefs -qa /dev/md0
blockdev --rereadpt /dev/md0
quiet mdadm /dev/md0 --fail $d
refused "degraded"
! straddle fix --script mdadm /dev/md0 > /dev/null 2> /tmp/why || exit 1
cat /tmp/why
forget "${DISKS[@]}"
quiet mdadm --create /dev/md0 --run --level=5 --raid-devices=4 --chunk=64 "${quick[@]}" --data-offset=1025K $a $b $c $d
refused "another array of the same disks" | sed 's/[0-9a-f]\{32\}/UUID/g'
quiet mdadm --stop /dev/md0
refused "not running" | sed 's/[0-9a-f]\{32\}/UUID/g'
forget "${DISKS[@]}"
echo "$ways ways"
