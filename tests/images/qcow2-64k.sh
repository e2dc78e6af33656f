# qcow2 with clusters of 64 KiB: a partition at 1 MiB, four clusters written in the reverse order.
truncate -s 16M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
qemu-img convert -f raw -O qcow2 "$1.raw" "$1"
for cluster in 40 30 20 16; do
    qemu-io -f qcow2 -c "write -P 0x55 $((cluster * 64))k 64k" "$1"
done
rm "$1.raw"
