# The first extent at 192 KiB, as LVM before 2.02.73 put it.
size=8388608 start=196608
. ./lvm.inc
