# Firmware RAID by the SNIA's Disk Data Format: as firmware-imsm.sh, with every level and layout that mdadm makes.
# For every commit: every level, layouts of all, and volumes of fewer members than the set has.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/firmware-raid.sh"
need mdadm=mdadm jq=jq
modules raid0 raid1 raid10 raid456

disks 6 dev_size_mb=64
container ddf 4
volume a5 5 4 64 4096
in_soak volume b6 6 4 16 4096
volume c10 10 4 32 4096
in_soak volume d0 0 4 128 4096
volume e1 1 2 - 4096
volume f10 10 3 64 4096
in_soak volume g10 10 4 64 4096 --layout=f2
compare
part
container ddf 6
volume a5 5 6 8 2048 --layout=left-asymmetric
in_soak volume b5 5 6 8 2048 --layout=right-asymmetric
volume c6 6 6 32 2048 --layout=ddf-zero-restart
in_soak volume d6 6 6 256 2048 --layout=ddf-N-restart
volume e6 6 6 64 2048 --layout=ddf-N-continue
in_soak volume f10 10 6 64 2048
volume g10 10 6 16 2048 --layout=n3
volume h0 0 6 512 2048
compare
part

echo "== States"
degraded ddf
