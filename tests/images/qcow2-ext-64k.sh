# An ext4 with 4 KiB blocks in a qcow2 with 64 KiB clusters.
sh -eu ./ext-4k.sh "$1.raw"
qemu-img convert -O qcow2 "$1.raw" "$1"
rm "$1.raw"
