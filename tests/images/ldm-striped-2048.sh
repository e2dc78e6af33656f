# The same on disks whose data area begins at 1 MiB.
. ./ldm.inc
first=2048 striped
