# An ext4 with 4 KiB blocks in a qcow2 with clusters of the same size.
sh -eu ./ext-4k.sh "$1.raw"
qemu-img convert -O qcow2 -o cluster_size=4096 "$1.raw" "$1"
rm "$1.raw"
