# What the cases about `straddle fix` share: `. "$LAB/fix.sh"` after the library.

need jq=jq cmp=diffutils
ways=0
# Filesystems on what is made again are not in question.
only=partitions,array,volume-group

# fill DEVICE BYTES: with what is different in every sector.
fill() {
    quiet dd if=/tmp/noise of="$1" bs=64K iflag=count_bytes count="$2" conv=fsync
}
head -c 32M /dev/urandom > /tmp/noise

# sum DEVICE BYTES: of what it holds.
sum() {
    blockdev --flushbufs "$1"
    head -c "$2" "$1" | cksum
}

# planned TARGET: the plan, before anything is done; prints its steps and what it promises.
planned() {
    straddle fix --only "$only" --json "$1" > /tmp/plan.json
    jq -r '(.steps[] | "step \(.number), \(.how): \(.title)", (.arithmetic[] | "    \(.)"), (.hindrances[] | "    hindrance: \(.)")),
        "promised: \([.cured[] | "\(.code) \(.layer)"] | unique | join(", "))"' /tmp/plan.json
}

# carried_out TOOL TARGET: its script, first without --yes, which changes nothing, then with.
carried_out() {
    straddle fix --only "$only" --script "$1" "$2" > /tmp/fix.script
    quiet sh /tmp/fix.script
    quiet sh /tmp/fix.script --yes
    rm -rf straddle-fix.*
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
