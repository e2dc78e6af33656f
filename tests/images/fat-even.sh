# FAT16 whose clusters begin on the 4,096-byte grid.
truncate -s 64M "$1"
mkfs.fat -F 16 -s 8 -i 57524144 --invariant "$1"
