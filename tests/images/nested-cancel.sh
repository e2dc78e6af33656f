# A host disk: ext4 in a partition at sector 63, in it /vm.qcow2, in that a partition at sector 65: 63 + 65 = 128.
host_sector=63 guest_sector=65
. ./nested.inc
