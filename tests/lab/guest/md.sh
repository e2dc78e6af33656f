# What the cases about md share: `. "$LAB/md.sh"` after the library. It compares copies of the members of /dev/md0, as images,
# with the kernel, mdadm, and the places where marked blocks are found.

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
    local options=("${@:4}")
    case $2 in linear | 0) ;; *) options+=(--assume-clean) ;; esac
    [[ "$2 $*" = linear* || "$2 $*" = 0* || "$*" = *bitmap* ]] || options+=(--bitmap=none)
    members=${DISKS[*]:0:$3}
    array md0 --metadata="$1" --level="$2" --raid-devices="$3" "${options[@]}" $members
    compare "$*"
    forget $members
    lab-blocks zero $members
}
