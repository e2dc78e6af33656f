# A volume for servers whose straddle share and latency are planted, and what `straddle evidence` must make of them:
# `. "$LAB/servers.sh"` after helpers.sh.

# misaligned MEGABYTES MILLISECONDS: /dev/loop0, which starts at sector 63 of an array over two disks of this size, in stripe
# units of 64 KiB. A disk takes so long for each request, and keeps no writes that would have to be flushed.
misaligned() {
    need mdadm=mdadm losetup=mount dmsetup=dmsetup iostat=sysstat jq=jq
    modules raid0 loop dm-mod dm-delay
    disks 2 "ndelay=$(($2 * 1000000))" "dev_size_mb=$1"
    local disk
    for disk in "${DISKS[@]}"; do
        # Both together stay below the commands that scsi_debug takes; more would fail.
        echo 16 > "/sys/block/${disk##*/}/device/queue_depth"
        echo 'write through' > "/sys/block/${disk##*/}/queue/write_cache"
    done
    array md0 --level=0 --raid-devices=2 --chunk=64 "${DISKS[@]}"
    losetup --offset 32256 --direct-io=on /dev/loop0 /dev/md0
    countable loop0 "${DISKS[@]}"
}

# slowed: the same under device-mapper, which keeps every request for 30 ms: /dev/mapper/slow.
slowed() {
    echo "0 $(blockdev --getsz /dev/loop0) delay /dev/loop0 0 30" | quiet dmsetup create slow
    dmsetup mknodes
}

# planted BYTES TARGET [NAME]: of requests of this size, `check` finds the share that straddles a stripe unit: one in 64 KiB ÷
# BYTES, as none starts on a boundary.
planted() {
    judge /tmp/planted.json --io "$1" "$2"
    same "straddle share of requests of $1 bytes on ${3:-${2##*/}}" "$(jq -n "$1 * 100 / 65536")%" "$(jq -r --argjson io "$1" '
        [.targets[0] as $target | $target.findings[] | select(.code == "STR603") | .prices.rows[] | select(.io == $io)
            | .read_now | "\((.numerator / .denominator - 1) * 100)%"] | unique | join(" ")' /tmp/planted.json)"
}

# intervals FILE SECONDS COUNT: reports of iostat below the command, which says that none of them counts since the start.
intervals() {
    local words=(iostat -dxty -N "$2" "$3")
    { echo "\$ ${words[*]}"; S_TIME_FORMAT=ISO "${words[@]}"; } > "$1"
}

# evidence REPORT FILE...: `straddle evidence --json` into a file; every line of every file is understood.
evidence() {
    straddle evidence --json --fail-on never "${@:2}" > "$1"
    same "not understood in ${*:2}" 0 "$(jq '[.counted[].count] | add // 0' "$1")"
}

# mean REPORT LAYER QUANTITY SPAN: a mean that the report has.
mean() {
    jq -r --arg layer "$2" --arg quantity "$3" --arg span "$4" '.stack[] | select(.name == $layer).activity.series[]
        | select(.quantity == $quantity and .statistic == "mean" and .span == $span).summary.mean' "$1"
}

# between REPORT LAYER TIME COUNT: a sum of times ÷ its count, both between the first and the last reading.
between() {
    jq -r --arg layer "$2" --arg time "$3" --arg count "$4" '
        def grown(name): .[] | select(.quantity == name and .span == "since-start").summary | .last.value - .first.value;
        .stack[] | select(.name == $layer).activity.series | grown($time) / grown($count)' "$1"
}

# found REPORT CODE: the names of the layers of these findings that are warnings or errors, or `nothing`.
found() {
    jq -r --arg code "$2" '[.stack as $stack | .findings[] | select(.code == $code and .severity != "note")
        | $stack[.layer].name] | unique | if . == [] then "nothing" else join(" ") end' "$1"
}

# amplified REPORT: the disks read as many requests for one of /dev/loop0 as straddle: one more in 64 KiB ÷ their size.
amplified() {
    local name rates=()
    for name in "${DISKS[@]}"; do rates+=("$(mean "$1" "${name##*/}" read-rate interval)"); done
    agree "${1%.json}: reads of disks for one of loop0, and 1 + its size ÷ 64 KiB" 5 \
        "$(jq -n "(${rates[0]} + ${rates[1]}) / $(mean "$1" loop0 read-rate interval)")" \
        "$(jq -n "1 + $(mean "$1" loop0 read-size interval) / 65536")"
}

# agree WHAT PERCENT FOUND EXPECTED
agree() {
    [ "$(jq -n --argjson percent "$2" --argjson found "$3" --argjson expected "$4" \
        '($found / $expected - 1) * 100 | . >= -$percent and . <= $percent')" = true ] ||
        { echo "$0: $1: $3 and $4 are not within $2%" >&2; exit 1; }
    echo "$1: within $2%"
}

# holds WHAT VALUE CONDITION: a condition of jq's language holds for a number.
holds() {
    [ "$(jq -n --argjson value "$2" "\$value | $3")" = true ] || { echo "$0: $1: $2 is not $3" >&2; exit 1; }
    echo "$1: $3"
}
