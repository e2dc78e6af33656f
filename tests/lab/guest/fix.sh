# What the cases about `straddle fix` share: `. "$LAB/fix.sh"` after the library.

need jq=jq cmp=diffutils strace=strace
ways=0
# Filesystems on what is re-created are not in question.
only=partitions,array,volume-group

# fill DEVICE BYTES: with what is different in every sector. Numbers, nothing random: this kernel knows the partition tables of Acorn,
# which are told by one byte of checksum, and finds one in every 256th sector of noise.
fill() {
    quiet dd if=/tmp/noise of="$1" bs=64K iflag=count_bytes count="$2" conv=fsync
}
seq -w 4400000 > /tmp/noise

# sum DEVICE BYTES: of what it holds.
sum() {
    blockdev --flushbufs "$1"
    head -c "$2" "$1" | cksum
}

# planned TARGET: the plan, before anything is done; prints its steps and what it promises.
planned() {
    straddle fix --only "$only" --json "$1" > /tmp/plan.json
    jq -r '(.steps[] | "step \(.number), \(.how): \(.title)", (.arithmetic[] | "    \(.)"), (.hindrances[] | "    blocker: \(.)")),
        "promised: \([.cured[] | "\(.code) \(.layer)"] | unique | join(", "))"' /tmp/plan.json
}

# carried_out TOOL TARGET: its script, first without --yes, which changes nothing, then with.
carried_out() {
    straddle fix --only "$only" --script "$1" "$2" > /tmp/fix.script
    quiet sh /tmp/fix.script
    mkdir /tmp/calls
    quiet strace -f -ff -y -s 0 -e trace=read,pread64,write,pwrite64,copy_file_range -o /tmp/calls/of sh /tmp/fix.script --yes
    priced "$2"
    rm -rf straddle-fix.* /tmp/calls
}

# priced TARGET: what was read and written of it, or of what it stands on where that is `stands_on`, and of the script's folder, in the calls
# that were recorded, is what the plan says, but for a twentieth and what the programs read that look at all disks.
stands_on=
priced() {
    # blkid, wipefs and udev look for signatures at both ends: a MiB or so.
    awk -v looked=1572864 -v target="$(readlink -f "${stands_on:-$1}")" -v said="$(jq -r '"\(.effort.read) \(.effort.written)"' /tmp/plan.json)" '
        {
            call = $0; sub(/\(.*/, "", call)
            file = $0; sub(/^[^<]*</, "", file); sub(/>.*/, "", file)
            bytes = $0; if (!sub(/.*\) += /, "", bytes) || bytes + 0 <= 0) next
            if (file != target && index(file, "/tmp/straddle-fix.") != 1) next
            if (call != "write" && call != "pwrite64") read += bytes
            if (call != "read" && call != "pread64") written += bytes
        }
        END {
            split(said, plan, " ")
            if (read < 0.95 * plan[1] || read > 1.05 * plan[1] + looked) bad = bad " read " read " for " plan[1]
            if (written < 0.95 * plan[2] || written > 1.05 * plan[2]) bad = bad " written " written " for " plan[2]
            print "read and written:", bad ? bad : "as the plan says"
            exit bad != ""
        }' /tmp/calls/*
}

# kept TARGET: the plan's promises, by `fix --verify` and by `check`.
kept() {
    straddle fix --verify /tmp/plan.json "$1" > /tmp/verified || { cat /tmp/verified; exit 1; } >&2
    judge /tmp/after.json "$1"
    same "findings of those promised that are left" "" "$(jq -r --slurpfile plan /tmp/plan.json '
        .targets[0] | .stack as $stack | [.findings[] | "\(.code) \($stack[.layer].name)"] as $now
        | [$plan[0].cured[] | "\(.code) \(.layer)"] | map(select(. as $one | $now | index($one))) | unique | join(", ")' /tmp/after.json)"
    ways=$((ways + 1))
}
