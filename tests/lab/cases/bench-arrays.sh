# What `straddle bench` measures on md arrays over disks of a fixed service time, and what their members did meanwhile:
# RAID 10 with a chunk of 64 KiB, where sector 63 makes two operations of each request of 64 KiB and of one in eight of
# 8 KiB, and RAID 1, where it makes no difference. Operations are exact, in every single run; rates stay within bands that a
# starved guest keeps too.
. "$LAB/helpers.sh"
need mdadm=mdadm sfdisk=fdisk jq=jq
modules raid1 raid10
report=/tmp/report.json

# bench NAME ARGUMENT...: a short experiment, its report in $report. Nobody else uses the disks, and it must not say so.
bench() {
    NAME=$1
    straddle bench "${@:2}" --offsets unaligned,1M --runtime 200ms --warm-up 50ms --blocks 3-3 --budget none --seed 7 \
        --size 16M --outstanding 16 --engine io_uring --json > $report 2> /tmp/said || { cat /tmp/said >&2; return 1; }
    same "$NAME: runs, warnings of other I/O" "$(jq '.cells | length * 9' $report) 0" \
        "$(jq -r '"\(.samples | length) \(.warnings | map(select(.kind == "other_io")) | length)"' $report)"
}

# operations CELL reads|writes UNALIGNED ALIGNED: what the members did, all together and in either direction, in every run of
# a cell: so much for N requests; jq's language.
operations() {
    same "$NAME: operations of members for \$N requests: $3 at sector 63, $4 at 1 MiB; runs" '6 3' \
        "$(jq -r --argjson cell "$1" "
            def did: .devices | map(select(.name | test(\"^sd[a-z]$\")) | .reads + .writes) | add;
            def as_places_come: did;
            def enough: .issued.reads + .issued.writes >= 16;
            .samples | map(select(.cell == \$cell and enough) | .issued.$2 as \$N
                | select(did == (if .offset == 0 then $3 else $4 end)) | .offset)
            | \"\(map(select(. == 0)) | length) \(map(select(. == 1)) | length)\"" $report)"
}

# counted CELL reads|writes EXPECTED: operations for each request, as the report says them, at sector 63.
counted() {
    same "$NAME: the report's operations for each request, at sector 63" "$3" "$(jq --argjson cell "$1" "
        [.cells[\$cell].offsets[0].device_operations[] | select(.device | test(\"^sd[a-z]$\")).$2] | add
            | . * 1000 | round / 1000" $report)"
}

# gain CELL EXPECTED: requests each second at 1 MiB as a multiple of those at sector 63, give or take 15%. Of each the fastest
# run: a guest that was held up in one of them was slower there, and nothing makes it faster.
gain() {
    local gain
    gain=$(jq --argjson cell "$1" '.cells[$cell].offsets | .[1].most_per_second / .[0].most_per_second' $report)
    [ "$(jq -n "$gain / $2 | . > 0.85 and . < 1.15")" = true ] ||
        { echo "$NAME: gain: expected $2 within 15%, found $gain" >&2; return 1; }
    echo "$NAME: gain: $2 within 15%"
}

spindles 4 dev_size_mb=16
array md0 --level=10 --raid-devices=4 --chunk=64 --metadata=1.2 --assume-clean --bitmap=none "${DISKS[@]}"
countable "${DISKS[@]}"

bench "RAID 10, 64 KiB reads" /dev/md0 --io 64K --pattern sequential
operations 0 reads '2 * $N' '$N'
counted 0 reads 2
gain 0 2

# One after the other from 31.5 KiB on, the fifth of each eight crosses a chunk.
bench "RAID 10, 8 KiB reads in turn" /dev/md0 --io 8K --pattern sequential
operations 0 reads '$N + ($N + 3) / 8 | floor' '$N'
gain 0 1.125
bench "RAID 10, 8 KiB reads anywhere" /dev/md0 --io 8K
operations 0 reads as_places_come '$N'
same "$NAME: 1.125 operations for each at sector 63, within 5%" true \
    "$(jq '[.cells[0].offsets[0].device_operations[] | select(.device | test("^sd[a-z]$")).reads] | add
        | . / 1.125 | . > 0.95 and . < 1.05' $report)"

# Each copy is written. The first write to an array makes md write superblocks; it is not counted.
quiet dd if=/dev/zero of=/dev/md0 bs=64K count=1 oflag=direct
write=(--destroy-data /dev/md0 --yes-destroy md0 --rw write)
bench "RAID 10, 64 KiB writes" "${write[@]}" --io 64K --pattern sequential
operations 0 writes '4 * $N' '2 * $N'
counted 0 writes 4
gain 0 2
bench "RAID 10, 8 KiB writes in turn" "${write[@]}" --io 8K --pattern sequential
operations 0 writes '2 * ($N + ($N + 3) / 8 | floor)' '2 * $N'

# Offsets count from a boundary of the array, wherever the partition starts that is measured on.
partitions /dev/md0 start=63,type=7
bench "RAID 10, partition at sector 63, 64 KiB reads anywhere" /dev/md0p1 --io 64K
operations 0 reads '2 * $N' '$N'
same "what is 31.5 KiB and 1 MiB past a boundary of the array" "32256 0" "$(jq -r '[.setting.places[].standings[]
    | select(.role == "stripe-unit").phase] | join(" ")' $report)"
forget "${DISKS[@]}"

spindles 2 dev_size_mb=32
array md0 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --bitmap=none "${DISKS[@]}"
countable "${DISKS[@]}"
bench "RAID 1, reads" /dev/md0 --io 64K,8K
operations 0 reads '$N' '$N'
operations 1 reads '$N' '$N'
gain 0 1
gain 1 1
forget "${DISKS[@]}"
