# The way from end to end: a host is captured, checked and planned for elsewhere, its script runs on it, and a second capture says whether
# the plan was kept. Without the tables and superblocks there is no plan, and the script refuses any machine but the one that was captured.
. "$LAB/helpers.sh"
. "$LAB/fix.sh"
need sfdisk=fdisk mke2fs=e2fsprogs mdadm=mdadm blkid=util-linux jq=jq
modules raid456
disks 5 dev_size_mb=48 physblk_exp=3
a=${DISKS[0]} b=${DISKS[1]}
partitions "$a" start=63,size=40000 start=40063,size=40000
printf '%s\n' 'label: gpt' 'first-lba: 34' 'start=34,size=30000' 'start=30034,size=20000' |
    quiet sfdisk -q --no-reread --no-tell-kernel "$b"
blockdev --rereadpt "$b"
quiet mdadm --create /dev/md0 --run --name=tank --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none --data-offset=1025K "${DISKS[@]:2:3}"
fill /dev/md0 "$(blockdev --getsize64 /dev/md0)"
for part in "${a}1" "${a}2" "${b}1" "${b}2"; do quiet mke2fs -q -t ext4 -b 4096 "$part"; done
mkdir /tmp/m /tmp/there
mount -t ext4 "${a}1" /tmp/m
head -c 3M /dev/urandom > /tmp/m/data
cp /tmp/m/data /tmp/data
umount /tmp/m

echo "== there"
straddle capture -o /tmp/plain.tgz 2> /tmp/said
sed 's/([0-9]* files/(N files/' /tmp/said
straddle capture --with-metadata -o /tmp/host.tgz 2> /tmp/said
sed 's/([0-9]* files/(N files/' /tmp/said
tar -xzOf /tmp/plain.tgz | grep -q -a 'size 50331648' && exit 1
same "devices whose tables are in it" 6 "$(tar -tzf /tmp/host.tgz | grep -c '^.straddle/metadata/.')"

echo "== elsewhere"
judge /tmp/live.json
judge /tmp/host.json /tmp/host.tgz
alike "layers, facts and findings of the capture" "$(jq -S '.targets[0] | .stack, .findings' /tmp/live.json)" "$(jq -S '.targets[0] | .stack, .findings' /tmp/host.json)"
jq -r '[.targets[0].findings[] | .code] | group_by(.) | map("\(.[0]) x \(length)") | join(", ")' /tmp/host.json
status=0
straddle fix /tmp/plain.tgz > /tmp/said 2>&1 || status=$?
same "a plan without tables" 2 $status
cat /tmp/said
status=0
straddle realign /tmp/host.tgz > /tmp/said 2>&1 || status=$?
same "to realign a capture" 2 $status
cat /tmp/said
# A machine has files of its own, and disks of the same names: here the ones of the guest, which a live plan looks at and this one must not.
cd /tmp/there
touch sda sdb md0
straddle fix --only partitions,array --json /tmp/host.tgz > /tmp/plan.json
rm sda sdb md0
straddle fix --only partitions,array --json > /tmp/live.json
jq -r '.steps[] | "step \(.number), \(.how): \(.title)"' /tmp/plan.json
alike "the steps of the plan" "$(jq -S .steps /tmp/live.json)" "$(jq -S .steps /tmp/plan.json)"
same "samples of the data that a live plan takes" true "$(jq ".survival.samples | length > 0" /tmp/live.json)"
same "samples that the plan for a capture takes" 0 "$(jq ".survival.samples | length" /tmp/plan.json)"
for tool in sfdisk mdadm; do straddle fix --only partitions,array --script $tool /tmp/host.tgz > /tmp/$tool.sh; done
grep -h 'whether it helped' /tmp/sfdisk.sh
cd /tmp
fdisk -l "$a" > /tmp/mbr.txt 2> /dev/null
fdisk -l "$b" > /tmp/gpt.txt 2> /dev/null
for table in mbr gpt; do straddle fix --only partitions --script sfdisk /tmp/$table.txt > /tmp/$table.sh; done
for table in mbr gpt; do quiet sh /tmp/$table.sh; done

# refused WHAT TOOL: by the script, and not a byte is another afterwards.
refused() {
    local before status=0
    blockdev --flushbufs "${DISKS[@]}"
    before=$(cat "${DISKS[@]}" | cksum)
    sh "/tmp/$2.sh" --yes > /tmp/said 2> /tmp/why || status=$?
    same "$1" 2 $status
    sed -E 's/[0-9a-f]{8,}/…/g' /tmp/why
    blockdev --flushbufs "${DISKS[@]}"
    alike "$1, contents" "$before" "$(cat "${DISKS[@]}" | cksum)"
    ways=$((ways + 1))
}
echo "== another machine"
quiet sfdisk -q --no-reread --no-tell-kernel --disk-id "$a" 0x2cd
refused "another table" sfdisk
refused "another table than was printed" mbr
quiet sfdisk -q --no-reread --no-tell-kernel --disk-id "$a" 0x1ab
was=$(blkid -p -s UUID -o value "${b}1")
quiet tune2fs -U random "${b}1"
refused "another filesystem in the same table" sfdisk
quiet tune2fs -U "$was" "${b}1"
table=$(sfdisk --disk-id "$b")
quiet sfdisk -q --no-reread --no-tell-kernel --disk-id "$b" 11111111-2222-3333-4444-555555555555
refused "another GPT than was printed" gpt
quiet sfdisk -q --no-reread --no-tell-kernel --disk-id "$b" "$table"
uuid=$(mdadm --detail --export /dev/md0 | sed -n 's/^MD_UUID=//p')
quiet mdadm --stop /dev/md0
quiet mdadm --assemble --run --update=uuid --uuid=11111111:22222222:33333333:44444444 /dev/md0 "${DISKS[@]:2:3}"
refused "another array" mdadm
quiet mdadm --stop /dev/md0
quiet mdadm --assemble --run --update=uuid --uuid="$uuid" /dev/md0 "${DISKS[@]:2:3}"

echo "== there again"
before=$(sum /dev/md0 "$(blockdev --getsize64 /dev/md0)")
for tool in sfdisk mdadm; do quiet sh /tmp/$tool.sh --yes; done
rm -rf straddle-fix.*
alike "contents of the array" "$before" "$(sum /dev/md0 "$(blockdev --getsize64 /dev/md0)")"
mount -t ext4 "${a}1" /tmp/m
quiet cmp /tmp/m/data /tmp/data
umount /tmp/m
for part in "${a}1" "${a}2" "${b}1" "${b}2"; do quiet e2fsck -fn "$part"; done
straddle capture --with-metadata -o /tmp/after.tgz 2> /tmp/said

echo "== elsewhere again"
status=0
straddle fix /tmp/after.tgz --verify /tmp/plan.json > /tmp/verified || status=$?
cat /tmp/verified
same "kept" 0 $status
judge /tmp/after.json /tmp/after.tgz
jq -r '[.targets[0].findings[] | .code] | group_by(.) | map("\(.[0]) x \(length)") | join(", ")' /tmp/after.json
jq -r '.targets[0].stack[] | select(.kind == "partition") | "\(.name) at \(.map.start // .placement.value.start)"' /tmp/after.json
echo "$ways ways"
