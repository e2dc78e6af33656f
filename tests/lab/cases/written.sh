# Where a write arrives on md's members: a page is written, whole disks are compared with what they were before, and exactly
# those bytes have changed that `straddle check --where` says: data, copies and parities. Images of the members give the same
# answer as the live host.
#
# What changes for other reasons is switched off: bitmaps, and the superblocks of an array that was clean.
#
# For every commit: each level, near, far and offset copies, parity that goes to the left and to the right, in front and in DDF's order.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/prove.sh"
need mdadm=mdadm jq=jq
modules linear raid0 raid1 raid10 raid456

# md NAME OPTION... MEMBER...: an array of whole disks, and what the images of its members say when they are given together.
md() {
    local name=$1 word images=()
    shift
    array md0 "$@"
    prove "$name" /dev/md0 md0
    mkdir -p /tmp/images
    for word; do
        case $word in /dev/*) images+=("/tmp/images/${word##*/}") ;; esac
    done
    cp "${images[@]/#\/tmp\/images/\/dev}" /tmp/images
    straddle check --json --fail-on never --as image --of md0 --where=4096+4096 --where=61440+8192 \
        --where=212992+16384 "${images[@]}" | jq -r --arg each yes -f "$LAB/written.jq" > /tmp/of-images
    alike "$name: images of the members" "$(cat /tmp/predicted)" "$(sed 's|/tmp/images/||g' /tmp/of-images)"
    forget "${DISKS[@]}"
}

tens=(f2 o3) fives=(left-symmetric right-asymmetric parity-first) sixes=(left-symmetric ddf-N-restart left-symmetric-6)
more() {
    tens=(n2 n3 f2 f3 o2 o3)
    fives=(left-symmetric left-asymmetric right-symmetric right-asymmetric parity-first parity-last)
    sixes=(left-symmetric left-asymmetric right-symmetric right-asymmetric
        ddf-zero-restart ddf-N-restart ddf-N-continue left-symmetric-6 parity-first-6)
}
in_soak more

echo "== arrays of whole disks"
disks 6
plain=(--assume-clean --bitmap=none --chunk=64)
md "raid0" --level=0 --chunk=64 --raid-devices=4 "${DISKS[@]:0:4}"
md "raid0, 5 disks, 4 KiB" --level=0 --chunk=4 --raid-devices=5 "${DISKS[@]:0:5}"
md "linear" --level=linear --raid-devices=2 "${DISKS[@]:0:2}"
in_soak md "raid1" --level=1 --assume-clean --bitmap=none --raid-devices=2 "${DISKS[@]:0:2}"
md "raid1, 3 copies, metadata 1.0" --level=1 --assume-clean --bitmap=none --metadata=1.0 --raid-devices=3 "${DISKS[@]:0:3}"
for layout in "${tens[@]}"; do
    md "raid10 $layout, 4 disks" --level=10 --layout=$layout "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
done
md "raid10 n2, 5 disks" --level=10 --layout=n2 "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
in_soak md "raid10 f2, 5 disks" --level=10 --layout=f2 "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
md "raid4" --level=4 "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
for layout in "${fives[@]}"; do
    md "raid5 $layout" --level=5 --layout=$layout "${plain[@]}" --raid-devices=4 "${DISKS[@]:0:4}"
done
for layout in "${sixes[@]}"; do
    md "raid6 $layout" --level=6 --layout=$layout "${plain[@]}" --raid-devices=5 "${DISKS[@]:0:5}"
done
echo "stacks: $STACKS"
