# md arrays of every level, metadata version and layout: what Straddle reads on copies of the members alone is what the kernel and
# mdadm say, and every block of the array is found where it says that it lies, on the data's member and on those of copies.
. "$LAB/helpers.sh"
need mdadm=mdadm jq=jq
modules linear raid0 raid1 raid10 raid456
disks 6
report=/tmp/report.json live=/tmp/live.json
BLOCK=4096
compared=0 blocks=0

# Every block of the pattern says which one it is. With zeroes in it, no member is taken for captured text.
awk -v n=12288 'BEGIN { for (i = 0; i < n; i++) printf "%-4096s", "mark at " i * 4096 "." }' | tr ' ' '\0' |
    sed 's/mark\x00at\x00/mark at /g' > /tmp/pattern

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
            | .written[] | select(.share == "data" or .share == "copy")
            | select($it.stack[.layer] | .below == [] and (.name | startswith("member") | not))
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

# judge_members REPORT ARGUMENT... -- DISK...: what straddle says of copies of these disks, named together.
judge_members() {
    local report=$1 words=()
    shift
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    rm -rf /tmp/members
    mkdir /tmp/members
    blockdev --flushbufs "$@"
    cp "$@" /tmp/members
    (cd /tmp/members && judge "$report" "${words[@]}" "${@#/dev/}")
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
    judge_members $report --of md0 "${where[@]}" -- $members
    [ -n "${only_members:-}" ] || judge $live --of md0 "${where[@]}" /dev/md0
    facts $report > /tmp/image
    [ -n "${only_members:-}" ] && cp /tmp/image /tmp/live || facts $live > /tmp/live
    cmp -s /tmp/kernel /tmp/image ||
        { echo "$1: kernel and members differ"; head -n 3 /tmp/kernel; diff /tmp/kernel /tmp/image > /tmp/diff || grep "^>" /tmp/diff | sed -n 1,9p; exit 1; } >&2
    cmp -s /tmp/kernel /tmp/live ||
        { echo "$1: kernel and live differ"; head -n 3 /tmp/kernel; diff /tmp/kernel /tmp/live > /tmp/diff || grep "^>" /tmp/diff | sed -n 1,9p; exit 1; } >&2
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
    # mdadm refuses RAID 0 of 0.90, which has no room for its layout, on newer kernels.
    [ $version = 0.90 ] || try $version 0 3 --chunk=64
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

# wipe: after states that `try` does not make.
wipe() {
    local disk
    forget $members
    for disk in "${DISKS[@]}"; do quiet dd if=/dev/zero of="$disk" bs=1M count=8 oflag=direct; blockdev --rereadpt "$disk"; done
}
# odd: what is odd about the array by its members.
odd() { jq -r '[.targets[0].stack[] | select(.name == "md0") | .oddities[].kind] | unique | join(" ")' $report; }

quick="--bitmap=none --assume-clean --run"
set -- "${DISKS[@]}"
echo "== degraded, and with a spare"
members="$1 $2 $3"
array md0 --level=5 --raid-devices=4 --chunk=16 $quick "$1" missing "$2" "$3"
compare "5 of 4, one missing"
same "it is" degraded "$(odd)"
wipe
members="$1 $2 $3 $4"
array md0 --level=6 --raid-devices=6 --chunk=16 $quick "$1" missing "$2" "$3" missing "$4"
compare "6 of 6, two missing"
wipe
members="$1 $2 $3"
array md0 --level=10 --raid-devices=4 --chunk=16 --layout=f2 $quick "$1" missing "$2" "$3"
compare "10 of 4, far, one missing"
wipe
members="$1 $2 $3 $4"
array md0 --level=5 --raid-devices=3 --spare-devices=1 --chunk=64 $quick $members
compare "5 of 3 and a spare"
same "it is" "" "$(odd)"
wipe

echo "== left behind"
members="$1 $2"
array md0 --level=1 --raid-devices=2 $quick $members
quiet mdadm /dev/md0 --fail "$2" --remove "$2"
for i in 1 2 3; do
    quiet mdadm --stop /dev/md0
    quiet mdadm --assemble --run /dev/md0 "$1"
    mark /dev/md0 0
done
judge_members $report -- $members
same "a mirror one of whose members was removed" "degraded members-differ" "$(odd)"
wipe

echo "== members of several sizes"
for spec in "0 --layout=original" "0 --layout=alternate" linear; do
    partitions "$1" start=2048,size=4096
    partitions "$2" start=2048,size=6144
    partitions "$3" start=2048,size=10240
    partitions "$4" start=2048,size=6144
    members="${1}1 ${2}1 ${3}1 ${4}1"
    array md0 --metadata=1.0 --chunk=64 --level=$spec --raid-devices=4 $members
    only_members=yes compare "$spec over four sizes"
    wipe
done

echo "== at the end of a disk and of its last partition"
for version in 0.90 1.0; do
    for disk in "$1" "$2"; do partitions "$disk" start=128; done
    members="${1}1 ${2}1"
    array md0 --metadata=$version --level=1 --raid-devices=2 $quick $members
    quiet mdadm --stop /dev/md0
    judge_members $report -- "$1" "$2"
    same "$version, members of md0 on the disks" "partition partition" \
        "$(jq -r '.targets[0].stack as $s | $s[] | select(.name == "md0") | [.below[] | $s[.].kind] | join(" ")' $report)"
    wipe
    members="$1 $2"
    array md0 --metadata=$version --level=1 --raid-devices=2 $quick $members
    partitions /dev/md0 start=128
    compare "$version, whole disks with a table on the array"
    wipe
done

echo "== growing"
members="$1 $2 $3"
array md0 --level=5 --raid-devices=3 --chunk=64 $quick $members
size=$(($(< /sys/block/md0/size) / 128))
quiet dd if=/tmp/pattern of=/dev/md0 bs=64K count=$size oflag=direct
quiet mdadm /dev/md0 --add "$4"
echo 2048 > /sys/block/md0/md/sync_max
quiet mdadm --grow /dev/md0 --raid-devices=4
wait_until test "$(< /sys/block/md0/md/sync_action)" = reshape
sleep 2
echo "come to sector $(< /sys/block/md0/md/reshape_position) of $(< /sys/block/md0/size)"
judge $live /dev/md0
quiet mdadm --stop /dev/md0
members="$members $4"
asked=() where=()
for ((i = 0; i < size * 16; i += 97)); do asked+=($((i * BLOCK))) where+=("--where=$((i * BLOCK))+$BLOCK"); done
judge_members $report --of md0 "${where[@]}" -- $members
same "it is" reshaping "$(odd)"
facts $report | sed 1,2d > /tmp/image
found "${asked[@]}" > /tmp/kernel
# What was copied to its new place lies in the old one too.
comm -13 <(sort /tmp/kernel) <(sort /tmp/image) > /tmp/wrong
same "blocks that are not where the members say" 0 "$(wc -l < /tmp/wrong)"
same "the live report says so too" STR209 "$(jq -r '.targets[0].findings[].code | select(. == "STR209")' $live)"
wipe
echo "$compared configurations, $blocks blocks"
