# A dynamic VHDX from qemu-img with blocks of 1 MiB: a partition at 1 MiB.
truncate -s 16M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
printf 'STRADDLE' | dd of="$1.raw" bs=1M seek=1 conv=notrunc
qemu-img convert -f raw -O vhdx -o block_size=1M "$1.raw" "$1"
rm "$1.raw"
