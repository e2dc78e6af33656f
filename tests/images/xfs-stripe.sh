# XFS made for stripe units of 64 KiB, four data members.
truncate -s 1G "$1"
mkfs.xfs -q -m uuid=57524144-0000-4000-8000-000000000005 -s size=4096 -d su=64k,sw=4 "$1"
