# A loop device at byte 32,256 of a file in pieces, on ext4, on a partition: sectors written through the loop device are
# found on the raw disk where the maps say.
. "$LAB/helpers.sh"
need mkfs.ext4=e2fsprogs filefrag=e2fsprogs losetup=mount sfdisk=fdisk jq=jq
modules ext4 loop
disks 1 dev_size_mb=32 physblk_exp=3
partitions /dev/sda start=63,size=2000 start=2100
quiet mkfs.ext4 -q -F -b 1024 /dev/sda2
mkdir /tmp/mounted
mount /dev/sda2 /tmp/mounted
file=/tmp/mounted/disk.img
for i in {0..7}; do # In turns with another file, so that neither is in one piece.
    dd if=/dev/urandom of=$file bs=64k count=1 seek=$i conv=notrunc,fsync status=none
    dd if=/dev/urandom of=/tmp/mounted/other bs=3k count=1 seek=$i conv=notrunc,fsync status=none
done
losetup --offset 32256 /dev/loop0 $file
report=/tmp/report.json
judge $report /dev/loop0

same "layers" "sda sda2 ext4 $file loop0" "$(jq -r '[.targets[0].stack[].name] | join(" ")' $report)"
same "loop0, offset and file (losetup)" "$(losetup --noheadings --raw --output OFFSET,BACK-FILE /dev/loop0)" \
    "$(jq -r '.targets[0].stack as $stack | $stack[-1] | "\(.map.start) \($stack[.below[0]].name)"' $report)"

# Where ext4 puts the pieces is its own affair, so these are compared and not shown.
pieces=$(jq -r '.targets[0].stack[3].map.first_segments[] | "\(.upper.start) \(.lower) \(.upper.len)"' $report)
alike "pieces of the file (filefrag)" "$pieces" \
    "$(filefrag -b1 -v $file | awk -F '[:. ]+' '$2 ~ /^[0-9]+$/ { print $3, $5, $7 }')"
[ "$(wc -l <<< "$pieces")" -ge 3 ]

# The first sector, and those on both sides of every place where a piece ends.
offsets=(0)
while read -r start _; do
    [ "$start" = 0 ] || offsets+=($((start - 32256 - 512)) $((start - 32256)))
done <<< "$pieces"
mark /dev/loop0 "${offsets[@]}"
sync
find_marks /dev/sda | sort -n > /tmp/found
alike "marks" "$(locate $report loop0 "${offsets[@]}")" "$(cat /tmp/found)"

# What STR603 says of the phase is what the distances between here and there say.
behind=$(awk '{ print ($3 - $1) % 4096 }' /tmp/found | sort -u | xargs)
same "STR603" "every piece begins $(sed -E 's/\B([0-9]{3})$/,\1/' <<< "$behind") B behind a boundary (unit 4,096)" \
    "$(jq -r '.targets[0].findings[] | select(.code == "STR603") | .arithmetic | join("; ")' $report)"
