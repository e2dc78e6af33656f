# LVM2 read from raw disks: physical volumes, logical volumes and hidden ones beside what pvs, vgs and dmsetup say of them, the
# grids beside those of the live host, and the maps beside the places where written sectors arrive.
# For every commit: each kind of volume once, parity on the left and at the end, a thin chunk that is no power of two, one reshape.
# More in a soak.
# Takes long.
. "$LAB/helpers.sh"
need pvcreate=lvm2 dmsetup=dmsetup jq=jq thin_check=thin-provisioning-tools cache_check=thin-provisioning-tools
modules dm-mod dm-log dm-region-hash dm-mirror dm-raid raid0 raid1 raid10 raid456 dm-snapshot dm-thin-pool
modules dm-cache dm-cache-smq dm-integrity dm-writecache dm-zero

# images DISK...: copies of the disks as they are, under their names: what straddle is given.
images() {
    rm -rf /tmp/images
    mkdir /tmp/images
    blockdev --flushbufs "$@"
    local disk
    for disk; do cp --sparse=always "$disk" /tmp/images/; done
}
# raw ARGUMENT...: what straddle makes of them.
raw() {
    (cd /tmp/images && straddle check --as image --json --fail-on never "$@" ./*)
}
# compare REPORT: everything that straddle read from the raw disks, in the words of the tools, beside the tools.
compare() {
    images "${DISKS[@]}"
    raw > "$1"
    jq -r -f /tmp/physical.jq "$1" | sort > /tmp/physical.found
    pvs --noheadings --nosuffix --units b --separator ' ' \
        -o pv_name,pv_uuid,vg_name,vg_uuid,vg_extent_size,pe_start,pv_ba_size 2> /dev/null |
        sed 's|^ */dev/||' | sort > /tmp/physical.expected
    alike "physical volumes (pvs), $(wc -l < /tmp/physical.found)" "$(cat /tmp/physical.expected)" "$(cat /tmp/physical.found)"
    jq -r -f /tmp/logical.jq "$1" | sort > /tmp/logical.found
    dmsetup table > /tmp/tables
    dmsetup ls > /tmp/names
    awk -f /tmp/tables.awk /tmp/names /tmp/tables | sort > /tmp/logical.expected
    alike "targets of volumes (dmsetup table), $(wc -l < /tmp/logical.found)" "$(cat /tmp/logical.expected)" "$(cat /tmp/logical.found)"
}
cat > /tmp/physical.jq <<'JQ'
def value($key): [.attributes[] | select(.key == $key) | .value.value[]][0];
.targets[0].stack[] | select(value("holds") == "LVM2 physical volume")
| "\(.name | ltrimstr("./")) \(value("uuid")) \(value("volume-group")) \(value("set-uuid")) \(value("extent-size")) \(value("first-extent")) \(value("boot-loader-area") // 0)"
JQ
# A line for each target of a volume, with names in place of numbers and without what says nothing of places.
cat > /tmp/logical.jq <<'JQ'
.targets[0].stack as $stack
| def called: [.attributes[] | select(.key == "label") | .value.value[]][0] // (.name | ltrimstr("./"));
  def sectors: . / 512;
  def unit($role): [.grids[] | select(.role == $role) | .grid.value.unit][0] // 0 | sectors;
  def names: [.below[] | $stack[.] | called];
  def target($at):
    . as $it | names as $names
    | "\($at) \(.size.value | sectors) "
    + if .map.shape == "striped" and .format == "striped" then
        "striped \(.map.starts | length) \(.map.stripe_unit | sectors) "
        + ([range($names | length) | "\($names[.]) \($it.map.starts[.] | sectors)"] | join(" "))
      elif .format == "raid" then
        "raid \([.attributes[] | select(.key == "level") | .value.value[]][0]) \(unit("stripe-unit")) \($names | join(" "))"
      elif .format == "mirror" then "mirror \($names | join(" "))"
      elif .format == "thin-pool" then "thin-pool \($names[1]) \($names[0]) \(unit("thin-chunk"))"
      elif .format == "thin" then "thin \($names[0])"
      elif .format == "cache" then "cache \($names[2] // $names[1]) \($names[1]) \($names[0]) \(unit("thin-chunk"))"
      elif .format == "writecache" then
        "writecache \($names[0]) \($names[1]) \([.attributes[] | select(.key == "block-size") | .value.value[]][0])"
      elif .format == "snapshot" then "snapshot \($names[0]) \($names[1]) \(unit("thin-chunk"))"
      elif .format == "integrity" then "integrity \($names[0]) \($names[1]) \(unit("encryption-sector") * 512)"
      elif .map.shape == "linear" then "linear \($names[0]) \(.map.start | sectors)"
      else .format end;
  $stack[] | select(.kind != "device" and (.name | test(" segment ") | not))
| . as $it | called as $title
| if .map.shape == "segments" and (.format | test("linear|\\+")) or (.map.first_segments and .format != "thin") then
    .map.first_segments[]
    | . as $run | $stack[$it.below[.target]] as $below
    | if $below.name | test(" segment ") then
        "\($title) \($run.upper.start | sectors as $at | $below | target($at))"
      else "\($title) \($run.upper.start | sectors) \($run.upper.len | sectors) linear \($below | called) \($run.lower | sectors)" end
  else "\($title) \(target(0))" end
JQ
# The same from `dmsetup table`. What device-mapper puts between a volume and its parts is left out: `-real` below a snapshot's
# origin, `-tpool` below a pool, the two parts of a cache's one volume.
cat > /tmp/tables.awk <<'AWK'
FNR == NR { gsub(/[():]/, " "); name[$2 ":" $3] = $1; next }
function known(device,   text) {
    if (device == "-") return ""
    if (device in name) text = name[device]
    else text = disk(device)
    sub(/-real$/, "", text); sub(/-tpool$/, "", text); sub(/-c(data|meta)$/, "", text)
    return text
}
function disk(device,   command, text) {
    if (!(device in disks)) {
        command = "basename $(readlink /sys/dev/block/" device ")"
        command | getline text
        close(command)
        disks[device] = text
    }
    return disks[device]
}
{
    volume = $1; sub(/:$/, "", volume)
    if (volume ~ /_rmeta_[0-9]+$|_mlog$|-c(data|meta)$/ || $4 == "snapshot-origin") next
    if (volume "-tpool" in pools || ($4 == "linear" && known($5) == volume)) next
    sub(/-real$/, "", volume); sub(/-tpool$/, "", volume)
    out = volume " " $2 " " $3 " " $4
    if ($4 == "linear") out = out " " known($5) " " $6
    else if ($4 == "striped") { out = out " " $5 " " $6; for (i = 7; i < NF; i += 2) out = out " " known($i) " " $(i + 1) }
    else if ($4 == "raid") {
        at = 7 + $6
        # Parameters: the chunk first, then others.
        out = out " " $5 " " $7
        for (i = at + 2; i <= NF; i += 2) out = out " " known($i)
    }
    else if ($4 == "mirror") { at = 7 + $6; for (i = 0; i < $at; i++) out = out " " known($(at + 1 + 2 * i)) }
    else if ($4 == "thin-pool") out = out " " known($5) " " known($6) " " $7
    else if ($4 == "thin") out = out " " known($5)
    else if ($4 == "cache") out = out " " known($5) " " known($6) " " known($7) " " $8
    else if ($4 == "writecache") out = out " " known($6) " " known($7) " " $8
    else if ($4 == "snapshot") out = out " " known($5) " " known($6) " " $8
    else if ($4 == "integrity") {
        match($0, /meta_device:[0-9:]+/); meta = substr($0, RSTART + 12, RLENGTH - 12)
        size = match($0, /block_size:[0-9]+/) ? substr($0, RSTART + 11, RLENGTH - 11) : 512
        out = out " " known($5) " " known(meta) " " size
    }
    print out
}
AWK
lv() { quiet lvcreate -q -y "$@"; }
plain() { lv -Wn -Zn "$@"; }
# release DISK...: nothing is active or known any more.
release() {
    quiet vgchange -q -an
    quiet dmsetup remove_all
    local disk
    for disk; do dd if=/dev/zero of="$disk" bs=1M count=3 status=none; done
}

echo "== kinds of volumes"
disks 8 dev_size_mb=80
quiet pvcreate -qff -y "${DISKS[@]}"
quiet vgcreate -q -s 512k vg-a "${DISKS[@]}"
marked=()
sizes=(64) fives=(raid5_ls raid5_n) sixes=(raid6_zr raid6_nc) chunks=(192)
more_kinds() {
    sizes=(4 16 64 256 512) chunks=(64 192 1024)
    fives=(raid4 raid5 raid5_ls raid5_la raid5_rs raid5_ra raid5_n)
    sixes=(raid6 raid6_zr raid6_nr raid6_nc raid6_n_6 raid6_ls_6 raid6_la_6 raid6_rs_6 raid6_ra_6)
}
in_soak more_kinds
plain --nosync --type raid1 -m 1 --raidintegrity y --raidintegrityblocksize 4096 -n checked -l 8 vg-a
for size in "${sizes[@]}"; do plain -n "striped-$size" -i 3 -I "${size}k" -l 6 vg-a; marked+=("striped-$size"); done
plain -n plain -l 5 vg-a /dev/sda
plain -n spread -l 3 vg-a /dev/sda; quiet lvextend -q -l +3 vg-a/spread /dev/sdb; quiet lvextend -q -l +2 vg-a/spread /dev/sda
plain -n mixed -i 3 -I 64k -l 6 vg-a; quiet lvextend -q -i 2 -I 16k -l +4 vg-a/mixed; quiet lvextend -q -i 1 -l +1 vg-a/mixed
marked+=(plain spread mixed)
for kind in raid0 raid0_meta; do plain --type $kind -n "$kind" -i 3 -I 16k -l 6 vg-a; marked+=("$kind"); done
for kind in "${fives[@]}"; do
    plain --nosync --type $kind -n "r-$kind" -i 3 -I 16k -l 6 vg-a; marked+=("r-$kind")
done
for kind in "${sixes[@]}"; do
    plain --type $kind -n "r-$kind" -i 3 -I 16k -l 6 vg-a; marked+=("r-$kind")
done
plain --nosync --type raid5 -n r-raid5-64 -i 4 -I 64k -l 8 vg-a
plain --nosync --type raid1 -n r-raid1 -m 1 -l 4 vg-a
plain --nosync --type raid1 -n r-raid1-3 -m 2 -l 4 vg-a
plain --nosync --type raid10 -n r-raid10 -i 2 -m 1 -I 32k -l 4 vg-a
plain --nosync --type mirror --mirrorlog core -n r-mirror -m 1 -l 4 vg-a
plain --nosync --type mirror --mirrorlog disk -n r-mirror-log -m 1 -l 4 vg-a
marked+=(r-raid5-64 r-raid1 r-raid1-3 r-raid10 r-mirror r-mirror-log)
lv -s -n snap -c 16k -l 2 vg-a/plain
for chunk in "${chunks[@]}"; do
    lv -Zn --type thin-pool -n "pool-$chunk" -c "${chunk}k" --poolmetadatasize 2m -l 8 vg-a
    lv -V 20m -T "vg-a/pool-$chunk" -n "thin-$chunk"
done
lv -Zn --type thin-pool -n pool-striped -i 2 -I 64k -c 128k --poolmetadatasize 2m -l 8 vg-a
plain -n cached -l 6 vg-a; plain -n fast -l 18 vg-a
quiet lvconvert -q -y --type cache --cachevol fast -c 128k vg-a/cached
plain -n cached-2 -l 6 vg-a; lv --type cache-pool -n fast-2 -c 64k -l 4 vg-a
quiet lvconvert -q -y --type cache --cachepool fast-2 vg-a/cached-2
plain -n written -l 6 vg-a; plain -n log -l 8 vg-a
quiet lvchange -q -an vg-a/written vg-a/log
quiet lvconvert -q -y --type writecache --cachevol log vg-a/written
quiet lvchange -q -ay vg-a/written
plain --type error -n broken -l 1 vg-a
plain --type zero -n nothing -l 1 vg-a
compare /tmp/kinds.json
jq -r '[.targets[0].stack[] | select(.kind != "device")]
    | "visible volumes: \([.[] | select(.name | test("_([rmi]image|rmeta|tdata|tmeta|w?corig|cvol|cpool)|segment|-cow$") | not)] | length)",
      "oddities: \([.[].oddities[].detail] | unique | join("; "))"' /tmp/kinds.json

echo "== grids of the live host"
straddle check --json --fail-on never > /tmp/live.json || true
jq -r '[.targets[].stack[] | select(.format != null)]
    | map({ label: ([.attributes[] | select(.key == "label") | .value.value[]][0]), kind, grids: [.grids[] | select(.role == ("stripe-unit", "full-stripe", "thin-chunk")) | "\(.role) \(.grid.value.unit)"] })
    | map(select(.label != null)) | map(.label) as $all
    | map(select((.label + "-tpool") as $pool | $all | index($pool) | not) | .label |= sub("-tpool$"; "")) | unique_by(.label)[] | "\(.label) \(.grids | sort | join(", "))"' /tmp/live.json | sort > /tmp/live
jq -r '.targets[].stack[] | select(.kind != "device" and (.name | test(" segment ") | not))
    | "\([.attributes[] | select(.key == "label") | .value.value[]][0]) \([.grids[] | select(.role == ("stripe-unit", "full-stripe", "thin-chunk")) | "\(.role) \(.grid.value.unit)"] | sort | join(", "))"' /tmp/kinds.json | sort > /tmp/raw
join -j 1 -o 1.1 <(cut -d ' ' -f 1 /tmp/live | sort) <(cut -d ' ' -f 1 /tmp/raw | sort) > /tmp/both
for kind in live raw; do grep -w -F -f /tmp/both "/tmp/$kind" | awk 'FNR == NR { is[$1]; next } $1 in is' /tmp/both - > "/tmp/$kind.both"; done
alike "grids of volumes that both know, $(wc -l < /tmp/both)" "$(cat /tmp/live.both)" "$(cat /tmp/raw.both)"

echo "== places"
# One sector in each of eight rows of stripes, so that parity of a row is the sector itself. The syndrome is that too for the
# first unit of a row; where it is, it must be where it was said to be.
for volume in "${marked[@]}"; do
    step=$(jq -r --arg name "vg-a/$volume" '[.targets[0].stack[] | select(.name == $name)][0]
        | [([.grids[] | select(.role == "stripe-unit") | .grid.value.unit][0] // 65536), .size.value, ([.attributes[] | select(.key == "data-members") | .value.value[]][0] // 3)] | @tsv' /tmp/kinds.json)
    read -r unit size data <<< "$step"
    offsets=() labels=()
    for i in 0 1 2 3 4 5 6 7; do
        offset=$((i * data * unit + i % data * unit + i * 512))
        [ "$offset" -lt "$size" ] || break
        offsets+=("--where=$offset+512")
        labels+=("$volume:$offset")
    done
    mark "/dev/mapper/vg--a-${volume//-/--}" "${labels[@]}"
    raw --of "vg-a/$volume" "${offsets[@]}" |
        jq -r --arg name "$volume" '.targets[0] as $it | $it.places[] | .steps[0].offset as $offset | .written[]
            | select($it.stack[.layer].kind == "device")
            | (if .share == "syndrome" then "? " else "" end) + "\($name):\($offset) \($it.stack[.layer].name | ltrimstr("./")) \(.extent.start)"'
done > /tmp/places
grep -v "^?" /tmp/places | sort > /tmp/places.expected
sed -n "s/^? //p" /tmp/places | sort > /tmp/places.syndromes
find_marks "${DISKS[@]}" | sort > /tmp/places.all
comm -13 /tmp/places.syndromes /tmp/places.all > /tmp/places.found
alike "sectors of ${#marked[@]} volumes, $(wc -l < /tmp/places.found) copies" "$(cat /tmp/places.expected)" "$(cat /tmp/places.found)"

echo "== a member that was not given"
rm /tmp/images/sda
raw > /tmp/missing.json
alike "what stands for it" "$(pvs --noheadings -o pv_uuid /dev/sda 2> /dev/null | tr -d ' ')" \
    "$(jq -r '.targets[0].stack[] | select(.oddities[].detail | test("^this member was not given")) | .name' /tmp/missing.json)"
release "${DISKS[@]}"

echo "== physical volumes"
# pv DISK OPTION...
pv() { quiet pvcreate -qff -y "${@:2}" "/dev/sd$1"; }
pv a; pv b --dataalignment 64k; pv c --dataalignment 192k; pv d --dataalignment 3m
pv e --dataalignmentoffset 7s; pv f --metadatasize 2m; pv g --bootloaderareasize 1m; pv h --metadatacopies 2
quiet vgcreate -q -s 4k vg-b "${DISKS[@]}"
for disk in a b c d e f g h; do plain -n "on-$disk" -l 700 vg-b "/dev/sd$disk"; done
compare /tmp/physical.json
release "${DISKS[@]}"
pv a --labelsector 0; pv b --labelsector 3; pv c --metadatasize 130k; pv d --dataalignment 1m --dataalignmentoffset 512s
pv e --bootloaderareasize 64k --dataalignment 256k; pv f --metadatacopies 2 --metadatasize 4m; pv g --dataalignment 5m; pv h
quiet vgcreate -q -s 384k vg-c /dev/sd[a-d]
quiet vgcreate -q -s 8m vg-d /dev/sd[e-h]
for disk in a b c d; do plain -n "on-$disk" -l 7 vg-c "/dev/sd$disk"; done
plain -n over-all -i 4 -I 128k -l 8 vg-c
for disk in e f g h; do plain -n "on-$disk" -l 2 vg-d "/dev/sd$disk"; done
# Two groups are two targets: one after the other.
all=("${DISKS[@]}")
for group in "vg-c 0" "vg-d 4"; do
    DISKS=("${all[@]:${group#* }:4}")
    images "${DISKS[@]}"
    raw > /tmp/group.json
    jq -r -f /tmp/physical.jq /tmp/group.json
done | sort > /tmp/physical.found
pvs --noheadings --nosuffix --units b --separator ' ' -o pv_name,pv_uuid,vg_name,vg_uuid,vg_extent_size,pe_start,pv_ba_size \
    2> /dev/null | sed 's|^ */dev/||' | sort > /tmp/physical.expected
alike "physical volumes of two groups (pvs), $(wc -l < /tmp/physical.found)" "$(cat /tmp/physical.expected)" "$(cat /tmp/physical.found)"
DISKS=("${all[@]}")
release "${DISKS[@]}"

echo "== physical sectors that begin at sector 7"
disks 3 dev_size_mb=32 physblk_exp=3 lowest_aligned=7
quiet pvcreate -qff -y "${DISKS[@]}"
quiet vgcreate -q -s 1m vg-e "${DISKS[@]}"
plain -n lv -i 3 -I 4k -l 6 vg-e
compare /tmp/aligned.json
release "${DISKS[@]}"

echo "== after reshaping"
disks 6 dev_size_mb=32
quiet pvcreate -qff -y "${DISKS[@]}"
quiet vgcreate -q -s 1m vg-f "${DISKS[@]}"
plain --type raid5 -n r -i 2 -I 64k -l 4 vg-f
in_sync() { [ "$(lvs --noheadings -o sync_percent vg-f/r 2> /dev/null | tr -d ' ')" = 100.00 ]; }
is_idle() { [ "$(dmsetup status vg--f-r | awk '{ print $8 }')" = idle ]; }
changes=("--stripes 3")
more_changes() { changes+=("--stripesize 32k" "--stripesize 16k"); }
in_soak more_changes
for change in "${changes[@]}"; do
    wait_until in_sync; wait_until is_idle
    quiet lvconvert -q -y $change vg-f/r
    wait_until in_sync; wait_until is_idle
    blockdev --flushbufs "${DISKS[@]}"
    compare "/tmp/reshaped.json"
    same "$change: data offset in sectors (dmsetup status)" "$(dmsetup status vg--f-r | awk '{ print $10 }')" \
        "$(jq -r '.targets[0].stack[] | select(.name == "vg-f/r") | (.map.starts // .map.columns)[0] / 512' /tmp/reshaped.json)"
done
