# A host disk: ext4 in a partition at 1 MiB, in it /vm.qcow2, in that a partition at 1 MiB.
host_sector=2048 guest_sector=2048
. ./nested.inc
