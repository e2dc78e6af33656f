# md RAID 0, 10 and 5 over six disks with a chunk of 64 KiB, and on each a partition at sector 63, one at 2,048 (on a
# chunk) and one at 10,240 (on a full stripe): Straddle's findings, its prices beside the requests that the members
# get, and its maps beside the places where marked sectors are found.
. "$LAB/helpers.sh"
need mdadm=mdadm sfdisk=fdisk jq=jq
modules raid0 raid10 raid456
disks 6
report=/tmp/report.json

# Requests come one after the other; this much is a whole number of periods of each grid, and fits the smallest
# partition.
TOTAL=960 # KiB

# What the report says of requests of one size that cover TOTAL: PRICE["STR201 md0p1 read 8"]=135 operations.
prices() {
    local finding operations
    PRICE=()
    while IFS=$'\t' read -r finding operations; do PRICE[$finding]=$operations; done < <(jq -r --argjson total $TOTAL '
        .targets[0] | .stack as $stack | .findings[] | select(.prices) | . as $finding | .prices.rows[]
        | (.io / 1024) as $kib | (.read_now, .write_now)
        |= .numerator * $total / $kib / .denominator
        | "\($finding.code) \($stack[$finding.layer].name)" as $where
        | "\($where) read \($kib)\t\(.read_now)", "\($where) write \($kib)\t\(.write_now)"' $report)
}
declare -A PRICE

# agree PARTITION read|write KIB [COPIES]: the operations that STR201 states, each so many times, are requests of the
# members. Where there is no such finding, a request is one operation.
agree() {
    local count=$((TOTAL / $3)) before priced
    before=$(completed "$2s" "${DISKS[@]}")
    transfer "$2" "/dev/$1" "$3" $count
    priced=$((${PRICE["STR201 $1 $2 $3"]:-$count} * ${4:-1}))
    same "$1, $count ${2}s of $3 KiB, ${2}s of members" $priced $(($(completed "$2s" "${DISKS[@]}") - before))
}

# transfer read|write DEVICE KIB COUNT
transfer() {
    if [ "$1" = read ]; then
        quiet dd if="$2" of=/dev/null iflag=direct bs="$3K" count="$4"
    else
        quiet dd if=/dev/zero of="$2" oflag=direct bs="$3K" count="$4"
    fi
}

# full_stripes PARTITION: a write that fills a stripe gets its parity from its own data, any other reads what members
# have; STR202 stands where the former cannot happen.
full_stripes() {
    local read written needs_reads=no
    read=$(bytes reads "${DISKS[@]}")
    written=$(bytes writes "${DISKS[@]}")
    transfer write "/dev/$1" 320 3
    read=$(($(bytes reads "${DISKS[@]}") - read))
    written=$(($(bytes writes "${DISKS[@]}") - written))
    [ -z "${PRICE["STR202 $1 write 320"]:-}" ] || needs_reads=yes
    same "$1, writes of 320 KiB make members read" $needs_reads "$([ $read = 0 ] && echo no || echo yes)"
    [ $needs_reads = yes ] || same "$1, bytes written, data and parity" $((3 * 6 * 65536)) $written
}

for level in 0 10 5; do
    echo "== RAID $level"
    copies=1
    options=(--assume-clean --bitmap=none)
    [ $level != 0 ] || options=()
    [ $level != 10 ] || copies=2
    array md0 --level=$level --raid-devices=6 --chunk=64 "${options[@]}" "${DISKS[@]}"
    partitions /dev/md0 start=63,size=1985 start=2048,size=8192 start=10240
    judge $report --io 8K,64K,320K /dev/md0
    prices
    jq -r '.targets[0] | .stack as $stack | .findings[] | select(.code == ("STR201", "STR202"))
        | "\(.code) \(.severity), \($stack[.layer].name): \(.arithmetic | join("; "))"' $report

    countable "${DISKS[@]}"
    mark /dev/md0p1 0 # Makes the array dirty, which is written down once.
    for name in md0p1 md0p2 md0p3; do
        for kib in 8 64; do
            agree $name read $kib
            [ $level = 5 ] || agree $name write $kib $copies
        done
    done
    if [ $level = 5 ]; then
        mergeable "${DISKS[@]}"
        for name in md0p1 md0p2 md0p3; do full_stripes $name; done
    else
        # Both sides of a chunk's end, and the row below.
        offsets=(0 32768 33280 993280)
        mark /dev/md0p1 "${offsets[@]}"
        find_marks "${DISKS[@]}" | sort -n -s > /tmp/found
        same "md0p1, marks" $'\n'"$(locate /dev/md0 md0p1 "${offsets[@]}")" $'\n'"$(sort -n -u -k 1,1 /tmp/found)"
        same "md0p1, copies of marks" $((copies * ${#offsets[@]})) "$(wc -l < /tmp/found)"
    fi
    forget "${DISKS[@]}"
done
