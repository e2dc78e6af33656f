# `straddle fix` for LVM2: physical volumes whose first extent lies off full stripes, stripe units or sectors, or far in. The script
# puts it elsewhere by restored metadata; volumes keep names, identifiers, extents and contents, and the plan's promises are kept.
# For every commit: full stripes of an array, a disk, another disk, a partition, and physical sectors that begin elsewhere.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need pvcreate=lvm2 mdadm=mdadm sfdisk=fdisk
modules dm-mod dm-log dm-region-hash dm-mirror raid0 raid456

# identity: what must stay.
identity() {
    vgs --noheadings -o vg_name,vg_uuid,vg_extent_size vg 2> /dev/null
    pvs --noheadings -o pv_name,pv_uuid,vg_name 2> /dev/null
    lvs --noheadings -o lv_name,lv_uuid,lv_size,segtype,stripes,stripe_size,seg_pe_ranges vg 2> /dev/null
}
sums() {
    local volume
    for volume in $(lvs --noheadings -o lv_name vg 2> /dev/null); do
        echo "$volume $(sum "/dev/mapper/vg-$volume" "$(blockdev --getsize64 "/dev/mapper/vg-$volume")")"
    done
}
lv() { quiet lvcreate -q -y -Wn -Zn -n "$1" "${@:2}" vg; }

# set_right TARGET: the group vg as it is, its repair, and what stayed.
set_right() {
    local volume before was
    for volume in $(lvs --noheadings -o lv_name vg 2> /dev/null); do
        fill "/dev/mapper/vg-$volume" "$(blockdev --getsize64 "/dev/mapper/vg-$volume")"
    done
    before=$(sums)
    was=$(identity)
    planned "$1"
    carried_out lvm "$1"
    alike "contents of volumes" "$before" "$(sums)"
    alike "identity" "$was" "$(identity)"
    kept "$1"
    echo "first extent at $(pvs --noheadings --units k -o pe_start 2> /dev/null | xargs), extents $(vgs --noheadings -o vg_extent_count vg 2> /dev/null | xargs)"
}
# gone: no group any more.
gone() {
    quiet vgremove -q -ff -y vg
    local device
    for device; do quiet pvremove -q -ff -y "$device"; done
}

# refused WHAT [SCRIPT [OPTION...]]: by the script, with its reason.
refused() {
    local status=0
    sh "${2:-/tmp/fix.script}" --yes "${@:3}" 2> /tmp/why > /tmp/said || status=$?
    same "$1" 2 $status
    cat /tmp/why
}

disks 6 dev_size_mb=6 physblk_exp=3
quiet mdadm --create /dev/md0 --run --level=5 --raid-devices=6 --chunk=64 --assume-clean --bitmap=none --data-offset=1024K "${DISKS[@]}"
echo "== full stripes of 320 KiB: 1 MiB, linear volumes in pieces"
quiet pvcreate -q --dataalignment 1m /dev/md0
quiet vgcreate -q -s 640k vg /dev/md0
lv a -l 5; lv b -l 7; quiet lvextend -q -l +3 vg/a
set_right /dev/md0
gone /dev/md0

no_room() {
    echo "== full stripes of 320 KiB: no room for 5 MiB"
    quiet pvcreate -q --dataalignment 192k --metadatasize 100k /dev/md0
    quiet vgcreate -q -s 640k vg /dev/md0
    lv a -l 32; lv b -l 7
    set_right /dev/md0
    gone /dev/md0
}
in_soak no_room

echo "== refusals"
quiet pvcreate -q --dataalignment 192k --metadatasize 100k /dev/md0
quiet vgcreate -q -s 640k vg /dev/md0
lv a -l 30
straddle fix --script lvm /dev/md0 > /tmp/fix.script
sleep 600 < /dev/mapper/vg-a &
refused "a volume is open"
kill %1
wait %1 2> /dev/null || true
gone /dev/md0
quiet pvcreate -q --dataalignment 192k --metadatasize 100k /dev/md0
quiet vgcreate -q -s 640k vg /dev/md0
refused "another physical volume" | sed 's/has [0-9a-f]* as.*made for [0-9a-f]*/has A as its identifier, the plan was made for B/'
gone /dev/md0
quiet mdadm --stop /dev/md0
forget "${DISKS[@]}"

stripe_units() {
    echo "== stripe units of 64 KiB of RAID 0: 1 MiB and 4 KiB"
    quiet mdadm --create /dev/md0 --run --level=0 --raid-devices=3 --chunk=64 --data-offset=1024K /dev/sd[abc]
    quiet pvcreate -q --dataalignment 1m --dataalignmentoffset 4k /dev/md0
    quiet vgcreate -q -s 1m vg /dev/md0
    lv a -l 5; lv b -l 7
    set_right /dev/md0
    gone /dev/md0
    forget "${DISKS[@]}"
}
in_soak stripe_units

echo "== a disk: 1 MiB and 1 KiB, a volume striped over three physical volumes"
quiet pvcreate -q --dataalignment 1m --dataalignmentoffset 1k /dev/sda
quiet pvcreate -q --dataalignment 1m /dev/sdb /dev/sdc
quiet vgcreate -q -s 1m vg /dev/sd[abc]
lv a -l 2; lv s -i 3 -I 64k -l 6
stands_on=/dev/sda
set_right /dev/mapper/vg-s
stands_on=
gone /dev/sd[abc]

echo "== a disk: 1 MiB and 1 KiB, moved to another disk while a volume is open"
quiet pvcreate -q --dataalignment 1m --dataalignmentoffset 1k /dev/sda
quiet vgcreate -q -s 1m vg /dev/sda
lv a -l 2; lv b -l 1; quiet lvextend -q -l +1 vg/a
fill /dev/mapper/vg-a $((3 << 20)); fill /dev/mapper/vg-b $((1 << 20))
before=$(sums)
was=$(lvs --noheadings -o lv_name,lv_uuid,lv_size vg 2> /dev/null)
planned /dev/sda
straddle fix --script lvm /dev/sda > /tmp/fix.script
sleep 600 < /dev/mapper/vg-a &
quiet mkswap /dev/sdb
refused "something is on it" /tmp/fix.script --onto /dev/sdb
quiet wipefs -qa /dev/sdb
quiet sh /tmp/fix.script --onto /dev/sdb
quiet sh /tmp/fix.script --yes --onto /dev/sdb
kill %1
wait %1 2> /dev/null || true
alike "contents of volumes" "$before" "$(sums)"
alike "identity of volumes" "$was" "$(lvs --noheadings -o lv_name,lv_uuid,lv_size vg 2> /dev/null)"
kept /dev/sdb
same "the same findings elsewhere" "" "$(jq -r --slurpfile plan /tmp/plan.json '
    [$plan[0].cured[].code] as $codes | [.targets[].findings[].code | select(. as $one | $codes | index($one))] | unique | join(", ")' /tmp/after.json)"
pvs --noheadings --units k -o pv_name,vg_name,pe_start 2> /dev/null
gone /dev/sd[ab]

echo "== a partition at sector 63, the first extent aligned to it"
partitions /dev/sda start=63,size=10240
quiet pvcreate -q /dev/sda1
quiet vgcreate -q -s 1m vg /dev/sda1
lv a -l 3
fill /dev/mapper/vg-a $((3 << 20))
before=$(sums)
was=$(identity)
planned /dev/sda
straddle fix --script sfdisk /dev/sda > /tmp/sfdisk.script
straddle fix --script lvm /dev/sda > /tmp/lvm.script
refused "sfdisk's script while the group is active" /tmp/sfdisk.script
quiet vgchange -q -an vg
quiet sh /tmp/sfdisk.script --yes
blockdev --rereadpt /dev/sda
quiet vgchange -q -ay vg
quiet sh /tmp/lvm.script --yes
rm -rf straddle-fix.*
alike "contents of volumes" "$before" "$(sums)"
alike "identity" "$was" "$(identity)"
kept /dev/sda
gone /dev/sda1
forget "${DISKS[@]}"

echo "== physical sectors that begin at sector 7"
disks 2 dev_size_mb=10 physblk_exp=3 lowest_aligned=7
quiet pvcreate -q --config devices/data_alignment_offset_detection=0 --dataalignment 1m /dev/sda
quiet vgcreate -q -s 1m vg /dev/sda
lv a -l 4
set_right /dev/sda
gone /dev/sda

echo "$ways ways"
