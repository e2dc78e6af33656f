# The first extent where a false optimal I/O size of 16,773,120 bytes puts it.
size=25165824 start=16773120
. ./lvm.inc
