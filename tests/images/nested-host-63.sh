# A host disk: ext4 in a partition at sector 63, in it /vm.qcow2, in that a partition at 1 MiB.
host_sector=63 guest_sector=2048
. ./nested.inc
