# Dynamic disks as the kernel's own reader and device-mapper have them: partitions of the disks with an MBR beside the
# places that the maps reach, and the tables that ldmtool makes beside the maps. The disks come from tests/makers/ldm.pl.
. "$LAB/helpers.sh"
need ldmtool=ldmtool dmsetup=dmsetup losetup=mount perl=perl-base jq=jq od=coreutils
modules loop dm-mod dm-raid raid1 raid456
# There is no udev that would answer.
export DM_DISABLE_UDEV=1

report=/tmp/report.json
kernel=0 configurations=0 volumes=0

# The layers of volumes: name as device-mapper gets it, then what lies where: `linear`, `striped UNIT` or a level, and
# disk and sector of each piece.
ours() {
    jq -r '
        .targets[0].stack as $stack
        | $stack[] | select(.format == "ldm") | . as $layer | .map as $map
        | def said($key): [.attributes[] | select(.key == $key) | .value.value.text][0];
          ([.below[] | $stack[.] | if .size == null then "-" else .name | split("/") | last end]) as $names
        | (said("volume-group")) as $group
        | {"raid0": "striped", "raid1": "raid1", "raid5": "raid5_ls"}[said("level")] as $level
        | if $map.shape == "linear" then "linear \($names[0]) \($map.start / 512)"
          elif $map.shape == "segments" then
            ([$map.first_segments[] | "linear \($names[.target]) \(.lower / 512)"] | join(" "))
          else "\($level) \(if $level == "raid1" then "" else "\($map.stripe_unit / 512) " end)"
            + ([range($map.starts | length) | if $names[.] == "-" then "-" else "\($names[.]) \($map.starts[.] / 512)" end] | join(" ")) end
        | "ldm_vol_\($group)_\($layer.name): \(.)"' $report | sort
}

# The same from `dmsetup table`, in which devices are numbers: those of loop devices become disks, those of partitions of
# ldmtool the disk and the sector that they are.
theirs() {
    dmsetup ls | sed 's/\t(/ /; s/)//; s/, /:/' > /tmp/numbers
    { dmsetup table | grep -v '^No devices found' || true; } | awk -v loops="$1" '
        BEGIN {
            while ((getline line < loops) > 0) { split(line, f, " "); disk[f[1]] = f[2] }
            while ((getline line < "/tmp/numbers") > 0) { split(line, f, " "); number[f[1]] = f[2] }
        }
        { name = $1; sub(":", "", name) }
        name ~ /^ldm_part_/ { place[number[name]] = disk[$5] " " $6; next }
        { order[++n] = name; kind[n] = $4; table[n] = $0 }
        END {
            for (i = 1; i <= n; i++) {
                split(table[i], f, " ")
                if (kind[i] == "linear") text = "linear " disk[f[5]] " " f[6]
                else if (kind[i] == "striped") {
                    text = "striped " f[6]
                    for (c = 0; c < f[5]; c++) text = text " " disk[f[7 + 2 * c]] " " f[8 + 2 * c]
                } else {
                    # LEVEL COUNT-OF-OPTIONS CHUNK [OPTIONS] MEMBERS, then metadata and data device of each
                    text = f[5] (f[5] == "raid1" ? "" : " " f[7])
                    at = 7 + f[6]
                    for (c = 0; c < f[at]; c++) { d = f[at + 2 + 2 * c]; text = text " " (d == "-" ? "-" : place[d]) }
                }
                all[order[i]] = all[order[i]] " " text
            }
            for (name in all) print name ":" all[name]
        }' | sort
}

for description in "$REPO"/tests/makers/ldm/*.txt; do
    name=$(basename "$description" .txt)
    rm -rf /tmp/disks; mkdir /tmp/disks
    perl "$REPO/tests/makers/ldm.pl" /tmp/disks < "$description"
    images=(/tmp/disks/*.img) loops=()
    straddle check --json --fail-on never "${images[@]}" > $report
    ours > /tmp/ours

    : > /tmp/loops
    for image in "${images[@]}"; do
        device=$(losetup -f --show -P "$image")
        loops+=("$device")
        echo "$(cat "/sys/block/${device#/dev/}/dev") ${image##*/}" >> /tmp/loops
        # A GPT is another reader's.
        [ "$(od -An -tx1 -j450 -N1 "$image")" = ' 42' ] || continue
        found=$(cat "/sys/block/${device#/dev/}"/loop*/start | sort -n | xargs)
        reached=$(sed 's/^[^:]*://' /tmp/ours | grep -o "${image##*/} [0-9]*" | cut -d' ' -f2 | sort -n | xargs)
        [ "$found" = "$reached" ] ||
            { echo "$name, ${image##*/}: the kernel's partitions begin at $found, the maps reach $reached" >&2; exit 1; }
        kernel=$((kernel + 1))
    done

    # What lacks a disk and has no copy of it is refused by ldmtool.
    printf 'scan %s\ncreate all\n' "${loops[*]}" | ldmtool > /tmp/created 2>&1 || true
    theirs /tmp/loops > /tmp/theirs
    grep -v 'linear.* -\|: linear - \|striped.* -' /tmp/ours > /tmp/expected || true
    cmp -s /tmp/expected /tmp/theirs ||
        { echo "$name: expected of device-mapper, and found:" >&2; cat /tmp/expected /tmp/theirs /tmp/created >&2; exit 1; }
    volumes=$((volumes + $(wc -l < /tmp/theirs)))
    configurations=$((configurations + 1))
    quiet dmsetup remove_all --force
    for device in "${loops[@]}"; do losetup -d "$device"; done
done
echo "configurations: $configurations"
echo "disks on which the kernel's partitions begin where the maps reach: $kernel"
echo "volumes whose maps are the tables that ldmtool makes: $volumes"
