# Firmware RAID of Intel (IMSM): volumes that mdadm and the kernel make, and what Straddle reads from images of their members:
# level, layout, stripe unit, size, who is in which place, where data start; its maps beside the places where marked sectors
# are found on the members; a volume that lost a disk; and what is made by hand beside mdadm's reading.
# For every commit: every level, two volumes of each set, sectors of both lengths, and all that is not a set of its own.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/firmware-raid.sh"
need mdadm=mdadm jq=jq
modules raid0 raid1 raid10 raid456

disks 6 dev_size_mb=32
more() { container imsm "$1"; volume "${@:2:5}"; volume "${@:7:5}"; compare; part; }
in_soak more 4 a5 5 4 64 4096 b0 0 4 16 4096
container imsm 2; volume a1 1 2 - 4096; volume b0 0 2 128 4096; compare; part
container imsm 4; volume a10 10 4 4 4096; volume b10 10 4 32 6144; compare; part
container imsm 6; volume a0 0 6 8 4096; volume b5 5 6 32 5120; compare; part
in_soak more 3 a5 5 3 128 4096 b0 0 3 4 4096
in_soak more 3 a5 5 3 16 3072 b5 5 3 8 4096

echo "== Sectors of 4,096 bytes"
disks 4 dev_size_mb=64 sector_size=4096
container imsm 4; volume a5 5 4 64 4096; volume b0 0 4 16 4096; compare; part

echo "== States"
disks 4 dev_size_mb=32
degraded imsm

echo "== Made by hand, read by mdadm"
disks 3 dev_size_mb=8
# examined DISK NAME: strip, start, members, state and what it changes to, of an IMSM volume.
examined() {
    mdadm --examine "$1" | sed -n "/^\[$2\]/,/^ *Volume ID/p" |
        sed -n 's/^ *\(RAID Level\|Members\|Array Size\|Sector Offset\|Chunk Size\|Migrate State\|Map State\|Dirty State\) : \(.*\)/\1: \2/p'
}
perl "$REPO/tests/makers/firmware-raid.pl" /tmp <<'SET'
set imsm
disk a size=16384 serial=S-1
disk b size=16384 serial=S-2
disk c size=16384 serial=S-3
volume one level=5 strip=64 used=4096 disks=a,b,c
volume two level=0 strip=8 used=2048 start=4097 disks=c,a,b dirty=1
volume three level=5 strip=64 used=2048 start=8192 disks=a,b,c migrate=3 was=0:64:a,b
volume four level=1 strip=128 used=1024 start=12288 disks=a,b migrate=1 was-state=2
SET
dd if=/tmp/a.img of="${DISKS[0]}" bs=1M status=none
judge /tmp/report --as image /tmp/a.img /tmp/b.img /tmp/c.img
for name in one two three four; do
    echo "$name, mdadm:"; examined "${DISKS[0]}" $name
    echo "$name: $(read_from /tmp/report $name); $(well /tmp/report $name)"
done
