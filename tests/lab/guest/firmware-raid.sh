# What the cases of firmware RAID share: `. "$LAB/firmware-raid.sh"` after helpers.sh. Volumes that mdadm and the kernel make,
# and what Straddle reads from images of their members.

# Without an Intel controller; disks without a serial number are called by their names.
export IMSM_NO_PLATFORM=1 IMSM_DEVNAME_AS_SERIAL=1

# md's numbers of layouts and Straddle's words for them.
declare -A LAYOUT=(
    [raid0 0]=- [raid1 0]=- [raid10 258]=near=2 [raid10 259]=near=3 [raid10 513]=far=2
    [raid5 0]=left-asymmetric [raid5 1]=right-asymmetric [raid5 2]=left-symmetric
    [raid6 8]=ddf-zero-restart [raid6 9]=ddf-N-restart [raid6 10]=ddf-N-continue
)

# container FORMAT DISKS: a fresh set of the first so many disks.
container() {
    FORMAT=$1
    MEMBERS=("${DISKS[@]:0:$2}")
    quiet mdadm --create /dev/md/set --metadata="$1" --run --raid-devices="$2" "${MEMBERS[@]}"
    VOLUMES=()
}

# volume NAME LEVEL DISKS CHUNK KIB MDADM-OPTION...
volume() {
    local chunk=() where=(/dev/md/set)
    [ "$4" = - ] || chunk=(--chunk="$4")
    [ "$3" = ${#MEMBERS[@]} ] || where=("${MEMBERS[@]:0:$3}")
    quiet mdadm --create "/dev/md/$1" --run --level="$2" --raid-devices="$3" "${chunk[@]}" --size="$5" "${@:6}" "${where[@]}"
    VOLUMES+=("$1")
}

# serial DISK: as the metadata have it.
serial() {
    mdadm --examine "$1" | sed -n 's/^ *Disk[0-9]* Serial : //p' | sed -n 1p
}

# images: the members as files; a marked sector at the start of one looks like text, so that `--as image` is said. Nothing in IMSM metadata but the drive's serial number says which disk is which.
images() {
    local disk name
    rm -f /tmp/members/*
    mkdir -p /tmp/members
    blockdev --flushbufs "${MEMBERS[@]}"
    for disk in "${MEMBERS[@]}"; do
        name=${disk##*/}
        [ "$FORMAT" != imsm ] || name=$(serial "$disk")-$name
        cp --sparse=always "$disk" "/tmp/members/$name"
    done
}

# kernel NAME: what the kernel runs: level, layout, members, chunk, size, and each member with the start of its data.
kernel() {
    local md dev level slots=()
    md=/sys/block/$(basename "$(readlink -f "/dev/md/$1")")
    level=$(cat "$md/md/level")
    for dev in "$md"/md/dev-*; do
        slots[$(cat "$dev/slot")]=${dev##*/dev-}:$(($(cat "$dev/offset") * 512))
    done
    local chunk=-
    [ "$level" = raid1 ] || chunk=$(cat "$md/md/chunk_size")
    echo "$level ${LAYOUT[$level $(cat "$md/md/layout")]} $chunk $(($(cat "$md/size") * 512)) ${slots[*]}"
}

# read_from REPORT NAME: the same in Straddle's report.
read_from() {
    jq -r --arg name "$2" '.targets[0].stack as $stack | $stack[] | select(.name == $name) | . as $it
        | (.map.layout // "-") as $layout
        | [.format, (if $layout == "mirror" then "-" else $layout end), (.map.stripe_unit // "-"), .size.value]
        + [range(.below | length) | "\($stack[$it.below[.]].name | sub(".*[/-]"; "")):\($it.map.starts[.])"]
        | join(" ")' "$1"
}

# compare: every volume of the set, what is read and where marks are. Those of each volume have places of their own, so
# that the members are searched once.
MARKS=(0 65536 131072 1003520 2097152)
compare() {
    local name mark offsets index=0
    for name in "${VOLUMES[@]}"; do
        offsets=()
        for mark in "${MARKS[@]}"; do offsets+=($((mark + index * 4096))); done
        mark_blocks "/dev/md/$name" "${offsets[@]}"
        index=$((index + 1))
    done
    find_marks "${MEMBERS[@]}" | sort > /tmp/found
    images
    judge /tmp/report --as image /tmp/members/*
    index=0
    for name in "${VOLUMES[@]}"; do
        offsets=()
        for mark in "${MARKS[@]}"; do offsets+=("--where=$((mark + index * 4096))"); done
        index=$((index + 1))
        kernel "$name" > /tmp/kernel
        read_from /tmp/report "$name" > /tmp/read
        same "$FORMAT $name" "$(cut -d' ' -f1-4 /tmp/kernel)" "$(cut -d' ' -f1-4 /tmp/read)"
        # mdadm puts them in an order of its own.
        alike "$FORMAT $name, members and their starts" "$(cat /tmp/kernel)" "$(cat /tmp/read)"
        straddle check --as image --json --fail-on never --of "$name" "${offsets[@]}" /tmp/members/* |
            jq -r -f "$LAB/locate.jq" | sed 's| [^ ]*[/-]| |' | sort > /tmp/said
        # Copies, and parities of rows that are otherwise empty, are found too.
        alike "$FORMAT $name, marks of ${#MARKS[@]} sectors" "$(cat /tmp/said)" "$(comm -12 /tmp/said /tmp/found)"
    done
}

# well REPORT NAME: what the report says of its state, and its members.
well() {
    jq -r --arg name "$2" '.targets[0] as $it | $it.stack as $stack | $stack[] | select(.name == $name) | . as $volume
        | ([.attributes[] | select(.key == "state") | .value.value.text] | join(", ")) + ": "
        + ([.below[] | $stack[.].name | sub(".*/"; "")] | join(", "))' "$1"
}

# stopped: nothing of the set runs. mdadm talks to mdmon, and dies of SIGPIPE when that ends meanwhile.
stopped() { quiet wait_until mdadm --stop --scan; }

# part: the end of a set.
part() {
    stopped
    quiet mdadm --zero-superblock "${MEMBERS[@]}"
}

# mdmon writes it down in its own time.
is_degraded() { mdadm --examine "${DISKS[0]}" | grep -qi degraded; }

# degraded FORMAT: a volume that lost a disk, whose metadata are then read from the others.
degraded() {
    container "$1" 4
    volume v5 5 4 64 4096
    mark_blocks /dev/md/v5 0
    mdadm --wait /dev/md/v5 || true # Fails when there is nothing to wait for.
    quiet mdadm /dev/md/v5 --fail "${DISKS[1]}"
    wait_until is_degraded
    stopped
    images
    rm /tmp/members/*sdb
    judge /tmp/report --as image /tmp/members/*
    # The order of members is mdadm's own; DDF numbers disks at random.
    echo "$1, without one member: $(well /tmp/report v5 | sed 's|: .*disk .*|, one is missing by name|')"
    jq -r '.targets[0].findings[] | select(.code == "STR213") | "\(.code) \(.severity)"' /tmp/report
    part
}
