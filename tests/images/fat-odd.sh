# FAT16 whose clusters begin off the 4,096-byte grid: -a keeps mkfs.fat from aligning them.
truncate -s 64M "$1"
mkfs.fat -a -F 16 -s 8 -R 1 -i 57524144 --invariant "$1"
