# The members of small md arrays, as files in $OUT: what tests/images/md-*.sh keep. The argument says which.
. "$LAB/helpers.sh"
need mdadm=mdadm sfdisk=fdisk
modules raid0 raid1 raid10 raid456
disks 4
uuid=11111111:22223333:44445555:55555555
make() { array md0 --uuid=$uuid --name=0 --homehost=any "$@"; }
save() { # NAME DISK...: NAME.img, NAME.1.img, ...
    local name=$1 disk number=
    quiet mdadm --stop /dev/md0
    for disk in "${@:2}"; do
        blockdev --flushbufs "$disk"
        dd if="$disk" of="$OUT/$name${number:+.$number}.img" bs=64K conv=sparse status=none
        number=$((${number:-0} + 1))
    done
}
d=("${DISKS[@]}")
case $1 in
    md-raid5)
        make --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none "${d[@]:0:3}"
        partitions /dev/md0 start=2048
        save "$1" "${d[@]:0:3}"
        ;;
    md-degraded)
        make --level=5 --raid-devices=3 --chunk=64 --bitmap=none "${d[@]:0:2}" missing
        partitions /dev/md0 start=2048
        save "$1" "${d[@]:0:2}"
        ;;
    md-offsets)
        make --level=10 --layout=n2 --raid-devices=2 --chunk=64 --assume-clean --bitmap=none --data-offset=variable \
            "${d[0]}:1M" "${d[1]}:2M"
        partitions /dev/md0 start=2048
        save "$1" "${d[@]:0:2}"
        ;;
    md-stale)
        make --level=1 --raid-devices=2 --assume-clean --bitmap=none "${d[@]:0:2}"
        partitions /dev/md0 start=2048
        quiet mdadm /dev/md0 --fail "${d[1]}" --remove "${d[1]}"
        for turn in 1 2 3; do
            partitions /dev/md0 start=$((2048 * turn))
            quiet mdadm --stop /dev/md0
            quiet mdadm --assemble --run /dev/md0 "${d[0]}"
        done
        save "$1" "${d[@]:0:2}"
        ;;
    md-reshape)
        make --level=5 --raid-devices=3 --chunk=64 --assume-clean --bitmap=none "${d[@]:0:3}"
        partitions /dev/md0 start=2048
        quiet mdadm /dev/md0 --add "${d[3]}"
        # It stops soon after its beginning.
        echo 2048 > /sys/block/md0/md/sync_max
        quiet mdadm --grow /dev/md0 --raid-devices=4
        sleep 2
        save "$1" "${d[@]}"
        ;;
    *) exit 1 ;;
esac
