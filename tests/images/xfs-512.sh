# XFS with sectors of 512 bytes, what mkfs chooses for a file.
truncate -s 320M "$1"
mkfs.xfs -q -m uuid=57524144-0000-4000-8000-000000000005 -s size=512 "$1"
