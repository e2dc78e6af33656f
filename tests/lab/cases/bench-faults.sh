# What `straddle bench` says and leaves behind when storage fails under it: a range that answers with errors, a filesystem
# that is full, one that is read-only; and devices that it must not write to: mounted, held by md or by device-mapper,
# with a filesystem on them.
. "$LAB/helpers.sh"
need dmsetup=dmsetup mdadm=mdadm mkfs.ext4=e2fsprogs jq=jq
modules dm-mod raid1 ext4
disks 2 dev_size_mb=64
disk=${DISKS[0]}
mkdir /mnt/disk
fast=(--runtime 100ms --warm-up 0s --blocks 3-3 --budget none --seed 7 --engine pread)

# failing ARGUMENT...: bench ends with status 2; what it says on stderr behind the plan.
failing() {
    local status=0 size=(--size 8M)
    [[ " $* " != *" --size "* ]] || size=()
    straddle bench "$@" "${fast[@]}" "${size[@]}" > /tmp/out 2> /tmp/err || status=$?
    sed -n '/^error/,$p' /tmp/err | sed 's/has ≈[0-9.]* MiB left/has … left/'
    same "status" 2 $status
}

# straddle_left: no test file and no journal.
straddle_left() {
    same "files left behind" "" "$(find /tmp /mnt/disk -name '*straddle*' -o -name '*journal*')"
}

# contents: a checksum of what is on the disk.
contents() {
    blockdev --flushbufs "$disk"
    sha256sum < "$disk"
}

# untouched: nothing was written to the disk since `before` was taken.
untouched() {
    alike "what is on the device" "$before" "$(contents)"
}

# holed error|linear: the disk's mapping; the first request at offset 16M fails, or does not.
holed() {
    local target=error
    [ "$1" = error ] || target="linear $disk 32768"
    printf '%s\n' "0 32768 linear $disk 0" "32768 8 $target" \
        "32776 $(($(blockdev --getsz "$disk") - 32776)) linear $disk 32776"
}

# runs: how the experiment ended, and of which offsets there are runs.
runs() {
    jq -c '[.end, (.samples | map(.offset))]' /tmp/out
}

echo "== a range that cannot be read, one run after the first"
holed error | dmsetup create holed
failing /dev/mapper/holed --offsets 0,16M --io 64K --pattern sequential --journal /tmp/journal --json
runs
same "the journal of the run that is kept" 1 "$(ls /tmp/journal | wc -l)"
echo "== the same, gone on with while it still fails"
status=0
straddle bench --resume /tmp/journal --json > /tmp/out 2> /tmp/err || status=$?
sed -n '/^error/,$p' /tmp/err
same "status" 2 $status
runs
echo "== and after it was repaired"
dmsetup suspend holed
holed linear | dmsetup reload holed
dmsetup resume holed
quiet straddle bench --resume /tmp/journal --format runs
straddle_left

echo "== a range that cannot be written, in the first run: nothing is there to go on with"
dmsetup suspend holed
holed error | dmsetup reload holed
dmsetup resume holed
failing --destroy-data /dev/mapper/holed --yes-destroy holed --overwrite-signatures --offsets 16M,0 --io 64K --pattern sequential --rw write --json
runs
straddle_left

before=$(contents)
echo "== a device below a mapping"
failing --destroy-data "$disk" --yes-destroy "${disk##*/}" --rw write
echo "== another name"
failing --destroy-data /dev/mapper/holed --yes-destroy "${disk##*/}" --rw write
dmsetup remove holed
echo "== a device, named like a file"
failing "$disk" --rw write
untouched

quiet mkfs.ext4 -q "$disk"
before=$(contents)
echo "== a filesystem on it"
failing --destroy-data "$disk" --yes-destroy "${disk##*/}" --rw write
untouched
echo "== which is mounted"
mount "$disk" /mnt/disk
failing --destroy-data "$disk" --yes-destroy "${disk##*/}" --overwrite-signatures --rw write
echo "== and has too little space"
failing /mnt/disk --size 60M --rw write
straddle_left
echo "== and is read-only"
mount -o remount,ro /mnt/disk
failing /mnt/disk --rw write
straddle_left
umount /mnt/disk

echo "== a member of an array"
quiet wipefs -qa "$disk"
array md0 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --bitmap=none "${DISKS[@]}"
failing --destroy-data "$disk" --yes-destroy "${disk##*/}" --overwrite-signatures --rw write
quiet mdadm --stop /dev/md0
before=$(contents)
echo "== of one that is stopped"
failing --destroy-data "$disk" --yes-destroy "${disk##*/}" --rw write
untouched
echo "== with consent to that too"
quiet straddle bench --destroy-data "$disk" --yes-destroy "${disk##*/}" --overwrite-signatures --rw write "${fast[@]}" --size 8M
straddle_left
