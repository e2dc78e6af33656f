# Moves of a file on ext4 on a device that loses power: dm-log-writes records what comes to the device in which order, and every
# prefix of that is a disk after a loss of power; dm-flakey drops writes, or answers with errors, from some point on.
# Each prefix is resumed, and on a copy rolled back. By hand, for each fifth prefix:
#
#   cargo build -p straddle-realign --example move_file
#   cargo xtask lab --timeout 1800 --program target/debug/examples/move_file tests/lab/cases/realign-power.sh 5
#
# Only in a soak.
# Example move_file
. "$LAB/helpers.sh"
need dmsetup=dmsetup mkfs.ext4=e2fsprogs python3=python3
modules dm-mod dm-log-writes dm-flakey loop ext4
every=${1:-1}
move=63:2048:11000
bytes() { local IFS=:; set -- $1; echo "$(($1 * 512)):$(($2 * 512)):$(($3 * 512))"; }
range=$(bytes $move)

# What the log holds: a superblock of one sector, then for each write a sector that tells of it, and its data.
cat > /tmp/replay.py << 'PYTHON'
import struct, subprocess, sys
log, base, every = sys.argv[1], sys.argv[2], int(sys.argv[3])
before, after = sys.argv[4:6]
f = open(log, "rb")
magic, version, entries, sector = struct.unpack("<QQQI", f.read(28))
assert magic == 0x6A736677736872, hex(magic)
disk = bytearray(open(base, "rb").read())
at = sector
done = {"resumed": 0, "rolled back": 0, "not begun": 0}
for n in range(entries):
    f.seek(at)
    where, count, flags, extra = struct.unpack("<QQQQ", f.read(32))
    at += sector
    if flags & 4 == 0 and flags & 8 == 0 and count:
        f.seek(at)
        data = f.read(count * sector)
        disk[where * sector:where * sector + len(data)] = data
        at += count * sector
    elif flags & 8:
        at += (extra + sector - 1) // sector * sector if count == 0 and extra else 0
    if n % every:
        continue
    for verb in "resume", "back":
        open("/tmp/cut", "wb").write(disk)
        r = subprocess.run(["bash", "/tmp/take-up.sh", verb, before, after], capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"prefix {n} of {entries}, {verb}: {r.stdout}{r.stderr}")
        done[r.stdout.strip()] += 1
print(f"{entries} writes", done, file=sys.stderr)
print("taken up:", "resumed or rolled back" if min(done["resumed"], done["rolled back"]) else done)
PYTHON

# take-up.sh resume|back BEFORE AFTER: the digest of the image must be the one or the other then.
cat > /tmp/take-up.sh << 'BASH'
mkdir -p /mnt/cut
mount -o loop /tmp/cut /mnt/cut || exit 1
trap 'umount /mnt/cut' EXIT
sum() { sha256sum < /mnt/cut/image; }
if [ -e /mnt/cut/journal ]; then
    out=$(move_file "$1" /mnt/cut/image /mnt/cut/journal --serial 2>&1)
    status=$?
else
    out=NoHeader status=1
fi
found=$(sum)
case $status:$1:$out in
0:resume:*) [ "$found" = "$3" ] && echo resumed ;;
0:back:*) [ "$found" = "$2" ] && echo rolled back ;;
*NoHeader*) [ "$found" = "$2" ] && echo not begun ;;
*) false ;;
esac || { echo "status $status: $out; image $found, before $2, after $3"; exit 1; }
BASH

# begun: an image on the filesystem at /mnt/disk, and its digests.
image() {
    head -c 8388608 /dev/urandom > "$1"
}
disks 3 dev_size_mb=64
disk=${DISKS[0]} log=${DISKS[1]} plain=${DISKS[2]}
mkdir -p /mnt/disk /mnt/plain
quiet mkfs.ext4 -q -b 4096 -J size=4 "$disk" 40M
mount "$disk" /mnt/disk
image /mnt/disk/image
cp /mnt/disk/image /tmp/after
before=$(sha256sum < /mnt/disk/image)
umount /mnt/disk
quiet move_file begin /tmp/after /tmp/after.journal "$range" --edit 446
after=$(sha256sum < /tmp/after)
rm /tmp/after*
head -c 40M "$disk" > /tmp/base
size=$((40 * 2048))

for method in ordered journaled; do
    echo "== $method: what comes to the disk, cut short"
    dd if=/tmp/base of="$disk" bs=1M status=none
    dd if=/dev/zero of="$log" bs=1M count=1 status=none
    echo "0 $size log-writes $disk $log" | dmsetup create logged
    mount /dev/mapper/logged /mnt/disk
    quiet move_file begin /mnt/disk/image /mnt/disk/journal "$range" --edit 446 --$method --block 65536 --batch 524288
    same "moved" "$after" "$(sha256sum < /mnt/disk/image)" > /dev/null
    umount /mnt/disk
    dmsetup remove logged
    python3 /tmp/replay.py "$log" /tmp/base "$every" "$before" "$after"
done

flakey() { # flakey FEATURE: what comes to the disk from now on is dropped, or fails.
    dmsetup suspend --noflush --nolockfs flaky
    echo "0 $size flakey $disk 0 0 100000 1 $1" | dmsetup reload flaky
    dmsetup resume flaky
}
for feature in error_writes drop_writes; do
    echo "== $feature from some point on"
    ended=0
    for after_ms in 1 5 10 15 20 30 40 60; do
        dd if=/tmp/base of="$disk" bs=1M status=none
        echo "0 $size linear $disk 0" | dmsetup create flaky
        mount /dev/mapper/flaky /mnt/disk
        rm -f /mnt/disk/journal
        move_file begin /mnt/disk/image /mnt/disk/journal "$range" --edit 446 --block 65536 --batch 524288 > /tmp/out 2>&1 &
        sleep "0.$(printf %03d $after_ms)"
        flakey "$feature"
        status=0
        wait $! || status=$?
        umount /mnt/disk 2> /dev/null || umount -l /mnt/disk
        dmsetup remove --retry --force flaky
        [ $status != 0 ] || ended=$((ended + 1))
        head -c 40M "$disk" > /tmp/cut
        # With a status of 0 everything is on the disk; otherwise it is taken up.
        for verb in resume back; do
            head -c 40M "$disk" > /tmp/cut
            out=$(bash /tmp/take-up.sh $verb "$before" "$after") || { echo "$feature $after_ms $verb: $out"; exit 1; }
        done
    done
    echo "taken up, forward and back"
    echo "ended well: $ended of 8" >&2
done
