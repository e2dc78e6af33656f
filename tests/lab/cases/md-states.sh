# md arrays that are not as they were made: degraded, with a spare, left behind, over members of several sizes, at the end of a
# divided disk, and between two geometries.
. "$LAB/helpers.sh"
. "$LAB/md.sh"

# wipe: after states that `try` does not make.
wipe() {
    forget "${DISKS[@]}"
    lab-blocks zero "${DISKS[@]}"
    blockdev --rereadpt "${DISKS[@]}"
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
