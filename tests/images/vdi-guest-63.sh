# A VDI from qemu-img, whose data begins at byte 1,024: a partition at sector 63.
truncate -s 8M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=63, type=7\n' | sfdisk --no-reread "$1.raw"
printf 'STRADDLE' | dd of="$1.raw" bs=512 seek=63 conv=notrunc
qemu-img convert -f raw -O vdi "$1.raw" "$1"
rm "$1.raw"
