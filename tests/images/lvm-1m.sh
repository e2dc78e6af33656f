# The first extent at 1 MiB, where LVM puts it by default.
size=8388608 start=1048576
. ./lvm.inc
