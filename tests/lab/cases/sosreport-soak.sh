# As cases/sosreport.sh, with the hosts that it leaves out.
# Only in a soak.
. "$LAB/helpers.sh"
. "$LAB/sos.sh"
. "$LAB/sos-hosts.sh"
need sos=sosreport mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin sfdisk=fdisk parted=parted dumpe2fs=e2fsprogs jq=jq xz=xz-utils \
    dmsetup=dmsetup mkfs.xfs=xfsprogs mkfs.btrfs=btrfs-progs
modules raid0 raid1 raid10 raid456 dm-mod dm-crypt dm-multipath dm-round-robin loop ext4 xfs btrfs

hosts ${*:-4kn mbr_63 mbr_2048 gpt bare linear striped md_0 md_1 md_5 md_10 luks deep xfs btrfs loop multipath}
