# A host disk: ext4 in a partition at 1 MiB, in it /vm.qcow2, in that a partition at 1 MiB.
guest="$1.d/vm.qcow2"
mkdir "$1.d"
truncate -s 4M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
qemu-img convert -f raw -O qcow2 "$1.raw" "$guest"
qemu-io -f qcow2 -c "write -P 0x55 33280 8k" "$guest"
for cluster in 16 18 20 19 17; do
    qemu-io -f qcow2 -c "write -P 0x55 $((cluster * 64))k 64k" "$guest"
done
truncate -s 14M "$1.fs"
mke2fs -q -F -t ext4 -b 4096 -O ^has_journal -U 57524144-0000-4000-8000-000000000000 -E hash_seed=57524144-0000-4000-8000-000000000001 -d "$1.d" "$1.fs"
truncate -s 16M "$1"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, size=28672, type=83\n' | sfdisk --no-reread "$1"
dd if="$1.fs" of="$1" bs=512 seek=2048 conv=notrunc,sparse
rm -r "$1.raw" "$1.d" "$1.fs"
