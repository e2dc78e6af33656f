# A VHDX of 512-byte sectors, logical and physical, with a partition.
sh -eu ./gpt-2048.sh "$1.raw"
qemu-img convert -O vhdx "$1.raw" "$1"
rm "$1.raw"
