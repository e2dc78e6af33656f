# More hosts, as in cases/sosreport-hosts.sh. The other ones of guest/sos-hosts.sh can be named as arguments.
# Only in a soak.
. "$LAB/helpers.sh"
. "$LAB/sos.sh"
. "$LAB/sos-hosts.sh"
need sos=sosreport mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin sfdisk=fdisk parted=parted dumpe2fs=e2fsprogs jq=jq xz=xz-utils \
    dmsetup=dmsetup mkfs.xfs=xfsprogs mkfs.btrfs=btrfs-progs
modules raid0 raid1 raid10 raid456 dm-mod dm-crypt dm-multipath dm-round-robin loop ext4 xfs btrfs

for name in ${*:-luks deep md_1}; do
    planted "$name"
    host "$name" "$SOS_PLUGINS" "$LOST"
    razed
done
