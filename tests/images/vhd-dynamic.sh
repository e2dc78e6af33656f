# A dynamic VHD from qemu-img: a partition at 1 MiB and something in each of eight blocks of 2 MiB.
truncate -s 16M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
for block in 0 1 2 3 4 5 6 7; do
    printf 'STRADDLE' | dd of="$1.raw" bs=1M seek=$((2 * block + 1)) conv=notrunc
done
qemu-img convert -f raw -O vpc -o force_size=on "$1.raw" "$1"
rm "$1.raw"
