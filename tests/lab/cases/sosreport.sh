# A sosreport that sos itself made on a planted host with arrays, volumes and encryption, beside what `check` says of the host while it
# runs: the same places and the same findings, word for word. cases/sosreport-soak.sh has the other hosts of guest/sos-hosts.sh; any can
# be named as arguments.
# Takes long.
. "$LAB/helpers.sh"
. "$LAB/sos.sh"
. "$LAB/sos-hosts.sh"
need sos=sosreport mdadm=mdadm pvcreate=lvm2 cryptsetup=cryptsetup-bin sfdisk=fdisk parted=parted dumpe2fs=e2fsprogs jq=jq xz=xz-utils \
    dmsetup=dmsetup
modules raid456 dm-mod dm-crypt loop ext4

hosts ${*:-whole}
