# `cargo xtask bench arrays`: what `straddle bench` measures on md arrays over disks that take 180 requests a second each,
# and what it and fio measure on one such disk, in turn. Writes to $OUT: NAME.json of each experiment, `experiments`,
# accuracy.csv, and of one experiment the report and the picture. Argument: blocks of each experiment, and rounds of the
# comparison (6).
. "$LAB/helpers.sh"
need mdadm=mdadm fio=fio jq=jq mkfs.ext4=e2fsprogs
modules raid1 raid10 ext4
rounds=${1:-6}
echo lab > /proc/sys/kernel/hostname

# Requests wait for every disk at any time: with fewer, one is idle now and then, and it is the queue that is measured.
load=(--outstanding 128 --blocks "$rounds-$rounds" --budget none --runtime 700ms --warm-up 150ms --seed 1 --engine io_uring)

# measure NAME TITLE DISKS COPIES ARGUMENT...: one experiment; COPIES: operations for each piece of a request.
measure() {
    local name=$1
    printf '%s\t' "$@" | cut -f 1-4 >> "$OUT/experiments"
    straddle bench "${@:5}" "${load[@]}" --json > "$OUT/$name.json" 2> /tmp/said ||
        { cat /tmp/said >&2; return 1; }
    echo "$name: $(jq -c '[.cells[].gains[].ratio.mean * 1000 | round / 1000]' "$OUT/$name.json")"
}

# raid10 DISKS STRIPE-UNIT-IN-KIB
raid10() {
    spindles "$1" dev_size_mb=32
    array md0 --level=10 --raid-devices="$1" --chunk="$2" --metadata=1.2 --assume-clean --bitmap=none "${DISKS[@]}"
    countable "${DISKS[@]}"
}

write=(--destroy-data /dev/md0 --yes-destroy md0 --rw write)

raid10 6 64
measure raid10-6-reads "RAID 10, 6 disks, stripe unit 64 KiB" 6 1 /dev/md0 --size 48M --offsets unaligned,1M --io 64K,8K
measure raid10-6-writes "RAID 10, 6 disks, stripe unit 64 KiB" 6 2 "${write[@]}" --size 48M --offsets unaligned,1M --io 64K,8K
forget "${DISKS[@]}"

raid10 8 64
# The one that docs/reading-a-bench.md shows.
measure raid10-8-reads "RAID 10, 8 disks, stripe unit 64 KiB" 8 1 /dev/md0 --size 48M --offsets unaligned,64K,1M --io 64K,8K \
    --keep --journal /tmp/journal
straddle bench --resume /tmp/journal --keep > "$OUT/raid10-8-reads.txt"
straddle bench --resume /tmp/journal --format svg > "$OUT/raid10-8-reads.svg"
measure raid10-8-writes "RAID 10, 8 disks, stripe unit 64 KiB" 8 2 "${write[@]}" --size 48M --offsets unaligned,1M --io 64K,8K
# A test file: offsets are those of a lattice inside of it, whatever the filesystem allocates in.
for unit in 4 64; do
    if [ $unit = 4 ]; then
        quiet mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0 /dev/md0
    else
        quiet mkfs.ext4 -q -F -b 4096 -O bigalloc -C $((unit << 10)) -E lazy_itable_init=0 /dev/md0
    fi
    mkdir -p /mnt/array
    mount /dev/md0 /mnt/array
    measure allocation-unit-$unit "ext4, allocation unit $unit KiB, on RAID 10, 8 disks, stripe unit 64 KiB" 8 1 \
        /mnt/array --size 24M --offsets unaligned,64K --io 64K
    umount /mnt/array
done
forget "${DISKS[@]}"

for unit in 16 256; do
    raid10 8 $unit
    measure stripe-unit-$unit "RAID 10, 8 disks, stripe unit $unit KiB" 8 1 /dev/md0 --size 48M --offsets unaligned,1M --io 64K,8K
    forget "${DISKS[@]}"
done

spindles 2 dev_size_mb=64
array md0 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --bitmap=none "${DISKS[@]}"
countable "${DISKS[@]}"
measure raid1-reads "RAID 1, 2 disks" 2 1 /dev/md0 --size 48M --offsets unaligned,1M --io 64K,8K
forget "${DISKS[@]}"

# One disk, fio and straddle in turn. It takes 180 requests a second: with one under way, each takes 5.556 ms.
spindles 1 dev_size_mb=64
countable "${DISKS[@]}"
disk=${DISKS[0]}
echo "tool,outstanding,round,requests_per_second,p50_us,p99_us,requests,counted" > "$OUT/accuracy.csv"

# line TOOL OUTSTANDING ROUND PROGRAM FILE: what jq's program makes of the file, behind the rest.
line() {
    jq -r "[\"$1\", $2, $3] + ($4) | @csv" "$5" | tr -d '"' >> "$OUT/accuracy.csv"
}

fio_once() { # OUTSTANDING ROUND
    local before counted
    before=$(completed reads "$disk")
    fio --name=x --filename="$disk" --size=32M --ioengine=io_uring --direct=1 --rw=randread --bs=4k --iodepth="$1" --runtime=2 \
        --time_based --randseed="$2" --lat_percentiles=1 --output-format=json > /tmp/fio.json
    counted=$(($(completed reads "$disk") - before))
    line fio "$1" "$2" ".jobs[0].read | [.iops, .lat_ns.percentile[\"50.000000\"] / 1000,
        .lat_ns.percentile[\"99.000000\"] / 1000, .total_ios, $counted]" /tmp/fio.json
}

straddle_once() { # OUTSTANDING ROUND
    straddle bench "$disk" --offsets 0 --size 32M --io 4K --outstanding "$1" --runtime 2s --warm-up 0s --blocks 1-1 --budget none \
        --seed "$2" --engine io_uring --json > /tmp/straddle.json 2> /dev/null
    line straddle "$1" "$2" '.samples[0] as $run | .cells[0].offsets[0] | [.reads_per_second,
        .read_latency.p50_nanoseconds / 1000, .read_latency.p99_nanoseconds / 1000, $run.issued.reads,
        ($run.devices | map(.reads) | add)]' /tmp/straddle.json
}

for round in $(seq "$rounds"); do
    for outstanding in 1 16; do
        fio_once $outstanding "$round"
        straddle_once $outstanding "$round"
    done
done
