# md arrays of every level, metadata version and layout: what Straddle reads on the members alone is what the kernel and
# mdadm say, and every block of the array is found where it says that it lies, on the data's member and on those of copies.
. "$LAB/helpers.sh"
need mdadm=mdadm jq=jq
modules linear raid0 raid1 raid10 raid456
disks 6
report=/tmp/report.json live=/tmp/live.json
BLOCK=4096
compared=0 blocks=0

# Every block of the pattern says which one it is.
awk -v n=12288 'BEGIN { for (i = 0; i < n; i++) printf "%-4095s\n", "mark at " i * 4096 "." }' > /tmp/pattern

# facts REPORT: what it says of the array: level, members, chunk, layout, size; the data offset of each member; and for each
# block that was asked for, `BLOCK DISK PLACE` of its data and copies, in order.
facts() {
    jq -r '.targets[0] as $it
        | ($it.stack[] | select(.name == "md0")
            | . as $md
            | def of($key): first(.attributes[] | select(.key == $key) | .value.value | .text // .count // .bytes) // null;
            "\(of("level")) \(of("members")) \(first(.grids[] | select(.role == "stripe-unit") | .grid.value.unit) // 0) \(of("layout") // "-") \($md.size.value)",
            "offsets \([.attributes[] | select(.key == "data-offset") | .value.value.bytes | tostring] | join(" "))"),
        ($it.places[].gaps[] | "gap: \(.)"),
        ([$it.places[] | .steps[0].offset as $at
            | .written[] | select($it.stack[.layer].below == [] and (.share == "data" or .share == "copy"))
            | [$at, $it.stack[.layer].name, .extent.start]] | sort[] | "\(.[0]) \(.[1]) \(.[2])")' "$1"
}

# kernel: the first two lines by sysfs, and the layout as mdadm prints it.
kernel() {
    local md=/sys/block/md0/md level layout chunk dev slot offsets=()
    level=$(< $md/level) layout=- chunk=$(< $md/chunk_size)
    case $level in raid5 | raid6 | raid10) layout=$(mdadm --detail /dev/md0 | sed -n 's/^ *Layout : *//p') ;; esac
    case $level in linear | raid1) chunk=0 ;; esac
    for dev in $md/dev-*; do
        slot=$(< "$dev/slot")
        [ "$slot" = none ] || offsets[slot]=$(($(< "$dev/offset") * 512))
    done
    echo "$level $(< $md/raid_disks) $chunk $layout $(($(< /sys/block/md0/size) * 512))"
    echo "offsets ${offsets[*]}"
}

# found BLOCK...: where the marks of these blocks are, as the last lines of `facts`.
found() {
    find_marks $members | awk -v asked="$*" '
        BEGIN { n = split(asked, list, " "); for (i = 1; i <= n; i++) is[list[i]] = 1 }
        $1 in is { print $1, $2, $3 }' | sort -k 1,1n -k 2,2 -k 3,3n
}

# compare WHAT: /dev/md0 as it runs, beside its members as images ($members), and the places of blocks.
compare() {
    local size=$(($(< /sys/block/md0/size) * 512)) step=$(($(< /sys/block/md0/md/chunk_size) / 2)) i
    local asked=() where=()
    [ "$step" -ge 2048 ] || step=65536
    for ((i = 0; i < 30; i++)); do asked+=($((i * step / BLOCK * BLOCK))); done
    for ((i = 1; i < 7; i++)); do asked+=($(((size - i * step) / BLOCK * BLOCK)) $((size / 7 * i / BLOCK * BLOCK))); done
    mapfile -t asked < <(printf '%s\n' "${asked[@]}" | awk -v size=$size '$1 >= 0 && $1 + 4096 <= size' | sort -nu)
    for i in "${asked[@]}"; do where+=("--where=$i+$BLOCK"); done
    quiet dd if=/tmp/pattern of=/dev/md0 bs=64K count=$((size / 65536)) oflag=direct
    quiet dd if=/tmp/pattern of=/dev/md0 bs=4K count=$((size / BLOCK % 16)) oflag=direct \
        skip=$((size / 65536 * 16)) seek=$((size / 65536 * 16))
    kernel > /tmp/kernel
    found "${asked[@]}" >> /tmp/kernel
    judge $report --as image --of md0 "${where[@]}" $members
    judge $live --of md0 "${where[@]}" /dev/md0
    facts $report > /tmp/image
    facts $live > /tmp/live
    cmp -s /tmp/kernel /tmp/image ||
        { echo "$1: kernel and members differ"; diff /tmp/kernel /tmp/image | head -n 20; exit 1; } >&2
    cmp -s /tmp/kernel /tmp/live ||
        { echo "$1: kernel and live differ"; diff /tmp/kernel /tmp/live | head -n 20; exit 1; } >&2
    compared=$((compared + 1))
    blocks=$((blocks + ${#asked[@]}))
    echo "$1: $(head -n 1 /tmp/kernel)"
}

# try METADATA LEVEL MEMBERS OPTION...: makes an array, compares, takes it apart.
try() {
    local disk options=("${@:4}")
    case $2 in linear | 0) ;; *) options+=(--assume-clean) ;; esac
    [[ "$2 $*" = linear* || "$2 $*" = 0* || "$*" = *bitmap* ]] || options+=(--bitmap=none)
    members=${DISKS[*]:0:$3}
    array md0 --metadata="$1" --level="$2" --raid-devices="$3" "${options[@]}" $members
    compare "$*"
    forget $members
    for disk in $members; do quiet dd if=/dev/zero of="$disk" bs=1M count=8 oflag=direct; done
}

for version in 0.90 1.0 1.1 1.2; do
    try $version linear 3
    try $version 0 3 --chunk=64
    try $version 1 2
    try $version 4 3 --chunk=16
    try $version 5 4 --chunk=64
    try $version 6 4 --chunk=32
    try $version 10 4 --chunk=64 --layout=n2
    try $version 10 5 --chunk=16 --layout=f2
    try $version 10 3 --chunk=64 --layout=o2
done
try 1.2 1 3 --bitmap=internal
try 1.2 0 6 --chunk=4
try 1.2 0 2 --chunk=512
try 1.2 0 3 --chunk=20
for layout in la ra ls rs parity-first parity-last; do
    try 1.2 5 3 --chunk=16 --layout=$layout
done
for layout in la ra ls rs parity-first ddf-zero-restart ddf-N-restart ddf-N-continue \
    left-asymmetric-6 right-asymmetric-6 left-symmetric-6 right-symmetric-6 parity-first-6; do
    try 1.2 6 5 --chunk=8 --layout=$layout
done
for layout in n2 n3 f2 f3 o2 o3; do
    for count in 4 5; do try 1.2 10 $count --chunk=8 --layout=$layout; done
done
try 1.2 5 3 --chunk=64 --data-offset=3M
try 1.1 10 3 --chunk=32 --layout=n2 --data-offset=2050s
try 1.0 6 6 --chunk=128 --bitmap=internal
echo "$compared configurations, $blocks blocks"
