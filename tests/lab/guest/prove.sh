# For cases that prove where writes arrive: `. "$LAB/prove.sh"` after the helpers, which it uses.

STACKS=0

# put FILE OFFSET+LENGTH: writes random bytes in place, past the page cache, and waits until the disks have them; with
# FLUSH=no, does not ask for their caches to be flushed, which these disks do not have.
put() {
    local how=direct,dsync,seek_bytes
    [ "${FLUSH:-yes}" = yes ] || how=direct,seek_bytes
    quiet dd if=/dev/urandom of="$1" bs="${2#*+}" count=1 seek="${2%+*}" oflag=$how iflag=fullblock conv=notrunc
}

# node LAYER: sets `file` to the file, or to the node of the device, if there is one.
node() {
    for file in "$1" "/dev/$1" "/dev/mapper/$1"; do [ ! -e "$file" ] || return 0; done
    return 1
}

# prove STACK TARGET LAYER [OFFSET+LENGTH]...: writes each of these pages, a 4 KiB, an 8 KiB and a 16 KiB one when none is
# given, to the layer /dev/LAYER, /dev/mapper/LAYER or the file LAYER. Sectors of DISKS have changed where straddle's report
# of TARGET says, and nowhere else, except in what BESIDES names. With PLACES=hidden the places are compared and not shown:
# they are a filesystem's own affair.
prove() {
    local stack=$1 target=$2 layer=$3 file page predicted found
    shift 3
    [ $# -gt 0 ] || set -- 4096+4096 61440+8192 212992+16384
    # Partitions are gone for a moment when the kernel reads their table again.
    wait_until node "$layer"
    STACKS=$((STACKS + 1))
    # Makes what they lie on dirty, which is written down once.
    for page; do put "$file" "$page"; done
    written_each "$target" "$layer" "$@" > /tmp/predicted
    remember "${DISKS[@]}"
    while read -r page predicted; do
        put "$file" "${page%:}"
        changed "${DISKS[@]}" > /tmp/changed
        found=$(< /tmp/changed)
        found=${found//$'\n'/, }
        if [ "${PLACES:-shown}" = shown ]; then
            same "$stack: ${page%:}" "$predicted" "$found"
        else
            alike "$stack: ${page%:}" "$predicted" "$found"
        fi
    done < /tmp/predicted
    same "$stack: pages" $# "$(wc -l < /tmp/predicted)" > /dev/null
}
