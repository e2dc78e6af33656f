# The disk of qcow2-packed, not compressed.
sh -eu ./gpt-2048.sh "$1.raw"
qemu-img convert -O qcow2 "$1.raw" "$1"
rm "$1.raw"
