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
alike "marks" "$(locate /dev/loop0 loop0 "${offsets[@]}")" "$(cat /tmp/found)"

# STR603's prices, which are means over all requests side by side, beside a walk over them, by what filefrag says.
# A physical sector that a request reaches is an operation; when it is written in part, it is read first.
walked=$(awk -v partition=$((2100 * 512)) -v offset=32256 -v size="$(blockdev --getsize64 /dev/loop0)" -v sector=4096 '
    { upper[NR] = $1 - offset; lower[NR] = $2 + partition; len[NR] = $3 }
    function walk(io,    count, at, piece, from, to, first, last, begin, end) {
        reached = partly = 0
        count = int(size / io)
        for (at = 0; at < count * io; at += io)
            for (piece = 1; piece <= NR; piece++) {
                from = at > upper[piece] ? at : upper[piece]
                to = at + io < upper[piece] + len[piece] ? at + io : upper[piece] + len[piece]
                if (from >= to) continue
                begin = lower[piece] + from - upper[piece]
                end = begin + to - from
                first = int(begin / sector)
                last = int((end - 1) / sector)
                reached += last - first + 1
                partly += first == last ? (end - begin < sector) : (begin % sector > 0) + (end % sector > 0)
            }
        print io, reached, reached + partly, "of", count
    }
    END { walk(4096); walk(8192); walk(65536) }' <<< "$pieces")
stated=$(jq -r --argjson size "$(blockdev --getsize64 /dev/loop0)" '
    .targets[0].findings[] | select(.code == "STR603") | .prices.rows[] | (($size / .io) | floor) as $count
    | (.read_now, .write_now) |= (.numerator * $count / .denominator)
    | "\(.io) \(.read_now) \(.write_now) of \($count)"' $report)
alike "STR603, operations of reads and of writes" "$walked" "$stated"
