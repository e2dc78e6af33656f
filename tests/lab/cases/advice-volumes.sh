# The commands of the rules' pages for md and LVM, each carried out, and what it did; tests/advice/commands.toml says which page has which.
. "$LAB/helpers.sh"
need mdadm=mdadm pvcreate=lvm2 smartctl=smartmontools
modules dm-mod dm-log dm-region-hash dm-mirror dm-thin-pool raid456 raid10

# offsets: where the data begin on each member, in sectors.
offsets() {
    local disk
    for disk in "${members[@]}"; do mdadm --examine "$disk" | sed -n 's/.*Data Offset : \([0-9]*\) .*/\1/p'; done | xargs
}
settled() { mdadm --wait /dev/md0 > /dev/null || :; }
quick=(--run --assume-clean --bitmap=none --chunk=32 --size=12288)

disks 4 dev_size_mb=16
members=("${DISKS[@]:0:3}") c=${DISKS[2]}
echo "== a member whose data begin elsewhere"
quiet mdadm --create /dev/md0 --level=5 --raid-devices=3 "${quick[@]}" --data-offset=variable "${DISKS[0]}:1024K" "${DISKS[1]}:1024K" "$c:1025K"
same "offsets" "2048 2048 2050" "$(offsets)"
quiet mdadm /dev/md0 --fail "$c" --remove "$c"
quiet mdadm --zero-superblock "$c"
refused=0
mdadm --manage /dev/md0 --add "$c" --data-offset=1024K 2> /tmp/why || refused=$?
same "an offset with --add" "mdadm: :option --data-offset not valid in manage mode" "$(cat /tmp/why)"
quiet mdadm --manage /dev/md0 --add "$c"
settled
same "offsets" "2048 2048 2048" "$(offsets)"
echo check > /sys/block/md0/md/sync_action
settled
same "mismatches" 0 "$(cat /sys/block/md0/md/mismatch_cnt)"
cat /proc/mdstat | grep -o '\[UUU\]'
echo "== a member that was left behind"
quiet mdadm --grow /dev/md0 --bitmap=internal
quiet mdadm /dev/md0 --fail "$c" --remove "$c"
quiet mdadm --manage /dev/md0 --re-add "$c"
settled
grep -o '\[UUU\]' /proc/mdstat
quiet mdadm --grow /dev/md0 --bitmap=none
quiet mdadm --stop /dev/md0
quiet mdadm --assemble --force /dev/md0 "${members[@]}"
quiet mdadm --grow /dev/md0 --chunk=64 --backup-file=/tmp/backup
settled
same "chunk" 65536 "$(cat /sys/block/md0/md/chunk_size)"
forget "${DISKS[@]}"
echo "== data off the sectors of all members"
quiet mdadm --create /dev/md0 --level=5 --raid-devices=3 "${quick[@]}" --data-offset=1025K "${members[@]}"
same "offsets" "2050 2050 2050" "$(offsets)"
quiet mdadm --grow /dev/md0 --data-offset=1024K
moved() { settled && [ "$(offsets)" = "2048 2048 2048" ]; }
wait_until moved
same "offsets" "2048 2048 2048" "$(offsets)"
quiet mdadm --manage /dev/md0 --add "${DISKS[3]}"
settled
# Bit 2 of its status: this disk knows nothing of SMART.
smartctl -a "${DISKS[3]}" > /tmp/said || [ $(($? & 3)) = 0 ]
grep -o 'scsi_debug' /tmp/said
forget "${DISKS[@]}"

echo "== LVM"
a=${DISKS[0]} b=${DISKS[1]}
lvmconfig --type default devices/data_alignment_detection
quiet pvcreate --dataalignment 384k "$a"
same "first extent" "$((3 * 384 * 1024))B" "$(pvs --noheadings --units b -o pe_start "$a" | tr -d ' ')"
quiet pvremove "$a"
quiet pvcreate --dataalignment 1m "$a"
quiet pvcreate --dataalignment 1m "$b"
same "first extent" 1.00m "$(pvs --noheadings -o pe_start "$a" | tr -d ' ')"
quiet vgcreate --physicalextentsize 640k vg "$a" "$b"
same "extents" 640.00k "$(vgs --noheadings -o vg_extent_size vg | tr -d ' ')"
quiet vgremove vg
quiet vgcreate --physicalextentsize 5m big "$a"
same "extents" 5.00m "$(vgs --noheadings -o vg_extent_size big | tr -d ' ')"
quiet vgremove big
quiet vgcreate --physicalextentsize 512k vg "$a" "$b"
# where LV: its extents.
where() { lvs --noheadings -o seg_pe_ranges "vg/$1" | tr -d ' '; }
quiet lvcreate -q -y -Wn -Zn -l 4 vg "$a:6-" -n placed
same "a volume from an extent on" "$a:6-9" "$(where placed)"
quiet pvmove --alloc anywhere "$a:6-9" "$a:12-15"
same "moved to other extents" "$a:12-15" "$(where placed)"
quiet pvmove "$a" "$b"
same "moved to another disk" "$b:0-3" "$(where placed)"
quiet lvextend -l +1 vg/placed
quiet lvremove -y vg/placed
quiet lvcreate -q -y -Wn -Zn --type striped --stripes 2 --stripesize 64k -l 4 vg -n s64
quiet lvcreate -q -y -Wn -Zn --type striped --stripes 2 --stripesize 256k -l 4 vg -n s256
lvs --noheadings -o lv_name,stripes,stripesize vg | tr -s ' '
quiet lvremove -y vg
quiet lvcreate -q -y --type thin-pool --chunksize 256k -l 8 vg -n pool
same "chunks" 256.00k "$(lvs --noheadings -o chunksize vg/pool | tr -d ' ')"
quiet lvremove -y vg
quiet vgreduce vg "$b"
quiet vgcfgbackup -f /tmp/vg.backup vg
grep -c '^vg {' /tmp/vg.backup
quiet vgchange --physicalextentsize 1m vg
same "extents" 1.00m "$(vgs --noheadings -o vg_extent_size vg | tr -d ' ')"
