# sosreports that sos itself made on hosts planted one after the other, each beside what `check` says of the host while it runs: the same places
# and the same findings, word for word. cases/sosreport-soak.sh has others.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/sos.sh"
. "$LAB/sos-hosts.sh"
need sos=sosreport mdadm=mdadm pvcreate=lvm2 sfdisk=fdisk parted=parted dumpe2fs=e2fsprogs jq=jq xz=xz-utils dmsetup=dmsetup mkfs.xfs=xfsprogs
modules raid0 dm-mod dm-multipath dm-round-robin ext4 xfs

for name in ${*:-mbr_63 4kn multipath}; do
    planted "$name"
    host "$name" "$SOS_PLUGINS" "$LOST"
    razed
done
