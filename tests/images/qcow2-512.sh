# qcow2 with clusters of 512 bytes: a partition at 1 MiB, clusters written in the reverse order.
truncate -s 2M "$1.raw"
printf 'label: dos\nlabel-id: 0x57524144\nstart=2048, type=83\n' | sfdisk --no-reread "$1.raw"
qemu-img convert -f raw -O qcow2 -o cluster_size=512 "$1.raw" "$1"
set --  "$1" -f qcow2
for cluster in 0 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16; do
    set -- "$@" -c "write -P 0x55 $((1048576 + cluster * 512)) 512"
done
image=$1
shift
qemu-io "$@" "$image"
rm "$image.raw"
