# VMFS 5 that was VMFS 3 before, in a partition of the VI client of then: an MBR, sector 128, blocks of 2 MiB.
. ./vmfs.inc
truncate -s 24M "$1"
printf 'label: dos\nlabel-id: 0x564d4653\nstart=128, size=47104, type=fb\n' | sfdisk --no-reread "$1"
vmfs "$1" 65536 2097152 65536
