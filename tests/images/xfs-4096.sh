# XFS with sectors of 4,096 bytes.
truncate -s 320M "$1"
mkfs.xfs -q -m uuid=57524144-0000-4000-8000-000000000005 -s size=4096 "$1"
