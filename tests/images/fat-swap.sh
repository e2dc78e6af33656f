# A FAT16 volume that also carries the signature of a swap area, in its reserved sectors.
truncate -s 64M "$1"
mkfs.fat -F 16 -s 8 -R 32 -i 57524144 --invariant "$1"
truncate -s 64M "$1.swap"
mkswap --uuid 57524144-0000-4000-8000-000000000006 "$1.swap"
# The header of the swap area begins at byte 1,024; its signature is the last ten bytes of the page.
dd if="$1.swap" of="$1" bs=1024 skip=1 seek=1 count=3 conv=notrunc
rm "$1.swap"
