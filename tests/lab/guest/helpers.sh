# What lab scripts share: `. "$LAB/helpers.sh"` on their first line. A command that fails ends the script, and is
# named.

set -Eeuo pipefail
trap 'echo "$0: line $LINENO: failed: $BASH_COMMAND" >&2' ERR

# in_soak COMMAND...: runs it in a soak only, which gives a case that says `# More in a soak.` the word `soak`.
LAB_MORE=${1:-}
in_soak() {
    [ "$LAB_MORE" != soak ] || "$@"
}

# need TOOL[=PACKAGE]...: ends the script, naming the Debian package, when a tool of the host is missing.
need() {
    local word
    for word; do
        command -v "${word%%=*}" > /dev/null ||
            { echo "$0: needs \`${word%%=*}\` of the Debian package ${word#*=}" >&2; exit 1; }
    done
}

# quiet COMMAND...: shows what it prints only when it fails.
quiet() {
    local log=/tmp/quiet.$BASHPID status=0
    "$@" > "$log" 2>&1 || { status=$?; echo "failed: $*" >&2; cat "$log" >&2; }
    return $status
}

# same WHAT EXPECTED FOUND: prints `WHAT: FOUND`; ends the script when that is not what was expected.
same() {
    [ "$2" = "$3" ] || { printf '%s: %s: expected %s, found %s\n' "$0" "$1" "$2" "$3" >&2; exit 1; }
    printf '%s: %s\n' "$1" "$3"
}

# alike WHAT EXPECTED FOUND: the same for what need not be the same in the next run: prints `WHAT: as expected`.
alike() {
    [ "$2" = "$3" ] || { printf '%s: %s: expected\n%s\nfound\n%s\n' "$0" "$1" "$2" "$3" >&2; exit 1; }
    printf '%s: as expected\n' "$1"
}

# modules NAME...: loads modules of the guest's kernel. Those of this kernel are not where plain modprobe looks.
modules() {
    modprobe -d /run -a "$@"
}

# disks N [PARAMETER=VALUE]...: N new disks of scsi_debug, in place of those there are; their names are in DISKS.
# All disks together have 64 commands in flight: Linux 6.1 counts them in one table, and fewer lose disks.
disks() {
    local count=$1
    shift
    modules sd_mod
    if [ -d /sys/module/scsi_debug ]; then
        quiet wait_until modprobe -d /run -r scsi_debug
    fi
    modprobe -d /run scsi_debug add_host="$count" per_host_store=1 dev_size_mb=8 delay=0 max_queue=64 "$@"
    wait_until disks_have_sizes "$count" # They are probed behind our back.
    DISKS=()
    local disk
    for disk in /sys/block/sd*; do DISKS+=("/dev/${disk##*/}"); done
}

disks_have_sizes() {
    local file size count=0
    for file in /sys/block/sd*/size; do
        [ ! -e "$file" ] || { read -r size < "$file" && [ "$size" = 0 ]; } || count=$((count + 1))
    done
    [ $count = "$1" ]
}

# wait_until COMMAND...: for up to 5 s.
wait_until() {
    local i
    for i in {1..99}; do "$@" 2> /dev/null && return; sleep 0.05; done
    "$@"
}

# countable DISK...: one request stays one request, so that /proc/diskstats counts what the layer above asked for.
# Not for writes to RAID 5 and 6, which md hands down in pieces of 4 KiB that have to be merged.
# Write-back throttling goes too: it takes md's direct writes for background ones.
countable() {
    local disk
    for disk; do
        echo 2 > "/sys/block/${disk##*/}/queue/nomerges"
        echo 0 > "/sys/block/${disk##*/}/queue/wbt_lat_usec"
    done
}

# mergeable DISK...: takes back the first half of `countable`.
mergeable() {
    local disk
    for disk; do echo 0 > "/sys/block/${disk##*/}/queue/nomerges"; done
}

# array NAME MDADM-OPTION...: creates /dev/NAME. It says of itself that it is dirty once it was written to, and stays
# so: no superblock is written at a time of its own choosing.
array() {
    quiet mdadm --create "/dev/$1" --run "${@:2}"
    local delay=/sys/block/$1/md/safe_mode_delay
    [ ! -e "$delay" ] || echo 0 > "$delay"
}

# forget DISK...: stops /dev/md0, and wipes what the disks and their partitions are known by.
forget() {
    [ ! -e /sys/block/md0/md ] || quiet mdadm --stop /dev/md0
    local disk part parts=()
    for disk; do
        for part in "$disk"[0-9]*; do [ ! -e "$part" ] || parts+=("$part"); done
    done
    [ ${#parts[@]} = 0 ] || quiet wipefs -qa "${parts[@]}"
    quiet wipefs -qa "$@"
    blockdev --rereadpt "$@"
}

# partitions DEVICE LINE...: an MBR with a partition for each of these lines of sfdisk's language.
partitions() {
    printf '%s\n' 'label: dos' 'label-id: 0x1ab' "${@:2}" |
        quiet sfdisk -q --force --no-reread --no-tell-kernel "$1"
    blockdev --rereadpt "$1"
}

# completed reads|writes DISK...: requests of that kind which the disks together have completed.
# bytes reads|writes DISK...: the same, counted in bytes.
completed() { if [ "$1" = reads ]; then diskstats 3 1 "${@:2}"; else diskstats 7 1 "${@:2}"; fi; }
bytes() { if [ "$1" = reads ]; then diskstats 5 512 "${@:2}"; else diskstats 9 512 "${@:2}"; fi; }
diskstats() {
    local fields sum=0
    while read -r -a fields; do
        [[ " ${*:3} " != *" /dev/${fields[2]} "* ]] || sum=$((sum + fields[$1] * $2))
    done < /proc/diskstats
    echo $sum
}

# mark DEVICE OFFSET...: writes a sector at each offset that says so: `mark at OFFSET.`; past the page cache.
# mark_blocks DEVICE OFFSET...: the same with blocks of 4 KiB, for disks that have no smaller ones.
mark() { lab-blocks write "$1" 512 "${@:2}"; }
mark_blocks() { lab-blocks write "$1" 4096 "${@:2}"; }

# find_marks DISK...: where the marks lie, a line for each: `OFFSET DISK PLACE`.
find_marks() { lab-blocks find "$@"; }

# judge REPORT ARGUMENT...: `straddle check --json` into a file, with or without findings.
judge() {
    straddle check --json --fail-on never "${@:2}" > "$1"
}

# locate TARGET LAYER OFFSET...: where straddle says that these bytes lie on a disk; in the form of find_marks.
locate() {
    local bytes=("${@:3}")
    straddle check --json --fail-on never --of "$2" "${bytes[@]/#/--where=}" "$1" | jq -r -f "$LAB/locate.jq"
}

# written TARGET LAYER OFFSET+LENGTH...: what straddle says that writes of these bytes change on the disks, in the form
# of `changed`; and a line that starts with `?` for each reason why it does not know all of it.
# written_each: the same in a line for each of them: `OFFSET+LENGTH: sda 32256+4096, sdb 32256+4096`.
written() { written_as no "$@"; }
written_each() { written_as yes "$@"; }
written_as() {
    local bytes=("${@:4}")
    straddle check --json --fail-on never --of "$3" "${bytes[@]/#/--where=}" "$2" |
        jq -r --arg each "$1" -f "$LAB/written.jq"
}

# remember DISK...: keeps what the disks hold.
# changed DISK...: runs of sectors that have changed since then, or since this was last asked: `sda 32256+4096`, without those
# within a line `sda START END` of BESIDES.
remember() { lab-changes remember "$@"; }
changed() { BESIDES=${BESIDES:-} lab-changes changed "$@"; }

# spindles N [PARAMETER=VALUE]...: as `disks`, each with a service time of 5.56 ms (180 requests a second) and one command
# at a time.
spindles() {
    disks "$1" ndelay=5555556 "${@:2}"
    local disk
    for disk in "${DISKS[@]}"; do
        echo 1 > "/sys/block/${disk##*/}/device/queue_depth"
        echo mq-deadline > "/sys/block/${disk##*/}/queue/scheduler"
        echo 0 > "/sys/block/${disk##*/}/queue/rotational"
    done
}
