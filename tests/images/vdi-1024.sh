# A VDI from qemu-img, whose data begins at byte 1,024: a partition at 1 MiB.
truncate -s 8M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
printf 'STRADDLE' | dd of="$1.raw" bs=1M seek=1 conv=notrunc
qemu-img convert -f raw -O vdi "$1.raw" "$1"
rm "$1.raw"
